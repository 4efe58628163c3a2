"""
Asks FTS5 what it does with every character: prints the tables of `memory.text.terms`.

    python scripts/unicode61.py

`unicode61` has tables of its own, of Unicode 6.1; those of Python are newer and change with its version. To be run again if
`tests/laws/test_stems.py` finds that a newer SQLite has others.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from textwrap import indent, wrap

import apsw

APART = 256  # characters between capitals, from which they are told apart
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
EVERY = [chr(code) for code in range(0x110000)]


def asked() -> dict[str, str | None]:
    """Of each character what stands for it in a word; empty if it is left out of words, None if it ends them."""
    tokenize = apsw.Connection(":memory:").fts5_tokenizer(
        "unicode61", ["remove_diacritics", "2", "categories", "L* N* Co M*"]
    )
    found: dict[str, str | None] = {}
    for letter in EVERY:
        # In a word: a diacritic ends none. Halves of a surrogate pair are read as U+FFFD, which ends words.
        text = f"a{letter}b".encode(errors="surrogatepass")
        words = [word for [word] in tokenize(text, apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False)]
        found[letter] = words[0][1:-1] if len(words) == 1 else None
    return found


def based(number: int) -> str:
    """In base 36."""
    return (based(number // 36) if number >= 36 else "") + DIGITS[number % 36]


def capitals(found: dict[str, str | None]) -> list[list[str]]:
    """Where they are close together, as a first one and what follows on a last; none that Python alone knows is between."""
    ranges: list[list[str]] = []
    last = EVERY[-1]
    for letter in (letter for letter in EVERY if letter.lower() != letter):
        if found[letter] == letter:
            last = EVERY[-1]  # a newer one
        elif found[letter] is not None:
            if ord(letter) - ord(last) not in range(APART):
                ranges.append([letter, letter])
            ranges[-1][1], last = EVERY[ord(letter) + 1], letter
    return ranges


def printed(name: str, parts: list[str]) -> None:
    print(f'{name} = """', indent("\n".join(wrap(" ".join(parts), 112)), "    "), '"""', sep="\n")


def main() -> None:
    found = asked()
    printed("_RUNS", [based(len(list(run))) for _, run in groupby(EVERY, key=lambda letter: found[letter] is None)])
    printed("_MARKS", [f"{ord(letter):x}" for letter in EVERY if found[letter] == ""])
    printed("_CAPITALS", [f"{ord(first):x}-{ord(last):x}" for first, last in capitals(found)])
    changed = {letter: other for letter, other in found.items() if other not in {letter, "", None}}
    plain: defaultdict[str, str] = defaultdict(str)
    for letter, other in changed.items():
        if other.isascii() and not letter.isascii() and letter.lower() == letter:
            plain[other] += letter
    printed("_PLAIN", [first + plain[first] for first in sorted(plain)])
    bare = {letter: first for first, letters in plain.items() for letter in letters}
    small = {letter: letter.lower() for letter in changed}
    printed("_FOLDED", [c + changed[c] for c, low in small.items() if bare.get(low, low) != changed[c]])


if __name__ == "__main__":
    main()
