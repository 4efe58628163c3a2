"""Laws of time in a ranking: corrections before what they correct, and what is new before what is old."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, strategies as st

from memory.schema.answer import Ranking, Scored
from memory.schema.memory import ChunkId, MemoryId
from memory.search.fuse import aged, successors_first

if TYPE_CHECKING:
    from collections.abc import Mapping

NOW = datetime(2026, 1, 1, tzinfo=UTC)
memories = st.integers(1, 8)
successors = st.dictionaries(memories, memories)  # chains, several that were replaced by one, and rings
days = st.floats(0, 10_000)
scores = st.integers(-99, 99).map(lambda hundredths: hundredths / 100)  # as cosines


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    rows = draw(st.lists(st.tuples(memories, scores), max_size=20))
    found = [Scored(ChunkId(n), MemoryId(memory), score) for n, (memory, score) in enumerate(rows)]
    return Ranking.of(sorted(found, key=lambda item: (-item.score, -item.chunk)))


def chains(later: dict[int, int]) -> bool:
    """Whether nothing came after itself."""
    for memory in later:
        seen = {memory}
        while (memory := later.get(memory)) is not None:
            if memory in seen:
                return False
            seen.add(memory)
    return True


def replaced(later: Mapping[MemoryId, MemoryId]) -> dict[MemoryId, tuple[MemoryId, ...]]:
    return {old: (new,) for old, new in later.items()}


def firsts(ranking: Ranking) -> dict[MemoryId, int]:
    return {item.memory: place for place, item in reversed(list(enumerate(ranking)))}


@given(rankings(), successors)
def test_every_chunk_stays_with_no_lower_score_and_the_best_first(ranking, later) -> None:
    found = successors_first(ranking, replaced(later))

    assert sorted(item.chunk for item in found) == sorted(item.chunk for item in ranking)
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    before = {item.chunk: item for item in ranking}
    for item in found:
        assert item == before[item.chunk]._replace(score=item.score)
        assert item.score >= before[item.chunk].score


@given(rankings(), successors)
def test_nothing_stands_before_what_took_its_place(ranking, later) -> None:
    assume(chains(later))

    place = firsts(successors_first(ranking, replaced(later)))

    for old, new in later.items():
        if old in place and new in place:
            assert place[new] < place[old]


@given(rankings(), successors)
def test_correcting_again_changes_nothing(ranking, later) -> None:
    assume(chains(later))
    once = successors_first(ranking, replaced(later))

    assert successors_first(once, replaced(later)) == once


@given(rankings(), successors)
def test_what_nobody_corrects_stays_as_it_is(ranking, later) -> None:
    ranked = {item.memory for item in ranking}

    assert successors_first(ranking, {}) == ranking
    assert successors_first(ranking, replaced(dict.fromkeys(later, 99))) == ranking
    assert successors_first(ranking, replaced({old: new for old, new in later.items() if old not in ranked})) == ranking


@given(rankings(), successors)
def test_nothing_but_a_successor_moves(ranking, later) -> None:
    new = set(later.values())

    def others(found: Ranking) -> list[ChunkId]:
        return [item.chunk for item in found if item.memory not in new]

    assert others(successors_first(ranking, replaced(later))) == others(ranking)


@given(rankings(), st.dictionaries(memories, st.sets(memories)))
def test_all_that_took_the_place_of_one_stand_before_it(ranking, later) -> None:
    newer = {old: tuple(sorted((new for new in several if new > old), reverse=True)) for old, several in later.items()}

    place = firsts(successors_first(ranking, newer))

    for old, several in newer.items():
        assert all(place[new] < place[old] for new in several if {old, new} <= place.keys())


def test_a_chain_stands_latest_first_where_its_first_link_stood() -> None:
    ranking = Ranking.of(Scored(ChunkId(n), MemoryId(n), 1 - n / 10) for n in range(5))

    found = successors_first(ranking, {1: (3,), 3: (4,)})

    assert [(item.memory, item.score) for item in found] == [(0, 1), (4, 0.9), (3, 0.9), (1, 0.9), (2, 0.8)]


def test_a_chain_whose_middle_was_not_found_holds_all_the_same() -> None:
    ranking = Ranking.of(Scored(ChunkId(n), MemoryId(n), 1.0) for n in (1, 2, 4))

    assert [item.memory for item in successors_first(ranking, {1: (3,), 3: (4,)})] == [4, 1, 2]


def test_a_ring_comes_to_an_end() -> None:
    ranking = Ranking.of(Scored(ChunkId(n), MemoryId(n), 1.0) for n in (1, 2))

    assert sorted(item.memory for item in successors_first(ranking, {1: (2,), 2: (1,)})) == [1, 2]


@given(rankings(), days, st.floats(0.1, 1000))
def test_age_never_changes_the_order_of_what_is_equally_old(ranking, age, half_life) -> None:
    changed = {item.memory: NOW - timedelta(days=age) for item in ranking}

    found = aged(ranking, changed, NOW, half_life)

    before = {item.chunk: item.score for item in ranking}
    assert [before[item.chunk] for item in found] == sorted(before.values(), reverse=True)


@given(rankings(), st.dictionaries(memories, days), st.floats(0.1, 1000))
def test_age_takes_half_at_most_and_nothing_of_what_is_new(ranking, ages, half_life) -> None:
    changed = {memory: NOW - timedelta(days=age) for memory, age in ages.items()}

    found = aged(ranking, changed, NOW, half_life)

    assert sorted(item.chunk for item in found) == sorted(item.chunk for item in ranking)
    assert list(found) == sorted(found, key=lambda item: (-item.score, -item.chunk))
    before = {item.chunk: item.score for item in ranking}
    for item in found:
        assert before[item.chunk] - abs(before[item.chunk]) / 2 <= item.score <= before[item.chunk]
        if not ages.get(item.memory):
            assert item.score == before[item.chunk]


@given(scores, days, days, st.floats(0.1, 1000))
def test_of_two_that_are_as_good_the_newer_does_not_weigh_less(score, one, other, half_life) -> None:
    ranking = Ranking.of(Scored(ChunkId(n), MemoryId(n), score) for n in (1, 2))
    changed = {MemoryId(1): NOW - timedelta(days=one), MemoryId(2): NOW - timedelta(days=other)}

    found = {item.memory: item.score for item in aged(ranking, changed, NOW, half_life)}

    assert (found[1] >= found[2]) if one <= other else (found[1] <= found[2])


@pytest.mark.parametrize(("age", "left"), [(0, 1.0), (30, 0.75), (60, 0.625), (-5, 1.0), (100_000, 0.5)])
def test_after_its_half_life_a_memory_weighs_three_quarters(age, left) -> None:
    (found,) = aged(Ranking.of([Scored(ChunkId(1), MemoryId(1), 1.0)]), {1: NOW - timedelta(days=age)}, NOW, 30)

    assert found.score == pytest.approx(left)
