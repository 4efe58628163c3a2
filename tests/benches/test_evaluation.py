"""What `bench/quality.py` measures of judged sets: every system, strangers' questions, sums."""

from __future__ import annotations

import json
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from judged_asked import CONFIG, nobody, opened, unwatched
from judged_made import THINGS, judged

from evaluation import Plan, evaluate
from evaluation.measures import line, summaries
from evaluation.systems import EFFORTS, SYSTEMS, Asked, effort, grepped, grouped, searched
from memory import Config
from memory.config.settings import EmbeddingSettings, SearchSettings
from memory.evaluate import Measures, judged as reading
from memory.evaluate.judged import JudgedDocument, Question
from memory.evaluate.systems import System, chosen
from memory.schema.answer import Outcome
from memory.schema.errors import Error, Invalid
from memory.schema.query import Mode

if TYPE_CHECKING:
    from pathlib import Path

NAMED = {system.name: system for system in SYSTEMS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return judged(tmp_path / "notes")


def test_questions_of_a_group_are_asked_among_its_documents(tmp_path):
    found = reading.read(judged(tmp_path / "notes", groups=True))
    with opened(found.folder) as engine:
        for name in ("keywords", "vectors", "hybrid minmax", "tiered"):
            asked = searched(engine, NAMED[name], found.questions, nobody)
            assert all(one.measures.mrr10 == 1 for one in asked), name
    assert all(one.measures.mrr10 == 1 for one in grepped(found.documents, found.questions, nobody))

    strangers = [one._replace(group="west") for one in found.questions]
    assert all(one.measures.ndcg10 == 0 for one in grepped(found.documents, strangers, nobody))


def test_a_call_is_an_answer_that_needed_its_questions_vector(folder):
    found = reading.read(folder)
    twice = [*found.questions, *found.questions]  # a vector that is remembered was needed all the same
    with opened(folder) as engine:
        shares = {
            name: [one.called for one in searched(engine, NAMED[name], twice, nobody)]
            for name in ("keywords", "vectors", "hybrid max", "no call")
        }
        always = System("always", Mode.TIERED, {"gate": "always", "distilled": "off"})
        shares["always"] = [one.called for one in searched(engine, always, twice, nobody)]

    assert set(shares["keywords"]) == set(shares["no call"]) == {False}
    assert set(shares["vectors"]) == set(shares["hybrid max"]) == set(shares["always"]) == {True}


def test_every_question_is_told(folder):
    told = []
    with opened(folder) as engine:
        searched(engine, NAMED["keywords"], reading.read(folder).questions, lambda: told.append(1))
    assert len(told) == 10


def test_grep_goes_by_how_many_different_words_a_document_holds():
    found = [
        JudgedDocument("one", "red", "title"),
        JudgedDocument("two", "red RED redder"),
        JudgedDocument("both", "a bluebird, reddish"),
        JudgedDocument("none", "green"),
        JudgedDocument("cross", "x"),
        JudgedDocument("title", "x", "Red and blue"),
    ]

    def first(text: str, relevant: str) -> float:
        return grepped(found, [Question("q", text, None, {relevant: 1.0})], nobody)[0].measures.mrr10

    assert first("red blue red", "both") == 1
    assert first("red blue red", "title") == 1 / 2
    assert first("red blue red", "one") == 1 / 3
    assert first("RED", "two") == 1 / 2
    assert first("red red red bluebird a", "both") == 1
    assert first("green x x", "none") == 1
    assert first("red blue", "none") == 0


def test_a_system_is_the_users_settings_but_for_what_it_changes():
    own = SearchSettings(gate="never", merge="rrf", candidates=50, vector_weight=0.1, effort=0.2, distilled="off")

    assert all(
        one.settings(replace(own, profile="documented")).profile == "measured"
        for one in (effort(0.7), NAMED["no call"])
    )
    assert NAMED["tiered"].settings(own) == NAMED["keywords"].settings(own) == own
    assert NAMED["hybrid max"].settings(own) == replace(own, merge="max", combined="off")
    assert NAMED["hybrid minmax"].settings(own) == replace(own, merge="minmax", combined="off")
    assert NAMED["hybrid combined"].settings(own) == replace(own, merge="minmax", distilled="auto")
    assert effort(0.7).settings(own) == replace(own, gate="auto", effort=0.7)
    seed = NAMED["count gate"].settings(own)
    assert seed == replace(own, profile="documented", vector_weight=0.7)
    assert [round(value, 1) for value in EFFORTS] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def test_systems_are_chosen_by_name_in_the_order_of_the_table():
    found = chosen(["tiered", "grep"], SYSTEMS)

    assert [system.name for system in found] == ["grep", "tiered"]
    with pytest.raises(Invalid, match="no system 'tired'") as error:
        chosen(["tired"])
    assert error.value.hint == "Did you mean 'tiered'?"


def asked(ndcg: float, *, called: bool = False, tier: str = "keyword", outcome: str = "answered") -> Asked:
    return Asked(Measures(ndcg, 0.0, 0.0, 0.0, 0.0), 0.001, called, tier, outcome)


def test_a_line_says_how_much_of_hybrid_it_is_and_what_is_between_them():
    hybrid = [asked(0.5), asked(1.0), asked(0.5)]
    found = line("x", [asked(0.5), asked(0.5, called=True, tier="hybrid", outcome="weak"), asked(0.5)], hybrid)

    assert found.quality.ndcg10.mean == pytest.approx(0.5)
    assert found.relative == pytest.approx(0.75)
    assert found.difference.mean == pytest.approx(-0.5 / 3)
    assert found.difference.low <= found.difference.mean <= found.difference.high <= 0
    assert found.calls.mean == pytest.approx(1 / 3)
    assert [(one.name, round(one.share, 3)) for one in found.tiers] == [("keyword", 0.667), ("hybrid", 0.333)]
    assert [one.name for one in found.outcomes] == [str(outcome) for outcome in Outcome]
    assert [round(one.share, 3) for one in found.outcomes[:2]] == [0.667, 0.333]
    assert line("x", hybrid, None)[5:7] == (None, None)
    assert line("x", hybrid, [asked(0.0)] * 3).relative is None


def test_a_summary_counts_each_set_alike():
    sets = [
        [line("x", [asked(0.5)] * 10, [asked(1.0)] * 10)],
        [line("x", [asked(0.9, called=True)] * 2, [asked(1.0)] * 2)],
    ]

    (found,) = summaries(sets)

    assert (found.quality.ndcg10, found.relative, found.worst) == pytest.approx((0.7, 0.7, 0.5))
    assert found.calls == pytest.approx(0.5)
    (unknown,) = summaries([sets[0], [line("x", [asked(0.9)], None)]])
    assert (unknown.relative, unknown.worst) == (None, None)


def test_sets_are_asked_questions_of_each_other(tmp_path, folder):
    groups = judged(tmp_path / "grouped", groups=True)
    plan = Plan(CONFIG, systems=("tiered",), most=7)

    found = evaluate([folder, groups], plan, unwatched)

    assert [one.name for one in found.sets] == ["notes", "grouped"]
    others = [[(other.other, other.questions) for other in one.unanswerable] for one in found.sets]
    assert others == [[("grouped", 7)], [("notes", 7)]]
    assert [share.name for share in found.sets[0].unanswerable[0].outcomes] == [str(outcome) for outcome in Outcome]
    assert [one.questions for one in found.sets] == [7, 7]
    for one in found.sets:  # something is in scope, though its groups are not those of the questions
        assert {share.name: share.share for share in one.unanswerable[0].outcomes}["nothing_saved"] == 0


def test_questions_of_others_take_turns_among_groups():
    asked = [Question(str(number), "what", "theirs", {"a": 1.0}) for number in range(5)]
    found = [
        JudgedDocument("a", "x", group="north"),
        JudgedDocument("b", "x", group="south"),
        JudgedDocument("c", "x", group="north"),
    ]

    assert [one.group for one in grouped(asked, found)] == ["north", "south", "north", "south", "north"]
    assert {one.group for one in grouped(asked, [JudgedDocument("a", "x")])} == {None}
    assert not any(one.relevant for one in grouped(asked, found))  # their document only has the same id


def test_a_set_against_itself_is_not_asked_what_it_answers(tmp_path, folder):
    other = judged(tmp_path / "other")
    found = evaluate([folder, other], Plan(CONFIG, systems=("tiered",), against=other), unwatched)

    assert [[one.other for one in of_set.unanswerable] for of_set in found.sets] == [["other"], []]


def test_without_a_model_only_what_needs_none_is_measured(folder):
    none = Config(embedding=EmbeddingSettings(provider="none"))

    found = evaluate([folder], Plan(none), unwatched)

    assert [one.system for one in found.sets[0].lines] == ["grep", "keywords", "count gate", "no call", "tiered"]
    assert (found.frontier, found.sets[0].model) == ((), "")
    assert "no model is configured" in found.notices[0].text
    with pytest.raises(Error, match="no embedder is configured"):
        evaluate([folder], Plan(none, systems=("vectors",)), unwatched)


def test_progress_ends_with_all_questions_of_all_systems(folder):
    told: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def watch(label: str):
        yield lambda done, total: told.setdefault(label, []).append((done, total))

    found = evaluate([folder], Plan(CONFIG), watch)

    total = 10 * (len(SYSTEMS) + len(EFFORTS))
    assert told["notes: asking"] == [(done + 1, total) for done in range(total)]
    assert [one.system for one in found.sets[0].frontier] == [f"effort {value:.1f}" for value in EFFORTS]
    assert len(THINGS) == found.sets[0].questions
    assert json.dumps([one.quality.ndcg10 for one in found.summary])
