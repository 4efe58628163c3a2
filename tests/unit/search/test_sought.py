"""What a question asks for is looked for in the answer: a price, a date, a person."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings, strategies as st

from memory import Config, Draft, Engine, Outcome, Query
from memory.evaluate.judged import read
from memory.search.confidence import ASKING, FIRST
from memory.search.sought import _KINDS, BEGINNINGS, _begun, missing

if TYPE_CHECKING:
    from collections.abc import Iterator

JUDGED = Path(__file__).parents[2] / "support" / "judged"


@pytest.mark.parametrize(
    ("question", "kind", "held", "lacking"),
    [
        ("what does the licence cost", "a price", "We pay 12.50 a seat", "Licences end in May, 40 seats"),
        ("how much did we spend on servers", "a price", "Servers were €900", "4 servers of 16 GB"),
        ("which version of Redis is it", "a version", "Redis 7 since June", "Redis holds 20 sessions"),
        ("what share of builds fails", "a share", "A third of all builds fails", "Builds fail on Mondays, 12 so far"),
        (
            "how many retries does it make",
            "a number",
            "It retries three times",
            "3 people want to know of us why it makes retries",
        ),
        ("how long is the trial", "a duration", "It ends after 14 days", "The trial has 3 users"),
        ("when does the job start", "a date", "The job starts at 02:00", "The job starts on the large host"),
        ("who owns the mailer", "a name", "The mailer is Nora's", "The mailer has a queue"),
        ("diameter of the pipe", "a length", "A pipe of 32 mm", "The pipe takes 3 bar"),
        ("what is the phone number of support", "a phone number", "Call 0221 998877", "Support has 12 agents"),
    ],
)
def test_a_text_has_the_kind_of_value_that_is_asked_for_or_not(question, kind, held, lacking) -> None:
    assert missing(question, [lacking]) == kind
    assert missing(question.upper(), [lacking, held]) == ""
    assert missing(f"  {question} ", [held]) == ""


@pytest.mark.parametrize(
    "question",
    [
        "retry limit of the uploader",
        "why do builds fail",
        "count how often each word occurs",
        "when was the pool raised",
        "",
        "cost",
        "wer hat das gebaut",
    ],
)
def test_other_questions_ask_for_no_kind(question) -> None:
    assert missing(question, ["nothing of that sort"]) == ""


def test_first_words_say_nothing_and_come_in_order():
    assert missing("and what is the price of it", [""]) == missing("our price of it", [""]) == "a price"
    assert missing("the what is price of it", [""]) == missing("price price of it", [""]) == ""


@given(st.text(), st.lists(st.text()))
def test_any_question_may_be_asked_of_any_text(question: str, texts: list[str]) -> None:
    assert isinstance(missing(question, texts), str)


@settings(max_examples=200)
@given(st.data(), st.sampled_from(_KINDS))
def test_whatever_asks_for_a_kind_is_seen_at_its_first_words(data: st.DataObject, kind) -> None:
    before = [data.draw(st.sampled_from(["", *words])) for words in BEGINNINGS]
    asked = " ".join([*before, data.draw(st.from_regex(rf"\A(?:{kind.asked})"))]).lower()
    asked = " ".join(asked.split())

    assume(any(re.match(kind.asked, rest) for rest in _begun(asked)))

    assert not ASKING.isdisjoint(re.findall(r"\w+", asked)[:FIRST])
    assert any(word in asked for word in kind.words.split("|"))


@pytest.mark.parametrize("name", ["agent_notes", "dated_notes", "developer_notes", "short_notes"])
def test_what_answers_a_question_has_what_it_asks_for(name) -> None:
    judged = read(JUDGED / name)
    texts = {document.id: f"{document.title}. {document.text}" for document in judged.documents}

    wrong = [
        question.text for question in judged.questions if missing(question.text, map(texts.get, question.relevant))
    ]

    assert len(wrong) <= len(judged.questions) / 50, wrong


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    config = Config(home=str(tmp_path))
    with Engine.open(replace(config, embedding=replace(config.embedding, provider="none"))) as engine:
        engine.save(Draft(title="The licence of the editor", what="It ends in May and is for forty seats"))
        yield engine


def test_an_answer_without_what_is_asked_for_is_not_trusted_and_says_why(engine: Engine) -> None:
    asked = engine.search(Query("what does the licence of the editor cost"))
    named = engine.search(Query("licence of the editor"))

    assert asked.outcome is Outcome.WEAK
    assert asked.worth.startswith("no result of the first 1 has a price, the first result matches ")
    assert named.outcome is Outcome.ANSWERED


def test_what_is_further_down_counts_as_far_as_an_answer_is_read(engine: Engine) -> None:
    engine.save(Draft(title="The licence of the editor was paid", what="12.50 a seat"))

    assert engine.search(Query("what does the licence of the editor cost")).outcome is Outcome.ANSWERED
