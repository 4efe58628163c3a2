"""The list of words that no reader should meet: in texts of the product, in its pages and in docstrings of the library."""

from __future__ import annotations

import re

INSIDE = re.compile(
    r"\bwhoever\b|\bamiss\b|\blook after\b|\bstrangers?\b|\blexicons?\b|\blessons?\b|\bgenerations?\b|\bno ordinary\b"
    r"|\b(?:have|has|had) (?:it|them) back\b|\bhad back\b|\banew\b|nearly the same|\b(?:is|are|was|were) kept\b"
    r"|\bnobody\b|\bsomebody\b|\bshould stand\b|\bstands here\b",
    re.IGNORECASE,
)
"""Words of the inside, and of a grammar of our own."""

NOT_PROSE = re.compile(r"{[#%{].*?[#%}]}|`[^`\n]*`|strangers told")
"""Of templates and pages: tags, code, and the head of a table that a run of a bench prints."""


def prose(text: str) -> str:
    return NOT_PROSE.sub("", text)
