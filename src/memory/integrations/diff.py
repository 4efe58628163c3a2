"""A change of a settings file as people are shown it: without a word that is not ours, since any may be a secret."""

from __future__ import annotations

import re
from difflib import unified_diff

HIDDEN = "…"

_WORD = re.compile(r"""[^\s"'`{}\[\](),:;=<>]+""")
_RUN = re.compile(rf"{HIDDEN}(?:[^\w{HIDDEN}\n]*{HIDDEN})+")


def diff(before: str, after: str, ours: str, names: tuple[str, str]) -> str:
    """
    The lines that go and come, as `diff -U0` shows them.

    Args:
        ours: The text of which every word may be shown; of other words the place alone is.
        names: What the text is called before and after.
    """
    known = frozenset(_WORD.findall(ours))
    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), n=0)
    shown = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]
    for line in list(lines)[2:]:
        text = line if line.startswith("@@") else line[0] + _masked(line[1:], known)
        shown.append(text if text.endswith("\n") else text + "\n\\ No newline at end of file\n")
    return "".join(shown) if len(shown) > len(names) else ""


def _masked(line: str, known: frozenset[str]) -> str:
    return _RUN.sub(HIDDEN, _WORD.sub(lambda word: word[0] if word[0] in known else HIDDEN, line))
