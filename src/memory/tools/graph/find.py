"""What reads the graph: searches, pages, numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.engine.graph import ENTITIES, EntityAnswer, EntityHit, NearQuery
from memory.schema.answer import Hit, Notice, Outcome, Tier
from memory.schema.errors import Invalid, checked_whole
from memory.schema.query import MOST, Mode, Query, check_limit
from memory.tools.arguments import Parameter, brief
from memory.tools.graph import rows
from memory.tools.graph.declare import PAGE, QUERY, GraphTools, command, distance, limit, reading
from memory.tools.graph.relate import relation_rows
from memory.tools.graph.rows import Name, Values, entity_rows
from memory.tools.operation import Given, Option
from memory.tools.render import data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.engine import Engine
    from memory.engine.graph import Relation

RELATIONS = 1000
"""Relations of one answer: an entity may have 10,000."""

FURTHEST = 1_000_000_000  # offset of a page

HALF = 0.5
"""If the best fits, so do those with at least this share of its similarity."""


@reading("Search entities", "query tier outcome worth entities:found relations:relations", QUERY, limit(10))
def search_nodes(self: GraphTools, query: str, limit: int | None = None) -> Values:
    """Find entities by name, type or observations, and their relations: by words, then by meaning."""
    engine, settings = self.engine, self.engine.config
    limit = settings.graph.limit if limit is None else limit
    found = engine.search(Query(query, limit, mode=Mode(settings.search.mode), scope=ENTITIES))
    relations = engine.graph.relations([hit.memory.id for hit in found.hits], inside=True)
    return {
        **data.row(found, "query=query.text tier outcome worth"),
        "entities": _scored(engine, found.hits, "score:real4"),
        "relations": relation_rows(engine, relations[:RELATIONS]),
        "notices": [*data.notices(found.notices), *_cut(relations)],
    }


@command(
    "search",
    Option("TEXT..."),
    Option("--near NAME", "An entity it should be near; may be repeated.", several=True),
    Option("--distance N", "How many relations away still counts as near; 3 by default.", takes=(0, 10)),
    Option("--vector-weight W", "0 is the graph alone, 1 is meaning alone.", takes=float),
    Option("--keyword-weight W", "Weight of words in the score.", takes=float),
    Option("-n --limit N", "Maximum results; by default the setting graph.limit.", takes=(1, MOST)),
)
def search(graph: GraphTools, a: Given) -> Values:
    """
    Find entities by words, and by meaning where words are not enough.

    With --near, --distance or a weight, it always searches by meaning, and counts how many relations away the named
    entities are.

    \b
        memory graph search "where do sessions live"
        memory graph search "cache" --near checkout-api
    """
    words, weights = " ".join(a["text"]), {name: a[name] for name in ("vector_weight", "keyword_weight")}
    if a["near"] or a["distance"] is not None or any(weight is not None for weight in weights.values()):
        return search_hybrid(graph, words, a["near"], a["distance"], limit=a["limit"], **weights)
    return search_nodes(graph, words, a["limit"])


@reading(
    "Search entities by meaning",
    "query tier threshold:real? outcome:text? worth entities:alike",
    QUERY,
    limit(10),
    brief("threshold", "number", "Minimum cosine, 0 to 1; without one, what likely fits is shown, if anything."),
    brief("include_observations", "boolean", "Show their observations; default true."),
)
def search_entities_semantic(
    self: GraphTools,
    query: str,
    limit: int | None = None,
    threshold: float | None = None,
    include_observations: bool = True,  # noqa: FBT001, FBT002  # as it is documented
) -> Values:
    """
    Find entities by meaning, whatever their words.

    Args:
        threshold: Minimum cosine of a result, 0..1; None takes the setting. If that is "auto", confidence decides:
            no results if nothing seems to fit, else those at least half as similar as the best.
        limit: Usually 10.

    Returns:
        `outcome` and its reason, `worth`, if confidence decided; else None and "".
    """
    settings = self.engine.config.graph
    rows.check_flag("include_observations", include_observations)
    query_ = Query(query, settings.limit if limit is None else limit, scope=ENTITIES)
    usual = None if settings.threshold == "auto" else float(settings.threshold)
    least = usual if threshold is None else _cosine(threshold)
    found = self.engine.graph.nearby(NearQuery(query_, distance=0, vector_weight=1.0, judged=least is None))
    hits, notices = _fitting(found, least)
    return {
        "tier": str(found.tier),
        "entities": _scored(
            self.engine, hits, "score:real4 similarity=cosine:real4", observations=include_observations
        ),
        "notices": data.notices((*found.notices, *notices)),
        **data.row(found, "outcome:text? worth"),
        "query": query,
        "threshold": least,
    }


@reading(
    "Search near entities",
    "query tier context_nodes:texts entities:near",
    QUERY,
    brief("context_nodes", "ids", "Names or ids of the entities at hand; without any, nothing is near."),
    distance(3),
    brief("vector_weight", "number", "0 is the graph alone, 1 is meaning alone; usually 0.5."),
    limit(10),
    Parameter("keyword_weight", "number", "Share of words in the score, 0 to 1; usually 0.", hidden=True),
)
def search_hybrid(  # noqa: PLR0917  # as it is documented
    self: GraphTools,
    query: str,
    context_nodes: Sequence[Name] = (),
    max_distance: int | None = None,
    vector_weight: float | None = None,
    limit: int | None = None,
    *,
    keyword_weight: float | None = None,
) -> Values:
    """
    Find entities by meaning and nearness to those you work with, `context_nodes`.

    Args:
        context_nodes: Names or ids of the entities to be near to; without any, nothing is near.
        max_distance: How many relations count as near, 0..10; usually 3.
        vector_weight: 0.0 is the graph alone, 1.0 is meaning alone; usually 0.5.
        limit: Usually 10.
        keyword_weight: Share of keywords in the score, 0..1; usually 0.
    """
    settings = self.engine.config.graph
    around = self.engine.graph.entities(rows.references("context_nodes", context_nodes))
    wanted = NearQuery(
        Query(query, settings.limit if limit is None else limit, scope=ENTITIES),
        tuple(dict.fromkeys(one.id for one in around)),
        3 if max_distance is None else max_distance,
        settings.vector_weight if vector_weight is None else vector_weight,
        0.0 if keyword_weight is None else keyword_weight,
    )
    found = self.engine.graph.nearby(wanted)
    scores = "score:real4 similarity=cosine:real4 distance:number keyword:real4"
    return {
        "tier": str(found.tier),
        "entities": _scored(self.engine, found.hits, scores),
        "notices": data.notices(found.notices),
        "query": query,
        "context_nodes": [one.title for one in around],
    }


def _scored(engine: Engine, hits: Sequence[Hit | EntityHit], scores: str, *, observations: bool = True) -> list[Values]:
    """The rows of found entities, each with its scores: fields of the hit, rounded to four digits."""
    named = entity_rows(engine, [hit.memory for hit in hits], observations=observations)
    return [row | data.row(hit, scores) for row, hit in zip(named, hits, strict=True)]


def _cosine(threshold: float) -> float:
    """
    Raises:
        Invalid: It is none from 0 to 1.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise Invalid(f"threshold is a cosine, 0..1, not {threshold!r}", hint="Leave it out to make it automatic.")
    return threshold


def _fitting(found: EntityAnswer, least: float | None) -> tuple[tuple[EntityHit, ...], tuple[Notice, ...]]:
    """
    The hits that fit, and a notice if a threshold has no effect, or nothing is left.

    Args:
        least: The least cosine; entities that were not compared stay. With None confidence decides: nothing if nothing
            seems to fit, else those at least half as similar as the best. See docs/decisions/graph.md.
    """
    if least is None:
        fits = found.outcome is not Outcome.NOTHING_RELEVANT
        best = max((hit.fit for hit in found.hits), default=0.0)
        hits = tuple(hit for hit in found.hits if fits and hit.fit >= min(best, HALF * best))
        said = Notice("nothing saved fits this", "threshold=0 shows the nearest.")
    elif found.tier is Tier.KEYWORD and found.hits:
        return found.hits, (Notice("the threshold has no effect: there are no vectors"),)
    else:
        hits = tuple(hit for hit in found.hits if hit.cosine is None or hit.cosine >= least)
        nearest = max((hit.cosine or 0.0 for hit in found.hits), default=0.0)
        said = Notice(f"no entity reaches the threshold of {least}: the nearest has a cosine of {nearest:.2f}")
    return hits, (said,) if found.hits and not hits else ()


# Reading -----------------------------------------------------------------


@reading(
    "Read entities",
    "entities:known relations:relations total_relations:number unknown:references",
    brief("names", "ids", "Names or ids.", required=True),
)
def open_nodes(self: GraphTools, names: Sequence[Name]) -> Values:
    """Read entities by name, with all observations and relations."""
    named, unknown = rows.looked_up(self.engine, names)
    entities = [one for _, one in named]
    relations = self.engine.graph.relations([one.id for one in entities])
    return {
        "entities": entity_rows(self.engine, entities),
        "relations": relation_rows(self.engine, relations[:RELATIONS]),
        "total_relations": len(relations),
        "unknown": unknown,
        "notices": [*rows.unknown(self.engine, unknown), *_cut(relations)],
    }


@reading(
    "Read the graph",
    "entities:known relations:relations total_entities:number total_relations:number offset:number",
    limit(100, 1000),
    brief("offset", "integer", "Entities to skip.", low=0, high=FURTHEST),
)
def read_graph(self: GraphTools, limit: int = 100, offset: int = 0) -> Values:
    """
    Read everything, a page at a time. Search if you know what you look for.

    Entities are sorted by name. Each page has the relations that begin at one of its entities, so that all pages
    together are the graph.

    Args:
        limit: Entities of a page, 1..10,000.
        offset: Entities to skip, 0..1,000,000,000.
    """
    check_limit(limit)
    checked_whole(offset, 0, FURTHEST, f"offset is a whole number from 0 to {FURTHEST:,}")
    counts = self.engine.store.graph.counts()
    entities = self.engine.graph.some(offset, limit)
    ids = {one.id for one in entities}
    relations = [one for one in self.engine.graph.relations(list(ids)) if one.source in ids]
    return {
        "entities": entity_rows(self.engine, entities),
        "relations": relation_rows(self.engine, relations[:RELATIONS]),
        "total_relations": counts.relations,
        "total_entities": counts.entities,
        "offset": offset,
        "notices": _cut(relations),
    }


@command("show [NAME]", PAGE, Option("--offset N", "Entities to skip.", takes=(0, None)))
def show(graph: GraphTools, a: Given) -> Values:
    """
    Show an entity with its relations, or list all entities. The list comes a page at a time.

    \b
        memory graph show Redis
        memory graph show --limit 50 --offset 50
    """
    if a["name"] is None:
        return read_graph(graph, a["limit"], a["offset"] or 0)
    return open_nodes(graph, [graph.engine.graph.entity(a["name"]).id])


def _cut(relations: Sequence[Relation]) -> list[dict[str, str]]:
    """A notice if relations are left out."""
    more = len(relations) - RELATIONS
    said = Notice(f"{more:,} more relations are left out", "`memory graph export` has all of them.")
    return data.notices((said,) if more > 0 else ())


@reading(
    "Count the graph",
    "total_entities:number total_relations:number total_observations:number linked_memories:number "
    "isolated_entities:number entity_types:object relation_types:object embedding_status:object",
)
def get_stats(self: GraphTools) -> Values:
    """How much is in the graph, by type."""
    observations, states, counts = 0, dict.fromkeys(rows.STATES, 0), self.engine.store.graph.counts()
    for page in rows.paged(self.engine.graph.every()):
        observations += sum(map(len, self.engine.graph.known(page).values()))
        for state in rows.states(self.engine, page).values():
            states[state] += 1
    return {
        **data.row(counts, "total_entities=entities:number total_relations=relations:number"),
        "total_observations": observations,
        **data.row(counts, "linked_memories=attached:number isolated_entities=isolated:number"),
        **data.row(counts, "entity_types=categories:object relation_types=types:object"),
        "embedding_status": states,
        "notices": [],
    }


@command("stats")
def stats(graph: GraphTools, _: Given) -> Values:
    """
    Count entities and relations by type. It also says how many entities can be found by meaning.

    \b
        memory graph stats
    """
    return get_stats(graph)
