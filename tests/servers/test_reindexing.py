"""Vectors that are made anew on a server, beside those who search and save: what answers meanwhile, and what goes."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from time import sleep
from typing import TYPE_CHECKING

import postgres
import psycopg
import pytest

from memory import Config, Draft, Engine
from memory.schema.errors import NotFound, SpaceMismatch
from memory.schema.query import EVERYTHING, Mode, Query
from memory.store import State
from memory.store.postgres import PostgresStore
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.schema.answer import Answer

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

GUARD = 120  # seconds against hanging


def active(store: PostgresStore) -> int:
    """The dimension of the vectors that answer."""
    return next(one.space.dimension for one in store.generations.every() if one.state is State.ACTIVE)


class Load:
    """Threads that go on step by step, and a reindex that makes each batch only when all of them have."""

    def __init__(self) -> None:
        self._news = threading.Condition()
        self._steps: Counter[str] = Counter()
        self._ended: set[str] = set()
        self.begun, self.flipped = threading.Event(), threading.Event()

    def stepped(self, name: str) -> None:
        with self._news:
            self._steps[name] += 1
            self._news.notify_all()

    def ended(self, name: str) -> None:
        with self._news:
            self._ended.add(name)
            self._news.notify_all()

    def wait(self, names: tuple[str, ...]) -> None:
        """Until each has begun and ended another step, or is over."""
        with self._news:
            before = self._steps.copy()
            going = lambda: [n for n in names if n not in self._ended and self._steps[n] < before[n] + 2]  # noqa: E731
            assert self._news.wait_for(lambda: not going(), GUARD), going()


class Paced(HashedEmbedder):
    """Embeds passages only as the load goes on."""

    def __init__(self, dimension: int, load: Load, names: tuple[str, ...]) -> None:
        super().__init__(dimension)
        self._load, self._names = load, names

    def embed(self, texts, role):
        self._load.begun.set()
        self._load.wait(self._names)
        return super().embed(texts, role)


ASKED = ("alpha 7 seven", "what of beta", "alpha gamma", "zephyr quibbles")
SEEDS = [Draft(title=f"seed {n}", what=f"alpha {('beta', 'gamma', 'delta')[n % 3]} {n}") for n in range(40)]


@contextmanager
def reindexing(home: Path, dimension: int, *, embedder: HashedEmbedder | None = None) -> Iterator[Engine]:
    """A machine whose model has so many dimensions, and that embeds a few chunks at a time."""
    base = Config(home=str(home))
    own = replace(base, embedding=replace(base.embedding, batch_size=4, words="never"))
    made = embedder or HashedEmbedder(dimension)
    with Engine(PostgresStore(postgres.URL, busy_seconds=GUARD), own, embedder=made, lasting=False) as engine:
        yield engine


def searched(load: Load, name: str, home: Path, dimension: int) -> tuple[list[Answer], int]:
    """What is answered until there are new vectors, and once after; and which vectors answer when it is refused, if it is."""
    found: list[Answer] = []
    try:
        with reindexing(home, dimension) as engine:
            assert dimension == 32 or load.begun.wait(GUARD)
            while True:
                last = load.flipped.is_set()
                for text in ASKED:
                    for mode in (Mode.VECTOR, Mode.HYBRID):
                        try:
                            found.append(engine.search(Query(text, 10, mode=mode)))
                        except SpaceMismatch:
                            return found, active(engine.store)
                    load.stepped(name)
                if last:
                    return found, 0
    finally:
        load.ended(name)


def saved(load: Load, name: str, home: Path, dimension: int) -> list[str]:
    """What is kept meanwhile: not more than a reindex embeds, or it would never end."""
    kept = []
    try:
        with reindexing(home, dimension) as engine:
            assert dimension == 32 or load.begun.wait(GUARD)
            for n in range(25):
                kept.append(engine.save(Draft(title=f"{name} {n}", what=f"alpha {name} {n}")).memory.uid)
                load.stepped(name)
    finally:
        load.ended(name)
    return kept


def right(answer: Answer, spaces: dict[str, int]) -> int:
    """The dimension of the vectors that answered: all of one generation, and none missing."""
    dimension = spaces[next(step.note for step in reversed(answer.steps) if step.name == "embed")]
    embedder, text = HashedEmbedder(dimension), answer.query.text
    assert answer.tier == answer.query.mode
    assert len(answer.hits) == 10, answer
    passages = embedder.embed([f"{hit.memory.title}\n{hit.memory.what}" for hit in answer.hits], "passage")
    cosines = passages @ embedder.embed([text], "query")[0]
    for hit, cosine in zip(answer.hits, cosines, strict=True):
        if hit.cosine is None:  # found by its words, saved a moment ago
            assert answer.query.mode is Mode.HYBRID
            assert not hit.memory.title.startswith("seed "), answer
        else:
            assert hit.cosine == pytest.approx(cosine, abs=1e-4), (dimension, hit)
    return dimension


def test_while_vectors_are_made_anew_each_answer_is_of_the_old_or_of_the_new_and_none_is_short(tmp_path) -> None:
    postgres.emptied()
    load = Load()
    names = ("old finds", "new finds", "old saves", "new saves")
    with reindexing(tmp_path, 32) as engine, ThreadPoolExecutor(4) as pool:
        kept = [one.memory.uid for one in engine.save_all(SEEDS)]
        engine.embed()
        finding = [pool.submit(searched, load, name, tmp_path, dim) for name, dim in zip(names, (32, 48), strict=False)]
        saving = [pool.submit(saved, load, name, tmp_path, dim) for name, dim in zip(names[2:], (32, 48), strict=True)]
        try:
            with reindexing(tmp_path, 48, embedder=Paced(48, load, names)) as other:
                other.reindex()
        finally:
            load.flipped.set()
        kept += [uid for one in saving for uid in one.result(GUARD)]
        old, new = (one.result(GUARD) for one in finding)

    with reindexing(tmp_path, 48) as engine:
        engine.embed()
        store = engine.store
        spaces = {str(one.space): one.space.dimension for one in store.generations.every()}
        [generation] = [one for one in store.generations.every() if one.state is State.ACTIVE]
        assert generation.space.dimension == 48
        assert store.generations.size(generation.id).chunks == store.counts().chunks
        assert {one.uid for one in store.memories.page(EVERYTHING, 1000)} == {*kept}
        assert list(store.check()) == []
    assert [*dict.fromkeys(right(one, spaces) for one in old[0])] == [32]
    assert old[1] == 48, "refused before there were new vectors"
    assert [*dict.fromkeys(right(one, spaces) for one in new[0])] == [32, 48]
    assert new[1] == 0, "refused with the model of what is being made"
    assert min(len(old[0]), len(new[0])) > 2 * len(SEEDS) // 4


# What is dropped meanwhile ---------------------------------------------------------


def dropped(home: Path) -> None:
    """Other machines make vectors anew, twice: what answered before is taken away."""
    for dimension in (48, 64):
        with reindexing(home, dimension) as other:
            other.reindex()


@pytest.mark.parametrize(
    "ask",
    [
        lambda store, vector: store.vectors.by_vector(1, vector, EVERYTHING, 3),
        lambda store, vector: store.vectors.cosines(1, vector, [1, 2]),
        lambda store, vector: store.vectors.memory_similarities(1, vector, EVERYTHING),
        lambda store, vector: store.vectors.pending(1, 0, 3),
        lambda store, vector: store.vectors.heads(1, 0, 3),
        lambda store, vector: store.generations.size(1),
    ],
    ids=["by_vector", "cosines", "memory_similarities", "pending", "heads", "size"],
)
def test_whoever_asks_vectors_that_are_dropped_at_this_moment_is_answered_or_told_that_they_are_gone(
    ask, tmp_path
) -> None:
    postgres.emptied()
    with reindexing(tmp_path, 32) as engine:
        engine.save_all(SEEDS[:3])
        engine.embed()
        vector = HashedEmbedder(32).embed(["alpha"], "query")[0]
        before = repr(ask(engine.store, vector))

        told = ""
        try:
            with engine.store.snapshot():
                assert active(engine.store) == 32
                dropped(tmp_path)
                assert active(engine.store) == 32  # as of the beginning
                told = "nothing"
                assert repr(ask(engine.store, vector)) == before
        except NotFound as error:  # whoever catches that begins anew
            told += f", then {error}"
        assert told in {"nothing", "nothing, then there is no index version 1"}
        assert active(engine.store) == 64


def test_vectors_that_are_dropped_while_somebody_reads_for_long_keep_no_search_waiting(tmp_path) -> None:
    postgres.emptied()
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    with reindexing(tmp_path, 32) as engine, reindexing(tmp_path, 48) as asking, ThreadPoolExecutor(2) as pool:
        engine.save_all(SEEDS[:3])
        engine.embed()
        asking.reindex()
        with psycopg.connect(postgres.URL, autocommit=True) as db:
            with engine.store.snapshot():  # as a backup, or a comparison, does
                engine.store.memories.outlines([1])
                dropping = pool.submit(dropped, tmp_path)
                while not dropping.done() and db.execute(waiting).fetchone() != (1,):
                    sleep(0.01)
                search = pool.submit(asking.search, Query("alpha", mode=Mode.KEYWORD))
                while not search.done() and db.execute(waiting).fetchone() != (2,):
                    sleep(0.01)
                answered = search.done()
            dropping.result(GUARD)
            tables = "select count(*) from pg_class where relname ~ '^vectors_[0-9]+$' and relkind = 'r'"
            assert db.execute(tables).fetchone()[0] > len(engine.store.generations.every())
            assert engine.store.wipe()
            assert db.execute(tables).fetchone()[0] == len(engine.store.generations.every())

    assert answered
