"""
The rules that users write in `.memoryignore`: what a line means, and which lines are refused.

A rule that a text could keep busy for ever is refused when it is read, so that no save has to be given up.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from memory.redact.rules import SecretRule
from memory.schema.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = ".memoryignore"
LINES = 1_000
"""The most rules of a file: each costs every text a search."""

LENGTH = 500  # characters of a rule
LEAST = 3  # characters besides wildcards: fewer occur in half of all words
REACH = 256  # characters that a wildcard between two literals spans
STARS = 8  # wildcards of a rule: each multiplies what a text can cost
PATIENCE = 0.05  # seconds of CPU for a text of up to 2,000 characters; an honest pattern takes about 0.00001
LONGEST = 2_000  # characters of a text that an expression is tried on


def parsed(text: str, file: str) -> tuple[SecretRule, ...]:
    """
    The rules in a text, one a line.

    Raises:
        ConfigError: A line is not a rule. Names file and line, never the line's text.
    """
    found = []
    for number, whole in enumerate(text.splitlines(), 1):
        line = whole.strip()
        if not line or line.startswith("#"):
            continue
        try:
            found.append(_rule(line, f"memoryignore:{number}"))
        except ValueError as error:
            raise ConfigError(f"{file}:{number}: {error}", hint="`memory help redaction` explains rules.") from error
    if len(found) > LINES:
        raise ConfigError(f"{file} has {len(found):,} rules; at most {LINES:,} are taken")
    return tuple(found)


def _rule(line: str, name: str) -> SecretRule:
    if len(line) > LENGTH:
        raise ValueError(f"the rule has {len(line):,} characters; at most {LENGTH} are taken")
    if len(line) > 1 and line.startswith("/") and line.endswith("/"):
        return SecretRule(name, _regex(line[1:-1]), judge=re.Match.span)
    parts = [part for part in line.split("*") if part]
    if sum(map(len, parts)) < LEAST:
        raise ValueError(
            f"besides wildcards a rule needs at least {LEAST} characters, or it would remove most of a text"
        )
    if line.count("*") > STARS:
        raise ValueError(f"the rule has {line.count('*')} wildcards; at most {STARS} are taken")
    begin = r"(?<!\S)\S*" if line.startswith("*") else ""  # at the start of a word, or every letter would be tried
    end = r"\S*+" if line.endswith("*") else ""
    first, *rest = map(re.escape, parts)
    reached = "".join(rf"(?>\S{{0,{REACH}}}?{part})" for part in rest)
    return SecretRule(name, begin + first + reached + end, folded=True, judge=re.Match.span)


def _regex(pattern: str) -> str:
    try:
        match = re.compile(pattern).search("")
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the regular expression does not compile: {error}") from error
    if match:
        raise ValueError("the regular expression matches the empty text, so it would match everywhere")
    if _misread(pattern):
        raise ValueError(
            "Python before 3.11.5 misreads a group that is repeated possessively, (…) and then *+: write (?>(…)*)"
        )
    if _nested(pattern) or _slow(pattern):
        raise ValueError(
            "the regular expression repeats a repetition, as (a+)+ does: on some texts it would run forever"
        )
    return pattern


def _misread(pattern: str) -> bool:
    """
    Whether this Python would match something else than the expression says.

    See https://github.com/python/cpython/issues/106052.
    """
    wrong = re.fullmatch("(?:ab?c)" + "*+", "a") is not None
    return wrong and re.search(r"[)](?:[*+?]|\{\d*,?\d*\})\+", re.sub(r"\\.", "a", pattern)) is not None


def _nested(pattern: str) -> bool:
    """Whether a repeated group contains something that repeats without limit."""
    repeats, inside = re.compile(r"[*+]|\{\d*,\}"), [False]
    bare = re.sub(r"\\.", "a", pattern, flags=re.DOTALL)
    bare = re.sub(r"\[\^?\]?[^\]]*\]", "a", bare)
    for at, character in enumerate(bare):
        if character == "(":
            inside.append(False)
        elif character == ")" and len(inside) > 1:
            held = inside.pop()
            repeated = repeats.match(bare, at + 1) or re.compile(r"\{\d*,?\d{2,}\}").match(bare, at + 1)
            if held and repeated and bare[repeated.end() : repeated.end() + 1] != "+":
                return True
            inside[-1] = inside[-1] or held or bool(repeated)
        elif repeats.match(bare, at):
            inside[-1] = True
    return False


def _slow(pattern: str) -> bool:
    """Whether a hostile text takes too long: the expression's characters, words and pairs repeated, then a mismatch."""
    search = re.compile(pattern).search
    literals = [*dict.fromkeys(re.sub(r"\\[A-Za-z]", "", pattern))]
    letters = [c for c in literals if c.isalnum()][:12]
    signs = [c for c in literals if not c.isalnum() and c not in "()[]{}|*+?^$\\"][:6]
    words = re.findall(r"[^\W_]{2,16}", re.sub(r"\\[A-Za-z]", " ", pattern))[:8]
    units = [*dict.fromkeys((*"a1 -.", *letters, *signs, *words))]
    pairs = [first + second for first in letters[:8] for second in letters[:8] if first != second]
    if any(_takes_long(search, unit, 48) for unit in (*units, *pairs)):
        return True
    return any(_takes_long(search, unit, LONGEST) for unit in units[:12])


def _takes_long(search: Callable[[str], object], unit: str, longest: int) -> bool:
    """Whether a search exceeds `PATIENCE`; the text grows in small steps, so that the last one costs little more."""
    count = 4
    while count * len(unit) <= longest:
        text = unit * count + "\0"
        begun = time.thread_time()
        search(text)
        if time.thread_time() - begun > PATIENCE:
            return True
        count += max(1, count // 6)
    return False
