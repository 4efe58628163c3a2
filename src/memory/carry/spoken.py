"""
What somebody says themselves in a message, sentence by sentence.

Left out are code, quotations, tables, logs, markup that programs put in, and the middle of what was pasted.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memory.text.terms import named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PASTED = 2_000
"""Characters of a person's message from which on only its first and its last paragraph are taken for their own words."""

LONGEST = 400
"""Characters of a sentence: what is longer is none, or says more than one thing."""

OPEN, CLOSE = "\ue000", "\ue001"
"""Around the number of what a sentence names or quotes. They stand for nothing in Unicode: it is a private area."""

_NAMED = re.compile(f"{OPEN}(\\d+){CLOSE}")
_QUOTED = re.compile(
    r"`[^`\n]{1,300}`|\u201c[^\u201d\n]{1,300}\u201d|(?<!\w)\"[^\"\n]{1,300}\"(?!\w)|(?<!\w)'[^'\n]{1,200}'(?!\w)"
)
_TAG = re.compile(r"<(/?)([a-zA-Z][\w-]{0,40})(?:\s[^<>]{0,300})?>")
_BULLET = re.compile(r"\s*(?:[-*\u2022]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_NO_PROSE = re.compile(
    r"\s*(?:[>|#$%+@{}\]]|//|/\*|--|\.\.\.|<<|==)"  # quotations, tables, headings, commands, differences, code
    r"|\s*[\[(]?\d{2,4}[-/:.]\d\d[-/:.]\d"  # a time, as logs begin with
    r"|\s*\[?(?:DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|TRACE)\b|\s*\w*(?:Error|Exception|Warning):"
    r"|\s*(?:File \"|Traceback|at [\w.$<>]+\(|import |from \S+ import |def |class |return |const |let \w+ ?=)"
    r"|.*[;{}]\s*$"
)
_ENDS = re.compile(r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)(?<!etc\.)[)*_]*\s+")
_STRONG = re.compile(r"\*\*|__(?=\S)|(?<=\S)__")
_WORD = re.compile(r"[^\s,;:!?()\[\]]+")


class Sentence(NamedTuple):
    """
    Attributes:
        text: As it was written, on one line.
        plain: In lower case with straight apostrophes, and what it quotes in place of its text.
        exact: Whether it names code, a number, or quotes something.
        concrete: Whether it is exact, or has a name with a capital.
    """

    text: str
    plain: str
    exact: bool
    concrete: bool


def sentences(text: str, *, typed: bool = False) -> list[Sentence]:
    """
    The sentences of a message, in order.

    Args:
        typed: A person typed it, and may have pasted much of it.
    """
    text = _untagged(text.replace(OPEN, "").replace(CLOSE, ""))
    blocks = [*_blocks(text.splitlines())]
    if typed and sum(map(len, blocks)) > PASTED:
        blocks = [blocks[0], blocks[-1]]
    return [*chain.from_iterable(map(_cut, blocks))]


def _untagged(text: str) -> str:
    """Without elements, such as what programs put into a message; a tag that nothing closes stays."""
    tags = [*_TAG.finditer(text)]
    closing: dict[str, list[int]] = defaultdict(list)
    for number, tag in enumerate(tags):
        if tag[1]:
            closing[tag[2]].append(number)
    kept, at = [], 0
    for number, tag in enumerate(tags):
        ends = closing[tag[2]]
        end = bisect(ends, number)
        if tag.start() < at or tag[1] or end == len(ends):
            continue
        kept.append(text[at : tag.start()])
        at = tags[ends[end]].end()
    return "\n".join([*kept, text[at:]])


def _blocks(lines: Iterable[str]) -> Iterator[str]:
    """Paragraphs and items of lists, each as one line."""
    block: list[str] = []
    fenced = False
    for line in lines:
        fence = line.lstrip().startswith(("```", "~~~"))
        fenced ^= fence
        bullet = _BULLET.match(line)
        code = line.startswith(("    ", "\t")) and not (bullet or block)
        if fence or fenced or code or not line.strip() or (not bullet and _NO_PROSE.match(line)):
            yield from _joined(block)
            block = []
            continue
        if bullet:
            yield from _joined(block)
            block = []
        block.append(line[bullet.end() :] if bullet else line)
    yield from _joined(block)


def _joined(block: list[str]) -> Iterator[str]:
    if text := " ".join(" ".join(block).split()):
        yield text


def _cut(block: str) -> Iterator[Sentence]:
    quoted: list[str] = []

    def put_away(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return f"{OPEN}{len(quoted) - 1}{CLOSE}"

    for one in _ENDS.split(_QUOTED.sub(put_away, _STRONG.sub("", block))):
        text = _NAMED.sub(lambda found: quoted[int(found[1])], one).strip()
        if text and len(text) <= LONGEST:
            exact = OPEN in one or any(map(_exact, _words(one)))
            plain = _NAMED.sub(OPEN, one).strip().lower().replace("\u2019", "'")
            yield Sentence(text, plain, exact, exact or any(map(_capital, _words(one)[1:])))


def _words(text: str) -> list[str]:
    return [word.strip(".'*_") for word in _WORD.findall(_NAMED.sub(" ", text))]


def _exact(word: str) -> bool:
    return len(word) > 1 and (named(word) or "/" in word[1:] or any(map(str.isdigit, word)))


def _capital(word: str) -> bool:
    return word[:1].isupper() and word != "I" and word[:2] not in {"I'", "I\u2019"}
