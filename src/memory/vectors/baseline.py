"""Strangers embedded in the space of a generation, once, and compared with it anew when that is due."""

from __future__ import annotations

import os
import sys
import threading
from typing import TYPE_CHECKING
from zlib import crc32

from memory.schema.answer import Notice
from memory.schema.arrays import np
from memory.schema.errors import EmbedError
from memory.store import Generation, State, Store
from memory.store.narrow import rounded
from memory.vectors import BACKFILL, EMBED, FINGERPRINT_TEXT, PROBE, Embedder, Role, exchanged, purpose, space
from memory.vectors.backfill import IN_PASSING
from memory.vectors.baseline_questions import ANSWERS, STRANGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.carry.export import StrangersLine
    from memory.schema.space import Strangers, Vectors
    from memory.vectors.registry import Embedders

LEAST = 1
"""Vectors from which strangers are embedded: how near they come to three tells what the nearest of three cannot."""

LOOSE_SHARE = 10
"""When a tenth of the strangers may be noted as nearer than they are, they are compared with all vectors again."""

_AT_ONCE = threading.Lock()
"""Two threads that find strangers due embed them once. Two processes may both; that costs no more than the texts."""

if sys.platform != "win32":  # a forked child has no thread that would release it
    os.register_at_fork(after_in_child=lambda: globals().update(_AT_ONCE=threading.Lock()))

STAMP = crc32("\n".join((*STRANGERS, *ANSWERS, *ANSWERS.values())).encode())
"""Of the texts: a version with others embeds them again."""


def due(store: Store, generation: Generation | None) -> bool:
    """Whether a generation lacks strangers, has former ones, or has lost many vectors that were the nearest."""
    if generation is None:
        return False
    if (known := generation.strangers) is not None:
        return known.stamp != STAMP or known.loose * LOOSE_SHARE >= len(known.nearest)
    return store.generations.centre(generation.id)[1] >= LEAST


def acquaint(
    store: Store,
    embedders: Embedders,
    *,
    asked: bool = False,
    building: int | None = None,
    going: Callable[[], bool] = lambda: True,
) -> None:
    """
    Embed strangers for the active generation if they are due; if only vectors have gone, compare them anew. Former ones
    serve until that is done; if it is stopped, the next call embeds them again.

    Args:
        asked: A person waits for what is embedded.
        building: A generation of the configured model, in place of the active one.
        going: Whether to continue; asked before each batch of a model in this process, whose program may be about to end.

    Raises:
        EmbedError: The model fails. Nothing is written.
    """
    with _AT_ONCE:
        if due(store, _generation(store, building)) and not _kept(store, building):
            _embed(store, embedders, asked=asked, building=building, going=going)


def _generation(store: Store, building: int | None) -> Generation | None:
    if building is None:
        return store.generations.active()
    return next((one for one in store.generations.every() if one.id == building), None)


def _kept(store: Store, building: int | None) -> bool:
    """Whether strangers of these texts are kept; if so, compare them with all vectors, to the end if that was stopped."""
    generation = _generation(store, building)
    if generation is None or not _ours(generation.strangers) or not store.vectors.set_strangers(generation.id, None):
        return False
    now = _generation(store, generation.id)
    return now is not None and _ours(now.strangers)


def _ours(known: Strangers | None) -> bool:
    """Whether strangers may be of these texts; those that are not known yet may."""
    return known is None or known.stamp == STAMP


def _embed(store: Store, embedders: Embedders, *, asked: bool, building: int | None, going: Callable[[], bool]) -> None:
    if building is None:
        generation, embedder = embedders.answering()
        building = generation.id
    else:
        embedder = embedders.configured()
    with purpose((EMBED if asked else BACKFILL)._replace(name=PROBE.name)):
        size = IN_PASSING if embedders.local else len(STRANGERS)  # a server is asked once for all
        vectors = _embedded(embedder, STRANGERS, "query", size, going)
        answers = _embedded(embedder, tuple(ANSWERS.values()), "passage", size, going)
    embedders.write()
    if vectors is None or answers is None:
        return
    questions = vectors[[STRANGERS.index(question) for question in ANSWERS]]
    cosines = sorted((questions * answers).sum(axis=1).tolist())
    if due(store, _generation(store, building)):  # another process may have been faster
        store.vectors.set_strangers(building, rounded(vectors), right=cosines[len(cosines) // 2], stamp=STAMP)


def _embedded(
    embedder: Embedder, texts: Sequence[str], role: Role, size: int, going: Callable[[], bool]
) -> Vectors | None:
    """Vectors of texts, so many at once; None if there is no going on."""
    parts = []
    for first in range(0, len(texts), size):
        if not going():
            return None
        parts.append(embedder.embed(texts[first : first + size], role))
    return np.concatenate(parts)


# Carried over --------------------------------------------------------------------


def take_strangers(store: Store, embedders: Embedders, line: StrangersLine) -> Notice | None:
    """
    Judge by strangers that another store exported, if they are of the model that answers here and there are none yet.

    A store in which nothing is embedded begins with them, if its model runs in this process. No server is asked.

    Returns:
        Why they cannot be used, if so. Where there are some of the same texts and model, they are not needed.
    """
    vectors = np.frombuffer(line.embeddings, "<f4").reshape(-1, line.space.dimension)
    if line.stamp != STAMP or len(vectors) != len(STRANGERS):
        return _left_out("another version of memory has other ones")
    try:
        generation = store.generations.active() or _begun(store, embedders, line)
    except EmbedError as error:
        return _left_out(str(error))
    if generation is None:
        return _left_out(f"they are of {line.space}, and nothing is embedded here with that")
    if why := _misfit(generation, line):
        return _left_out(why)
    if generation.strangers is None or generation.strangers.stamp != STAMP:
        store.vectors.set_strangers(generation.id, vectors, right=line.right, stamp=line.stamp)
    return None


def _misfit(generation: Generation, line: StrangersLine) -> str:
    """Why strangers say nothing of the vectors of a generation; empty if they do."""
    if generation.space != line.space:
        return f"they are of {line.space}, and here answers {generation.space}"
    if generation.fingerprint and _exchanged(line, np.frombuffer(generation.fingerprint, "<f4")):
        return f"they are of another model under the same name, {line.space}"
    return ""


def _begun(store: Store, embedders: Embedders, line: StrangersLine) -> Generation | None:
    """A generation for the model in this process, if the strangers are of that; None if not."""
    if not (embedders.enabled and embedders.inside):
        return None
    embedder = embedders.configured()
    with purpose(PROBE):
        if space(embedder) != line.space:
            return None
        if line.fingerprint and _exchanged(line, embedder.embed([FINGERPRINT_TEXT], "passage")[0]):
            return None
    return store.generations.begin(line.space, embedders.now())


def _exchanged(line: StrangersLine, fingerprint: Vectors) -> bool:
    """Whether the strangers are of another model than one with this fingerprint; not if theirs is not known."""
    return exchanged(Generation(0, line.space, State.RETIRED, line.fingerprint), fingerprint)


def _left_out(why: str) -> Notice:
    hint = f"`memory embed` embeds them with the model that answers here: {len(STRANGERS) + len(ANSWERS)} short texts."
    return Notice(f"the strangers of the export are not used: {why}", hint)
