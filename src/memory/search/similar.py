"""Which memory says nearly what another, or a text, says: by its words, in keyword queries, without a model."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from memory.schema.answer import coverage_by_memory
from memory.schema.kinds import Kind
from memory.schema.query import Scope, Term, around
from memory.search.versions import news
from memory.text.lookup import stems
from memory.text.terms import STOP, split, straight, terms

if TYPE_CHECKING:
    from memory.schema.memory import Memory, MemoryId
    from memory.store import Store

IN_COMMON = 0.6
"""
Two memories are similar if this share of what one says is in the other, by the words' weights: of the new one, and on
average of the two.
"""

CANDIDATES = 3
"""Memories compared in both directions: those that hold most of the new one's words."""

CHUNKS = 20  # that a keyword query gives: several may be of one memory
READ = 300  # characters of what a memory says: its first sentences name what it is about
_DENIES = r"(?i:\b(?:not|never|no|without|against|stop)\b|n['\u2019]t\b)"
_AROUND = ".,;:!?()"
TELLING = 8  # its rarest words, which few chunks hold: that takes a few milliseconds in a store of thousands


def similar(store: Store, memory: Memory) -> Memory | None:
    """
    The active memory of the same kind and project, or of no project, that says nearly what this one says, if any.

    None if they speak of two things, by their titles or their words, as "Release 1.2.3" and "Release 1.2.4" do. None, too, if
    several memories are as similar: they are a series, and the first two of it were told apart when the second was saved.
    """
    scope = around(memory.project)._replace(kinds=frozenset({memory.kind}))
    own = scope._replace(among=frozenset({memory.id}))
    twins = [
        other
        for other, there in _near(store, said(memory), scope, besides=memory.id)
        if _both(there, _held(store, said(other), own).get(memory.id, 0.0))
        and not apart(names(memory), names(other))
        and (news(said(other), said(memory)) >= 0 or names(memory)[1] == names(other)[1] != set())
    ]
    return twins[0] if len(twins) == 1 else None


def said_already(store: Store, text: str, project: str | None) -> Memory | None:
    """
    The active note of a project, or of no project, that says nearly what a text says, if any.

    None if the text names what the note does not, as another number, or if only one of the two denies something.
    """
    scope = around(project)._replace(kinds=frozenset({Kind.NOTE}))
    own = frozenset(stems(text))
    for other, there in _near(store, text, scope):
        wanted = telling(store, said(other))
        common = sum(term.weight for term in wanted if own.issuperset(stems(term.text)))
        back = common / (sum(term.weight for term in wanted) or 1.0)
        if _both(there, back) and not _differs(text, other):
            return other
    return None


def _near(store: Store, text: str, scope: Scope, besides: MemoryId | None = None) -> list[tuple[Memory, float]]:
    """The memories in scope that hold most of what a text says, and how much, most first."""
    held = {id: share for id, share in _held(store, text, scope).items() if id != besides and share >= IN_COMMON}
    return [(other, held[id]) for id, other in store.memories.by_id(list(held)[:CANDIDATES]).items()]


def _both(there: float, back: float) -> bool:
    return there + back >= 2 * IN_COMMON


def _differs(text: str, other: Memory) -> bool:
    theirs = said(other)
    return bool(_named(text) - _named(theirs)) or (re.search(_DENIES, text) is None) != (
        re.search(_DENIES, theirs) is None
    )


def names(memory: Memory) -> tuple[set[str], set[str]]:
    """The numbers and names in code of a memory's title, and of its beginning."""
    return _named(memory.title), _named(said(memory))


def apart(one: tuple[set[str], set[str]], other: tuple[set[str], set[str]]) -> bool:
    """Whether each title has a number, or a name in code, that the other memory has nowhere at its beginning; of `names`."""
    return bool(one[0] - other[1] and other[0] - one[1])


def _named(text: str) -> set[str]:
    """The numbers and the names in code, written in one way: `user_id` and `userId` are the same."""
    found: set[str] = set()
    for piece in straight(text).replace('"', " ").split():  # what is quoted is no other name
        word = piece.strip(_AROUND)
        if not word.isascii() or not word.isalpha() or not (word[1:].islower() or word.isupper()):
            found |= _names(piece)  # of most words that are asked for none
    return found


@lru_cache(4096)
def _names(piece: str) -> frozenset[str]:
    """The same of a text without blanks."""
    told = (term.text for term in terms(piece) if term.exact or any(map(str.isdigit, term.text)))
    return frozenset("".join(split(name)).lower() for name in told if name.lower() not in STOP)


def said(memory: Memory) -> str:
    return f"{memory.title} {memory.what[:READ]}"


def telling(store: Store, text: str) -> list[Term]:
    """The rarest words of a text."""
    said = terms(text.replace('"', " "))  # quotes would make a phrase, which must stand as it is
    return sorted(store.keywords.weigh(said), key=lambda term: -term.weight)[:TELLING]


def _held(store: Store, text: str, scope: Scope) -> dict[MemoryId, float]:
    """How much of what a text says each memory in scope holds, 0..1, most first."""
    wanted = telling(store, text)
    shares = coverage_by_memory(wanted, store.keywords.by_keyword(wanted, scope, CHUNKS))
    return dict(sorted(shares.items(), key=lambda one: -one[1]))
