"""Vectors of entities: which have one, and making them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.graph import given
from memory.operations.graph.rows import Rows
from memory.operations.render import data
from memory.schema.answer import Notice

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.engine import Engine
    from memory.operations.graph.rows import Name, Values

WITHOUT = frozenset({"pending", "failed", "outdated"})


class Embedding:
    """Of `memory.operations.graph.EntityGraph`."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._rows = engine, Rows(engine)

    def generate_embeddings(
        self,
        entity_ids: Sequence[Name] = (),
        force_refresh: bool = False,  # noqa: FBT001, FBT002  # as it is documented
        *,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> Values:
        """
        Embed entities that have no vectors, or none of what they say now (CAP E14).

        Args:
            entity_ids: Names or ids; empty means all.
            force_refresh: Also those that have vectors; until new ones are made, the former answer.
            progress: Told how many chunks of how many are done.

        Raises:
            NotFound, Ambiguous: One of the entities is not there, or could be several.
            EmbedError: The model cannot be used; what was embedded is kept.
            SpaceMismatch: The stored vectors are of another model: `memory reindex` makes all of them anew.
        """
        given.flag("force_refresh", force_refresh)
        graph, chosen = self.engine.graph, given.references("entity_ids", entity_ids)
        entities = {one.id: one for one in (graph.entities(chosen) if chosen else graph.every())}
        before = self._rows.states(list(entities.values()))
        states = WITHOUT | ({"generated"} if force_refresh else set())
        wanted = [id for id, state in before.items() if state in states]
        result = self.engine.vectors.embed(progress, memories=wanted)
        there = list(graph.there(wanted).values())
        after = self.engine.vectors.embeddings(there)
        failed = [one for one in there if after[one.id].state == "failed"]
        untaken = Notice(f"the model did not take {result.failed:,} of the texts: {result.error}")
        return {
            "generated": sum(found.state == "generated" for found in after.values()),
            "failed": [{"id": one.id, "name": one.title, "error": after[one.id].error} for one in failed],
            "unchanged": sum(state == "generated" for state in before.values()) if not force_refresh else 0,
            "excluded": sum(state == "excluded" for state in before.values()),
            "model": result.model or None,
            "notices": data.notices((untaken,) if result.failed else ()),
        }
