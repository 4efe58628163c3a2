"""What reads the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.graph import given
from memory.operations.graph.rows import STATES, Rows, paged, scores, stats
from memory.operations.render import data
from memory.schema.answer import Notice, Outcome, Tier
from memory.schema.errors import Ambiguous, Invalid, NotFound
from memory.schema.limits import clipped_repr
from memory.schema.query import Mode, Query, Scope, check_limit
from memory.search.near import ENTITIES, Wanted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.engine import Engine
    from memory.operations.graph.rows import Name, Values
    from memory.schema.memory import Memory
    from memory.search.near import EntityAnswer, EntityHit
    from memory.store import Relation

RELATIONS = 1000
"""Relations of one answer: an entity may have 10,000."""

FURTHEST = 1_000_000_000  # offset of a page

HALF = 0.5
"""Share of the most similar one's similarity from which another one fits too, if that one does."""


class Finding:
    """Of `memory.operations.graph.EntityGraph`."""

    def __init__(self, engine: Engine) -> None:
        self.engine, self._rows = engine, Rows(engine)

    def open_nodes(self, names: Sequence[Name]) -> Values:
        """Entities by name or id, with their observations and all relations they have; unknown names are reported."""
        wanted = given.references("names", names)
        entities: dict[int, Memory] = {}
        unknown = []
        for name, one in zip(wanted, self.engine.graph.looked_up(wanted), strict=True):
            match one:
                case NotFound():
                    unknown.append(name)
                case Ambiguous():
                    raise one
                case _:
                    entities[one.id] = one
        found = list(entities.values())
        relations = self.engine.graph.relations([one.id for one in found])
        return {
            "entities": self._rows.entities(found),
            **self._most(relations, len(relations)),
            "unknown": unknown,
            "notices": [*self._rows.unknown(unknown), *_cut(relations)],
        }

    def read_graph(self, limit: int = 100, offset: int = 0) -> Values:
        """
        A page of the graph: entities by name, and the relations that begin at one of them. All pages are the graph.

        Raises:
            Invalid: The limit is not 1..10,000, or the offset not 0..1,000,000,000.
        """
        check_limit(limit)
        if isinstance(offset, bool) or not isinstance(offset, int) or not 0 <= offset <= FURTHEST:
            raise Invalid(f"offset is a whole number from 0 to {FURTHEST:,}, not {clipped_repr(offset)}")
        graph, counts = self.engine.graph, self.engine.graph.counts()
        entities = graph.some(offset, limit)
        ids = {one.id for one in entities}
        relations = [one for one in graph.relations(list(ids)) if one.source in ids]
        return {
            "entities": self._rows.entities(entities),
            **self._most(relations, counts.relations),
            "total_entities": counts.entities,
            "offset": offset,
            "notices": _cut(relations),
        }

    def _most(self, relations: Sequence[Relation], total: int) -> Values:
        return {"relations": self._rows.relations(relations[:RELATIONS]), "total_relations": total}

    # Searching -----------------------------------------------------------

    def search_nodes(self, query: str, limit: int | None = None) -> Values:
        """
        Find entities by what is known of them: words first, meaning if they are not enough; with relations among them.

        Raises:
            Invalid: The query is blank or too long, or the limit not 1..10,000.
        """
        settings = self.engine.config
        limit = settings.graph.limit if limit is None else limit
        found = self.engine.search(Query(query, limit, mode=Mode(settings.search.mode), scope=ENTITIES))
        rows = self._rows.entities([hit.memory for hit in found.hits])
        relations = self.engine.graph.relations([hit.memory.id for hit in found.hits], inside=True)
        return {
            "query": query,
            "tier": str(found.tier),
            "outcome": str(found.outcome),
            "worth": found.worth,
            "entities": [row | {"score": round(hit.score, 4)} for row, hit in zip(rows, found.hits, strict=True)],
            "relations": self._rows.relations(relations[:RELATIONS]),
            "notices": [*data.notices(found.notices), *_cut(relations)],
        }

    def search_entities_semantic(
        self,
        query: str,
        limit: int | None = None,
        threshold: float | None = None,
        include_observations: bool = True,  # noqa: FBT001, FBT002  # as it is documented
    ) -> Values:
        """
        Find entities by their meaning (CAP E12).

        Args:
            threshold: Cosine from which an entity is shown, 0..1; None takes that of the settings. Where that is "auto",
                confidence decides: nothing, if nothing seems to fit, else what is at least half as near as the nearest.
            limit: Usually 10.

        Returns:
            With the `outcome` and why (`worth`) where confidence has decided; else None and "".

        Raises:
            Invalid: The query is blank or too long, or a number out of range.
        """
        settings = self.engine.config.graph
        given.flag("include_observations", include_observations)
        query_ = Query(query, settings.limit if limit is None else limit, scope=ENTITIES)
        usual = None if settings.threshold == "auto" else float(settings.threshold)
        least = usual if threshold is None else _cosine(threshold)
        found = self.engine.graph.nearby(Wanted(query_, distance=0, vector_weight=1.0, judged=least is None))
        hits = likely(found) if least is None else alike(found, least)
        rows = self._rows.entities([hit.memory for hit in hits], observations=include_observations)
        values = _found(found, rows, hits, hybrid=False)
        values["notices"] += data.notices(_left_out(found, hits, least))
        said = {"outcome": found.outcome and str(found.outcome), "worth": found.worth}
        return values | said | {"query": query, "threshold": least}

    def search_hybrid(
        self,
        query: str,
        context_nodes: Sequence[Name] = (),
        max_distance: int | None = None,
        vector_weight: float | None = None,
        limit: int | None = None,
        *,
        keyword_weight: float | None = None,
    ) -> Values:
        """
        Find entities by their meaning and by how near they are to others (CAP E13, E17).

        Args:
            context_nodes: Names or ids of what it should be near to; without any, nothing is near.
            max_distance: Relations that count as near at most, 0..10; usually 3.
            vector_weight: 0.0 is the graph alone, 1.0 the meaning alone; usually 0.5.
            limit: Usually 10.
            keyword_weight: Share of keywords, 0..1; usually 0 (CAP X47).

        Raises:
            NotFound, Ambiguous: One of the context is not there, or could be several.
            Invalid: The query is blank or too long, or a number out of range.
        """
        settings = self.engine.config.graph
        around = self.engine.graph.entities(given.references("context_nodes", context_nodes))
        wanted = Wanted(
            Query(query, settings.limit if limit is None else limit, scope=ENTITIES),
            tuple(dict.fromkeys(one.id for one in around)),
            settings.distance if max_distance is None else max_distance,
            settings.vector_weight if vector_weight is None else vector_weight,
            settings.keyword_weight if keyword_weight is None else keyword_weight,
        )
        found = self.engine.graph.nearby(wanted)
        rows = self._rows.entities([hit.memory for hit in found.hits])
        context = [one.title for one in around]
        return _found(found, rows, found.hits, hybrid=True) | {"query": query, "context_nodes": context}

    def search_near(self, query: str, entity: Name, max_distance: int = 1, limit: int | None = None) -> Values:
        """
        Find memories that are about an entity or one near it, and these entities.

        Args:
            max_distance: Relations away at most, 0..10.

        Raises:
            NotFound, Ambiguous: The entity is not there, or could be several.
            Invalid: The query is blank or too long, or a number out of range.
        """
        settings, near = self.engine.config, self.engine.graph.entity(entity)
        among = self.engine.graph.near([near.id], max_distance)
        limit = settings.search.limit if limit is None else limit
        found = data.answer(
            self.engine.search(Query(query, limit, mode=Mode(settings.search.mode), scope=Scope(among=among)))
        )
        said = {name: found[name] for name in ("query", "tier", "outcome", "worth", "hits", "notices")}
        return {"entity": near.title, "max_distance": max_distance, "near": len(among), **said}

    # Reading -------------------------------------------------------------

    def find_path(self, source: Name, target: Name) -> Values:
        """
        A shortest path between two entities, whichever way its relations point; `found` is false beyond ten of them.

        Raises:
            NotFound, Ambiguous: One of the entities is not there, or could be several.
        """
        ends = self.engine.graph.entities([source, target])
        path = self.engine.graph.path(ends[0].id, ends[1].id)
        names = [ends[0].title]
        rows = self._rows.relations(path or ())
        for row in rows:
            names.append(row["to"] if row["from"] == names[-1] else row["from"])
        return {
            "source": ends[0].title,
            "target": ends[1].title,
            "found": path is not None,
            "length": None if path is None else len(path),
            "path": [] if path is None else names,
            "relations": rows,
            "notices": [],
        }

    def entity_memories(self, entity: Name, limit: int = 20) -> Values:
        """
        The memories that are about an entity, last changed first.

        Raises:
            NotFound, Ambiguous: The entity is not there, or could be several.
            Invalid: The limit is not 1..10,000.
        """
        check_limit(limit)
        found = self.engine.graph.entity(entity)
        linked = self.engine.graph.there(link.memory for link in self.engine.graph.attached([found.id]))
        latest = sorted(linked.values(), key=lambda one: (one.updated_at, one.id), reverse=True)
        rows = [data.pointer(memory) for memory in latest[:limit]]
        return {"entity": found.title, "memories": rows, "total_memories": len(linked), "notices": []}

    def get_stats(self) -> Values:
        """How much there is in the graph, and of how many entities the meaning can be searched."""
        observations, states = 0, dict.fromkeys(STATES, 0)
        for page in paged(self.engine.graph.every()):
            observations += sum(map(len, self.engine.graph.known(page).values()))
            for state in self._rows.states(page).values():
                states[state] += 1
        return stats(self.engine.graph.counts(), observations, states) | {"notices": []}


def _cosine(threshold: float) -> float:
    """
    Raises:
        Invalid: It is none from 0 to 1.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise Invalid(f"threshold is a cosine, 0..1, not {threshold!r}", hint="Without one, confidence decides.")
    return threshold


def likely(found: EntityAnswer) -> tuple[EntityHit, ...]:
    """Nothing if nothing seems to fit; else those that are at least half as near as the nearest. See docs/decisions/0016."""
    if found.outcome is Outcome.NOTHING_RELEVANT:
        return ()
    best = max((hit.score for hit in found.hits), default=0.0)
    return tuple(hit for hit in found.hits if hit.score >= HALF * best)


def alike(found: EntityAnswer, least: float) -> tuple[EntityHit, ...]:
    """Those whose cosine is at least so much; what nobody compared stays."""
    return tuple(hit for hit in found.hits if hit.cosine is None or hit.cosine >= least)


def _left_out(found: EntityAnswer, hits: Sequence[EntityHit], least: float | None) -> tuple[Notice, ...]:
    """What to say where a threshold decided otherwise than it seems, or left nothing."""
    if least is not None and found.tier is Tier.KEYWORD and found.hits:
        return (Notice("the threshold leaves nothing out: no cosine is known"),)
    if hits or not found.hits:
        return ()
    if least is None:
        return (
            Notice(f"nothing that is known seems to fit: {found.worth}", "A threshold, e.g. 0, shows the nearest."),
        )
    nearest = max(hit.cosine or 0.0 for hit in found.hits)
    return (Notice(f"no entity reaches the threshold of {least}: the nearest has a cosine of {nearest:.2f}"),)


def _found(found: EntityAnswer, rows: Sequence[Values], hits: Sequence[EntityHit], *, hybrid: bool) -> Values:
    scored = [row | scores(hit, hybrid=hybrid) for row, hit in zip(rows, hits, strict=True)]
    return {"tier": str(found.tier), "entities": scored, "notices": data.notices(found.notices)}


def _cut(relations: Sequence[Relation]) -> list[dict[str, str]]:
    """What to say of relations that are left out."""
    more = len(relations) - RELATIONS
    said = Notice(f"{more:,} more relations are left out", "`memory graph export` has all of them.")
    return data.notices((said,) if more > 0 else ())
