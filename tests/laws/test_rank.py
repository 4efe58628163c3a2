"""Laws of the pure part of ranking: fusion, granularity."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from profiles import examples

from memory.schema.answer import Ranking, Scored
from memory.schema.memory import Chunk, ChunkId, ChunkType, MemoryId
from memory.schema.query import Granularity, Merge, Term
from memory.search.fuse import (
    DISTILLED_SHARE,
    GOOD_FIT,
    HALF,
    RRF_K,
    SHARPNESS,
    combined,
    credibility,
    distilled_share,
    fuse,
    merged_margin,
)
from memory.search.gate import NEIGHBOURS as TOGETHER
from memory.search.sections import NEIGHBOURS, section, sections, shown
from memory.search.shape import rollup
from memory.search.vectors import centred
from memory.text.chunk import chunk

scores = st.floats(1e-6, 50)
cosines = st.floats(-1, 1)
candidates = st.lists(
    st.builds(Scored, st.integers(1, 40), st.integers(1, 9), scores, st.integers(0, 15), st.none() | scores),
    unique_by=lambda item: item.chunk,
    max_size=20,
).map(Ranking.of)
similarities = st.dictionaries(st.integers(1, 40), cosines)
terms = st.lists(st.floats(0.01, 10).map(lambda weight: Term("x", weight=weight)), max_size=4)
shares = st.floats(0, 1).map(lambda share: (share, 1 - share))
beside = st.dictionaries(st.integers(1, 40), st.floats(0, 1))
ways = st.fixed_dictionaries(
    {"weights": shares, "merge": st.sampled_from(Merge), "proximity": beside.map(lambda near: lambda _: near)}
)


# Fusion ------------------------------------------------------------------


@given(candidates, similarities, terms, ways)
def test_everyone_is_ranked_once_and_told_apart_by_the_score_alone(pool, similar, wanted, way) -> None:
    ranking = fuse(pool, similar, terms=wanted, **way)

    assert sorted(item.chunk for item in ranking) == sorted(item.chunk for item in pool)
    assert list(ranking) == sorted(ranking, key=lambda item: (-item.score, -item.chunk))
    before = {item.chunk: item for item in pool}
    assert all(item == before[item.chunk]._replace(score=item.score) for item in ranking)


@given(candidates, similarities, terms, st.sampled_from(Merge), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(pool, similar, wanted, merge, dice) -> None:
    shuffled = list(pool)
    dice.shuffle(shuffled)
    other = Ranking.of(shuffled)

    assert fuse(other, similar, terms=wanted, merge=merge) == fuse(pool, similar, terms=wanted, merge=merge)


def unprinted(similar: dict[int, float], merge: Merge) -> dict[int, float]:
    """MAX is the seed's rule, cosines below 0 and all: the laws below hold for it from 0 on."""
    return {chunk: max(value, 0.0) if merge is Merge.MAX else value for chunk, value in similar.items()}


@given(candidates, similarities, terms, ways)
def test_scores_lie_between_0_and_1(pool, similar, wanted, way) -> None:
    ranking = fuse(pool, unprinted(similar, way["merge"]), terms=wanted, **way)

    assert all(0 <= item.score <= 1 + 1e-9 for item in ranking)


@given(candidates, similarities, st.sampled_from(Merge), cosines, cosines)
def test_a_chunk_that_is_more_similar_never_ranks_lower(pool, similar, merge, one, other) -> None:
    assume(pool)
    chunk, (low, high) = pool[0].chunk, sorted((one, other))

    def place(value: float) -> int:
        asked = unprinted(similar | {chunk: value}, merge)
        return [item.chunk for item in fuse(pool, asked, merge=merge)].index(chunk)

    assert place(high) <= place(low)


@given(candidates, similarities, terms)
def test_a_chunk_without_a_vector_is_neither_similar_nor_dissimilar(pool, similar, wanted) -> None:
    assume(pool)
    chunk = pool[0].chunk
    without = {other: value for other, value in similar.items() if other != chunk}

    assert fuse(pool, without, terms=wanted) == fuse(pool, without | {chunk: 0.0}, terms=wanted)


@given(candidates, similarities, terms, beside)
def test_the_margin_of_a_merge_is_the_largest_share_of_the_softmax(pool, similar, wanted, proximity) -> None:
    assume(pool)
    powers = np.exp(
        [SHARPNESS * item.score for item in fuse(pool, similar, terms=wanted, proximity=lambda _: proximity)]
    )

    margin = merged_margin(pool, similar, terms=wanted, weights=(0.3, 0.7), proximity=proximity)

    assert margin == pytest.approx(powers.max() / powers.sum())
    assert 1 / len(pool) - 1e-9 <= margin <= 1


def test_nothing_has_no_margin() -> None:
    assert merged_margin(Ranking(), {}, terms=(), weights=(0.3, 0.7)) == 0


def test_max_is_the_rule_of_the_seed() -> None:
    found = Ranking.of(
        Scored(ChunkId(n), MemoryId(n), 0, 0, keyword) for n, keyword in ((1, 8.0), (2, 4.0), (3, None), (4, None))
    )

    ranking = fuse(found, {2: 0.9, 3: 0.6, 4: -0.2}, merge=Merge.MAX)

    expected = {2: 0.3 * 4 / 8 + 0.7, 3: 0.7 * 0.6 / 0.9, 1: 0.3, 4: 0.7 * -0.2 / 0.9}
    assert {item.chunk: item.score for item in ranking} == pytest.approx(expected)
    assert [item.chunk for item in ranking] == [2, 3, 1, 4]


def test_max_turns_a_list_round_whose_best_cosine_is_below_0_as_the_seed_does() -> None:
    found = Ranking.of(Scored(ChunkId(n), MemoryId(n), 0) for n in (1, 2))

    ranking = fuse(found, {1: -0.1, 2: -0.2}, merge=Merge.MAX)

    assert [(item.chunk, item.score) for item in ranking] == [(2, 0.7 * 2), (1, 0.7)]


def test_minmax_takes_the_worst_possible_score_as_zero() -> None:
    held = {1: (0b11, 8.0), 2: (0b01, 4.0), 3: (0, None)}
    found = Ranking.of(Scored(ChunkId(n), MemoryId(n), 0, matched, keyword) for n, (matched, keyword) in held.items())

    ranking = fuse(
        found, {1: -1.0, 2: 0.5, 3: 0.8}, terms=[Term("a", weight=3), Term("b", weight=1)], weights=(0.3, 0.7)
    )

    expected = {1: 0.3 * 3 / (3 + TOGETHER), 2: 0.3 * (2 * 0.75 + 0.5) / (3 + TOGETHER) + 0.7 * 1.5 / 1.8, 3: 0.7}
    assert {item.chunk: item.score for item in ranking} == pytest.approx(expected)


@given(candidates, similarities, terms, beside, st.floats(0, 1))
def test_what_stands_together_adds_its_share_of_the_keyword_part(pool, similar, wanted, pairs, share) -> None:
    assume(pool)
    chunk = pool[0].chunk

    def score(value: float) -> float:
        found = fuse(pool, similar, terms=wanted, proximity=lambda _: pairs | {chunk: value})
        return next(item.score for item in found if item.chunk == chunk)

    assert score(share) - score(0.0) == pytest.approx(0.3 * TOGETHER * share / (3 + TOGETHER), abs=1e-9)


@given(candidates, similarities, terms, beside, st.sampled_from([Merge.MAX, Merge.RRF]))
def test_the_other_merges_know_nothing_of_what_stands_together(pool, similar, wanted, pairs, merge) -> None:
    assert fuse(pool, similar, terms=wanted, merge=merge, proximity=lambda _: pairs) == fuse(
        pool, similar, terms=wanted, merge=merge
    )


def test_reciprocal_ranks_look_at_places_only() -> None:
    found = Ranking.of(
        Scored(ChunkId(n), MemoryId(n), 0, 0, keyword) for n, keyword in ((1, 800.0), (2, 4.0), (3, None))
    )

    ranking = fuse(found, {2: 0.1, 3: 0.9}, weights=(0.5, 0.5), merge=Merge.RRF)

    first, second = 0.5 / (RRF_K + 1), 0.5 / (RRF_K + 2)
    assert {item.chunk: item.score for item in ranking} == pytest.approx({2: second + second, 1: first, 3: first})
    assert [item.chunk for item in ranking] == [2, 3, 1]  # of equals the latest


@given(st.integers(0, 10_000), st.integers(2, 40), st.floats(0, 0.9))
def test_centred_is_the_cosine_of_what_is_left_without_the_centre(seed: int, dimension: int, length: float) -> None:
    dice = np.random.default_rng(seed)
    query, chunk, centre = (row / np.linalg.norm(row) for row in dice.normal(size=(3, dimension)))
    centre *= length

    [found] = centred([query @ chunk], query @ centre, [chunk @ centre], centre @ centre)

    left, right = query - centre, chunk - centre
    assert found == pytest.approx(left @ right / (np.linalg.norm(left) * np.linalg.norm(right)), abs=1e-6)


def test_a_vector_that_is_the_centre_is_similar_to_nothing() -> None:
    assert centred([1.0], 1.0, [1.0], 1.0) == [0.0]


# The combined vector -----------------------------------------------------


def directions(seed: int, dimension: int, length: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two vectors of length 1, and a centre of this length."""
    one, other, centre = np.random.default_rng(seed).normal(size=(3, dimension))
    return one / np.linalg.norm(one), other / np.linalg.norm(other), centre / np.linalg.norm(centre) * length


seeds, dimensions, lengths = st.integers(0, 10_000), st.integers(2, 40), st.floats(0, 0.9)


@given(seeds, dimensions, lengths, st.floats(0, 0.9))
def test_a_combined_vector_has_length_1_and_lies_from_the_centre_in_the_sum_of_both_directions(
    seed: int, dimension: int, length: float, share: float
) -> None:
    model, distilled, centre = directions(seed, dimension, length)

    found = combined(model, distilled, centre, share)

    own, other = model - centre, distilled - centre
    wanted = own / np.linalg.norm(own) + share * other / np.linalg.norm(other)
    assert np.linalg.norm(found) == pytest.approx(1)
    assert found - centre == pytest.approx(wanted * np.linalg.norm(found - centre) / np.linalg.norm(wanted), abs=1e-6)


@given(seeds, dimensions, lengths)
def test_without_a_distilled_share_or_another_direction_it_is_the_models(seed, dimension, length) -> None:
    model, distilled, centre = directions(seed, dimension, length)

    assert combined(model, distilled, centre, 0.0) == pytest.approx(model)
    assert combined(model, model, centre, DISTILLED_SHARE) == pytest.approx(model)
    assert combined(model, centre, centre, DISTILLED_SHARE) is model


@given(seeds, dimensions, lengths)
def test_what_the_model_says_weighs_more(seed, dimension, length) -> None:
    model, distilled, centre = directions(seed, dimension, length)
    assume(abs(model @ distilled) < 0.99)

    found = combined(model, distilled, centre, DISTILLED_SHARE)

    seen = [(one - centre) / np.linalg.norm(one - centre) for one in (found, model, distilled)]
    assert 0 < DISTILLED_SHARE < 1
    assert seen[0] @ seen[1] > seen[0] @ seen[2]


passages = st.integers(0, 10**7)


@given(st.floats(-1, 1), st.floats(-1, 1), passages, passages)
def test_term_vectors_that_fit_worse_or_know_fewer_passages_weigh_no_more(one, other, many, few) -> None:
    worse, better = (
        distilled_share(fit, count) for fit, count in zip(sorted((one, other)), sorted((many, few)), strict=True)
    )

    assert 0 <= worse <= better <= DISTILLED_SHARE


@given(st.floats(0.05, GOOD_FIT), st.integers(1, 10**6))
def test_the_weight_is_inverse_to_the_variance(fit, count) -> None:
    """Of two noisy directions, each a right part of length 1 and noise of this variance."""
    variances = [(1 - one**2) / one**2 for one in (fit, GOOD_FIT)]

    assert distilled_share(fit, count) / distilled_share(GOOD_FIT, count) == pytest.approx(variances[1] / variances[0])
    assert distilled_share(1.0, count) == distilled_share(GOOD_FIT, count) == DISTILLED_SHARE * credibility(count)
    assert distilled_share(0.0, count) == distilled_share(-fit, count) == 0


@given(passages)
def test_what_was_learned_is_believed_as_far_as_it_outweighs_what_was_known_before(count) -> None:
    assert credibility(0) == 0
    assert credibility(HALF) == 0.5
    assert credibility(count) == pytest.approx(1 - HALF / (count + HALF))


# Granularity -------------------------------------------------------------

paths = st.sampled_from(
    [
        *[(), ("# A",), ("# A", "## B"), ("# A", "## B", "### C"), ("# A", "## B", "### D"), ("# A", "## B2")],
        *[("# 100 %",), ("## B",), ("## B", "### C"), ("## B", "### D"), ("### C",), ("### C", "#### E"), ("##",)],
    ]
)


@st.composite
def ranked(draw: st.DrawFn) -> tuple[Ranking, dict[int, list[tuple[ChunkId, Chunk]]]]:
    """Memories with their chunks, some with a head, and a ranking of some of their chunks."""
    outlines: dict[int, list[tuple[ChunkId, Chunk]]] = {}
    for memory in range(1, draw(st.integers(1, 3)) + 1):
        headings = draw(st.lists(paths, max_size=14))
        pieces = [Chunk(0, 0, 0, ChunkType.HEAD)] if draw(st.booleans()) or not headings else []
        pieces += [
            Chunk(n, 10 * n, 10 * n + 10, draw(st.sampled_from([ChunkType.TEXT, ChunkType.SECTION])), path, len(path))
            for n, path in enumerate(headings)
        ]
        outlines[memory] = [(ChunkId(100 * memory + n), piece) for n, piece in enumerate(pieces)]
    everyone = [(id, memory) for memory, outline in outlines.items() for id, _ in outline]
    chosen = draw(st.lists(st.sampled_from(everyone), unique=True))
    return Ranking.of(Scored(id, MemoryId(memory), 1.0) for id, memory in chosen), outlines


def slow_key(path: tuple[str, ...]) -> tuple[str, ...]:
    """The first two headings, or a second-level heading where there is no first."""
    match path:
        case [first, *_] if first.startswith("##") and not first.startswith("###"):
            return (first,)
        case [first, second, *_]:
            return (first, second)
    return path


def slow_runs(outline: list[tuple[ChunkId, Chunk]]) -> list[list[tuple[ChunkId, Chunk]]]:
    """The outline in runs of neighbours with the same key, cut before each chunk that begins with a heading of it."""
    runs: list[list[tuple[ChunkId, Chunk]]] = []
    former = None
    for id, piece in outline:
        key = (piece.type is ChunkType.HEAD, slow_key(piece.header_path))
        begins = piece.type is ChunkType.SECTION and slow_key(piece.header_path) == piece.header_path
        if not runs or begins or key != former:
            runs.append([])
        runs[-1].append((id, piece))
        former = key
    return runs


def slow_sections(found, outlines, limit: int) -> list[tuple[Scored, list[tuple[ChunkId, Chunk]]]]:
    """Each section once, by its best chunk; without headings at most 3 neighbours that are not shown yet."""
    shown: set[ChunkId] = set()
    result = []
    for place, item in enumerate(found):
        if item.chunk in shown or (place >= 5 * limit and len(result) >= limit):
            continue
        run = next(run for run in slow_runs(outlines[item.memory]) if item.chunk in dict(run))
        at = [id for id, _ in run].index(item.chunk)
        if not run[at][1].header_path:
            free = [id not in shown for id, _ in run]
            first, last = at, at
            while first > max(0, at - 3) and free[first - 1]:
                first -= 1
            while last < min(len(run) - 1, at + 3) and free[last + 1]:
                last += 1
            run = run[first : last + 1]
        shown |= set(dict(run))
        result.append((item, run))
    return result


@given(ranked(), st.integers(1, 20))
def test_fine_is_the_ranking_itself(case, limit) -> None:
    found, _ = case

    passages = rollup(found, Granularity.FINE, limit)

    assert [passage.best for passage in passages] == list(found[:limit])


@given(ranked(), st.integers(1, 20))
def test_coarse_is_each_memory_once_by_its_best_chunk(case, limit) -> None:
    found, _ = case

    passages = rollup(found, Granularity.COARSE, limit)

    memories = list(dict.fromkeys(item.memory for item in found))[:limit]
    assert [passage.best for passage in passages] == [
        next(item for item in found if item.memory == memory) for memory in memories
    ]


@given(ranked(), st.integers(1, 20))
@examples(3)
def test_sections_are_those_of_the_best_chunks_each_once(case, limit) -> None:
    found, outlines = case

    result = sections(found, outlines.__getitem__, limit)

    expected = slow_sections(found, outlines, limit)
    assert [(one.best, list(one.chunks), one.start, one.stop) for one in result] == [
        (item, [id for id, _ in run], run[0][1].start, run[-1][1].stop) for item, run in expected
    ]
    everyone = [id for one in result for id in one.chunks]
    assert len(everyone) == len(set(everyone))


@given(ranked(), st.integers(1, 20), st.randoms(use_true_random=False))
@examples(3)
def test_sections_are_ranked_by_the_mean_of_the_chunks_that_match(case, limit, dice) -> None:
    found, outlines = case
    cosines = {id: dice.choice([None, -0.2, 0.0, 0.2, 0.4, 0.8]) for outline in outlines.values() for id, _ in outline}
    scores = {
        id: Scored(id, MemoryId(memory), dice.random(), matched=dice.choice([0, 1, 3]), cosine=cosines[id])
        for memory, outline in outlines.items()
        for id, _ in outline
        if dice.random() < 0.9 or id in {item.chunk for item in found}
    }
    words = [Term("a", weight=2.0), Term("b", weight=1.0)]
    ranking = Ranking.of(scores[item.chunk] for item in found)
    held = sections(ranking, outlines.__getitem__, limit)

    def like(id: ChunkId) -> float:
        said = scores[id]
        return {0: 0.0, 1: 2 / 3, 3: 1.0}[said.matched] if said.cosine is None else max(0.0, said.cosine)

    nearest = max((like(item.chunk) for item in found), default=0.0)
    result = shown(held, scores, words, ranking, limit)

    expected = []
    for one in held:
        near = {id for id in one.chunks if id in scores and nearest > 0 and like(id) >= nearest / 2}
        said = {item.chunk for item in found[: 5 * limit] if scores[item.chunk].matched} & set(one.chunks)
        matched = near | said | {one.best.chunk}
        mean = sum(scores[id].score for id in matched) / len(matched)
        expected.append((mean, matched, one.chunks, one.best.chunk))
    expected.sort(key=lambda row: -row[0])
    assert [passage.best.chunk for passage in result] == [row[3] for row in expected]
    for passage, row in zip(result, expected, strict=True):
        assert passage.score == pytest.approx(row[0])
        assert ({one.chunk for one in passage.matching}, passage.chunks) == row[1:3]


def of(*paths: tuple[str, ...]) -> list[tuple[ChunkId, Chunk]]:
    return [(ChunkId(n), Chunk(n, n, n + 1, ChunkType.TEXT, path)) for n, path in enumerate(paths)]


def test_two_sections_of_the_same_name_stay_two() -> None:
    outline = of(("# A", "## Summary"), ("# A", "## More"), ("# A", "## Summary"))

    found = sections(Ranking.of(Scored(ChunkId(n), MemoryId(1), 1.0) for n in range(3)), lambda _: outline, 9)

    assert [(one.start, one.stop) for one in found] == [(0, 1), (1, 2), (2, 3)]


def test_two_neighbours_of_the_same_name_stay_two() -> None:
    path = ("# A", "## Summary")
    outline = [
        (ChunkId(n), Chunk(n, n, n + 1, sort, path))
        for n, sort in enumerate([ChunkType.SECTION, ChunkType.TEXT, ChunkType.SECTION, ChunkType.TEXT])
    ]

    assert [id for id, _ in section(outline, ChunkId(1))] == [0, 1]
    assert [id for id, _ in section(outline, ChunkId(2))] == [2, 3]


def test_a_long_section_that_matches_throughout_is_found_as_a_whole() -> None:  # documented: 0.24
    outline = of(*[("# A", "## B")] * 100)
    everyone = {ChunkId(n): Scored(ChunkId(n), MemoryId(1), 0.8, cosine=0.8 - n / 1000) for n in range(100)}
    ranking = Ranking.of(everyone.values())[:25]
    held = sections(ranking, lambda _: outline, 5)

    (found,) = shown(held, everyone, (), ranking, 5)

    assert (len(found.matching), len(found.chunks)) == (100, 100)


def test_of_what_was_found_any_word_matches_and_a_place_alone_does_not() -> None:
    outline = of(*[("# A", "## B")] * 10)
    words = [Term("rare", weight=3.0), Term("usual", weight=1.0)]
    held = {0: 0b11, 1: 0b10, 2: 0b10, 3: 0b10, 4: 0b10, 5: 0b10}
    ranking = Ranking.of(Scored(ChunkId(n), MemoryId(1), 1 - n / 10, matched=held.get(n, 0)) for n in range(10))

    def matching(limit: int) -> int:
        [found] = shown(
            sections(ranking, lambda _: outline, limit), {one.chunk: one for one in ranking}, words, ranking, limit
        )
        return len(found.matching)

    assert (matching(2), matching(1)) == (6, 5)


@pytest.mark.parametrize("first", [("# A",), ()], ids=["below a first", "without a first"])
def test_deeper_headings_belong_to_their_second(first: tuple[str, ...]) -> None:
    outline = of((*first, "## B"), (*first, "## B", "### C"), (*first, "## B", "### D"), (*first, "## E"))

    assert [id for id, _ in section(outline, ChunkId(1))] == [0, 1, 2]


def test_a_second_section_of_a_name_begins_at_its_heading_also_where_that_is_bare() -> None:
    part = f"## B\n### C\n{'red ' * 9}\n"
    outline = [(ChunkId(c.index), c) for c in chunk(f"# A\n{part}{part}### D\n{'red ' * 9}", size=20)]

    assert [id for id, _ in section(outline, ChunkId(0))] == [0]
    assert [id for id, _ in section(outline, ChunkId(2))] == [1, 2, 3]


def test_without_headings_three_neighbours_on_each_side_are_shown() -> None:
    assert [id for id, _ in section(of(*[()] * 20), ChunkId(10))] == [7, 8, 9, 10, 11, 12, 13]
    assert NEIGHBOURS == 3


def test_a_memory_that_is_gone_is_left_out() -> None:
    assert sections(Ranking.of([Scored(ChunkId(1), MemoryId(1), 1.0)]), lambda _: (), 5) == []
