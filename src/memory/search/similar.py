"""Which memory says nearly what another says: by its words, in two keyword queries, without a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.rank.match import coverage_by_memory
from memory.schema.query import around
from memory.text.terms import terms

if TYPE_CHECKING:
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.query import Scope
    from memory.store import Store

IN_COMMON = 0.6
"""
Two memories are similar if this share of what one says is in the other, by the words' weights: of the new one, and on
average of the two.
"""

CANDIDATES = 3
"""Memories compared in both directions: those that hold most of the new one's words."""

CHUNKS = 20
READ = 300  # characters of what a memory says: its first sentences name what it is about
TELLING = 8  # its rarest words, which few chunks hold: that takes a few milliseconds in a store of thousands


def similar(store: Store, memory: Memory) -> Memory | None:
    """The active memory of the same kind and project, or of no project, that says nearly what this one says, if any."""
    scope = around(memory.project)._replace(kinds=frozenset({memory.kind}))
    own = scope._replace(among=frozenset({memory.id}))
    held = {id: share for id, share in _held(store, memory, scope).items() if id != memory.id and share >= IN_COMMON}
    found = store.memories.by_id(list(held)[:CANDIDATES])
    shares = {id: (held[id] + _held(store, other, own).get(memory.id, 0.0)) / 2 for id, other in found.items()}
    best = max(shares, key=lambda one: (shares[one], one), default=None)
    return None if best is None or shares[best] < IN_COMMON else found[best]


def _held(store: Store, memory: Memory, scope: Scope) -> dict[MemoryId, float]:
    """How much of what a memory says each memory in scope holds, 0..1, most first."""
    said = terms(f"{memory.title} {memory.what[:READ]}".replace('"', " "))
    wanted = sorted(store.keywords.weigh(said), key=lambda term: -term.weight)[:TELLING]
    shares = coverage_by_memory(wanted, store.keywords.by_keyword(wanted, scope, CHUNKS))
    return dict(sorted(shares.items(), key=lambda one: -one[1]))
