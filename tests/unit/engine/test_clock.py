"""One clock: whatever an engine stores, and compares with what is stored, is dated by the clock it was given."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING

import apsw
import asking
import pytest

from faults import Status
from memory import Config, Draft, EmbedError, Engine, EntityGraph, Kind, Mode, Query, ResearchMemory, SearchStats
from memory.store.sqlite import SqliteStore
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from provider import Provider

    from memory.schema.space import Vectors
    from memory.vectors import Role

YEAR = 2001


def clock() -> Callable[[], datetime]:
    """One that goes on by a second whenever it is asked."""
    seconds = count()
    return lambda: datetime(YEAR, 5, 6, tzinfo=UTC) + timedelta(seconds=next(seconds))


def years(folder: Path) -> set[int]:
    """Of every moment that is written anywhere in a store."""
    db = apsw.Connection(str(folder / "memory.db"), flags=apsw.SQLITE_OPEN_READONLY)
    texts = [
        str(value)
        for (table,) in db.execute(
            "select name from sqlite_schema where type = 'table' and name not like '%fts%'"
        ).fetchall()
        for row in db.execute(f'select * from "{table}"')
        for value in row
    ]
    db.close()
    texts += [path.read_text() for path in folder.glob("memory.db-searches*")]
    return {int(year) for text in texts for year in re.findall(r"(\d{4})-\d\d-\d\dT\d\d:\d\d", text)}


def test_nothing_that_is_stored_is_of_another_time(tmp_path: Path, provider: Provider) -> None:
    config = asking.config("ollama", provider, pause_seconds=60.0)
    with Engine(SqliteStore(tmp_path / "memory.db"), config, key="sk-test", now=clock(), lasting=False) as engine:
        note = engine.save(Draft(title="WAL", what="Readers never block the writer"))
        engine.save(Draft(kind=Kind.SESSION_CONTEXT, body="half done", agent_id="a", session_id="s", session_iter=1))
        engine.update(note.memory.uid, why="the log is beside the file")
        engine.embed()
        engine.details(note.memory.id)
        EntityGraph(engine).create_entities([{"name": "Postgres", "observations": ["keeps the orders"]}])
        EntityGraph(engine).create_entities([{"name": "checkout"}])
        EntityGraph(engine).create_relations([{"from": "checkout", "to": "Postgres", "relationType": "uses"}])
        ResearchMemory("run-1", engine).record_tool_call("worker", "http", "get", "{}", "ok", 1)
        SearchStats(engine).record_query("search_fine_report", 0.1, 1)
        engine.search("who waits for whom")
        engine.search(Query("who blocks whom", mode=Mode.HYBRID))
        engine.reindex()
        provider.down()
        with pytest.raises(EmbedError):
            engine.search(Query("not asked before", mode=Mode.HYBRID))
        shown = [str(call.moment.year) for call in engine.ledger(each=True)]
        circuit = engine.store.usage.circuit(provider.url)

    assert years(tmp_path) == {YEAR}
    assert set(shown) == {str(YEAR)}
    assert circuit is not None
    assert circuit.until.year == YEAR


@pytest.mark.parametrize("year", [YEAR, 2101])
@pytest.mark.parametrize("second", [False, True])  # with a second server, the first one's client looks
def test_a_server_is_left_alone_by_the_clock_of_the_engine(
    tmp_path: Path, provider: Provider, *, second: bool, year: int
) -> None:
    more = asking.servers(provider.url, provider.url) if second else {}
    config = asking.config("ollama", provider, pause_seconds=60.0, **more)
    moments = [datetime(year, 5, 6, tzinfo=UTC)]
    parts = {"key": "sk-test", "now": lambda: moments[-1], "lasting": False}
    with Engine(SqliteStore(tmp_path / "memory.db"), config, **parts) as engine:
        engine.save(Draft(title="WAL"))
        engine.embed()
        provider.always(Status(503))
        with pytest.raises(EmbedError):
            engine.search(Query("not asked before", mode=Mode.HYBRID))
        asked = len(provider.seen)
        with pytest.raises(EmbedError, match="503"):
            engine.search(Query("nor this", mode=Mode.HYBRID))
        assert len(provider.seen) == asked
        assert any(f"is left alone until {year}-05-06" in str(problem) for problem in engine.status().problems)

        moments.append(moments[0] + timedelta(minutes=20))
        assert not any("is left alone" in str(problem) for problem in engine.status().problems)
        with pytest.raises(EmbedError):
            engine.search(Query("nor this", mode=Mode.HYBRID))
        assert len(provider.seen) > asked


def test_chunks_are_claimed_by_the_clock_of_the_engine(tmp_path: Path) -> None:
    seen: set[int] = set()

    class Looking(HashedEmbedder):
        def embed(self, texts: Sequence[str], role: Role) -> Vectors:
            seen.update(years(tmp_path))
            return super().embed(texts, role)

    config = replace(Config(), embedding=replace(Config().embedding, fill="lazy"))
    with Engine(
        SqliteStore(tmp_path / "memory.db"), config, embedder=Looking(64), now=clock(), lasting=False
    ) as engine:
        engine.save(Draft(title="WAL"))
        engine.embed()

    assert seen == years(tmp_path) == {YEAR}


def test_hits_age_by_the_clock_of_the_engine(tmp_path: Path) -> None:
    moments = [datetime(YEAR, 5, 6, tzinfo=UTC)]
    ageing = replace(Config(), search=replace(Config().search, half_life_days=30))
    parts = {"embedder": HashedEmbedder(64), "now": lambda: moments[-1], "lasting": False}
    with Engine(SqliteStore(tmp_path / "memory.db"), ageing, **parts) as engine:
        engine.save(Draft(title="WAL", what="Readers never block the writer"))
        moments.append(moments[0] + timedelta(days=365))
        engine.save(Draft(title="Locks", what="Readers wait for the lock of a table or a page"))

        hits = engine.search(Query("readers", mode=Mode.KEYWORD)).hits

    assert [hit.memory.title for hit in hits] == ["Locks", "WAL"]


class Jumping(HashedEmbedder):
    """The clock jumps an hour ahead while it embeds for the first time; later somebody else embeds too."""

    def __init__(self, folder: Path) -> None:
        super().__init__(64)
        self.folder, self.calls, self.seen = folder, 0, list[str]()

    def now(self) -> datetime:
        return datetime(YEAR, 5, 6, tzinfo=UTC) + timedelta(hours=min(1, self.calls))

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.calls += 1
        self.seen += [text for text in texts if "striped" in text]
        if self.calls == 3:
            config = replace(Config(home=self.folder), embedding=BY_TWO)
            with Engine(SqliteStore(self.folder / "memory.db"), config, embedder=self, now=self.now) as other:
                other.vectors.embed()
        return super().embed(texts, role)


BY_TWO = replace(Config().embedding, fill="lazy", batch_size=2)


def test_a_chunk_is_embedded_once_whatever_the_clock_does_meanwhile(tmp_path: Path) -> None:
    embedder = Jumping(tmp_path)
    config = replace(Config(home=tmp_path), embedding=BY_TWO)
    with Engine(SqliteStore(tmp_path / "memory.db"), config, embedder=embedder, now=embedder.now) as engine:
        engine.save_all([Draft(title=f"zebra {n}", what=f"striped {n}") for n in range(8)])

        engine.vectors.embed()

        assert sorted(embedder.seen) == sorted(set(embedder.seen))
        assert len(embedder.seen) == 8
