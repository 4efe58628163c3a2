"""No question makes the server read a whole table before it ranks: neither with names and digits, nor after a bulk load."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import postgres
import psycopg
import pytest
from entries import note
from named import QUESTIONS, notes

from memory.keep.rules import write_entries
from memory.schema.query import ACTIVE, EVERYTHING, Query, Scope
from memory.search.keywords import look_up
from memory.search.search import Evidence, Trace
from memory.store.postgres import keywords
from memory.text.terms import terms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.schema.answer import Ranking
    from memory.store.postgres import PostgresStore

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

TABLES = ("memories", "chunks", "bodies", "keywords", "vocabulary")
COUNT = 2_000


def rare(n: int) -> dict[str, object]:
    """What tells apart one of nine, and one of a hundred."""
    return {
        "project": f"p{n % 9}",
        "category": "context" if n % 100 else "bug",
        "source": f"s{n % 100}",
        "tags": (f"t{n % 100}",),
    }


@pytest.fixture(scope="module")
def full() -> Iterator[PostgresStore]:
    """A store right after a bulk load: the server knows nothing of what is in its tables, and does not look by itself."""
    with postgres.another("memory_plans") as url, postgres.opened(url) as store:
        with store._db.alone() as db:
            for table in TABLES:
                db.execute(f"alter table {table} set (autovacuum_enabled = off)")
        texts = notes(COUNT)
        for first in range(0, COUNT, 500):
            some = enumerate(texts[first : first + 500], first)
            write_entries(store, [note(f"note {n}", body=text, size=200, **rare(n)) for n, text in some])
        yield store


def plans(call: Callable[[], object], patch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The statements of a call, each with its plan at that moment."""
    told: list[tuple[str, str]] = []
    execute = psycopg.Connection.execute

    def explained(db: psycopg.Connection, sql: str, values: object = None, **how: object) -> psycopg.Cursor:
        if re.match(r"\s*(?:select|with)\b", sql) and ";" not in sql:
            told.append((sql, "\n".join(line for (line,) in execute(db, f"explain {sql}", values))))
        return execute(db, sql, values, **how)

    with patch.context() as patched:
        patched.setattr(psycopg.Connection, "execute", explained)
        call()
    return told


def searched(store: PostgresStore, text: str, scope: Scope, *, written: bool = False) -> Ranking:
    """Weighed and ranked as a search does; `written`, in a transaction that writes, where the server ranks."""
    with store.transaction() if written else store.snapshot():
        return store.keywords.by_keyword(store.keywords.weigh(terms(text)), scope, 20)


@pytest.mark.parametrize("known", [False, True], ids=["without statistics", "with statistics"])
@pytest.mark.parametrize(
    "scope",
    [
        ACTIVE,
        EVERYTHING,
        Scope(projects=frozenset({"p3"})),
        Scope(categories=frozenset({"bug"})),
        Scope(sources=frozenset({"s3"})),
        Scope(tags=frozenset({"t3"})),
    ],
    ids=["active", "all", "p3", "category", "source", "tag"],
)
def test_no_statement_reads_a_whole_table(full, scope, known, monkeypatch) -> None:
    if known:
        with full._db.alone() as db:
            db.execute("analyze")

    def ask() -> None:
        for text in QUESTIONS:
            searched(full, text, scope)
            searched(full, text, scope, written=True)

    told = plans(ask, monkeypatch)

    assert sum("words @>" in sql or "words &&" in sql for sql, _ in told) > len(QUESTIONS)
    whole = re.compile(rf"Seq Scan on ({'|'.join(TABLES)})\b")
    assert [(sql, plan) for sql, plan in told if whole.search(plan)] == []


def test_members_of_a_scope_are_read_once_in_a_snapshot(full, monkeypatch) -> None:
    scope = Scope(tags=frozenset({"t3"}))

    def ask() -> None:
        with full.snapshot():
            for text in ("alpha", "beta"):
                assert full.keywords.by_keyword(terms(text), scope, 20) is not None

    assert sum(sql.startswith("select m.id from memories m") for sql, _ in plans(ask, monkeypatch)) == 1


def test_what_would_read_too_many_texts_is_not_looked_for_and_the_answer_says_so(full, monkeypatch) -> None:
    asked = Query('DUSP4 "use state" integrins')
    monkeypatch.setattr(keywords, "READ", 5)

    def plan() -> tuple[list[str], list[str]]:
        from memory.search.fuse import Fusing

        evidence = Evidence(
            asked, full, lambda: pytest.fail("no model is needed"), Fusing(), backfill=lambda _: None, trace=Trace()
        )
        with full.snapshot():
            found = look_up(evidence)
        return [term.text for term in found.terms], [notice.text for notice in found.trace.notices]

    looked_for, notices = plan()
    assert looked_for == ["integrins"]
    assert notices == ["the answer is cut short: 2 of 3 words or phrases of the query were not looked for"]
    monkeypatch.undo()
    assert plan() == (["DUSP4", "use state", "integrins"], [])


def test_a_question_is_cut_the_same_way_each_time(full, monkeypatch) -> None:
    monkeypatch.setattr(keywords, "READ", 300)

    cut = [[full.keywords.weigh(terms(text)) for text in QUESTIONS] for _ in range(2)]

    assert cut[0] == cut[1]
    assert any(term.cut for own in cut[0] for term in own)
    assert not all(term.cut for own in cut[0] for term in own)
