"""Laws of searching, over a real store in a temporary folder."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from doubles import Down, Renamed, Watched
from hypothesis import given, strategies as st
from locks import locked
from profiles import examples

from memory import Config, Draft, Engine, Granularity, Kind, Mode, Query, Scope, Tier
from memory.config import load
from memory.schema.errors import DimensionMismatch, EmbedError, Invalid, SpaceMismatch, Unreachable
from memory.schema.query import EVERYTHING
from memory.store import State
from memory.store.sqlite import SqliteStore
from memory.vectors.baseline import ANSWERS, STRANGERS
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.schema.space import Vectors
    from memory.vectors import Embedder, Role

HASHED = load(env={}, flags={"home": "unused", "embedding.provider": "hashed", "embedding.model": "hashed-64"})
LONG = "\n\n".join(f"# Part {n}\n\nalpha beta gamma delta" for n in range(120))  # a chunk a heading


def engine(home: Path, embedder: Embedder | None = None, config: Config = HASHED) -> Engine:
    return Engine(SqliteStore(home / "memory.db"), config, embedder=embedder)


@contextmanager
def filled(*drafts: Draft, gate: str = "auto") -> Iterator[Engine]:
    """An engine that keeps these."""
    with TemporaryDirectory() as home:
        config = replace(HASHED, search=replace(HASHED.search, gate=gate))
        with engine(Path(home), config=config) as made:
            made.save_all(drafts)
            yield made


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Engine]:
    """Three memories, two of them about the same."""
    with engine(tmp_path) as made:
        made.save_all([note("alpha beta"), note("alpha gamma"), note("delta")])
        yield made


def note(what: str, *, body: str = "", **fields) -> Draft:
    return Draft(title=fields.pop("title", "note"), what=what, body=body, **fields)


def found(answer) -> list[int]:
    return [hit.memory.id for hit in answer.hits]


modes = st.sampled_from(Mode)
bodies = st.lists(st.sampled_from(["", "alpha", "some other words", LONG]), min_size=1, max_size=6)


@given(bodies, modes, st.integers(1, 9), st.sampled_from(["auto", "always"]))
@examples(0.4)
def test_as_many_memories_as_asked_for_are_found_if_there_are_so_many(texts, mode, limit, gate) -> None:
    drafts = [note(f"alpha number {n}", body=body) for n, body in enumerate(texts)]

    with filled(*drafts, gate=gate) as kept:
        answer = kept.search(Query("alpha beta gamma", limit, mode=mode))

    assert len(found(answer)) == len(set(found(answer))) == min(limit, len(drafts))


@given(bodies, modes, st.integers(1, 400))
@examples(0.4)
def test_fine_shows_each_chunk_once(texts, mode, limit) -> None:
    with filled(*(note(f"alpha {n}", body=body) for n, body in enumerate(texts))) as kept:
        answer = kept.search(Query("alpha", limit, Granularity.FINE, mode))
        chunks = kept.status().counts.chunks

    ids = [hit.chunk_id for hit in answer.hits]
    assert len(ids) == len(set(ids)) <= limit
    if mode in {Mode.VECTOR, Mode.HYBRID}:
        assert len(ids) == min(limit, chunks)


@given(bodies, modes)
@examples(0.4)
def test_what_is_shown_is_a_slice_of_the_body_or_what_was_said_in_short(texts, mode) -> None:
    with filled(*(note(f"alpha {n}", body=body) for n, body in enumerate(texts))) as kept:
        for granularity in Granularity:
            for hit in kept.search(Query("alpha", 50, granularity, mode)).hits:
                whole = kept.details(hit.memory.id, count=False).body
                head = hit.chunk.start == hit.chunk.stop
                assert hit.text == hit.memory.what if head else hit.text and hit.text in whole


FIELDS = ("project", "source", "category", "tag")
values = {
    "project": st.sampled_from([None, "shop", "blog"]),
    "source": st.sampled_from([None, "claude-code", "cursor"]),
    "category": st.sampled_from([None, "bug", "decision"]),
    "tag": st.sampled_from([None, "red", "blue"]),
}
rows = st.lists(st.fixed_dictionaries(values), min_size=1, max_size=12)


@given(rows, st.fixed_dictionaries(values), modes)
@examples(0.4)
def test_all_that_is_in_scope_is_found_and_nothing_else(rows, wanted, mode) -> None:
    drafts = [
        note(f"alpha {n}", tags=(row["tag"],) if row["tag"] else (), **{name: row[name] for name in FIELDS[:3]})
        for n, row in enumerate(rows)
    ]
    chosen = {name: frozenset({value} if value else ()) for name, value in wanted.items()}
    scope = Scope(
        projects=chosen["project"], sources=chosen["source"], categories=chosen["category"], tags=chosen["tag"]
    )

    with filled(*drafts, gate="always") as kept:
        answer = kept.search(Query("alpha", 50, mode=mode, scope=scope))

    expected = {
        f"alpha {n}"
        for n, row in enumerate(rows)
        if all(not wanted[name] or row[name] == wanted[name] for name in FIELDS)
    }
    assert {hit.memory.what for hit in answer.hits} == expected


@given(st.lists(st.sampled_from(["alpha", "alpha beta", "beta", "gamma alpha alpha"]), min_size=1, max_size=12), modes)
@examples(0.4)
def test_the_order_is_the_same_every_time(texts, mode) -> None:
    with TemporaryDirectory() as home:
        with engine(Path(home)) as kept:
            kept.save_all([note(text, title=f"note {n}") for n, text in enumerate(texts)])
            first, second = (kept.search(Query("alpha beta", 20, mode=mode)) for _ in range(2))
        with engine(Path(home)) as again:
            third = again.search(Query("alpha beta", 20, mode=mode))

    assert first.hits == second.hits == third.hits
    assert [hit.score for hit in first.hits] == sorted((hit.score for hit in first.hits), reverse=True)


@pytest.mark.parametrize("mode", Mode)
def test_what_was_superseded_is_found_only_when_asked_for(kept: Engine, mode: Mode) -> None:
    new = kept.save(note("alpha is now omega"), supersedes=1).memory

    assert 1 not in found(kept.search(Query("alpha beta", mode=mode)))
    assert new.id in found(kept.search(Query("alpha beta", mode=mode)))
    assert {1, new.id} <= set(found(kept.search(Query("alpha beta", mode=mode, scope=EVERYTHING))))


@pytest.mark.parametrize("mode", Mode)
def test_what_was_deleted_is_found_no_more(kept: Engine, mode: Mode) -> None:
    kept.delete(1)

    assert 1 not in found(kept.search(Query("alpha beta", mode=mode)))


@pytest.mark.parametrize("mode", Mode)
def test_what_was_updated_is_found_by_its_new_words(kept: Engine, mode: Mode) -> None:
    kept.update(1, what="omega")

    assert found(kept.search(Query("omega", 1, mode=mode))) == [1]
    assert all("beta" not in hit.text for hit in kept.search(Query("beta", mode=mode)).hits)


def test_what_the_body_says_in_short_follows_the_body(tmp_path: Path) -> None:
    with engine(tmp_path) as kept:
        kept.save(Draft(kind=Kind.KNOWLEDGE_BASE, title="t", body="old words"))
        kept.save(Draft(kind=Kind.KNOWLEDGE_BASE, title="t", body="a body", what="in short"))

        assert kept.update(1, body="new words").memory.what == "new words"
        assert kept.update(1, title="another").memory.what == "new words"
        assert kept.update(2, body="another").memory.what == "in short"


def test_a_hit_says_its_place_in_each_retriever_and_both_its_scores(kept: Engine) -> None:
    (hit,) = kept.search(Query("alpha beta", 1, mode=Mode.HYBRID)).hits

    assert dict(hit.ranks) == {"keyword": 1, "vector": 1}
    assert hit.keyword is not None
    assert hit.keyword > 0
    assert hit.cosine is not None
    assert 0 < hit.cosine <= 1


class Compass(HashedEmbedder):
    """Queries, and texts that say "north", point one way; everything else the other."""

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        words = ["north" if role == "query" or "north" in text else "south" for text in texts]
        return super().embed(words, role)


def test_what_only_one_retriever_found_has_the_score_of_the_other(tmp_path: Path) -> None:
    long = " ".join(f"word{n}" for n in range(60))  # so that 120 short notes come before it by keyword
    with engine(tmp_path, Compass(64)) as kept:
        loud = kept.save(note("alpha alpha alpha")).memory.id  # the oldest, so the last of equals by vector
        kept.save_all([note("alpha", title=f"number {n}") for n in range(120)])
        north = kept.save(note(f"alpha north {long}")).memory.id
        hits = kept.search(Query("alpha", 100, mode=Mode.HYBRID)).hits

    ranks = {hit.memory.id: dict(hit.ranks) for hit in hits}
    assert ranks[north] == {"vector": 1}
    assert ranks[loud] == {"keyword": 1}
    assert all(hit.cosine is not None for hit in hits)
    assert all(hit.keyword is not None for hit in hits)


# When the embedder fails -------------------------------------------------


@pytest.fixture
def down(tmp_path: Path) -> Iterator[Engine]:
    """What was kept with an embedder that has gone since."""
    with engine(tmp_path) as made:
        made.save_all([note("alpha beta"), note("gamma")])
    with engine(tmp_path, Down(64)) as made:
        yield made


def test_a_tiered_search_without_the_embedder_answers_by_keyword_and_says_so(down: Engine) -> None:
    answer = down.search(Query("alpha omega sigma"))

    assert answer.tier is Tier.KEYWORD
    assert found(answer) == [1]
    assert [(notice.text, notice.hint) for notice in answer.notices] == [
        ("without the model: hashed gives no answer", "Is it running?")
    ]


def test_keywords_that_are_enough_do_not_miss_the_embedder(down: Engine) -> None:
    assert down.search(Query("alpha beta")).notices == ()
    assert down.search(Query("omega", mode=Mode.KEYWORD)).notices == ()


@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.HYBRID])
def test_a_search_that_must_have_vectors_raises_without_the_embedder(down: Engine, mode: Mode) -> None:
    with pytest.raises(Unreachable, match="no answer"):
        down.search(Query("alpha", mode=mode))


def test_a_memory_is_kept_without_the_embedder_and_embedded_later(tmp_path: Path) -> None:
    with engine(tmp_path, Down(64)) as made:
        saved = made.save(note("alpha"))
        assert "no answer" in saved.notices[0].text
        assert made.status().counts.queued == 1
        assert found(made.search("alpha")) == [1]
        with pytest.raises(EmbedError):
            made.search(Query("alpha", mode=Mode.VECTOR))

    with engine(tmp_path) as made:
        assert made.reindex().embedded == 1
        assert made.status().counts.queued == 0
        assert found(made.search(Query("alpha", mode=Mode.VECTOR))) == [1]


def test_context_never_fails_for_want_of_a_model(down: Engine) -> None:
    context = down.context("alpha omega", semantic="always")

    assert [memory.what for memory in context.memories] == ["alpha beta", "gamma"]
    assert "no answer" in context.notices[0].text


# When the model changes --------------------------------------------------


@pytest.mark.parametrize(
    ("other", "error"),
    [(Renamed("other"), SpaceMismatch), (Renamed("hashed-64", 32), DimensionMismatch)],
    ids=["another-model", "another-width"],
)
def test_a_changed_model_is_an_error_that_names_both_and_the_command(
    kept: Engine, tmp_path: Path, other: Embedder, error: type[SpaceMismatch]
) -> None:
    with engine(tmp_path, other) as changed:
        for mode in (Mode.VECTOR, Mode.HYBRID):
            with pytest.raises(SpaceMismatch) as caught:
                changed.search(Query("alpha", mode=mode))

            assert type(caught.value) is error
            assert "hashed:hashed-64 (64 dimensions" in caught.value.stored
            assert f"hashed:{other.model} ({other.dimension} dimensions" in caught.value.given
            assert caught.value.stored in str(caught.value)
            assert caught.value.given in str(caught.value)
            assert "memory reindex" in caught.value.hint


@pytest.mark.parametrize("other", [Renamed("other"), Renamed("hashed-64", 32)], ids=["model", "width"])
def test_a_changed_model_leaves_keywords_and_says_so(kept: Engine, tmp_path: Path, other: Embedder) -> None:
    with engine(tmp_path, other) as changed:
        answer = changed.search(Query("beta omega sigma"))
        context = changed.context("beta omega sigma", semantic="always")
        saved = changed.save(note("epsilon"))
        problems = changed.status().problems

    assert answer.tier is Tier.KEYWORD
    assert found(answer) == [1]
    assert "memory reindex" in answer.notices[0].hint
    assert context.memories[0].id == 1
    assert "memory reindex" in context.notices[0].hint
    assert "memory reindex" in saved.notices[0].hint
    assert "memory reindex" in problems[0].hint


class Stopped(Exception):
    """A reindex was interrupted."""


def interrupted(engine: Engine) -> None:
    """Begin to reindex, and stop after the first batch."""

    def stop(_done: int, _total: int) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        engine.reindex(stop)


def config(model: str, batch: int = 2) -> Config:
    return replace(HASHED, embedding=replace(HASHED.embedding, model=model, batch_size=batch))


def test_until_a_reindex_is_done_the_old_model_answers(kept: Engine, tmp_path: Path) -> None:
    before = kept.search(Query("alpha", mode=Mode.VECTOR))

    with engine(tmp_path, config=config("hashed-128")) as changed:
        interrupted(changed)
        states = {found.space.model: (found.state, filled) for found, filled in changed.status().generations}
        answer = changed.search(Query("alpha", mode=Mode.VECTOR))
        saved = changed.save(note("alpha omega"))
        result = changed.reindex()
        after = changed.search(Query("alpha omega", 1, mode=Mode.VECTOR))

    assert states == {"hashed-64": (State.ACTIVE, 3), "hashed-128": (State.BUILDING, 2)}
    assert answer.hits == before.hits
    assert answer.notices == ()
    assert (
        result.embedded == 2
    )  # of the three, two were done; the model that answered embedded the new one when it was kept
    assert (result.before.model, result.after.model) == ("hashed-64", "hashed-128")
    assert found(after) == [saved.memory.id]


def test_after_a_reindex_only_the_new_model_is_asked(kept: Engine, tmp_path: Path) -> None:
    watched = Watched(128)

    with engine(tmp_path, watched) as changed:
        done: list[tuple[int, int]] = []
        changed.reindex(lambda *report: done.append(report))
        answer = changed.search(Query("alpha beta", mode=Mode.VECTOR))

    assert len([text for text in watched.passages if text not in ANSWERS.values()]) == 3
    assert done[-1] == (3, 3)
    assert [text for text in watched.queries if text not in STRANGERS] == ["alpha beta"]
    assert found(answer)[0] == 1
    assert answer.notices == ()


def test_reindexing_again_embeds_nothing(kept: Engine) -> None:
    assert kept.reindex().embedded == 0


# What is asked of the model ----------------------------------------------


def test_the_same_question_is_embedded_once_however_deep_the_search_goes(tmp_path: Path) -> None:
    watched = Watched()
    with engine(tmp_path, watched) as kept:
        kept.save_all([note("alpha", body=LONG), note("beta"), note("gamma")])

        for _ in range(3):
            kept.search(Query("alpha", 3, mode=Mode.HYBRID))
            kept.search(Query("alpha", 3, mode=Mode.VECTOR))

    assert watched.queries == ["alpha"]


def test_a_thousand_questions_are_remembered(tmp_path: Path) -> None:
    watched = Watched()
    with engine(tmp_path, watched) as kept:
        kept.save(note("alpha"))
        for n in range(1_000):
            kept.search(Query(f"w{n}", mode=Mode.VECTOR))

        kept.search(Query("w0", mode=Mode.VECTOR))
        assert len(watched.queries) == 1_000
        kept.search(Query("one more", mode=Mode.VECTOR))
        kept.search(Query("w0", mode=Mode.VECTOR))
        assert len(watched.queries) == 1_001
        kept.search(Query("w1", mode=Mode.VECTOR))
        assert len(watched.queries) == 1_002


def test_the_write_lock_is_free_while_the_model_works(tmp_path: Path) -> None:
    def write() -> None:
        with locked(tmp_path / "memory.db"):  # whoever held the lock while it calls the model would never end
            pass

    with engine(tmp_path, Watched(64, before=write)) as kept:
        kept.save(note("alpha", body=LONG))
        kept.save_all([note("beta"), note("gamma")])
        kept.update(1, what="delta")
        kept.search(Query("alpha", mode=Mode.HYBRID))
    with engine(tmp_path, Watched(32, before=write)) as kept:
        kept.reindex()


def test_what_is_known_already_is_not_embedded_again(tmp_path: Path) -> None:
    watched = Watched()
    with engine(tmp_path, watched) as kept:
        first, second = kept.save(note("alpha")), kept.save(note("alpha"))

    assert (first.known, second.known, second.memory.id) == (False, True, first.memory.id)
    assert len(watched.passages) == 1


@pytest.mark.parametrize("mode", Mode)
def test_in_an_empty_store_nothing_is_found(tmp_path: Path, mode: Mode) -> None:
    with engine(tmp_path) as empty:
        answer = empty.search(Query("alpha", mode=mode))

    assert answer.hits == ()
    assert answer.notices == ()


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize(
    "text", ["?!", "\0x\0", "the", "\u200f\u202e", "👩‍👩‍👧", '"', "NEAR(", "a" * 10_000, "w " * 5_000]
)
def test_any_text_is_a_query_in_any_mode(kept: Engine, text: str, mode: Mode) -> None:
    assert kept.search(Query(text, mode=mode)).tier


@pytest.mark.parametrize(
    ("text", "limit", "message"),
    [
        ("", 5, "needs text"),
        (" \n\0", 5, "needs text"),
        ("x" * 10_001, 5, "10,001 characters"),
        ("a\ud800", 5, "lone surrogate"),
        ("x", 0, "1..10,000"),
        ("x", -1, "1..10,000"),
        ("x", 10_001, "1..10,000"),
    ],
)
def test_what_cannot_be_asked_is_said(kept: Engine, text: str, limit: int, message: str) -> None:
    with pytest.raises(Invalid, match=message):
        kept.search(text, limit=limit)


@pytest.mark.parametrize("room", [{"limit": 0}, {"tokens": 0}, {"limit": -1}, {"tokens": -5}])
@pytest.mark.parametrize("about", ["", "alpha"])
def test_context_needs_room(kept: Engine, about: str, room: dict[str, int]) -> None:
    with pytest.raises(Invalid):
        kept.context(about, **room)
