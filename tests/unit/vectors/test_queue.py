"""Who embeds what waits: a save its own few chunks, a program that stays all of it, a search by keyword nothing."""

from __future__ import annotations

import os
import re
import sys
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from doubles import Watched
from notes_made import drafts

from memory import Draft, Engine, Mode, Query
from memory.config import Config
from memory.engine.keeper import Keeper
from memory.keep.save import IN_BACKGROUND, LATER
from memory.schema import holder
from memory.store.sqlite import SqliteStore
from memory.vectors import FINGERPRINT_TEXT
from memory.vectors.backfill import AT_ONCE, CLAIM, IN_PASSING, left_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memory.schema.space import Vectors
    from memory.vectors import Role

SOON = 60.0  # seconds; a guard against hanging
MANY = 3 * AT_ONCE
REPORT = Draft(title="a report", body="\n\n".join(f"# Part {n}\n\nthe walrus of part {n} " * 60 for n in range(MANY)))
LAZY, PATIENT = {"fill": "lazy"}, {"fill_seconds": 600.0}


class Thoughtful(Watched):
    """Remembers which thread asked for passages, how many at once and how urgently; waits at a gate, if there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, int, int]] = []
        self.gate = threading.Event()
        self.gate.set()

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        if role == "passage" and list(texts) != [FINGERPRINT_TEXT]:
            urgency = os.getpriority(os.PRIO_PROCESS, 0) if sys.platform == "linux" else 0
            self.calls.append((threading.current_thread().name, len(texts), urgency))
            if threading.current_thread().name == "memory-fill":
                assert self.gate.wait(SOON)
        return super().embed(texts, role)

    @property
    def threads(self) -> set[str]:
        return {name for name, *_ in self.calls}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def embedder() -> Thoughtful:
    return Thoughtful()


@contextmanager
def opened(path: Path, embedder: Watched, *, lasting: bool = False, **settings: object) -> Iterator[Engine]:
    config = replace(Config(), embedding=replace(Config().embedding, **settings))
    with Engine(SqliteStore(path), config, embedder=embedder, lasting=lasting) as engine:
        yield engine


def leave(path: Path, count: int = MANY) -> None:
    """Let so many memories of somebody else wait for their vectors; a few others have some."""
    with opened(path, Watched()) as other:
        other.save_all(drafts(3, first=5000))
    with opened(path, Watched(), **LAZY) as other:
        other.save_all(drafts(count))


def until(true: Callable[[], object]) -> None:
    """Wait for what another thread is about to do."""
    pause = threading.Event()
    for _ in range(int(SOON * 100)):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come about")


# A command --------------------------------------------------------------------------


@pytest.mark.parametrize("doing", ["save", "report", "update", "delete", "restore", "undo", "tag", "import"])
def test_a_command_embeds_at_most_what_it_wrote(path: Path, embedder: Thoughtful, doing: str) -> None:
    with opened(path, Watched()) as engine:
        id = engine.save(Draft(title="an okapi", tags=("old",))).memory.id
        gone = engine.save(Draft(title="an ibis")).memory.uid
        engine.delete(gone)
    leave(path)

    with opened(path, embedder, **PATIENT) as command:
        match doing:
            case "save":
                command.save(Draft(title="a zebra"))
            case "report":
                assert command.save(REPORT).notices == ()
            case "update":
                command.update(id, what="an okapi of its own")
            case "delete":
                command.delete(id)
            case "restore":
                command.trash.restore([gone])
            case "undo":
                command.update(id, what="something else")
                step = command.store.steps.last(id=id)
                assert step is not None
                command.trash.undo(command.trash.last(id), lambda _done, _total: None)
            case "tag":
                command.tags.rename("old", "new")
            case "import":
                with command.maintenance.importing():
                    command.save_all([Draft(title="a zebra"), REPORT])
                assert command.maintenance.catch_up() == ()

        assert command.store.queue.queued() == MANY
        assert not any(re.search(r"\bn\d\d?x\b", text) for text in embedder.passages), "somebody else's"
        assert bool(embedder.calls) == (doing != "delete")


def test_a_command_without_time_leaves_its_own_to_whoever_needs_it_and_says_so(path: Path) -> None:
    with opened(path, Watched(), fill_seconds=0.0) as command:
        [notice] = command.save(REPORT).notices
        waiting = command.store.queue.queued()

        assert 0 < waiting < command.status().counts.chunks
        assert notice.text == f"saved; {waiting:,} chunks wait for their vectors"
        assert notice.hint == LATER


def test_an_import_without_time_is_kept_and_says_what_waits(path: Path) -> None:
    leave(path)
    with opened(path, Watched(), fill_seconds=0.0) as command:
        with command.maintenance.importing():
            command.save(REPORT)
        own = command.store.queue.queued() - MANY
        reports: list[tuple[int, int]] = []
        [notice] = command.maintenance.catch_up(lambda *report: reports.append(report))

        left = command.store.queue.queued() - MANY
        assert 0 < left < own
        assert reports == [(0, own), (own - left, own)]
        assert notice.text == f"saved; {left:,} chunks wait for their vectors"


# A program that stays ---------------------------------------------------------------


def test_a_large_save_in_a_program_that_stays_waits_for_no_model(path: Path, embedder: Thoughtful) -> None:
    embedder.gate.clear()
    with opened(path, embedder, lasting=True, **PATIENT) as engine:
        [notice] = engine.save(REPORT).notices
        assert notice.hint == IN_BACKGROUND
        small = engine.save(Draft(title="a zebra"))

        assert small.notices == ()
        assert engine.embedding(small.memory.id).state == "generated"
        assert engine.store.queue.queued() > AT_ONCE
        embedder.gate.set()
        until(lambda: not engine.store.queue.queued())


def test_the_thread_takes_few_at_once_and_is_less_urgent(path: Path, embedder: Thoughtful) -> None:
    leave(path)
    with opened(path, embedder, lasting=True, words="never") as engine:  # words follow the queue, many at once
        engine.vectors.wake()
        until(lambda: not engine.store.queue.queued())

    assert embedder.threads == {"memory-fill"}
    assert max(count for _, count, _ in embedder.calls) <= IN_PASSING
    if sys.platform == "linux":
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert {urgency > own for *_, urgency in embedder.calls} == {own < 19}


def test_a_server_that_is_idle_embeds_what_a_command_left(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.engine.background.LOOK", 0.01)
    home = path.parent
    config = replace(Config(), home=str(home), embedding=replace(Config().embedding, provider="hashed"))
    keeper = Keeper(lambda: config, str(home / "config.yaml"))
    try:
        with keeper.engine() as engine:
            engine.save(Draft(title="an okapi"))
        lazy = replace(config, embedding=replace(config.embedding, **LAZY))
        with Engine.open(lazy, lasting=False) as command:
            command.save_all(drafts(MANY))
            until(lambda: not command.store.queue.queued())
    finally:
        keeper.close()


def test_a_program_that_is_still_there_after_a_while_embeds_what_others_left(
    path: Path, embedder: Thoughtful, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave(path)
    with opened(path, embedder, lasting=True) as engine:
        engine.search(Query("okapi", mode=Mode.KEYWORD))
        assert engine.vectors._worker._thread is None, "a script is not kept waiting"
        monkeypatch.setattr(engine.vectors, "_next_look", 0.0)
        engine.search(Query("okapi", mode=Mode.KEYWORD))

        until(lambda: not engine.store.queue.queued())
    assert embedder.threads == {"memory-fill"}


def test_lazy_has_no_thread(path: Path, embedder: Thoughtful) -> None:
    leave(path)
    with opened(path, embedder, lasting=True, **LAZY) as engine:
        engine.save(REPORT)
        engine.vectors._look()

        assert engine.vectors._worker._thread is None
        assert embedder.calls == []


def test_what_another_process_embeds_is_left_to_it(path: Path) -> None:
    leave(path)
    with opened(path, Watched()) as engine:
        store, now = engine.store, engine.now()
        assert left_alone(store, now)
        ended = holder.own()._replace(process=os.getppid(), started="1")
        parent = ended._replace(started=holder._started(os.getppid()))
        for other, alone in ((ended, True), (parent, False)):
            claimed = store.queue.claim(2, now=now, until=now + CLAIM, by=str(other))
            assert left_alone(store, now) == alone
            store.queue.release([one.id for one in claimed])


# A search ---------------------------------------------------------------------------


def test_a_search_by_keyword_embeds_nothing_though_its_rows_show_cosines(path: Path, embedder: Thoughtful) -> None:
    leave(path)
    with opened(path, embedder, **PATIENT) as command:
        answer = command.search(Query("n5000x", mode=Mode.KEYWORD, compared=True))

        assert embedder.queries == ["n5000x"]
        assert embedder.calls == []
        assert any(hit.similarity is not None for hit in answer.hits)


def test_a_search_that_needs_vectors_leaves_many_to_the_thread(path: Path, embedder: Thoughtful) -> None:
    leave(path)
    embedder.gate.clear()
    with opened(path, embedder, lasting=True, **PATIENT) as engine:
        answer = engine.search(Query("penguins on ice", mode=Mode.HYBRID))

        assert answer.hits
        assert any("have no vector yet" in one.text and "background" in one.hint for one in answer.notices)
        embedder.gate.set()
        until(lambda: not engine.store.queue.queued())
    assert embedder.threads == {"memory-fill"}


def test_a_search_that_needs_vectors_takes_a_few_itself(path: Path, embedder: Thoughtful) -> None:
    leave(path, AT_ONCE)
    with opened(path, embedder, lasting=True, **PATIENT) as engine:
        answer = engine.search(Query("penguins on ice", mode=Mode.HYBRID))

        assert answer.notices == ()
        assert engine.store.queue.queued() == 0


def test_the_first_search_of_a_store_without_vectors_makes_some(path: Path, embedder: Thoughtful) -> None:
    with opened(path, Watched(), **LAZY) as other:
        other.save_all(drafts(MANY))
    with opened(path, embedder, lasting=True, **PATIENT) as engine:
        assert engine.search(Query("penguins on ice", mode=Mode.HYBRID)).hits
