"""A small store does not deny what it knows: thirty notes of developers, asked in other words, with the real model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memory import Config, Draft, Engine, Mode, Query, Tier
from memory.evaluate.judged import questions, read
from memory.schema.answer import Outcome
from memory.search.context import PERHAPS
from memory.vectors.local.embedder import LocalEmbedder
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Iterator

JUDGED = Path(__file__).parents[2] / "support" / "judged"
NOTES = read(JUDGED / "developer_notes")
STRANGERS = questions(JUDGED / "strangers")
BEYOND = {"thundering herd"}
"""Asked for by a name that the model does not know: nothing is nearer to it than to a stranger, and no word is shared."""


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    config = replace(Config(), embedding=replace(Config().embedding, fill="lazy"))
    with Engine(RamStore(), config, embedder=LocalEmbedder(), lasting=False) as engine:
        engine.save_all(
            [Draft(title=one.title, what=one.text, metadata={"id": one.id}) for one in NOTES.documents],
        )
        engine.embed()
        yield engine


@pytest.mark.parametrize("question", NOTES.questions, ids=lambda question: question.text)
def test_a_right_note_is_not_denied(engine: Engine, question) -> None:
    answer = engine.search(Query(question.text, 5))
    found = any(hit.memory.metadata["id"] in question.relevant for hit in answer.hits)
    denied = answer.outcome is Outcome.NOTHING_RELEVANT
    context = engine.context(question.text, limit=5, topup_recent=False)

    assert (found and denied) == (question.text in BEYOND)
    if found and not denied:
        assert any(memory.metadata["id"] in question.relevant for memory in context.memories)


def test_nearly_every_right_note_is_among_the_first_five(engine: Engine) -> None:
    """Else the test above would hold of a store that finds nothing."""
    answers = [(one, engine.search(Query(one.text, 5))) for one in NOTES.questions]

    found = [one for one, answer in answers if {hit.memory.metadata["id"] for hit in answer.hits} & set(one.relevant)]

    assert len(NOTES.questions) >= 34
    assert len(found) >= len(NOTES.questions) - 4


@pytest.mark.parametrize("question", NOTES.questions, ids=lambda question: question.text)
def test_words_alone_deny_nothing(engine: Engine, question) -> None:
    answer = engine.search(Query(question.text, 5, mode=Mode.KEYWORD))

    assert answer.outcome is not Outcome.NOTHING_RELEVANT


def test_strangers_are_told(engine: Engine) -> None:
    answers = [engine.search(Query(one.text, 5)) for one in STRANGERS]
    told = [answer for answer in answers if answer.outcome is Outcome.NOTHING_RELEVANT]

    assert {answer.tier for answer in answers} <= {Tier.HYBRID, Tier.DISTILLED}
    assert len(told) >= len(STRANGERS) * 2 / 3
    assert all("unrelated questions reach 0." in answer.worth for answer in answers if answer.tier is Tier.HYBRID)


def test_context_shows_the_nearest_three_of_what_seems_not_to_fit_as_perhaps(engine: Engine) -> None:
    told = [one.text for one in STRANGERS if engine.search(Query(one.text, 5)).outcome is Outcome.NOTHING_RELEVANT]

    for text in told:
        context = engine.context(text, limit=5, topup_recent=False)
        nearest = [hit.memory.id for hit in engine.search(Query(text, 5)).hits][:PERHAPS]

        assert [memory.id for memory in context.memories] == nearest
        assert "Perhaps:\n" in context.text
        assert "About the task:" not in context.text
        assert "nothing saved seems to be about the task" in context.notices[0].text


@pytest.mark.parametrize("mode", [Mode.TIERED, Mode.KEYWORD])
def test_one_note_is_not_denied_to_whom_it_answers(mode: Mode) -> None:
    with Engine(RamStore(), Config(), embedder=LocalEmbedder(), lasting=False) as engine:
        engine.save(Draft(title="Switched to JWT auth"))

        answer = engine.search(Query("authentication", mode=mode))

        assert answer.outcome is Outcome.WEAK
        assert bool(answer.hits) == (mode is Mode.TIERED)
        assert len(engine.context("authentication", topup_recent=False).memories) == 1


@pytest.mark.parametrize(
    ("title", "what", "questions"),
    [
        (
            "Postgres pool raised to 20",
            "Requests waited for connections at 12",
            ("why is the database slow under load", "speed up the checkout"),
        ),
        ("Failover takes 40 s", "Measured in the drill of May", ("how long is the outage",)),
    ],
)
def test_what_the_tutorial_and_the_readme_show_is_not_denied(title, what, questions) -> None:
    with Engine(RamStore(), Config(), embedder=LocalEmbedder(), lasting=False) as engine:
        engine.save(Draft(title=title, what=what))
        for question in questions:
            assert engine.search(question).outcome in {Outcome.WEAK, Outcome.ANSWERED}
            context = engine.context(question, topup_recent=False)
            assert [memory.title for memory in context.memories] == [title]
            assert not context.notices
