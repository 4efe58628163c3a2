"""How near entities are to a query if each observation counts by itself, and how near strangers come so."""

from __future__ import annotations

from heapq import nlargest
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.memory import MemoryId
from memory.search.confidence import FEW, Measure
from memory.search.shape import measure
from memory.text.markdown import observations

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.schema.space import Vectors
    from memory.search.search import Evidence


NEAREST = 10
"""Entities whose observations are compared: the local model takes a tenth of a second for short ones of ten, once a process."""

LATEST, LONGEST = 10, 200
"""Observations of one entity that are compared, and characters of each: a person waits for these to be embedded."""


class NeedsVectors(NamedTuple):
    """Observations that have no vector yet, or the query if there are none; a model makes them, outside a snapshot."""

    texts: tuple[str, ...] = ()


def nearness(
    evidence: Evidence, cosines: Mapping[MemoryId, float], vectors: Mapping[str, Vectors]
) -> tuple[Mapping[MemoryId, float], Measure] | NeedsVectors | None:
    """
    For each of the nearest entities the mean of two cosines with the query, that of its passage and that of its nearest
    observation; and what these means are measured by. None if strangers are unknown, a server would be asked, or the
    store is large: there the entity's cosine is enough, and each question would have other observations embedded.

    The passage of several observations is like their mean, so it may be hardly like a question about one of them. And a
    question that is like one observation by chance is not like the others.

    Args:
        cosines: Of entities with the query.
        vectors: Of observations; all that are needed, else the answer is which of them lack one.
    """
    import numpy as np

    store, (generation, query) = evidence.store, evidence.compared
    by, strangers = measure(evidence), store.vectors.strangers(generation)
    if by.strangers is None or strangers is None or by.inside > FEW or not (cosines and evidence.embedders().inside):
        return None
    nearest = nlargest(NEAREST, cosines, key=cosines.__getitem__)
    bodies = store.memories.bodies(nearest)
    facts = {id: [text[:LONGEST] for text in observations(bodies.get(id, ""))[-LATEST:]] for id in nearest}
    if unknown := dict.fromkeys(text for texts in facts.values() for text in texts if text not in vectors):
        return NeedsVectors(tuple(unknown))
    asked, means = np.vstack([query, strangers]), {}
    for id, texts in facts.items():
        found, passages = store.vectors.heads(generation, MemoryId(id - 1), 1)
        if [*found] == [id]:  # not if only a later chunk has a vector yet
            whole = asked @ passages[0]
            means[id] = (whole + np.max([asked @ vectors[text] for text in texts] or [whole], axis=0)) / 2
    if not means:
        return None
    compared = np.stack([*means.values()])[:, 1:]
    known = by.strangers._replace(nearest=tuple(compared.max(axis=0).tolist()), mean=float(compared.mean()))
    by = Measure(known, len(means), by.inside, float((strangers @ query).max()), each=2)
    return {id: float(mean[0]) for id, mean in means.items()}, by
