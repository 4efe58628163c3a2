"""Strangers are embedded once a generation, where that costs nobody's patience, and tell what nearness means."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from statistics import median_high
from typing import TYPE_CHECKING

import pytest
from asking import config
from notes_made import drafts
from provider import Provider

from memory import Config, Draft, Engine, Mode, Query, Scope
from memory.schema.answer import Outcome
from memory.schema.errors import Unreachable
from memory.search.confidence import TOLD
from memory.store.sqlite import SqliteStore
from memory.vectors.baseline import ANSWERS, LEAST, STAMP, STRANGERS, due
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.providers.inside import HashedEmbedder
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memory.schema.space import Strangers, Vectors
    from memory.vectors import Role

TEXTS = len(STRANGERS) + len(ANSWERS)
LAZY = replace(Config(), embedding=replace(Config().embedding, fill="lazy"))
HASHED = replace(Config(), embedding=replace(Config().embedding, provider="hashed", model="hashed-64"))
MANY = 3 * LEAST


class Counted(HashedEmbedder):
    """
    Attributes:
        asked: The texts of each call.
        down: Whether strangers cannot be embedded.
    """

    def __init__(self) -> None:
        super().__init__(64)
        self.asked: list[tuple[str, Role]] = []
        self.down = False

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        if self.down and STRANGERS[0] in texts:
            raise Unreachable("down")
        self.asked += [(text, role) for text in texts]
        return super().embed(texts, role)


def known(engine: Engine) -> Strangers | None:
    generation = engine.store.generations.active()
    return None if generation is None else generation.strangers


def strange(embedder: Counted) -> int:
    return sum(text in STRANGERS or text in ANSWERS.values() for text, _ in embedder.asked)


def test_questions_are_embedded_as_queries_and_their_answers_as_passages() -> None:
    embedder = Counted()
    with Engine(RamStore(), LAZY, embedder=embedder, lasting=False) as engine:
        engine.save_all(drafts(MANY))
        engine.embed()

        found = known(engine)

    assert found is not None
    assert (len(found.nearest), found.stamp) == (len(STRANGERS), STAMP)
    assert {role for text, role in embedder.asked if text in STRANGERS} == {"query"}
    assert {role for text, role in embedder.asked if text in ANSWERS.values()} == {"passage"}
    own = [
        float(HashedEmbedder(64).embed([question], "query")[0] @ HashedEmbedder(64).embed([answer], "passage")[0])
        for question, answer in ANSWERS.items()
    ]
    assert found.right == pytest.approx(sorted(own)[len(own) // 2], abs=1e-6)


def test_they_are_embedded_once() -> None:
    embedder = Counted()
    with Engine(RamStore(), LAZY, embedder=embedder, lasting=False) as engine:
        engine.save_all(drafts(MANY))
        engine.embed()
        engine.embed()

        assert known(engine) is not None
        assert strange(embedder) == TEXTS


def probed(engine: Engine) -> int:
    """Texts embedded to know the model."""
    return sum(call.texts for call in engine.vectors.ledger() if call.purpose == "probe")


@pytest.mark.parametrize("lasting", [False, True])
def test_a_model_in_this_process_embeds_them_with_the_tenth_vector(*, lasting: bool) -> None:
    with Engine(RamStore(), HASHED, lasting=lasting) as engine:
        engine.save_all(drafts(LEAST - 1))
        engine.embed()
        assert (known(engine), probed(engine)) == (None, 0)

        for n in range(3):
            engine.save(Draft(title=f"one more {n}"))
            for thread in threading.enumerate():
                if thread.name == "memory-fill":
                    thread.join(60)

        assert known(engine) is not None
        assert probed(engine) == TEXTS


@pytest.mark.parametrize("lasting", [False, True])
def test_the_embedder_of_a_program_is_asked_for_them_only_by_embed(*, lasting: bool) -> None:
    embedder = Counted()
    with Engine(RamStore(), Config(), embedder=embedder, lasting=lasting) as engine:
        for draft in drafts(MANY):
            engine.save(draft)
        assert strange(embedder) == 0

        engine.embed()

        assert strange(embedder) == TEXTS


def test_a_search_never_embeds_them() -> None:
    embedder = Counted()
    with Engine(RamStore(), LAZY, embedder=embedder, lasting=False) as engine:
        engine.save_all(drafts(MANY))

        engine.search(Query("what nobody said", mode=Mode.HYBRID))

        assert engine.status().counts.queued == 0
        assert (known(engine), strange(embedder)) == (None, 0)


def test_a_reindex_embeds_them_in_the_new_space(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with Engine(SqliteStore(path), Config(), embedder=HashedEmbedder(32), lasting=False) as engine:
        engine.save_all(drafts(MANY))
        engine.embed()
        former = known(engine)
    embedder = Counted()
    with Engine(SqliteStore(path), Config(), embedder=embedder, lasting=False) as engine:
        engine.reindex()

        assert strange(embedder) == TEXTS
        assert known(engine) not in {None, former}
        engine.roll_back()
        assert known(engine) == former


def test_other_texts_are_embedded_anew() -> None:
    embedder, store = Counted(), RamStore()
    with Engine(store, Config(), embedder=embedder, lasting=False) as engine:
        engine.save_all(drafts(MANY))
        store.vectors.set_strangers(1, HashedEmbedder(64).embed(["of a former version"], "query"), stamp=STAMP + 1)
        assert due(store, store.generations.active())

        engine.embed()

        found = known(engine)
        assert found is not None
        assert (found.stamp, len(found.nearest)) == (STAMP, len(STRANGERS))


def test_where_many_vectors_went_they_are_compared_anew_without_the_model() -> None:
    embedder, store = Counted(), RamStore()
    with Engine(store, Config(), embedder=embedder, lasting=False) as engine:
        engine.save_all(drafts(MANY))
        engine.embed()
        for one in engine.recent(limit=MANY // 2):
            engine.delete(one.id)
        former = known(engine)
        assert former is not None
        assert former.loose
        asked = len(embedder.asked)

        engine.embed()

        found = known(engine)
        assert found is not None
        assert (found.loose, len(embedder.asked)) == (0, asked)
        assert sum(found.nearest) < sum(former.nearest)


def test_what_goes_wrong_costs_nothing_but_them() -> None:
    embedder = Counted()
    embedder.down = True
    with Engine(RamStore(), LAZY, embedder=embedder, lasting=False) as engine:
        engine.save_all(drafts(MANY))

        assert engine.embed().embedded == MANY
        assert known(engine) is None
        assert engine.search(Query("what nobody said", mode=Mode.HYBRID)).outcome is not Outcome.DEGRADED

        embedder.down = False
        engine.embed()
        assert known(engine) is not None


def test_a_server_is_asked_once_and_it_is_in_the_ledger(tmp_path: Path) -> None:
    with Provider() as provider:
        with Engine(SqliteStore(tmp_path / "memory.db"), config("ollama", provider), lasting=False) as engine:
            engine.save_all(drafts(MANY))
            engine.embed()
            before = len(provider.seen)
            engine.save_all(drafts(5, first=MANY))
            engine.embed()

            assert known(engine) is not None
            assert len(provider.seen) == before + 1
            sent = Counter(
                str(text).removeprefix("search_query: ") for one in provider.seen for text in one.body["input"]
            )
            assert {sent[question] for question in STRANGERS} == {1}
            assert sum(call.texts for call in engine.vectors.ledger() if call.purpose == "probe") >= TEXTS


def test_a_budget_that_is_spent_leaves_them_for_another_day(tmp_path: Path) -> None:
    with Provider() as provider:
        settings = config("ollama", provider)
        settings = replace(settings, embedding=replace(settings.embedding, daily_budget="2 calls"))
        with Engine(SqliteStore(tmp_path / "memory.db"), settings, lasting=False) as engine:
            engine.save_all(drafts(MANY))

            assert engine.embed().embedded == MANY
            assert known(engine) is None


# What they tell ----------------------------------------------------------------


def test_a_project_is_judged_by_its_own_size() -> None:
    """Strangers come nearer to hundreds of notes than to the ten of a project that is asked for."""
    with Engine(RamStore(), LAZY, embedder=LocalEmbedder(), lasting=False) as engine:
        engine.save_all(drafts(MANY))
        engine.save_all([Draft(title="Switched to JWT auth", project="small"), Draft(title="n1", project="small")])
        engine.embed()
        found = known(engine)
        assert found is not None

        whole = engine.search(Query("authentication", mode=Mode.HYBRID))
        small = engine.search(Query("authentication", mode=Mode.HYBRID, scope=Scope(projects=frozenset({"small"}))))

    def usual(worth: str) -> float:
        return float(worth.rsplit(" ", 1)[1])

    nearest = sorted(found.nearest)
    assert median_high(nearest) - 0.01 < usual(whole.worth) < nearest[int(len(nearest) * TOLD)] + 0.01
    assert found.mean < usual(small.worth) < usual(whole.worth)


@pytest.mark.parametrize("provider", ["ollama", "openai"])
def test_the_same_store_and_strangers_give_the_same_answer(tmp_path: Path, provider: str) -> None:
    with Provider() as server:
        path, how = tmp_path / "memory.db", config(provider, server)
        with Engine(SqliteStore(path), how, key="sk-test", lasting=False) as engine:
            engine.save_all(drafts(MANY))
            engine.embed()
            first = [engine.search(Query(text, mode=Mode.HYBRID)) for text in STRANGERS[:5]]
        with Engine(SqliteStore(path), how, key="sk-test", lasting=False) as engine:
            again = [engine.search(Query(text, mode=Mode.HYBRID)) for text in STRANGERS[:5]]

    assert [(one.outcome, one.worth) for one in first] == [(one.outcome, one.worth) for one in again]
