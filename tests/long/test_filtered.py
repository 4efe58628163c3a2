"""A search inside a scope is the search of everything with a filter behind it, at any selectivity and any limit."""

from __future__ import annotations

import random
from dataclasses import replace
from shutil import copyfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import note, outline, prompt, words
from hypothesis import example, given, strategies as st
from profiles import examples

from memory import Config, Engine, Granularity, Kind, Mode, Query, Scope
from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.answer import Ranking
from memory.schema.memory import Standing
from memory.schema.query import ACTIVE, EVERYTHING
from memory.schema.space import Embedded, Window
from memory.store.narrow import rounded
from memory.store.sqlite import SqliteStore
from memory.vectors import space
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memory.schema.memory import ChunkId, Memory, MemoryId
    from memory.schema.space import Vectors
    from memory.store import Entry

COUNT = 10_000
ALL = 1 << 30
TOLERANCE = 1e-6  # cosines in 32 bits
EMBEDDER = HashedEmbedder(16)
SPACE = space(EMBEDDER)

WORDS = {"first": 0.9, "alpha": 0.6, "beta": 0.4, "gamma": 0.25, "delta": 0.1, "rare": 0.02, "rarer": 0.002}
"""What memories are made of, with the share of those that hold it."""

SCOPES = {
    "everything": EVERYTHING,
    "what holds": ACTIVE,
    "50 %": Scope(agents=frozenset({"a1"})),
    "10 %": Scope(categories=frozenset({"c3"})),
    "1 %": Scope(tasks=frozenset({"t7"})),
    "1 % by tag": Scope(tags=frozenset({"tag7"}), statuses=frozenset()),
    "0.1 %": Scope(iterations=frozenset({71}), agents=frozenset({"a0"})),
    "0.01 %": Scope(agents=frozenset({"a1"}), runs=frozenset({"r77"})),
    "what was superseded": Scope(statuses=frozenset({Standing.SUPERSEDED})),
    "long ones": Scope(kinds=frozenset({Kind.NOTE})),
    "nothing": Scope(kinds=frozenset({Kind.REPORT})),
    "without a common word": Scope(without=frozenset({"Gamma"})),
    "without a phrase and a rare word": Scope(
        agents=frozenset({"a1"}), without=frozenset({"alpha beta", "rare", "no"})
    ),
}

scopes = st.sampled_from(sorted(SCOPES))
limits = st.sampled_from([1, 2, 10, 30, 100]) | st.integers(1, 5000) | st.just(ALL)
queries = st.lists(st.sampled_from([*WORDS, "once", "nowhere", "alpha beta"]), min_size=1, max_size=6, unique=True)
seeds = st.integers(0, 1 << 32)


class Kept:
    """A store, and what was put into it; of each window the chunk, the memory and the vector."""

    def __init__(self, path: Path, known: Kept | None = None) -> None:
        self.store, self.path = SqliteStore(path), path
        self.memories: dict[MemoryId, Memory] = dict(known.memories) if known else {}
        self.windows: list[tuple[ChunkId, MemoryId, Vectors]] = list(known.windows) if known else []


# What is kept ------------------------------------------------------------------


def directions(count: int, seed: int) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((count, SPACE.dimension))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


POOL = directions(1000, 0)  # each is the vector of some ten chunks: ties


def made(dice: random.Random, number: int) -> Entry:
    """A memory of one chunk, every thirtieth of some more, with a window or two a chunk; many say the same."""
    times = (1, 1, 2, 30)  # so often that it scores as high as a word can
    said = " ".join(f"{word} " * dice.choice(times) for word, share in WORDS.items() if dice.random() < share)
    fields = {"agent_id": f"a{number % 2}", "category": f"c{number % 10}", "task_code": f"t{number % 100}"}
    fields |= {"session_iter": number % 1000 + 1, "query_id": f"r{number}", "tags": (f"tag{number // 2 % 100}",)}
    if number % 30:
        entry = prompt(said or "none", **fields)
    else:
        entry = note(said or "none", body="alpha beta once gamma", size=11, **fields | {"category": "bug"})
    owners = [chunk for chunk in range(len(entry.chunks)) for _ in range(1 + (dice.random() < 0.1))]
    windows = [Window(owner, owners[:row].count(owner), row) for row, owner in enumerate(owners)]
    vectors = POOL[[dice.randrange(len(POOL)) for _ in owners]]
    return entry._replace(embedded=Embedded(SPACE, vectors, tuple(windows)))


def learn(kept: Kept, entries: Sequence[Entry]) -> list[MemoryId]:
    """Put entries, and remember what a search of them must say."""
    ids = []
    for entry, saved in zip(entries, write_entries(kept.store, entries), strict=True):
        memory = saved.memory
        ids.append(memory.id)
        kept.memories[memory.id] = memory
        if entry.supersedes is not None:
            kept.memories[entry.supersedes] = kept.memories[entry.supersedes]._replace(status=Standing.SUPERSEDED)
        chunks = [id for id, _ in outline(kept.store, memory.id)]
        assert entry.embedded
        kept.windows.extend(
            (chunks[window.chunk], memory.id, entry.embedded.vectors[window.row]) for window in entry.embedded.windows
        )
    return ids


def forget(kept: Kept, id: MemoryId) -> None:
    """Forget its vectors, as its chunks are gone."""
    kept.windows[:] = [window for window in kept.windows if window[1] != id]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    dice = random.Random(5)
    kept = Kept(tmp_path_factory.mktemp("filtered") / "memory.db")
    ids = learn(kept, [made(dice, number) for number in range(COUNT)])
    learn(kept, [made(dice, COUNT + n)._replace(supersedes=id) for n, id in enumerate(ids[500:1500:5])])
    yield kept
    kept.store.close()


@pytest.fixture
def own(kept: Kept, tmp_path: Path) -> Iterator[Kept]:
    """The same, to be written to."""
    path = tmp_path / "memory.db"
    for suffix in ("", "-wal"):
        copyfile(f"{kept.path}{suffix}", f"{path}{suffix}")
    own = Kept(path, kept)
    yield own
    own.store.close()


# What a search must say --------------------------------------------------------


def admitted(memory: Memory, scope: Scope) -> bool:
    fields = {"kinds": "kind", "agents": "agent_id", "categories": "category", "tasks": "task_code"}
    fields |= {"iterations": "session_iter", "runs": "query_id", "statuses": "status"}
    allowed = ((getattr(scope, plural), getattr(memory, name)) for plural, name in fields.items())
    return all(not values or value in values for values, value in allowed) and scope.tags <= set(memory.tags)


def inside(kept: Kept, scope: Scope) -> set[MemoryId]:
    without = [kept.store.keywords.by_keyword(words(text), EVERYTHING, ALL) for text in scope.without]
    left_out = {memory for ranking in without for memory in ranking.memories}
    return {id for id, memory in kept.memories.items() if admitted(memory, scope)} - left_out


def is_the_whole_ranking_filtered(kept: Kept, texts: Sequence[str], scope: Scope, k: int) -> None:
    first, *others = words(*texts)
    terms = kept.store.keywords.weigh([first._replace(other="gamma delta"), *others])
    wanted = inside(kept, scope)

    whole = kept.store.keywords.by_keyword(terms, EVERYTHING, ALL)

    expected = Ranking.of(one for one in whole if one.memory in wanted)[:k]
    assert kept.store.keywords.by_keyword(terms, scope, k) == expected


def cosines(kept: Kept, vector: Vectors, scope: Scope) -> dict[ChunkId, float]:
    """Of the best window of every chunk in scope, the nearest chunk first."""
    wanted = inside(kept, scope)
    found: dict[ChunkId, float] = {}
    rows = rounded(np.array([row for _, _, row in kept.windows])).astype(np.float64)
    products = (rows * vector).sum(axis=1)  # equal vectors have equal sums, unlike with `@`
    lengths = np.sqrt((rows * rows).sum(axis=1))
    for (chunk, memory, _), cosine in zip(kept.windows, (products / lengths).tolist(), strict=True):
        if memory in wanted:
            found[chunk] = max(cosine, found.get(chunk, -2.0))
    return dict(sorted(found.items(), key=lambda item: (-item[1], -item[0])))


def are_the_nearest(given: Sequence[tuple[ChunkId, float]], by_hand: dict[ChunkId, float], k: int) -> None:
    """But for places of those that differ by less than the tolerance; of the same cosine, the latest are there."""
    assert given == sorted(given, key=lambda one: (-one[1], -one[0]))
    assert len(dict(given)) == len(given) == min(k, len(by_hand))
    for (chunk, cosine), best in zip(given, by_hand.values(), strict=False):
        assert abs(cosine - best) < TOLERANCE
        assert abs(cosine - by_hand[chunk]) < TOLERANCE
    if given:
        last = by_hand[given[-1][0]]
        tied = [chunk for chunk, cosine in by_hand.items() if cosine == last]
        there = [chunk for chunk, _ in given if by_hand[chunk] == last]
        assert there == tied[: len(there)]


def pairs(ranking: Ranking) -> list[tuple[ChunkId, float]]:
    return [(one.chunk, one.score) for one in ranking]


# Laws --------------------------------------------------------------------------


# A common word said often is worth more than a rarer one said once: what a bound that is too low overlooks.
@example(["first", "delta"], "everything", 200)
@example(["first", "gamma", "rare"], "everything", 100)
@example(["beta", "gamma", "delta"], "everything", 1000)
@given(queries, scopes, limits)
@examples(4)  # a bound that is a little too low loses a hit in few of them
def test_keywords_find_in_a_scope_what_is_left_of_the_whole_ranking(kept, texts, scope, k) -> None:
    is_the_whole_ranking_filtered(kept, texts, SCOPES[scope], k)


@given(seeds, scopes, limits)
def test_vectors_find_in_a_scope_the_nearest_of_it(kept, seed, scope, k) -> None:
    vector = directions(1, seed)[0]

    by_hand = cosines(kept, vector, SCOPES[scope])

    for _ in range(2):  # at the latest with the second, they are held
        are_the_nearest(pairs(kept.store.vectors.by_vector(1, vector, SCOPES[scope], k)), by_hand, k)


@given(st.integers(0, len(POOL) - 1), scopes, limits)
@examples(0.4)
def test_the_first_search_of_a_process_finds_the_nearest_too(kept, number, scope, k) -> None:
    store = SqliteStore(kept.path)

    ranking = store.vectors.by_vector(1, POOL[number], SCOPES[scope], k)

    store.close()
    are_the_nearest(pairs(ranking), cosines(kept, POOL[number], SCOPES[scope]), k)


def test_what_was_written_counts_at_once(own) -> None:
    dice = random.Random(3)
    vector = directions(1, 7)[0]

    def look() -> None:
        for term in own.store.keywords.weigh(words(*WORDS)):
            assert term.rows == len(own.store.keywords.by_keyword([term], EVERYTHING, ALL))
        for scope in SCOPES.values():
            k = dice.choice([1, 10, 100, 1000])
            is_the_whole_ranking_filtered(own, dice.sample(sorted(WORDS), 4), scope, k)
            are_the_nearest(pairs(own.store.vectors.by_vector(1, vector, scope, k)), cosines(own, vector, scope), k)

    look()
    for number in range(3):
        old, gone, changed, *_ = (id for id in dice.sample(sorted(own.memories), 50) if active(own, id))
        learn(own, [made(dice, number * 77)._replace(supersedes=old), made(dice, 7)])
        delete_memories(own.store, [gone])
        forget(own, gone)
        del own.memories[gone]
        forget(own, changed)
        entry = made(dice, 70)
        replace_memory(own.store, changed, entry._replace(embedded=None))
        own.memories[changed] = own.store.memories.by_id([changed])[changed]
        look()


def active(kept: Kept, id: MemoryId) -> bool:
    return kept.memories[id].status is Standing.ACTIVE


# Where both hold, corrections come before what they correct: tests/unit/search/test_tiers.py.
one_status = scopes.filter(lambda name: len(SCOPES[name].statuses) == 1)


@given(queries, one_status, st.integers(1, 5000), st.sampled_from([Mode.KEYWORD, Mode.VECTOR]))
@examples(0.4)
def test_a_search_finds_what_its_retriever_finds(kept, texts, scope, limit, mode) -> None:
    plain = replace(Config(), home=str(kept.path.parent), search=replace(Config().search, neighbours=False))
    engine = Engine(kept.store, plain, embedder=EMBEDDER)

    answer = engine.search(Query(" ".join(texts), limit, Granularity.FINE, mode, SCOPES[scope]))

    assert not answer.notices
    if mode is Mode.KEYWORD:
        whole = kept.store.keywords.by_keyword(answer.terms, EVERYTHING, ALL)
        wanted = inside(kept, SCOPES[scope])
        left = [one for one in whole if one.memory in wanted][:limit]
        assert [(hit.chunk_id, hit.keyword) for hit in answer.hits] == [(one.chunk, one.score) for one in left]
    else:
        [vector] = EMBEDDER.embed([answer.query.text], "query")
        given = [(hit.chunk_id, hit.score) for hit in answer.hits]
        are_the_nearest(given, cosines(kept, vector, SCOPES[scope]), limit)
