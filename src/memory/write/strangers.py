"""Strangers embedded in the space of a generation, once, and compared with it anew when that is due."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from zlib import crc32

from memory.embed import BACKFILL, EMBED, PROBE, purpose
from memory.rank.strangers import ANSWERS, STRANGERS
from memory.store import Store, active
from memory.write.backfill import told

if TYPE_CHECKING:
    from memory.embed.registry import Embedders
    from memory.schema.space import Strangers

LEAST = 10
"""Vectors from which strangers are worth embedding: how near they come to fewer says little."""

LOOSE_SHARE = 10
"""When a tenth of the strangers may be noted as nearer than they are, they are compared with all vectors again."""

_AT_ONCE = threading.Lock()
"""Two threads that find strangers due embed them once. Two processes may both; that costs no more than the texts."""

STAMP = crc32("\n".join((*STRANGERS, *ANSWERS, *ANSWERS.values())).encode())
"""Of the texts: a version with others embeds them again."""


def due(store: Store) -> bool:
    """Whether the active generation lacks strangers, has former ones, or has lost many vectors that were the nearest."""
    generation = active(store.generations.every())
    if generation is None:
        return False
    if (known := generation.strangers) is not None:
        return known.stamp != STAMP or _loose(known)
    return store.vectors.centre(generation.id)[1] >= LEAST


def acquaint(store: Store, embedders: Embedders, *, asked: bool = False) -> None:
    """
    Embed strangers for the active generation if they are due; if only vectors have gone, compare them anew.

    If the model fails, nothing is written, and the log says why.

    Args:
        asked: A person waits for what is embedded.
    """
    with told("compared with strangers"), _AT_ONCE:
        if due(store) and not _kept(store):
            _embed(store, embedders, asked=asked)


def _kept(store: Store) -> bool:
    """Whether strangers of these texts are kept; if so, compare them with all vectors, to the end if that was stopped."""
    generation = active(store.generations.every())
    if generation is None or not _ours(generation.strangers) or not store.vectors.set_strangers(generation.id, None):
        return False
    return any(one.id == generation.id and _ours(one.strangers) for one in store.generations.every())


def _ours(known: Strangers | None) -> bool:
    """Whether strangers may be of these texts; those that are not known yet may."""
    return known is None or known.stamp == STAMP


def _embed(store: Store, embedders: Embedders, *, asked: bool) -> None:
    generation, embedder = embedders.answering()
    with purpose((EMBED if asked else BACKFILL)._replace(name=PROBE.name)):
        vectors = embedder.embed(STRANGERS, "query")
        answers = embedder.embed(tuple(ANSWERS.values()), "passage")
    embedders.write()
    questions = vectors[[STRANGERS.index(question) for question in ANSWERS]]
    cosines = sorted((questions * answers).sum(axis=1).tolist())
    if due(store):  # another process may have been faster
        store.vectors.set_strangers(generation.id, vectors, right=cosines[len(cosines) // 2], stamp=STAMP)


def _loose(known: Strangers) -> bool:
    return known.loose * LOOSE_SHARE >= len(known.nearest)
