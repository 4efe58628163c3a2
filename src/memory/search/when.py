"""
Questions that name a time: a span narrows the search, "latest" and "oldest" order what it finds.

What happened at a bound ("before 2.1 was released") is looked for among the memories. Where nothing is from that time, the
question is answered as if it named none, and that is said.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Answer, Notice, Outcome
from memory.schema.kinds import Kind
from memory.schema.moments import day
from memory.schema.query import Mode, Query
from memory.search.versions import words
from memory.text.fold import fold
from memory.text.lookup import spelled
from memory.text.spans import POSSESSIVE, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from memory.schema.answer import Hit
    from memory.schema.memory import Memory
    from memory.schema.query import Scope
    from memory.store import Store
    from memory.text.spans import NamedTime

    Find = Callable[[Query], Answer]
    Bounds = tuple[datetime | None, datetime | None]

CANDIDATES = 30
"""Hits among which the latest is looked for."""

HELD, NEAR = 0.45, 0.85
"""
Shares of the greatest coverage, and of the greatest cosine, of a hit that is about what is asked for; where no hit holds half
of the words, only the cosine counts.
"""

NAMED = 0.5

DATED = 100
"""Memories of a span of which the newest are shown, if nothing else is asked for."""

AT_ONCE = timedelta(minutes=1)
"""What was saved within it was saved together: nothing of it is the latest."""

LONG_BEFORE = timedelta(days=366)
"""How much older than all memories a time is that none of them can be from."""

HINT = "To look for the words instead, put them in quotation marks, or use `--no-time`."

CATEGORIES = {
    word: category
    for category, row in (
        ("bug", "bug bugs fehler erreur erreurs error errores"),
        ("decision", """decide decided decides decision decisions entscheidung entscheidungen entschieden beschlossen
            decidimos decidido decisiones"""),
        ("learning", "learn learned learnt learning learnings gelernt appris aprendimos aprendido"),
        ("pattern", "pattern patterns muster patron patrones"),
    )
    for word in row.split()
}  # fmt: skip
"""Words of a question that name a category of notes, or what makes one."""

ASKING = frozenset("""
    which what when who where how whose why any all many much is was were are be been did do does have has had there it we our us i
    my you something please find found out
    happen happened happens come came went going go turned began note notes noted entry memory news changed shipped show
    was wer wann wo wie welche welcher welches warum ist sind war waren wurde wurden gab gibt haben hat habe wir es viel viele
    passiert kam heraus notiz
    que qu quel quelle quels quelles qui quand pourquoi ou comment est etait avons ont avions nous devenu contient fait passe note
    cual cuales cuando quien como donde por fue fueron hubo hay paso hicimos aparecio nota
""".split())  # fmt: skip
"""Words that ask, and say nothing of what is asked for."""

SILENT = frozenset("""
    a an the of in on at for to from with about and or this that these those s
    der die das den dem des ein eine einem einen einer im am zu zur zum von vom mit und oder uber fur d l
    le la les un une de du des et au aux sur pour en el los las una del al y sobre con
""".split())  # fmt: skip


class Subject(NamedTuple):
    """
    What a question asks for beside a time.

    Attributes:
        text: The words that say it, as they are written.
        telling: Those that are no articles and the like, folded.
        categories: Those of the notes that it asks for.
    """

    text: str
    telling: frozenset[str]
    categories: frozenset[str]


def subject(rest: str) -> Subject:
    """What is left of a question that asks for something."""
    said: list[str] = []
    telling: set[str] = set()
    categories: set[str] = set()
    for piece in rest.split():
        plain = spelled(fold(piece))
        own = [word for word in plain if word not in ASKING and word not in CATEGORIES]
        categories.update(CATEGORIES[word] for word in plain if word in CATEGORIES)
        telling.update(word for word in own if word not in SILENT)
        if own:
            said.append(piece)
    return Subject(" ".join(said), frozenset(telling), frozenset(categories))


def in_time(query: Query, find: Find, store: Store, now: datetime, *, model: bool) -> Answer | None:
    """
    The answer to a question that names a time; None if it names none, or one that changes nothing.

    Args:
        find: Searches, whatever the text says of time.
        model: Whether there is one: to be the latest of its like, a memory has to be found whatever its words.
    """
    asked = read(query.text, now)
    if asked is None or any(_said(f'"{name}"', query, find) for name in asked.names):
        return None  # "the latest tag" is what a memory says: a name, and no time
    if (bounds := _bounds(asked, query, find)) is None:
        return None
    scope = _narrowed(query.scope, asked, bounds)
    if scope != query.scope:
        inside = store.memories.count(scope)
        if not inside:
            return _outside(query, asked, bounds, find, store)
        if not asked.order and inside == store.memories.count(query.scope) and subject(asked.rest).telling:
            return None  # all are from that time: its words may be words of theirs
    answer = _inside(query, asked, scope, find, store, model=model)
    return answer and _with_notice(answer, f"read as a time: {_read_as(asked, *bounds)}")


def _narrowed(scope: Scope, asked: NamedTime, bounds: Bounds) -> Scope:
    since, until = bounds
    if asked.revised:
        return scope._replace(since=since, until=until)
    return scope._replace(happened_since=since, happened_until=until)


def _outside(query: Query, asked: NamedTime, bounds: Bounds, find: Find, store: Store) -> Answer | None:
    """Where nothing is from that time, the plain answer, and that it is so; None if it is a time that texts speak of."""
    since, until = bounds
    if until and not store.memories.count(query.scope._replace(happened_until=until + LONG_BEFORE), most=1):
        return None
    answer = find(query)
    nearest = min((_distance(hit.memory, since, until) for hit in answer.hits), default=None)
    where = f"; the nearest of these is {nearest[1]}" if nearest else ""
    return _with_notice(answer, f"nothing is from that time ({_read_as(asked, since, until)}){where}")


def _distance(memory: Memory, since: datetime | None, until: datetime | None) -> tuple[timedelta, str]:
    moment = memory.happened
    away = since - moment if since and moment < since else moment - until if until else timedelta()
    return away, day(moment)


def _with_notice(answer: Answer, text: str) -> Answer:
    return answer._replace(notices=(*answer.notices, Notice(text, HINT)))


def _read_as(asked: NamedTime, since: datetime | None, until: datetime | None) -> str:
    """Words of time and what they are taken for: "last week", from 2026-11-09 to 2026-11-15."""
    ends = day(until - timedelta(seconds=1)) if until else ""
    if since and ends and day(since) == ends:
        span = ends
    else:
        span = " ".join([*([f"from {day(since)}"] if since else ()), *([f"to {ends}"] if ends else ())])
    order = f"the {asked.order} first" if asked.order else ""
    return ", ".join(filter(None, (f'"{asked.words}"', span, order)))


# Bounds ------------------------------------------------------------------------


def _bounds(asked: NamedTime, query: Query, find: Find) -> Bounds | None:
    """The span; None if what is said to have happened at an end of it is no memory."""
    since, until = asked.since, asked.until
    if asked.after:
        if (event := _event(asked.after, asked, query, find)) is None:
            return None
        since = event.happened + timedelta(microseconds=1)
    if asked.before:
        if (event := _event(asked.before, asked, query, find)) is None:
            return None
        until = event.happened
    return None if since and until and until <= since else (since, until)


def _event(name: str, asked: NamedTime, query: Query, find: Find) -> Memory | None:
    """The memory that says what a question calls so: all its words, and two of them, or the only one, in its title."""
    first, *others = spelled(fold(name)) or [""]
    if first in POSSESSIVE:
        name = " ".join([*others, *subject(asked.rest).telling])
    wanted = words(name).telling or words(name).every
    for hit in sorted(_said(name, query, find), key=lambda hit: len(hit.memory.title)):
        title, whole = (_beginnings(text) for text in (hit.memory.title, f"{hit.memory.title} {hit.memory.what}"))
        if wanted <= whole and len(wanted & title) >= min(len(wanted), 2):
            return hit.memory
    return None


def _beginnings(text: str) -> set[str]:
    own = words(text)
    return {*own.telling, *own.every}


def _said(text: str, query: Query, find: Find) -> Sequence[Hit]:
    return find(Query(text, 10, mode=Mode.KEYWORD, scope=query.scope, longer=False)).hits


# What is in the span --------------------------------------------------------------


def _inside(query: Query, asked: NamedTime, scope: Scope, find: Find, store: Store, *, model: bool) -> Answer | None:
    """What is in scope; None if none of what is asked for is older than another."""
    what = subject(asked.rest)
    if what.categories and (asked.order or not what.telling):
        of_these = scope._replace(categories=what.categories)
        if store.memories.count(of_these, most=1):
            scope = of_these
    answer = None
    if what.telling:
        whatever = model and bool(asked.order) and query.mode is Mode.TIERED
        mode, limit = Mode.HYBRID if whatever else query.mode, max(CANDIDATES, query.limit)
        ask = replace(query, text=what.text, scope=scope, limit=limit, mode=mode, asked=query.asked or whatever)
        answer = find(ask)
    if answer is None or not answer.hits:
        # A span alone, or nothing in it has these words: all that is in it, by date, notes before conversations.
        text = asked.rest if any(map(str.isalnum, asked.rest)) else query.text
        limit = max(DATED, query.limit)
        listed = find(replace(query, text=text, scope=scope, limit=limit, mode=Mode.KEYWORD, topup=True))
        hits = [hit._replace(topup="") for hit in listed.hits]
        answer = listed._replace(hits=tuple(_dated(hits, asked)), outcome=Outcome.ANSWERED, worth="by date")
    elif asked.order:
        about = _about(answer.hits)
        moments = [hit.memory.happened for hit in about]
        if max(moments) - min(moments) < AT_ONCE and scope == query.scope:
            return None
        rest = [hit for hit in answer.hits if hit not in about]
        answer = answer._replace(hits=(*_dated(about, asked), *rest))
    if what.categories:
        hits = sorted(answer.hits, key=lambda hit: hit.memory.category not in what.categories)
        answer = answer._replace(hits=tuple(hits))
    return answer._replace(query=query, hits=answer.hits[: query.limit])


def _dated(hits: Sequence[Hit], asked: NamedTime) -> list[Hit]:
    """By date, the last first unless the first is asked for; notes before conversations."""
    oldest = asked.order == "oldest"
    by_date = sorted(hits, key=lambda hit: hit.memory.happened, reverse=not oldest)
    return sorted(by_date, key=lambda hit: hit.memory.kind is not Kind.NOTE)


def _about(hits: Sequence[Hit]) -> list[Hit]:
    """Those that are about what is asked for, by their words or by their vectors."""
    most, near = max(hit.coverage for hit in hits), max(hit.similarity or 0.0 for hit in hits)
    return [
        hit
        for hit in hits
        if (most >= NAMED and hit.coverage >= HELD * most) or (near and (hit.similarity or 0.0) >= NEAR * near)
    ] or [*hits]
