"""Laws of the two numbers of a row, relevance and similarity, and of the rows that fill an answer up."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import given, strategies as st
from sessions_made import cosines, session_memory

from memory import Granularity, Kind, Mode, Query
from memory.config import load
from memory.schema.answer import Ranking, Scored, Tier
from memory.schema.draft import Draft
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.query import Merge, Scope, Term
from memory.search.fuse import fuse
from memory.search.shape import Passage, by_words, relevances
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.tools.sessions import SessionMemory

WORDS = "alpha beta gamma delta epsilon zeta"
NEVER = "nobody wrote that"
POINTS = 1e-5

scores = st.lists(st.floats(0, 60), max_size=12).map(lambda some: sorted(some, reverse=True))
weights = st.tuples(st.floats(0, 1), st.floats(0, 1))


@given(scores, st.sampled_from(Tier), st.floats(0, 1), weights, st.sampled_from(Merge))
def test_relevance_is_0_to_1_and_keeps_the_order(scores, tier, coverage, weights, merge) -> None:
    found = relevances(scores, tier, coverage=coverage, weights=weights, merge=merge)

    assert len(found) == len(scores)
    assert found == sorted(found, reverse=True)
    assert all(0 <= one <= 1 for one in found)


@given(st.lists(st.floats(0.001, 60), min_size=1, max_size=9), st.floats(0.01, 1))
def test_by_keyword_the_first_has_what_it_holds_of_the_query(some, coverage) -> None:
    scores = sorted(some, reverse=True)

    found = relevances(scores, Tier.KEYWORD, coverage=coverage, weights=(0.3, 0.7), merge=Merge.MINMAX)

    assert found[0] == pytest.approx(coverage)
    assert found == pytest.approx([coverage * score / scores[0] for score in scores])


TERMS = (Term("a", weight=2.0), Term("b", weight=1.0))
passages = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.floats(1e-6, 60), st.floats(0, 1)), min_size=1, max_size=4), max_size=6
)


@given(passages)
def test_by_keyword_a_score_is_the_mean_of_what_a_merge_would_make_of_the_words(some) -> None:
    """No score stands above one before it; the first is exactly that mean."""
    chunks = count(1)
    made = [[Scored(ChunkId(next(chunks)), MemoryId(1), 0.0, held, bm25) for held, bm25, _ in row] for row in some]
    proximity = {
        one.chunk: share
        for row, facts in zip(made, some, strict=True)
        for one, (*_, share) in zip(row, facts, strict=True)
    }
    best = max((one.keyword for row in made for one in row), default=0.0)
    merged = {
        one.chunk: one.score
        for one in fuse(
            Ranking.of(one for row in made for one in row),
            {},
            terms=TERMS,
            weights=(1, 0),
            proximity=lambda _: proximity,
        )
    }

    found = by_words([Passage(row[0], 0.0, tuple(row), ()) for row in made], TERMS, best=best, proximity=proximity)

    means = [sum(merged[one.chunk] for one in row) / len(row) for row in made]
    assert found == pytest.approx([min(means[: n + 1]) for n in range(len(means))])
    assert all(0 <= one <= 1 for one in found)


CUT = load(env={}, flags={"home": "unused", "chunking.size": 16})  # tokens: a report has several chunks a section


class Case(NamedTuple):
    texts: Sequence[tuple[str, bool]]  # a report's text, and whether it has no vector ever
    query: str
    limit: int
    size: Granularity
    mode: Mode
    merge: str
    half_life: float


texts = st.lists(
    st.tuples(
        st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=5).map(" ".join), st.sampled_from([0, 0, 1])
    ),
    min_size=1,
    max_size=9,
)
cases = st.builds(
    Case,
    texts,
    st.lists(st.sampled_from([*WORDS.split(), NEVER]), min_size=1, max_size=4).map(" ".join),
    st.integers(1, 12),
    st.sampled_from(Granularity),
    st.sampled_from(Mode),
    st.sampled_from([str(merge) for merge in Merge]),
    st.sampled_from([0.0, 30.0]),
)


def kept(memory: SessionMemory, case: Case) -> None:
    """Each text a report of three headings, in turn, or a sentence of its own."""
    for n, (text, hidden) in enumerate([*case.texts, ("alpha", 0)]):  # one has a vector
        parts = "".join(f"## {word}\n\n{text} {n}\n\n{WORDS} {text}\n\n" for word in "ABC")
        body = f"{text} {n}" if n % 2 else f"# {text}\n\n{parts}"
        draft = Draft(kind=Kind.REPORT, body=body, agent_id="a", session_id="s", keyword_only=bool(hidden))
        memory.engine.save(draft)


@given(cases)
def test_rows_are_in_the_order_of_relevance_their_similarity_is_the_cosine_and_the_limit_is_filled(case: Case) -> None:
    with TemporaryDirectory() as home:
        memory = session_memory(
            Path(home),
            HashedEmbedder(48),
            config=CUT,
            merge=case.merge,
            half_life_days=case.half_life,
            mode=str(case.mode),
        )
        kept(memory, case)
        scope = Scope(kinds=frozenset({Kind.REPORT}))
        plain = memory.engine.search(Query(case.query, case.limit, case.size, case.mode, scope))
        answer = memory.engine.search(Query(case.query, case.limit, case.size, case.mode, scope, True, True))
        everything = memory.engine.search(Query(case.query, 1_000, case.size, case.mode, scope, True, True))
        cosines_by_hand = cosines(memory, HashedEmbedder(48).embed([case.query], "query")[0])
        memory.engine.close()

    found = [hit for hit in answer.hits if not hit.topup]
    assert (answer.tier, answer.outcome) == (plain.tier, plain.outcome)  # for the numbers alone
    assert [hit.chunk_id for hit in found] == [hit.chunk_id for hit in plain.hits]
    assert list(answer.hits[: len(found)]) == found  # what fills up comes last
    assert len(answer.hits) == min(case.limit, len(everything.hits))
    relevance = [hit.relevance for hit in answer.hits]
    assert relevance == sorted(relevance, reverse=True)
    assert all(0 <= one <= 1 for one in relevance)
    for hit in answer.hits:
        assert (hit.cosine is None) == (hit.chunk_id not in cosines_by_hand)
        if hit.cosine is not None:
            assert hit.cosine == pytest.approx(cosines_by_hand[hit.chunk_id], abs=POINTS)
        if case.size is not Granularity.MEDIUM:
            assert hit.similarity == hit.cosine
    shown = [hit.memory.id if case.size is Granularity.COARSE else hit.chunk_id for hit in everything.hits]
    assert len(shown) == len(set(shown))
    assert len({hit.memory.id for hit in everything.hits}) == len(case.texts) + 1
    if case.size is Granularity.MEDIUM:  # every section once: together they are the bodies
        bodies = {hit.memory.id: hit.memory.body_size for hit in everything.hits}
        assert sum(len(hit.text) for hit in everything.hits) == sum(bodies.values())
