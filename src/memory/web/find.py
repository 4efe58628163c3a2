"""Find: search as you type, narrowed by what memories are of; all of it in the address."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.embed.providers import SERVERS
from memory.schema.errors import Invalid
from memory.schema.query import Mode, Query
from memory.web.scope import SETS, scope
from memory.web.why import SAID, evidence, explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.schema.answer import Answer
    from memory.schema.memory import Memory
    from memory.schema.query import Scope
    from memory.web.site import Visit

SHOWN = 20  # memories at first
MOST = 200


class Found(NamedTuple):
    """
    Attributes:
        answer: None if nothing was looked for: then these are the last changed.
        more: Whether a longer list would have more.
    """

    memories: Sequence[Memory]
    answer: Answer | None
    more: bool


def found(engine: Engine, text: str, among: Scope, limit: int, *, typing: bool) -> Found:
    """
    What fits a text, or what changed last.

    Args:
        typing: The text may go on: no server is asked for what it means, which costs time and perhaps money,
            and it is not counted among the searches.
    """
    if not text:
        memories = engine.documents.recent(among, limit + 1)
        return Found(memories[:limit], None, len(memories) > limit)
    mode = Mode(engine.config.search.mode)
    if typing and engine.config.embedding.provider in SERVERS:
        mode = Mode.KEYWORD
    answer = engine.search(Query(text, limit, mode=mode, scope=among), recorded=not typing)
    return Found([hit.memory for hit in answer.hits], answer, answer.found == limit < MOST)


def page(visit: Visit) -> Response:
    """The page, or, while somebody types, the list alone."""
    text, among = visit.asked("q"), scope(visit)
    limit = _limit(visit.asked("n"))
    with visit.engine as engine:
        shown = found(engine, text, among, limit, typing=visit.part)
    values: dict[str, Any] = {
        "text": text,
        "found": shown,
        "filters": [(name, value) for name in SETS for value in visit.query.get(name, ()) if value],
        "facets": visit.link("/facets", q=None, n=None),
        "more": visit.link("/", n=min(limit * 3, MOST)) if shown.more else "",
        "doubt": SAID[shown.answer.outcome] if shown.answer else "",
        "evidence": [evidence(hit) for hit in shown.answer.hits] if shown.answer else [],
        "why": explained(shown.answer) if shown.answer else None,
    }
    if not visit.part:
        return visit.page("find.html", **values)
    response = visit.page("found.html", **values)
    response.headers["HX-Replace-Url"] = visit.link("/")
    return response


def _limit(text: str) -> int:
    if not text:
        return SHOWN
    if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) <= MOST):
        raise Invalid(f"{text[:20]!r} is no number of memories", hint=f"It is 1 to {MOST}.")
    return int(text)


PAGES = {"GET /": page}
