"""Smaller stores drawn from a set: their own statistics, the vectors of the whole, and what they deny."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest
from embedder_suite import TEXTS, EmbedderSuite
from judged_asked import CONFIG, unwatched
from judged_made import documents, jsonl, judged

from evaluation import Plan, evaluate
from evaluation.leave_one_out import leave_one_out
from evaluation.measures import OfSet, line
from evaluation.sizes import AGAIN, Remembering, Sample, by_size, compared, draw, parsed
from evaluation.systems import EFFORTS, NOTHING_RIGHT, Asked
from memory import Config, Draft, Engine
from memory.config import EmbeddingSettings
from memory.evaluate import Measures, judged as reading
from memory.evaluate.judged import Question
from memory.evaluate.systems import opened
from memory.schema.errors import Invalid
from memory.schema.query import Mode, Query
from memory.vectors.baseline import ANSWERS, STRANGERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

BANK = len(STRANGERS) + len(ANSWERS)
"""Texts that the model of small stores embeds once, for all of them."""

NO_MODEL = Config(embedding=EmbeddingSettings(provider="none"))
NAMES = ["keywords", "hybrid minmax", "no call", "tiered"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return judged(tmp_path / "notes")


def embedded(engine) -> int:
    return sum(call.texts for call in engine.ledger() if call.purpose != "search")


# The whole way ----------------------------------------------------------------------


def test_each_size_is_asked_as_many_questions_as_it_takes(tmp_path, folder):
    other = judged(tmp_path / "other")
    seen: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def watch(label: str):
        yield lambda done, total: seen.setdefault(label, []).append((done, total))

    found = evaluate([folder], Plan(CONFIG, systems=("grep",), against=other, sizes=(25, 30, 99)), watch)

    (of_set,) = found.sets
    smaller, whole = of_set.sizes
    assert (whole.documents, whole.stores, whole.questions, whole.strangers) == (30, 1, 10, 10)
    assert (smaller.documents, smaller.questions) == (25, AGAIN * 10)
    assert 1 < smaller.stores <= 40
    assert AGAIN * 10 <= smaller.strangers < AGAIN * 10 + smaller.stores
    for size in of_set.sizes:
        assert [one.system for one in size.lines] == NAMES
        assert 0 <= size.denied <= size.found <= size.questions
        assert 0 <= size.told <= size.strangers
        assert size.lines[1].relative == 1
    assert [one.system for one in of_set.lines] == ["grep"]
    total = AGAIN * 10 * 4 + smaller.strangers
    assert seen["notes: 25 memories"] == [(done + 1, total) for done in range(total)]


def test_a_smaller_store_has_the_vectors_of_the_whole_and_statistics_of_its_own(folder):
    one = reading.read(folder)
    with opened(one, CONFIG, None, embeds=True, watch=unwatched) as engine:
        before, model = embedded(engine), Remembering(engine)
        small = one._replace(documents=draw(one, one.questions, 10, Random(1)).documents)
        with opened(small, engine.config, None, embeds=True, watch=unwatched, embedder=model) as other:
            assert other.store.path != engine.store.path
            assert other.status().counts.queued == 0
            asked = Query("why were the postgres connections raised", 30, mode=Mode.VECTOR)
            words = Query("nobody", 30, mode=Mode.KEYWORD)
            near = {hit.memory.metadata["id"]: hit.similarity for hit in engine.search(asked).hits}
            near_too = {hit.memory.metadata["id"]: hit.similarity for hit in other.search(asked).hits}
            keyword, keyword_too = (at.search(words).hits[0].keyword for at in (engine, other))
        after = embedded(engine)

    assert len(near_too) == 10
    assert near_too == pytest.approx({id: near[id] for id in near_too}, abs=1e-6)
    assert keyword_too != keyword
    assert after - before == BANK


def test_no_question_is_embedded_twice_however_many_stores_it_is_put_to(folder):
    one = reading.read(folder)
    strangers = [Question("s", "what is the capital of france")]
    with opened(one, CONFIG, None, embeds=True, watch=unwatched) as engine:
        before = sum(call.texts for call in engine.ledger())
        whole = Sample({name: [Asked(NOTHING_RIGHT, 0.0)] for name in NAMES}, ())
        rows = list(by_size(engine, one, one.questions, strangers, sizes=(10,), whole=whole, watch=unwatched))
        engine.vectors.embedders.write()
        after = sum(call.texts for call in engine.ledger())

    assert rows[0].questions == AGAIN * 10
    assert after - before <= len(one.questions) + len(strangers) + BANK


def test_denied_are_those_of_the_right_answers_that_are_told_nothing_relevant(folder):
    one = reading.read(folder)
    right, wrong = Measures(0.5, 0.0, 1.0, 0.2, 0.0), NOTHING_RIGHT
    told = [
        Asked(measures, 0.0, outcome=outcome)
        for measures in (right, wrong)
        for outcome in ("answered", "weak", "nothing_relevant", "nothing_relevant")
    ]
    whole = Sample(dict.fromkeys(NAMES, told), told[1:3])
    with opened(one, CONFIG, None, embeds=True, watch=unwatched) as engine:
        (row,) = by_size(engine, one, one.questions, (), sizes=(), whole=whole, watch=unwatched)

    assert (row.questions, row.found, row.denied, row.strangers, row.told) == (8, 4, 2, 2, 1)


def test_what_a_smaller_store_is_asked_has_its_answers_in_it_even_in_groups(tmp_path):
    grouped = judged(tmp_path / "grouped", groups=True)

    (found,) = evaluate([grouped], Plan(CONFIG, systems=("grep",), sizes=(40,)), unwatched).sets

    for size in found.sizes:
        quality = {one.system: one.quality for one in size.lines}
        assert quality["keywords"].mrr10.mean == 1
        assert (size.strangers, size.told) == (0, 0)


def test_a_set_whose_questions_need_more_than_a_size_has_no_row_of_it(folder):
    (found,) = evaluate([folder], Plan(CONFIG, systems=("keywords",), sizes=(1,)), unwatched).sets

    assert [size.documents for size in found.sizes] == [30]


def test_without_a_model_sizes_are_measured_with_what_needs_none(folder):
    assert [system.name for system in compared(NO_MODEL)] == ["keywords", "no call", "tiered"]

    (found,) = evaluate([folder], Plan(NO_MODEL, sizes=(25,)), unwatched).sets

    assert [[one.system for one in size.lines] for size in found.sizes] == [["keywords", "no call", "tiered"]] * 2
    assert {one.relative for size in found.sizes for one in size.lines} == {None}


def test_strangers_count_as_answers_that_are_not_right(tmp_path, folder):
    other = judged(tmp_path / "other")
    plan = Plan(CONFIG, systems=("tiered",), against=other, sizes=(), calibration=True)

    (found,) = evaluate([folder], plan, unwatched).sets

    assert [size.documents for size in found.sizes] == [30]
    assert sum(band.strangers for band in found.calibration if band.sign == "outcome") == 10
    (answered,) = [band for band in found.calibration if band.told == "answered"]
    assert (answered.own, answered.five) == (10, 1)
    assert answered.even == pytest.approx(10 / (10 + answered.strangers))


@pytest.mark.parametrize("text", ["", "0", "-5", "10,,20", "1e3", "ten", "10;20", "٣", "1_000", "9" * 5_000])
def test_a_size_that_is_none_is_named_with_what_would_be_right(text):
    with pytest.raises(Invalid, match="no size ") as error:
        parsed(text)

    assert "10,100,all" in error.value.hint
    assert len(str(error.value)) < 300


# Leaving one set out --------------------------------------------------------------


def of_set(name: str, points: Sequence[tuple[float, float]]) -> OfSet:
    """Of a set whose efforts have these shares of hybrid and of calls."""
    frontier = []
    for relative, calls in points:
        answers = [Asked(Measures(relative, 0.0, 0.0, 0.0, 0.0), 0.0, called=True)] * round(100 * calls)
        answers += [Asked(Measures(relative, 0.0, 0.0, 0.0, 0.0), 0.0)] * (100 - len(answers))
        hybrid = [Asked(Measures(1.0, 0.0, 0.0, 0.0, 0.0), 0.0)] * 100
        frontier.append(line("effort", answers, hybrid))
    return OfSet(name, 1, 100, 100, 0, 0, 0, "", (), tuple(frontier), ())


RISING = [(0.5 + step / 20, step / 10) for step in range(11)]
EARLY = [(0.9, step / 10) for step in range(11)]


def test_the_highest_effort_within_the_budget_is_chosen_on_the_others_alone():
    found = leave_one_out([of_set("a", RISING), of_set("b", RISING), of_set("c", EARLY)], 0.35)

    assert [(one.name, one.effort) for one in found.sets] == [("a", 0.3), ("b", 0.3), ("c", 0.3)]
    assert [one.relative for one in found.sets] == pytest.approx([0.65, 0.65, 0.9])
    assert [one.others_relative for one in found.sets] == pytest.approx([0.775, 0.775, 0.65])
    assert (found.relative, found.worst, found.calls) == pytest.approx((2.2 / 3, 0.65, 0.3))


@pytest.mark.parametrize("points", [RISING, EARLY, [(0.9 - step / 20, step / 10) for step in range(11)]])
def test_whatever_calls_are_worth_on_the_others_the_budget_is_spent(points):
    """A set that is not like them may need the calls."""
    sets = [of_set("a", points), of_set("b", points)]

    for budget, effort in ((0.0, 0.0), (0.35, 0.3), (0.99, 0.9), (1.0, 1.0)):
        assert [one.effort for one in leave_one_out(sets, budget).sets] == [effort, effort]


def test_a_set_in_which_hybrid_finds_nothing_chooses_nothing():
    empty = of_set("empty", RISING)
    empty = empty._replace(frontier=tuple(line._replace(relative=None) for line in empty.frontier))

    assert [one.name for one in leave_one_out([empty, of_set("a", RISING), of_set("b", RISING)], 0.5).sets] == [
        "a",
        "b",
    ]
    assert leave_one_out([empty, of_set("a", RISING)], 0.5) == (0.5, (), None, None, None)


def test_leaving_one_out_is_part_of_the_whole(tmp_path, folder):
    found = evaluate([folder, judged(tmp_path / "other")], Plan(CONFIG, budget=0.35), unwatched).left_out

    assert found is not None
    assert [one.name for one in found.sets] == ["notes", "other"]
    assert all(one.effort in EFFORTS and 0 <= one.calls <= 1 for one in found.sets)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"budget": 0.3}, "needs at least two sets, not notes alone"),
        ({"budget": 0.3, "frontier": False}, "chooses an effort by its share"),
        ({"budget": 0.3, "systems": ("hybrid minmax", "tiered")}, "chooses an effort by its share"),
        ({"budget": 0.3, "systems": ("tiered", "frontier")}, "chooses an effort by its share"),
        ({"calibration": True, "systems": ("keywords",)}, 'a calibration is that of "tiered"'),
    ],
)
def test_what_needs_more_than_is_measured_is_said_before_anything_is_kept(tmp_path, folder, changes, said):
    with pytest.raises(Invalid, match=said) as error:
        evaluate([folder], replace(Plan(CONFIG, cache=tmp_path / "cache"), **changes), unwatched)

    assert error.value.hint
    assert not (tmp_path / "cache").exists()


def test_more_is_asked_for_and_nothing_else_changes(folder):
    """What is measured today stays what it is."""
    plan = Plan(CONFIG)
    plain = evaluate([folder], plan, unwatched).sets[0]
    more = evaluate([folder], replace(plan, sizes=(25,), calibration=True), unwatched).sets[0]

    def timeless(one: OfSet):
        return [line._replace(p50=0.0, p95=0.0) for line in (*one.lines, *one.frontier)]

    assert timeless(more) == timeless(plain)
    assert (plain.sizes, plain.calibration) == ((), ())
    assert more[:8] == plain[:8]


def test_long_documents_are_cut_as_in_the_whole(folder):
    """Otherwise they would be embedded again."""
    rows = [{**row, "text": row["text"] + " and so on and on" * 900} for row in documents()]
    jsonl(folder / "corpus.jsonl", rows)
    one = reading.read(folder)
    with opened(one, CONFIG, None, embeds=True, watch=unwatched) as engine:
        before, model = embedded(engine), Remembering(engine)
        small = one._replace(documents=one.documents[:3])
        with opened(small, engine.config, None, embeds=True, watch=unwatched, embedder=model) as other:
            _, count = other.store.generations.centre(other.store.generations.active().id)
        assert count > 3 * 2
        assert embedded(engine) == before + BANK


class TestRemembering(EmbedderSuite):
    """It passes on what a store's model made, of which a smaller store must not see a difference."""

    @pytest.fixture
    def embedder(self, tmp_path: Path) -> Iterator[Remembering]:
        config = Config(home=str(tmp_path), embedding=EmbeddingSettings(provider="hashed", model="hashed-64"))
        with Engine.open(config) as engine:
            engine.save_all([Draft(title="a text", what=text) for text in TEXTS[:3]])
            engine.embed()
            yield Remembering(engine)
