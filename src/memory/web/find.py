"""
Find: search as you type, narrowed by what memories are of; all of it in the address.

What a list can be narrowed to, and how many memories that leaves, is counted after the list, which does not wait for it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.answer import Answer, Hit, Outcome
from memory.schema.errors import Invalid
from memory.schema.kinds import kind
from memory.schema.memory import Standing
from memory.schema.query import EVERYTHING, FILTERS, Mode, Query, Scope
from memory.tools.render.text import counted, duration
from memory.vectors.providers import SERVERS
from memory.web.site import Visit, plain, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.schema.memory import Memory
    from memory.schema.query import Term

SHOWN = 20  # memories at first
MOST = 200


class Results(NamedTuple):
    """
    Attributes:
        answer: None if nothing was looked for: then these are the last changed.
        more: Whether a longer list would have more.
        total: How many memories there are with these filters.
    """

    memories: Sequence[Memory]
    answer: Answer | None
    more: bool
    total: int


def found(engine: Engine, text: str, among: Scope, limit: int, *, typing: bool, newest: bool = False) -> Results:
    """
    What fits a text, or what changed last.

    Args:
        typing: The text may go on: no server is asked for what it means, which costs time and perhaps money,
            and it is not counted among the searches.
        newest: Hits are in the order of their last change, not of relevance.
    """
    total = engine.store.memories.count(among)
    if not text:
        return Results(engine.documents.recent(among, limit), None, total > limit, total)
    config = engine.config
    mode = Mode.KEYWORD if typing and config.embedding.provider in SERVERS else Mode(config.search.mode)
    answer = engine.search(Query(text, limit, mode=mode, scope=among), recorded=not typing)
    if newest:
        answer = answer._replace(hits=tuple(sorted(answer.hits, key=lambda hit: hit.memory.updated_at, reverse=True)))
    return Results([hit.memory for hit in answer.hits], answer, answer.found == limit < MOST, total)


def page(visit: Visit) -> Response:
    """The page, or, while somebody types, the list alone."""
    text, among = visit.asked("q"), scope(visit)
    limit = whole(visit.asked("n") or str(SHOWN), "no number of memories", 1, MOST, hint=f"It is 1 to {MOST}.")
    order = visit.asked("sort") or RELEVANCE
    if order not in SORTS:
        raise Invalid(f"there is no order {order[:20]!r}", hint=f"There are: {', '.join(SORTS)}.")
    with visit.engine as engine:
        shown = found(engine, text, among, limit, typing=visit.part, newest=order != RELEVANCE)
        empty = not shown.total and not engine.documents.recent(EVERYTHING, 1)
    values: dict[str, Any] = {
        "text": text,
        "found": shown,
        "filters": [(name, value) for name in SETS for value in visit.query.get(name, ()) if value],
        "facets": visit.link("/facets", q=None, n=None),
        "more": visit.link("/", n=min(limit * 3, MOST)) if shown.more else "",
        "doubt": SAID[shown.answer.outcome] if shown.answer else "",
        "empty": empty,
        "order": order,
        "sorts": SORTS,
        "excerpts": [excerpt(_passage(hit), shown.answer.terms) for hit in shown.answer.hits] if shown.answer else [],
        "evidence": [evidence(hit) for hit in shown.answer.hits] if shown.answer else [],
        "why": explained(shown.answer) if shown.answer else None,
    }
    if not visit.part:
        return visit.page("find.html", **values)
    response = visit.page("found.html", **values)
    response.headers["HX-Replace-Url"] = visit.link("/")
    return response


RELEVANCE = "relevance"
SORTS = {RELEVANCE: "by relevance", "newest": "newest first"}
"""In what order hits are shown, and how that is called."""


# What a hit says --------------------------------------------------------------------

LONG, BEFORE = 320, 80  # characters of an excerpt, and of it before the first word that was looked for


class ExcerptPart(NamedTuple):
    """Words of an excerpt, and whether they were looked for."""

    text: str
    sought: bool


def _passage(hit: Hit) -> str:
    if hit.chunk.start < hit.chunk.stop:
        return hit.text
    return hit.memory.what if hit.memory.title else ""  # its title says it


def excerpt(text: str, terms: Sequence[Term]) -> list[ExcerptPart]:
    """What of a passage is around the first word that was looked for, without the signs of Markdown."""
    text = plain(text)
    words = [re.escape(term.text) for term in sorted(terms, key=lambda term: -len(term.text))]
    wanted = re.compile(rf"\b(?:{'|'.join(words)})\w*" if words else r"(?!)", re.IGNORECASE)
    first = wanted.search(text)
    start = (
        text.rfind(" ", 0, first.start() - BEFORE) + 1 if first and first.start() > BEFORE and len(text) > LONG else 0
    )
    stop = len(text) if len(text) - start <= LONG else text.rfind(" ", start, start + LONG)
    shown = text[start : stop if stop > start else start + LONG]
    pieces, at = [ExcerptPart("… ", sought=False)] * bool(start), 0
    for place in wanted.finditer(shown):
        pieces += [ExcerptPart(shown[at : place.start()], sought=False), ExcerptPart(place[0], sought=True)]
        at = place.end()
    end = " …" if start + len(shown) < len(text) else ""
    return [piece for piece in (*pieces, ExcerptPart(shown[at:] + end, sought=False)) if piece.text]


# Why it was found ---------------------------------------------------------------

WIDE = 320  # units of a picture's width


class Bar(NamedTuple):
    """
    One line of a picture.

    Attributes:
        start, width: 0..`WIDE`.
        text: The value in words, which the picture only repeats.
    """

    name: str
    start: float
    width: float
    text: str


class Why(NamedTuple):
    """
    Attributes:
        gate: What the gate said of the words, and whether they were enough; empty if there was no gate.
        steps: One after the other, so that together they are the whole time.
    """

    words: list[Bar]
    gate: str
    steps: list[Bar]
    worth: str


SAID = {
    Outcome.ANSWERED: "",
    Outcome.WEAK: "possible matches",
    Outcome.NOTHING_RELEVANT: "nothing saved fits this; closest",
    Outcome.NOTHING_SAVED: "nothing is saved",
    Outcome.DEGRADED: "better ones may be missing",
}
"""How far to trust an answer."""


def explained(found: Answer) -> Why:
    """What `memory search --explain` says, to be drawn."""
    heaviest = max((term.weight for term in found.terms), default=1.0) or 1.0
    words = [
        Bar(
            f"{term.text}…" if term.prefix else term.text,
            0.0,
            WIDE * term.weight / heaviest,
            f"weight {term.weight:.2f}, in {counted(term.rows, 'chunk')}"
            + (", too common to read" if term.cut else ""),
        )
        for term in found.terms
    ]
    enough = "enough" if found.verdict and found.verdict.enough else "not enough"
    gate = f"Words are {enough}: {found.verdict.why}." if found.verdict else ""
    return Why(words, gate, _steps(found), found.worth)


def _steps(found: Answer) -> list[Bar]:
    whole, at, bars = found.seconds or 1.0, 0.0, []
    for step in found.steps:
        width = WIDE * step.seconds / whole
        words = [duration(step.seconds), f"{step.found:,} found", step.note]
        bars.append(Bar(step.name, at, max(width, 1.0), ", ".join(filter(None, words))))
        at += width
    return bars


def evidence(hit: Hit) -> list[Bar]:
    """What one hit was found by."""
    ranks = dict(hit.ranks)
    bars = [
        ("relevance", hit.relevance, f"{hit.relevance:.3f}"),
        ("words", hit.coverage, f"{hit.coverage:.0%} of the query" + _rank(ranks, "keyword")),
    ]
    if hit.cosine is not None:
        bars.append(("meaning", hit.cosine, f"cosine {hit.cosine:.3f}" + _rank(ranks, "vector")))
    others = [f"{name} #{rank}" for name, rank in hit.ranks if name not in ("keyword", "vector")]
    found = [Bar(name, 0.0, WIDE * min(max(value, 0.0), 1.0), text) for name, value, text in bars]
    return found + [Bar("also by", 0.0, 0.0, ", ".join(others))] * bool(others)


def _rank(ranks: dict[str, int], name: str) -> str:
    return f", #{ranks[name]} by {'words' if name == 'keyword' else 'meaning'}" if name in ranks else ""


# What it can be narrowed to -----------------------------------------------------

FIRST_VALUES = 7  # values at first
MOST_VALUES = 60
NAME, KEPT = "facets", 200
COLUMNS = {field: column for column, field in FILTERS.items()}


class Value(NamedTuple):
    """
    Attributes:
        memories: That have it, if it alone of its kind were chosen.
    """

    name: str
    memories: int
    chosen: bool


class Facet(NamedTuple):
    """
    Attributes:
        name: In the address.
        more: Values that are shown on demand.
        others: How many more there are.
    """

    name: str
    values: Sequence[Value]
    more: Sequence[Value]
    others: int


def facet(engine: Engine, name: str, among: Scope, chosen: Sequence[str]) -> Facet:
    """The values of one kind, as if none of it were chosen; but tags, of which a memory needs all, as they are."""
    field = SETS[name]
    memories = engine.store.memories
    counts = memories.tags(among) if field == "tags" else memories.values(COLUMNS[field], wider(among, field))
    known = dict(counts)
    values = [Value(value, known.get(value, 0), chosen=True) for value in chosen]
    values += [Value(value, count, chosen=False) for value, count in counts if value not in chosen]
    return Facet(name, values[:FIRST_VALUES], values[FIRST_VALUES:MOST_VALUES], max(len(values) - MOST_VALUES, 0))


def wider(among: Scope, field: str) -> Scope:
    everything: Any = {field: frozenset()}
    return among._replace(**everything)


def facets(visit: Visit) -> Response:
    """All that can be chosen, as a part of the form; counted once for each address, as long as nothing is changed."""
    with visit.engine as engine:
        version = engine.store.steps.last(undone=None)
        known, made = visit.site.kept.get(NAME, (None, {}))
        if known != version or len(made) > KEPT:
            visit.site.kept[NAME] = version, (made := {})
        if (address := visit.link()) not in made:
            made[address] = choices(engine, visit)
    return visit.page("facets.html", since=SINCE, **made[address])


def choices(engine: Engine, visit: Visit) -> dict[str, Any]:
    among = scope(visit)
    chosen = {name: [one for one in visit.query.get(name, ()) if one] for name in SETS}
    with engine.store.snapshot():
        count = engine.store.memories.count
        found = [facet(engine, name, among, chosen[name]) for name in SETS]
        ages = {days: count(among._replace(since=since(days))) for days in SINCE}
        pinned = count(among._replace(pinned=True))
    shown = [one for one in found if len(one.values) > 1 or any(value.chosen for value in one.values)]
    return {"facets": shown, "ages": ages, "pinned": pinned}


# What the address of a list narrows to -------------------------------------------


SETS = {
    "project": "projects",
    "kind": "kinds",
    "category": "categories",
    "tag": "tags",
    "source": "sources",
    "agent": "agents",
    "author": "authors",
    "session": "sessions",
    "run": "runs",
}
"""The field of a scope for each name in the address."""

SINCE = {"1": "the last day", "7": "the last week", "31": "the last month", "366": "the last year"}
"""Days, and how they are called."""


def scope(visit: Visit) -> Scope:
    """
    Raises:
        Invalid: A kind or an age is none.
    """
    sets = {field: frozenset(filter(None, visit.query.get(name, ()))) for name, field in SETS.items()}
    others: dict[str, Any] = {**sets, "kinds": frozenset(map(kind, sets["kinds"]))}
    age = visit.asked("since")
    if age and age not in SINCE:
        raise Invalid(f"no age {age[:20]!r}", hint=f"There are: {', '.join(SINCE)}.")
    return Scope(
        **others,
        since=since(age) if age else None,
        statuses=frozenset() if visit.asked("superseded") else frozenset({Standing.ACTIVE}),
        pinned=bool(visit.asked("pinned")),
    )


def since(days: str) -> datetime:
    return datetime.now(UTC) - timedelta(days=int(days))


PAGES = {"GET /": page, "GET /facets": facets}
