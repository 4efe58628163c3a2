"""Laws of the gate: how far a search goes, by what its keywords found."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from memory.schema.answer import Ranking, Scored, Tier, coverage, coverages, held_by_memory
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.query import Gate, Term
from memory.search.gate import (
    CANDIDATES,
    CHANCE,
    DEPTH,
    DISTILLED_WEIGHT,
    ENOUGH,
    KEYWORD_MARGIN,
    KEYWORD_WEIGHT,
    LEAST_COVERAGE,
    MANY,
    MET,
    NEAR_ENOUGH,
    NEIGHBOURS,
    SHORT_QUERY,
    UNKNOWN,
    GateOptions,
    Sign,
    credibility,
    first_margin,
    judge,
    near_enough,
)

scores = st.floats(1e-6, 50)
bits = st.integers(0, 15)
FAR = [Tier.KEYWORD, Tier.DISTILLED, Tier.HYBRID]


@st.composite
def asked(draw: st.DrawFn) -> tuple[list[Term], Ranking]:
    """Terms, some of which mean just this, and a keyword ranking that speaks of them."""
    known = [
        Term("x", weight=draw(st.floats(0.01, 10)), rows=draw(st.integers(1, 500)), exact=draw(st.booleans()))
        for _ in range(draw(st.integers(0, 6)))
    ]
    held = st.integers(1, (1 << len(known)) - 1) if known else st.nothing()
    rows = draw(st.lists(st.tuples(st.integers(1, 12), scores, held), max_size=40)) if known else []
    ordered = sorted(rows, key=lambda row: -row[1])
    return known, Ranking.of(Scored(ChunkId(n), MemoryId(m), s, b, s) for n, (m, s, b) in enumerate(ordered))


beside = st.dictionaries(st.integers(0, 40), st.floats(0, 1))
efforts = st.floats(0, 1)


def stands(margin: float | None, near: float = 0.0) -> Sign:
    """A distilled answer that comes so near, and of which the first stands out so far; None if the term vectors know too little."""
    return lambda weight, _enough: None if margin is None else near + weight * margin


distilled_answers = st.none() | st.builds(stands, st.none() | st.floats(0, 1), st.floats(-1, 1))
LITTLE, FAR_OUT = stands(0.0), stands(1.0)


def ranking(*held: int, memory: int | None = None) -> Ranking:
    """Chunks of equal score that hold these terms, each of a memory of its own."""
    return Ranking.of(Scored(ChunkId(n), MemoryId(memory or n), 1.0, b, 1.0) for n, b in enumerate(held, start=1))


WORDS = [Term(word, rows=MET) for word in ("jwt", "cookies", "leave", "session")]
"""Words that are half known to the store's own vectors, so that the margin of these counts one and a half."""


@given(asked(), st.builds(GateOptions, st.sampled_from(Gate), st.integers(1, 5), efforts), beside, distilled_answers)
def test_a_verdict_says_numbers_between_0_and_1_and_a_reason(question, options, proximity, distilled) -> None:
    wanted, found = question

    verdict = judge(wanted, found, options, proximity=proximity, distilled=distilled)

    assert 0 <= verdict.mass <= 1
    assert 0 <= verdict.coverage <= 1
    assert 0 <= verdict.complete <= verdict.found == len({item.memory for item in found[:DEPTH]})
    assert verdict.why
    assert verdict.enough == (verdict.tier is Tier.KEYWORD)
    assert verdict.tier is not Tier.DISTILLED or distilled is not None


# Other gates -------------------------------------------------------------


@given(asked(), distilled_answers)
def test_always_goes_on_and_never_does_not_to_the_model(question, distilled) -> None:
    assert judge(*question, GateOptions(Gate.ALWAYS), distilled=distilled).tier is Tier.HYBRID
    never = judge(*question, GateOptions(Gate.NEVER, effort=1), distilled=distilled)
    assert never.tier is (Tier.KEYWORD if distilled is None else Tier.DISTILLED)


@given(asked(), st.integers(1, 5), efforts)
def test_count_looks_at_nothing_but_how_many(question, enough, effort) -> None:
    wanted, found = question
    plain = Ranking.of(item._replace(matched=1, score=1.0, keyword=1.0) for item in found)

    assert judge(wanted, found, GateOptions(Gate.COUNT, enough, effort)).tier is (
        judge([Term("x")], plain, GateOptions(Gate.COUNT, enough)).tier
    )


@given(asked(), st.integers(1, 5))
def test_count_counts_memories(question, enough) -> None:
    wanted, found = question

    assert judge(wanted, found, GateOptions(Gate.COUNT, enough)).enough == (
        len({m.memory for m in found[:DEPTH]}) >= enough
    )


def test_three_results_are_enough_for_count_and_two_are_not() -> None:
    assert not judge(WORDS, ranking(1, 1), GateOptions(Gate.COUNT)).enough
    assert judge(WORDS, ranking(1, 1, 1), GateOptions(Gate.COUNT)).enough


def test_three_chunks_of_one_memory_are_one_result() -> None:
    assert not judge(WORDS, ranking(1, 1, 1, memory=7), GateOptions(Gate.COUNT)).enough


def test_count_can_ask_for_more_results_than_the_gate_weighs() -> None:
    assert judge(WORDS, ranking(*[1] * 100), GateOptions(Gate.COUNT, enough=100)).enough
    assert not judge(WORDS, ranking(*[1] * 99), GateOptions(Gate.COUNT, enough=100)).enough


# What is found in the store ----------------------------------------------


@given(asked(), efforts, efforts, beside, distilled_answers)
def test_more_effort_never_goes_less_far(question, one, other, proximity, distilled) -> None:
    low, high = (
        judge(*question, GateOptions(effort=effort), proximity=proximity, distilled=distilled).tier
        for effort in sorted((one, other))
    )

    assert FAR.index(low) <= FAR.index(high)


@given(asked(), beside, distilled_answers)
def test_no_effort_calls_no_model(question, proximity, distilled) -> None:
    assert GateOptions(effort=0).never_hybrid
    assert judge(*question, GateOptions(effort=0), proximity=proximity, distilled=distilled).tier is not Tier.HYBRID


@given(asked(), st.builds(GateOptions, st.sampled_from(Gate), st.integers(1, 5), efforts), beside, distilled_answers)
def test_what_is_free_calls_no_model(question, options, proximity, distilled) -> None:
    if options.never_hybrid:
        assert judge(*question, options, proximity=proximity, distilled=distilled).tier is not Tier.HYBRID


@given(asked(), beside, distilled_answers)
def test_all_effort_always_calls_it(question, proximity, distilled) -> None:
    assert judge(*question, GateOptions(effort=1), proximity=proximity, distilled=distilled).tier is Tier.HYBRID


@given(asked(), st.floats(0.5, 1), beside, distilled_answers)
def test_term_vectors_never_make_a_search_call_the_model(question, effort, proximity, distilled) -> None:
    with_one, without = (
        judge(*question, GateOptions(effort=effort), proximity=proximity, distilled=known)
        for known in (distilled, None)
    )

    if without.tier is not Tier.HYBRID:
        assert with_one.tier is not Tier.HYBRID


@given(
    asked(), efforts, beside, st.tuples(st.floats(0, 1), st.floats(-1, 1)), st.tuples(st.floats(0, 1), st.floats(0, 1))
)
def test_an_answer_that_is_nearer_or_stands_out_further_never_makes_it_go_further(
    question, effort, proximity, given, more
) -> None:
    (margin, near), (wider, nearer) = given, more
    worse, better = (
        judge(*question, GateOptions(effort=effort), proximity=proximity, distilled=one).tier
        for one in (stands(margin, near), stands(max(margin, wider), max(near, nearer)))
    )

    assert FAR.index(better) <= FAR.index(worse)


@given(asked(), efforts, beside, distilled_answers, st.lists(st.integers(0, 10_000), min_size=2, max_size=2))
def test_among_more_vectors_no_more_is_asked_of_an_answer(question, effort, proximity, distilled, sizes) -> None:
    assert near_enough(min(sizes)) >= near_enough(max(sizes)) >= NEAR_ENOUGH
    few, many = (
        judge(*question, GateOptions(effort=effort), proximity=proximity, distilled=distilled, vectors=vectors)
        for vectors in sorted(sizes)
    )

    assert FAR.index(many.tier) <= FAR.index(few.tier)


@given(asked(), efforts, beside, distilled_answers)
def test_the_distilled_answer_is_made_only_where_keywords_are_not_enough(
    question, effort, proximity, distilled
) -> None:
    asked_for: list[tuple[float, float]] = []

    def watched(weight: float, enough: float) -> float | None:
        asked_for.append((weight, enough))
        return distilled(weight, enough) if distilled else None

    verdict = judge(*question, GateOptions(effort=effort), proximity=proximity, distilled=watched)

    assert len(asked_for) <= 1
    if asked_for:
        enough = NEAR_ENOUGH * (effort / (1 - effort)) ** (1 / 6) - KEYWORD_WEIGHT * verdict.mass
        assert asked_for == [pytest.approx((DISTILLED_WEIGHT * credibility(question[0]), enough))]
    if verdict.tier is Tier.KEYWORD and UNKNOWN not in verdict.why:
        assert not asked_for


@given(asked(), efforts.filter(lambda effort: 0 < effort < 1), beside)
def test_who_answers_by_keyword_holds_its_share_of_the_query(question, effort, proximity) -> None:
    """At an effort of a half and above; below that, what is asked of it falls with the effort."""
    verdict = judge(*question, GateOptions(effort=effort), proximity=proximity)

    looks_for_words = len(question[0]) <= SHORT_QUERY or all(term.exact for term in question[0])
    if verdict.tier is not Tier.HYBRID and not looks_for_words:
        eased = min(1.0, (effort / (1 - effort)) ** 0.5)
        assert verdict.coverage >= LEAST_COVERAGE * eased - 1e-9


@given(asked(), efforts, beside, distilled_answers)
def test_a_name_is_a_word_like_others_unless_there_are_names_alone(question, effort, proximity, distilled) -> None:
    wanted, found = question
    plain = [term._replace(exact=False) for term in wanted]

    one, other = (
        judge(terms, found, GateOptions(effort=effort), proximity=proximity, distilled=distilled)
        for terms in (wanted, plain)
    )

    if not all(term.exact for term in wanted):
        assert one == other


@given(asked(), beside, distilled_answers)
def test_little_effort_asks_the_model_only_for_words_that_were_not_found(question, proximity, distilled) -> None:
    """Every rule moves with the effort: all that margins and coverages must reach goes to zero."""
    verdict = judge(*question, GateOptions(effort=1e-9), proximity=proximity, distilled=distilled)

    assert (verdict.tier is Tier.HYBRID) == (not verdict.found)


@given(asked(), efforts, beside, distilled_answers, st.randoms(use_true_random=False))
def test_the_order_of_the_terms_does_not_matter(question, effort, proximity, distilled, dice) -> None:
    wanted, found = question
    order = list(range(len(wanted)))
    dice.shuffle(order)
    shuffled = [wanted[old] for old in order]
    moved = Ranking.of(
        item._replace(matched=sum(1 << new for new, old in enumerate(order) if item.matched >> old & 1))
        for item in found
    )

    one, other = (
        judge(terms, ranking, GateOptions(effort=effort), proximity=proximity, distilled=distilled)
        for terms, ranking in ((wanted, found), (shuffled, moved))
    )

    assert (one.found, one.complete) == (other.found, other.complete)
    assert (one.mass, one.coverage) == pytest.approx((other.mass, other.coverage))
    factor = (effort / (1 - effort)) ** 0.5 if effort < 1 else 1.0
    enough = ENOUGH * factor
    sign = distilled(DISTILLED_WEIGHT * credibility(wanted), 0.0) if distilled else None
    near = KEYWORD_WEIGHT * one.mass + (sign or 0.0) - NEAR_ENOUGH * factor ** (1 / 3)
    bounds = [one.mass - KEYWORD_MARGIN * max(1.0, factor), one.mass - enough, near]
    shares = [LEAST_COVERAGE, LEAST_COVERAGE * min(1.0, factor)]
    # Sums that are taken in another order differ in their last digits, so that who stands first may change too.
    if all(abs(off) > 1e-6 for off in (*bounds, *(one.coverage - share for share in shares))):
        assert one.tier is other.tier


def test_how_many_hold_every_word_of_a_long_query_does_not_matter() -> None:
    verdict = judge(WORDS, ranking(*[15] * 30), GateOptions())

    assert (verdict.tier, verdict.complete) == (Tier.HYBRID, 30)
    assert "no result stands out: 0.03, 0.40 would be enough" in verdict.why


@pytest.mark.parametrize("distilled", [None, LITTLE, stands(None)])
def test_one_memory_with_every_word_is_enough_for_one_or_two_words(distilled) -> None:
    two = judge(WORDS[:2], ranking(3, *[1] * 30), GateOptions(), distilled=distilled)

    assert (two.tier, two.why) == (Tier.KEYWORD, "1 memory with every word")
    assert judge(WORDS[:2], ranking(*[3] * 30), GateOptions(), distilled=distilled).tier is Tier.KEYWORD
    assert judge(WORDS[:3], ranking(*[7] * 30), GateOptions(), distilled=distilled).tier is Tier.HYBRID
    assert judge(WORDS[:2], ranking(*[1] * 30), GateOptions(), distilled=distilled).tier is Tier.HYBRID
    assert SHORT_QUERY == 2


@pytest.mark.parametrize("distilled", [None, LITTLE, stands(None)])
def test_a_memory_with_every_word_that_does_not_stand_first_settles_nothing(distilled) -> None:
    verdict = judge(WORDS[:2], ranking(*[1] * 3, 3, *[1] * 26), GateOptions(), distilled=distilled)

    assert (verdict.tier, verdict.complete) == (Tier.HYBRID, 1)


@pytest.mark.parametrize("distilled", [None, LITTLE, stands(None)])
def test_names_and_quoted_words_alone_that_were_found_are_enough(distilled) -> None:
    names = [Term(text, exact=True) for text in ("load_config", "getUserName", "out of memory")]

    verdict = judge(names, ranking(*[7] * 30), GateOptions(), distilled=distilled)

    assert verdict.tier is Tier.KEYWORD
    assert verdict.why == "30 memories with every name and quoted phrase"
    assert judge(names, ranking(*[3] * 30), GateOptions(), distilled=distilled).tier is Tier.HYBRID


@pytest.mark.parametrize("distilled", [None, LITTLE, stands(None)])
def test_a_name_among_other_words_ends_no_search(distilled) -> None:
    """Everybody has it; which of them is meant, the other words say."""
    wanted = [Term("load_config", exact=True, weight=3), *WORDS[:3]]

    assert judge(wanted, ranking(*[1] * 30), GateOptions(), distilled=distilled).tier is Tier.HYBRID
    assert judge(wanted, ranking(*[1] * 30), GateOptions(effort=0.01), distilled=FAR_OUT).tier is Tier.DISTILLED


def test_words_of_one_memory_may_stand_in_several_of_its_chunks() -> None:
    assert judge(WORDS, ranking(3, 12, memory=7), GateOptions(Gate.AUTO)).complete == 1


def test_a_result_that_stands_out_is_enough() -> None:
    verdict = judge(WORDS, ranking(7, *[1] * 5), GateOptions(Gate.AUTO))

    assert verdict.enough
    assert not judge(WORDS, ranking(7, *[1] * 29), GateOptions(effort=0.6)).enough  # all others together weigh more
    assert verdict.complete == 0
    assert "stands out" in verdict.why


def test_standing_out_with_less_than_half_of_the_query_is_not_enough() -> None:
    assert judge(WORDS, ranking(7), GateOptions(Gate.AUTO)).enough
    verdict = judge(WORDS, ranking(1), GateOptions(effort=0.5))
    assert verdict.tier is Tier.HYBRID
    assert verdict.why == "no result matches enough words: 25% by weight, 45% would be enough"
    assert LEAST_COVERAGE == 0.45


@pytest.mark.parametrize("others", [0, 1, 5])
def test_one_of_few_stands_out_no_further_than_if_others_held_a_common_word(others) -> None:
    """Of two candidates the better has half of the weight, whatever it holds."""
    found = ranking(3, *[3] * others)
    common = Ranking.of(Scored(ChunkId(90 + n), MemoryId(90 + n), 0.5, 1, 0.5) for n in range(CANDIDATES))
    assert pytest.approx(2.8 * 0.25 + 0.2 * 0.5) == CHANCE  # a word of four, and half of the best BM25
    beside = Ranking.of([*found, *common][:CANDIDATES])

    assert first_margin(found, coverages(WORDS, found.matched)) == pytest.approx(
        first_margin(beside, coverages(WORDS, beside.matched))
    )


@pytest.mark.parametrize(("others", "tier"), [(0, Tier.KEYWORD), (2, Tier.DISTILLED), (20, Tier.HYBRID)])
def test_the_more_others_are_as_good_the_further_a_search_goes(others, tier) -> None:
    found = ranking(7, *[7] * others)

    distilled = stands(first_margin(found, coverages(WORDS, found.matched)), 0.5)
    assert judge(WORDS, found, GateOptions(), distilled=distilled).tier is tier


def test_among_few_vectors_the_distilled_answer_costs_nothing_and_takes_the_place_of_keywords() -> None:
    found = ranking(7)

    assert judge(WORDS, found, GateOptions(), distilled=LITTLE, vectors=MANY).tier is Tier.KEYWORD
    assert judge(WORDS, found, GateOptions(), distilled=LITTLE, vectors=MANY - 1).tier is Tier.DISTILLED


@pytest.mark.parametrize(("vectors", "enough"), [(0, 1.0), (5, 1.0), (12, 0.916), (40, 0.8), (10_000, 0.8)])
def test_among_few_vectors_an_answer_must_be_nearer(vectors, enough) -> None:
    assert near_enough(vectors) == pytest.approx(enough, abs=0.001)


def test_less_effort_does_not_make_keywords_enough_where_there_is_something_better() -> None:
    three = ranking(7, 7, 7)

    assert judge(WORDS, three, GateOptions(effort=0.2)).tier is Tier.KEYWORD
    assert judge(WORDS, three, GateOptions(effort=0.2), distilled=FAR_OUT).tier is Tier.DISTILLED


@pytest.mark.parametrize(
    ("near", "margin", "tier"),
    [(0.0, 1.0, Tier.DISTILLED), (0.6, 0.07, Tier.DISTILLED), (0.6, 0.06, Tier.HYBRID), (0.55, 0.07, Tier.HYBRID)],
)
def test_how_near_the_distilled_answer_is_and_both_margins_are_added(near, margin, tier) -> None:
    found = ranking(7, 7, 7)
    mass = first_margin(found, coverages(WORDS, found.matched))
    assert mass == pytest.approx(0.295, abs=0.001)

    verdict = judge(WORDS, found, GateOptions(), distilled=stands(margin, near))

    assert verdict.tier is tier
    assert f"with the store's own vectors: {near + mass / 2 + 0.75 * margin:.2f}, 0.80" in verdict.why


@given(st.lists(st.tuples(st.floats(0.01, 10), st.integers(0, 10_000)), max_size=6))
def test_the_more_often_words_were_met_the_more_their_vectors_are_believed(words) -> None:
    wanted = [Term("x", weight=weight, rows=rows) for weight, rows in words]
    met = [term._replace(rows=term.rows + 10) for term in wanted]

    assert 0 <= credibility(wanted) < 1
    assert credibility(wanted) < credibility(met) if wanted else credibility(met) == 0
    assert credibility([Term("x", rows=MET)]) == 0.5


def test_without_a_margin_it_is_as_if_the_store_had_no_distilled_tier() -> None:
    found = ranking(7, *[7] * 9)

    with_one, without = (judge(WORDS, found, GateOptions(), distilled=one) for one in (stands(None), None))

    assert with_one.tier is without.tier
    assert with_one.why == f"{UNKNOWN}; {without.why}"


def test_what_is_near_may_hold_few_words_of_the_query() -> None:
    """A turn of a dialogue names much that no memory says."""
    found = ranking(1)

    assert judge(WORDS, found, GateOptions()).tier is Tier.HYBRID
    assert judge(WORDS, found, GateOptions(), distilled=stands(0.5, 0.5)).tier is Tier.DISTILLED


def test_a_result_that_stands_together_stands_out_more() -> None:
    found = ranking(*[7] * 8)

    assert judge(WORDS, found, GateOptions()).tier is Tier.HYBRID
    assert (
        judge(WORDS, found, GateOptions(), proximity={ChunkId(1): 1.0}).mass > judge(WORDS, found, GateOptions()).mass
    )
    assert judge(WORDS, found, GateOptions(effort=0.2), proximity={ChunkId(1): 1.0}).enough


@pytest.mark.parametrize("distilled", [None, LITTLE, stands(None)])
def test_nothing_found_is_not_enough(distilled) -> None:
    verdict = judge(WORDS, Ranking(), GateOptions(), distilled=distilled)

    assert verdict.tier is Tier.HYBRID
    assert (verdict.found, verdict.complete, verdict.mass, verdict.coverage) == (0, 0, 0.0, 0.0)


@given(asked().filter(lambda question: question[1]), beside)
def test_the_margin_is_the_largest_share_of_the_softmax(question, proximity) -> None:
    wanted, found = question

    best = max(item.score for item in found)
    strengths = [
        2.1
        * (2.8 * coverage(wanted, item.matched) + 0.2 * item.score / best + NEIGHBOURS * proximity.get(item.chunk, 0.0))
        for item in found
    ]
    powers = np.exp([*strengths, *[2.1 * CHANCE] * (CANDIDATES - len(strengths))])
    margin = first_margin(found, coverages(wanted, found.matched), proximity)
    assert margin == pytest.approx(powers.max() / powers.sum())
    assert 1 / max(CANDIDATES, len(found)) - 1e-9 <= margin <= 1


def test_the_margin_of_nothing_is_nothing() -> None:
    assert first_margin(Ranking(), []) == 0


@given(st.lists(st.floats(0.01, 10).map(lambda weight: Term("x", weight=weight)), max_size=4), bits, bits)
def test_more_words_cover_more(wanted, one, other) -> None:
    assert coverage(wanted, one) <= coverage(wanted, one | other) <= 1
    assert coverage(wanted, 15) == (1 if wanted else 0)


@given(asked())
def test_a_memory_holds_what_its_chunks_hold_together(question) -> None:
    _, found = question

    held = held_by_memory(found)

    assert list(held) == list(dict.fromkeys(item.memory for item in found))
    assert all(item.matched & ~held[item.memory] == 0 for item in found)
