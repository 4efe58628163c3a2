"""The time that a question names: what is read, in four languages, and what only looks like one."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, given, strategies as st

from memory.text import spans
from memory.text.spans import read
from memory.text.terms import TIMES, folded, may_name_a_time

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 20, 10, tzinfo=BERLIN)  # a Friday


def span(text: str, now: datetime = NOW) -> tuple[str, str] | None:
    """The first and the last day of what is read, in local time; empty where there is no bound."""
    if (asked := read(text, now, BERLIN)) is None:
        return None
    first = f"{asked.since.astimezone(BERLIN):%Y-%m-%d}" if asked.since else ""
    last = f"{datetime.fromtimestamp(asked.until.timestamp() - 1, BERLIN):%Y-%m-%d}" if asked.until else ""
    return first, last


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what did we learn yesterday", "2026-11-19", "2026-11-19"),
        ("what did we decide the day before yesterday?", "2026-11-18", "2026-11-18"),
        ("what came in this morning", "2026-11-20", "2026-11-20"),
        ("notes of last week", "2026-11-09", "2026-11-15"),
        ("what is new this week", "2026-11-16", "2026-11-22"),
        ("the week before last", "2026-11-02", "2026-11-08"),
        ("what did we do last weekend", "2026-11-14", "2026-11-15"),
        ("what did we decide last Friday", "2026-11-13", "2026-11-13"),
        ("what happened on Monday", "2026-11-16", "2026-11-16"),
        ("outages of last month", "2026-10-01", "2026-10-31"),
        ("outage in October", "2026-10-01", "2026-10-31"),
        ("outage in December", "2025-12-01", "2025-12-31"),
        ("decision from May last year", "2025-05-01", "2025-05-31"),
        ("what broke on October 29th", "2026-10-29", "2026-10-29"),
        ("what was decided on 24 February 2025", "2025-02-24", "2025-02-24"),
        ("what was decided on 2025-02-24", "2025-02-24", "2025-02-24"),
        ("was war am 24.2.2025", "2025-02-24", "2025-02-24"),
        ("bugs since March 3", "2026-03-03", ""),
        ("bugs after March 2026", "2026-04-01", ""),
        ("bugs before April 2025", "", "2025-03-31"),
        ("bugs until the end of 2024", "", "2024-12-31"),
        ("what happened before the release of 1 March?", "", "2026-02-28"),
        ("what happened after the big outage on Monday", "2026-11-17", ""),
        ("Fehler nach dem Ausfall vom 3. März 2026", "2026-03-04", ""),
        ("prices between June and August 2026", "2026-06-01", "2026-08-31"),
        ("prices from November 2025 to March", "2025-11-01", "2026-03-31"),
        ("login in Q2", "2026-04-01", "2026-06-30"),
        ("login in the third quarter of 2025", "2025-07-01", "2025-09-30"),
        ("outage in the second half of 2025", "2025-07-01", "2025-12-31"),
        ("prices this summer", "2026-06-01", "2026-08-31"),
        ("backups last winter", "2025-12-01", "2026-02-28"),
        ("pruned in the winter before last", "2024-12-01", "2025-02-28"),
        ("pricing in 2024", "2024-01-01", "2024-12-31"),
        ("tests in early June", "2026-06-01", "2026-06-10"),
        ("which version shipped ten days ago", "2026-11-10", "2026-11-10"),
        ("three weeks ago something stopped", "2026-10-27", "2026-11-02"),
        ("decisions of the last seven days", "2026-11-13", "2026-11-20"),
        ("was haben wir vorgestern gelernt", "2026-11-18", "2026-11-18"),
        ("was haben wir letzte Woche entschieden", "2026-11-09", "2026-11-15"),
        ("Ausfall vor drei Wochen", "2026-10-27", "2026-11-02"),
        ("Fehler seit dem 3. März 2026", "2026-03-03", ""),
        ("Fehler in den letzten 7 Tagen", "2026-11-13", "2026-11-20"),
        ("Ausfall im dritten Quartal", "2026-07-01", "2026-09-30"),
        ("qu'avons-nous décidé vendredi dernier", "2026-11-13", "2026-11-13"),
        ("qu'est-ce qui a changé hier", "2026-11-19", "2026-11-19"),
        ("la panne de juillet", "2026-07-01", "2026-07-31"),
        ("le gel de l'année dernière", "2025-01-01", "2025-12-31"),
        ("problème il y a deux jours", "2026-11-18", "2026-11-18"),
        ("qué aprendimos ayer", "2026-11-19", "2026-11-19"),
        ("qué plaga hubo el mes pasado", "2026-10-01", "2026-10-31"),
        ("cambios entre febrero y mayo de 2026", "2026-02-01", "2026-05-31"),
        ("error hace dos semanas", "2026-11-03", "2026-11-09"),
    ],
)
def test_a_span_is_read(text: str, first: str, last: str) -> None:
    assert span(text) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "which is the start page, the week view or the month view",
        'how does the "Yesterday" button work',
        "who sees the Yesterday button",
        "wozu dient die Schaltfläche „Gestern“",
        "rule for Friday deploys",
        "Deployments am Freitag, wer muss dabei sein",
        "who will march past the lower gate",
        "may I deploy an image that is tagged latest",
        "where did the second hive come from",
        "the PDF cuts off the Sunday column",
        "which version put last names first",
        "which tickets does August take",
        "what about the parameter since in the feed",
        "since which version can it be copied into the next week",
        "why is the table partitioned by year",
        "was ist hier los",
        "what do the sheep eat in winter",
        "is there a month with 31.02.2026 in it",
        "first few lines of a file",
        "Undo The Latest Commit",
        "$2024 in the till",
    ],
)
def test_what_only_looks_like_a_time_is_none(text: str) -> None:
    assert read(text, NOW, BERLIN) is None


@pytest.mark.parametrize(
    ("text", "order", "rest"),
    [
        ("latest decision about prices", "latest", "decision about prices"),
        ("the most recent outage", "latest", "the outage"),
        ("what was the first outage we noted", "oldest", "what was the outage we noted"),
        ("neueste Entscheidung zu den Preisen", "latest", "Entscheidung zu den Preisen"),
        ("la caída más antigua", "oldest", "la caída"),
        ("what have we recently learned about backups", "latest", "what have we learned about backups"),
        ("last year's first outage", "oldest", "outage"),
    ],
)
def test_the_order_is_read(text: str, order: str, rest: str) -> None:
    asked = read(text, NOW, BERLIN)

    assert asked is not None
    assert (asked.order, asked.rest) == (order, rest)


@pytest.mark.parametrize(
    ("text", "after", "before"),
    [
        ("payroll bug after 2.2 was released", "2.2", ""),
        ("export bug between release 2.1 and 2.2", "2.1", "2.2"),
        ("the last release before 2.0", "", "2.0"),
        ("which pest came after the hail net was hung", "hail net was hung", ""),
        ("where was the paper between its rejection and its acceptance", "its rejection", "its acceptance"),
    ],
)
def test_a_bound_may_be_what_happened(text: str, after: str, before: str) -> None:
    asked = read(text, NOW, BERLIN)

    assert asked is not None
    assert (asked.after, asked.before) == (after, before)


def test_the_zone_of_whoever_asks_says_when_a_day_begins() -> None:
    late = datetime(2026, 11, 20, 3, tzinfo=UTC)  # in New York it is still the 19th
    asked = read("yesterday", late, ZoneInfo("America/New_York"))

    assert asked is not None
    assert asked.since == datetime(2026, 11, 18, 5, tzinfo=UTC)
    assert asked.until == datetime(2026, 11, 19, 5, tzinfo=UTC)


def test_a_day_on_which_the_clock_changes_has_its_own_length() -> None:
    asked = read("yesterday", datetime(2026, 10, 26, 9, tzinfo=BERLIN), BERLIN)

    assert asked is not None
    assert asked.since is not None
    assert asked.until is not None
    assert (asked.until - asked.since).total_seconds() == 25 * 3600


# Laws -----------------------------------------------------------------------------

TABLES = (
    spans.MONTHS, spans.WEEKDAYS, spans.SEASONS, spans.UNITS, spans.LATEST, spans.OLDEST, spans.RECENTLY, spans.SINCE,
    spans.UNTIL, spans.BEFORE, spans.AFTER, spans.BETWEEN, spans.LAST_OF, spans.FIRST_OF, spans.RECENT, spans.OLD,
)  # fmt: skip
words = st.sampled_from(
    sorted(
        {*TIMES, *spans.IN, *spans.MOST, *spans.THIS, *spans.LAST, "3", "2025", "2.1", "was", "note", "bug", "Q3", ","}
    )
)
questions = st.lists(words, min_size=1, max_size=8).map(" ".join)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001


def test_every_word_of_a_time_lets_a_question_be_read() -> None:
    assert {word for table in TABLES for word in table} <= TIMES


@given(st.one_of(questions, st.text(max_size=80)), moments)
def test_any_question_is_read_and_what_names_a_time_is_let_through(text: str, now: datetime) -> None:
    asked = read(text, now, BERLIN)
    assume(asked is not None)
    assert asked is not None

    assert may_name_a_time(text)
    assert asked.words
    assert len(asked.rest) <= len(text)
    for bound in (asked.since, asked.until):
        assert bound is None or bound.tzinfo is UTC
    assert asked.since or asked.until or asked.after or asked.before or asked.order


@given(questions, moments)
def test_words_in_quotation_marks_are_no_time(text: str, now: datetime) -> None:
    assert read(f'"{text}"', now, BERLIN) is None
    assert read(f"„{text}“", now, BERLIN) is None


@given(questions, moments)
def test_capitals_and_marks_of_the_first_word_say_nothing(text: str, now: datetime) -> None:
    assert (read(text.capitalize(), now, BERLIN) is None) == (read(text, now, BERLIN) is None)


@given(moments)
def test_today_holds_now_and_yesterday_ends_where_it_begins(now: datetime) -> None:
    today, yesterday = (read(word, now, BERLIN) for word in ("today", "yesterday"))
    assert today is not None
    assert yesterday is not None
    assert today.since is not None
    assert today.until is not None

    assert today.since <= now < today.until
    assert yesterday.until == today.since


def test_folded_words_have_no_marks() -> None:
    assert folded("Été À dernière MÄRZ") == "ete a derniere marz"
