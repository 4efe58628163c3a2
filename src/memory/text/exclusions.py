"""What a query excludes: `-word`, `-"a phrase"`, `NOT word`. Flags, items of a list and prose stay words to look for."""

from __future__ import annotations

import re
from typing import NamedTuple

from memory.text.terms import STOP, straight, terms

_SIGN = re.compile(
    r"""
    "[^"]*"                                                   # a phrase that is looked for, whatever is in it
    | (?<![^ \t]) (?: - | (?P<not>NOT[ \t]+) )                # at the beginning, or behind a blank
      (?: "(?P<phrase>[^"]*\w[^"]*)" | (?P<word>[^\W\d_]{3,})(?=[,;.!?)]*(?:\s|\Z)) )
    """,
    re.VERBOSE,
)

_FLAG = re.compile(r"(?<!\S)(?:--\w|-\w{1,2}(?!\w)|-\w*[\d_=:/.-]\w)")
"""An option of a program: `--force`, `-rf`, `-1`, `-Xmx2g`, `-std=c99`."""

COMMANDS = frozenset(
    """
    chmod clang convert curl df docker_exec docker_run du ffmpeg ffprobe find gcc git_add git_commit git_log git_push go_build
    go_run go_test grep java javac kubectl_get ls lsof mvn netstat openssl ps rg rsync tar terraform_apply terraform_plan wget
    xargs
    """.split()
)
"""What `-name` is an option of: programs whose options are words or several letters behind one dash."""

_SAID = STOP - {"and", "but"} | {"cannot", "must", "shall"}
"""Before NOT, these make it a word of a sentence: "is NOT cached", "do NOT use"."""

_OWN = frozenset("between distinct exists found ilike like null regexp similar valid".split())
"""Behind NOT, these make it no operator of a search: "NOT NULL", "404 NOT FOUND"."""


class Excluded(NamedTuple):
    """
    Attributes:
        text: What is left to look for.
        words: Words and phrases that no result may hold, in order.
    """

    text: str
    words: tuple[str, ...]


def excluded(text: str) -> Excluded:
    """
    What a query looks for, and what it excludes.

    A dash excludes a word of at least three letters, or a phrase. In a query with a flag, and behind a command, it is a flag.
    Nothing is excluded if nothing but stop words would be left.
    """
    text, words = straight(text), list[str]()
    flags = _FLAG.search(text) is not None

    def left(sign: re.Match[str]) -> str:
        nonlocal flags
        word, before = sign["word"] or "", re.findall(r"\w+", text[: sign.start()])[-2:]
        if sign["not"]:
            kept = word.lower() in STOP | _OWN or not {*map(str.lower, before[-1:])}.isdisjoint(_SAID)
        else:
            flags = flags or not {*before[-1:], "_".join(before)}.isdisjoint(COMMANDS)
            kept = flags or word.lower() in STOP
        if kept or not (excluded := sign["phrase"] or word):
            return sign[0]
        words.append(excluded)
        return " "

    rest = _SIGN.sub(left, text)
    if words and any(term.text.lower() not in STOP for term in terms(rest)):
        return Excluded(rest, tuple(dict.fromkeys(words)))
    return Excluded(text, ())
