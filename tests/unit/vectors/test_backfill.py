from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from asking import config
from doubles import Watched
from notes_made import drafts
from provider import Provider

from memory import Draft, Engine
from memory.config import Config
from memory.engine.background import Worker
from memory.store import UNAIDED
from memory.store.sqlite import SqliteStore
from oracle.ram import RamStore

SOON = 60.0  # seconds; nothing here waits for so long unless it is broken


def test_a_save_wakes_the_thread_that_embeds_it(tmp_path):
    done = threading.Event()
    embedder = Watched(before=done.set)
    lazy = replace(Config(), embedding=replace(Config().embedding, fill="background"))

    with Engine(SqliteStore(tmp_path / "memory.db"), lazy, embedder=embedder) as engine:
        id = engine.save(Draft(title="zebra")).memory.id
        assert done.wait(SOON)
        until(lambda: engine.embedding(id).state == "generated")


def test_a_server_is_asked_in_the_background_by_default(tmp_path):
    with Provider() as provider, Engine(SqliteStore(tmp_path / "memory.db"), config("ollama", provider)) as engine:
        engine.save(Draft(title="zebra"))
        provider.wait(1)
        until(lambda: not engine.status().counts.queued)


def test_a_command_has_no_thread_and_leaves_it_to_the_next_search(tmp_path):
    with (
        Provider() as provider,
        Engine(SqliteStore(tmp_path / "memory.db"), config("ollama", provider), lasting=False) as engine,
    ):
        engine.save(Draft(title="zebra"))

        assert provider.seen == []
        assert engine.vectors._worker._thread is None
        assert engine.search("penguins on ice").hits


def test_closing_leaves_the_rest_in_the_queue():
    begun, going = threading.Event(), threading.Event()
    embedder = Watched(before=lambda: (begun.set(), going.wait(SOON)))
    settings = replace(Config().embedding, fill="background", batch_size=1)
    store = RamStore()
    engine = Engine(store, replace(Config(), embedding=settings), embedder=embedder)
    engine.save_all([Draft(title=f"note {n}") for n in range(5)])
    assert begun.wait(SOON)

    closing = threading.Thread(target=engine.close)
    closing.start()
    until(lambda: engine.vectors._worker._closed)
    going.set()
    closing.join(SOON)

    assert store.queue.queued() >= 3


def test_two_who_fill_one_queue_embed_each_chunk_once(tmp_path):
    lazy = replace(Config(), embedding=replace(Config().embedding, fill="lazy", batch_size=2))
    together = threading.Barrier(2)
    made = [Watched(before=once(together)) for _ in range(2)]
    engines = [Engine(SqliteStore(tmp_path / "memory.db"), lazy, embedder=embedder) for embedder in made]
    engines[0].save_all([Draft(title=f"note {n}") for n in range(20)])

    threads = [threading.Thread(target=engine.embed) for engine in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)

    assert sorted(made[0].passages + made[1].passages) == sorted({*made[0].passages, *made[1].passages})
    assert all(embedder.passages for embedder in made)
    assert not engines[0].status().counts.queued
    for engine in engines:
        engine.close()


def test_an_engine_learns_with_each_vector_that_it_stores(tmp_path):
    store = SqliteStore(tmp_path / "memory.db")
    with Engine(store, Config(), embedder=Watched(), lasting=False) as engine:
        engine.save(*drafts(1))
        assert store.term_vectors.learned(1).passages == 1
        engine.save_all(drafts(40, first=1))
        assert store.term_vectors.learned(1).passages == 41


def test_who_does_not_wish_it_learns_nothing(tmp_path):
    store = SqliteStore(tmp_path / "memory.db")
    settings = replace(Config(), search=replace(Config().search, distilled="off"))
    with Engine(store, settings, embedder=Watched()) as engine:
        engine.save_all(drafts(UNAIDED))
        engine.vectors.wake()
        engine.vectors.rest()  # whatever was begun is done

        assert store.term_vectors.learned(1) is None


def test_an_engine_that_wakes_learns_what_was_not_learned_yet(tmp_path):
    store = SqliteStore(tmp_path / "memory.db")
    off = replace(Config(), search=replace(Config().search, distilled="off"))
    with Engine(store, off, embedder=Watched(), lasting=False) as command:
        command.save_all(drafts(UNAIDED))
        assert store.term_vectors.learned(1) is None

    with Engine(SqliteStore(tmp_path / "memory.db"), Config(), embedder=Watched()) as engine:
        engine.vectors.wake()
        until(lambda: engine.store.generations.answering()[1] is not None)


def once(others):
    """Both begin together; then each goes on alone."""
    met = []

    def meet():
        if not met:
            met.append(threading.get_ident())
            others.wait(SOON)

    return meet


@pytest.mark.parametrize("times", [1, 20])
def test_work_that_is_announced_while_it_is_done_is_done_again(times):
    left = threading.Semaphore(0)
    runs = []

    def work(going):
        runs.append(going())
        left.release()

    background = Worker()
    for _ in range(times):
        background.wake(work)
    assert left.acquire(timeout=SOON)
    background.close()
    background.wake(work)

    assert all(runs[:1])
    assert len(runs) <= times


def until(true):
    """Wait for what another thread is about to do."""
    pause = threading.Event()
    for _ in range(int(SOON * 100)):
        if true():
            return
        pause.wait(0.01)
    raise AssertionError("it did not come about")
