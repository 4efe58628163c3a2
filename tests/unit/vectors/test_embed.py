"""Texts that a model reads in hundreds of windows, and texts that it does not take: what is done, and what is left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from doubles import Watched
from hypothesis import given, strategies as st

from memory import Draft, Engine, Mode, Query
from memory.config import Config
from memory.schema.errors import BODY_LIMIT, Garbled, Refused, Unfit, Unreachable
from memory.schema.kinds import Kind
from memory.schema.memory import Chunk, ChunkId, ChunkType, Excerpt, MemoryId
from memory.store.sqlite import SqliteStore
from memory.vectors import FINGERPRINT_TEXT
from memory.vectors.embed import SHARE, WINDOWS, long, shares
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from memory.schema.space import Vectors
    from memory.store import Store
    from memory.vectors import Role

WIDE = 1_000  # characters


class Narrow(Watched):
    """Reads a thousand characters at once, and takes no text with the word `poison`: it raises what it is told to."""

    def __init__(self, error: Callable[[str], Exception] = ValueError) -> None:
        super().__init__()
        self.calls = 0
        self.error, self.down = error, False

    def windows(self, text: str) -> Sequence[str]:
        return [text[start : start + WIDE] for start in range(0, len(text), WIDE)] or [text]

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        self.calls += 1
        if self.down or any("poison" in text for text in texts):
            raise self.error("it went wrong")
        return super().embed(texts, role)


def engine(store: Store, embedder: Narrow, **said: object) -> Engine:
    config = replace(Config(), embedding=replace(Config().embedding, **{"fill": "eager", "fill_seconds": 0.0} | said))
    return Engine(store, config, embedder=embedder, lasting=False)


def prompt(body: str, session: str = "s") -> Draft:
    return Draft(kind=Kind.INPUT_PROMPT, body=body, session_id=session, session_iter=1)


def long_text(characters: int) -> str:
    return " ".join(f"word{number}" for number in range(characters // 9))[:characters].strip()


# Hundreds of windows ------------------------------------------------------------------


def test_a_memory_of_half_a_million_characters_is_kept_before_it_is_embedded(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    kept: list[int] = []
    embedder = Narrow()
    embedder._before = lambda: kept.append(store.counts().memories)

    with engine(store, embedder) as made:
        saved = made.save(prompt(long_text(499_000)))

    assert kept
    assert set(kept) == {1}, "somebody waited for the model before it was kept"
    assert any("wait" in notice.text for notice in saved.notices)


def test_without_time_a_little_is_done_each_time_and_nothing_twice(tmp_path: Path) -> None:
    """Each time in another process: what was made is in the file."""
    path = tmp_path / "memory.db"
    text = long_text(10 * WINDOWS * WIDE // 2)
    embedder = Narrow()
    with engine(SqliteStore(path), embedder) as made:
        id = made.save(prompt(text)).memory.id
    times = 1
    while True:
        with engine(SqliteStore(path), embedder) as made:
            if not made.status().counts.queued:
                break
            made.search(Query("something else entirely", mode=Mode.HYBRID))
            times += 1
        assert times < 10

    windows = [one for one in embedder.passages if one != FINGERPRINT_TEXT and "word" in one]
    assert len(windows) == len(set(windows)) == -(-len(text) // WIDE)
    assert times == -(-len(windows) // WINDOWS)
    with engine(SqliteStore(path), embedder) as made:
        assert made.embedding(id).state == "generated"


def test_a_vector_of_many_windows_is_the_one_it_has_when_made_at_once() -> None:
    text = long_text(3 * SHARE)
    gradually, at_once = RamStore(), RamStore()
    with engine(gradually, Narrow()) as made:
        made.save(prompt(text))
        for _ in range(5):
            made.search(Query("something else entirely", mode=Mode.HYBRID))
    with engine(at_once, Narrow()) as made:
        made.save(prompt(text))
        made.reindex()

    assert gradually.data.vectors.keys() == at_once.data.vectors.keys()
    assert all((gradually.data.vectors[key] == vector).all() for key, vector in at_once.data.vectors.items())


def test_short_texts_do_not_wait_for_a_long_one() -> None:
    store, embedder = RamStore(), Narrow()
    with engine(store, embedder) as made:
        made.save(prompt(long_text(10 * SHARE)))
        waiting = made.save(prompt("a zebra", "other"))
        ids = [made.save(prompt(f"giraffe {number} " + "x" * 15_000, "third")).memory.id for number in range(5)]

        assert {made.embedding(id).state for id in (waiting.memory.id, *ids)} == {"generated"}
        assert store.queue.queued() == 1


def test_embedding_by_hand_does_all_of_it() -> None:
    store, embedder = RamStore(), Narrow()
    with engine(store, embedder) as made:
        made.save(prompt(long_text(3 * SHARE)))
        found = made.embed()

    assert (found.embedded, found.left, found.more) == (1, 0, False)


def test_a_text_that_was_replaced_meanwhile_is_begun_anew() -> None:
    store, embedder = RamStore(), Narrow()
    with engine(store, embedder) as made:
        saved = made.save(prompt(long_text(3 * SHARE)))
        made.update(saved.memory.id, body="giraffe " * SHARE)
        made.embed()

        assert made.embedding(saved.memory.id).state == "generated"
    assert store.data.begun == {}


def excerpt(id: int, length: int) -> Excerpt:
    chunk = Chunk(0, 0, length, ChunkType.TEXT)
    return Excerpt(ChunkId(id), MemoryId(id), chunk, "x" * length, "", "", "", "", "", ())


@given(st.lists(st.integers(0, 2 * SHARE), max_size=20), st.none() | st.just(SHARE))
def test_shares_hold_everything_once_in_order_the_long_ones_last(lengths: list[int], most: int | None) -> None:
    found = list(shares([excerpt(id, length) for id, length in enumerate(lengths)], most))

    alone = [long(share[0]) for share in found]
    short = [one.id for share, is_long in zip(found, alone, strict=True) if not is_long for one in share]
    assert short == [id for id, length in enumerate(lengths) if length <= SHARE]
    assert [[one.id for one in share] for share in found if long(share[0])] == [
        [id] for id, n in enumerate(lengths) if n > SHARE
    ]
    assert all(sum(len(one.text) for one in share) <= (most or BODY_LIMIT) for share in found if not long(share[0]))
    assert alone == sorted(alone)


# One bad text -------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyError, MemoryError, RuntimeError, Unfit, Garbled])
@pytest.mark.parametrize("length", [10, 3 * SHARE], ids=["short", "long"])
def test_a_text_that_an_embedder_raises_for_is_noted_and_the_rest_goes_on(
    error: Callable[[str], Exception], length: int
) -> None:
    store, embedder = RamStore(), Narrow(error)
    with engine(store, embedder, fill="lazy") as made:
        made.save_all([prompt(f"zebra {number}", str(number)) for number in range(20)])
        bad = made.save(prompt("poison " + long_text(length), "bad"))
        made.save_all([prompt(f"giraffe {number}", str(number)) for number in range(20)])
        found = made.reindex()

        assert (found.embedded, found.failed) == (40, 1)
        assert "it went wrong" in found.error
        assert made.embedding(bad.memory.id).state == "failed"
        assert made.embed().failed == 1, "it is tried again for whoever asks"
        assert store.queue.queued() == 1


@pytest.mark.parametrize("error", [ValueError, Unreachable, Refused, ConnectionError])
def test_a_model_that_takes_nothing_costs_two_calls_and_marks_nothing(error: Callable[[str], Exception]) -> None:
    store, embedder = RamStore(), Narrow(error)
    with engine(store, embedder, fill="lazy") as made:
        made.save_all([prompt(f"zebra {number}", str(number)) for number in range(20)])
        made.embed()
        made.save_all([prompt(f"giraffe {number}", str(number)) for number in range(100)])
        embedder.down, embedder.calls = True, 0

        with pytest.raises((Refused, Unreachable)):
            made.embed()

        assert embedder.calls <= 2
        assert store.counts().failed == 0
        embedder.down = False
        assert made.embed().embedded == 100


def test_a_model_that_goes_down_amid_a_search_for_a_bad_text_marks_nothing() -> None:
    store, embedder = RamStore(), Narrow()
    with engine(store, embedder, fill="lazy") as made:
        made.save_all([prompt(f"zebra {number}", str(number)) for number in range(31)])
        made.save(prompt("poison", "bad"))
        seen = 0

        def later() -> None:
            nonlocal seen
            seen += 1
            embedder.down = seen > 2

        embedder._before = later
        with pytest.raises(Refused, match="it went wrong"):
            made.reindex()

    assert store.counts().failed == 0
