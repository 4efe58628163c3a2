"""When a memory happened, and until when it holds: saved, changed, undone, carried, found, and said in every face."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, strategies as st

from memory import Config, Draft, Engine, Invalid, Query
from memory.schema.answer import Ranking
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.moments import ago, beginning, dated, ending, written
from memory.schema.query import Scope
from memory.schema.step import step
from memory.search.fuse import STALE, WORDS, ended_behind
from memory.text.display import in_short
from memory.tools.render.text import headline

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime.now(UTC)
LONG_AGO = datetime(2024, 5, 4, 12, tzinfo=UTC)
GONE = datetime(2024, 12, 31, 12, tzinfo=UTC)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    config = Config(home=str(tmp_path))
    with Engine.open(replace(config, embedding=replace(config.embedding, provider="none"))) as engine:
        yield engine


# As values -------------------------------------------------------------------------


def test_a_draft_takes_moments_and_texts_and_has_them_in_utc() -> None:
    local = datetime(2026, 3, 14, 10, 30)  # noqa: DTZ001  # that is the question  # noqa: DTZ001  # that is the question
    draft = Draft(title="a", happened_at=local, valid_until="2026-12-31")

    assert draft.happened_at == local.astimezone(UTC)
    assert draft.valid_until == datetime(2027, 1, 1).astimezone(UTC)
    assert draft.happened_at.tzinfo is UTC
    assert Draft(title="a", happened_at="", valid_until=" ") == Draft(title="a")
    assert Draft(title="a", valid_until="2026-12-31T18:00").valid_until.minute == 0


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"happened_at": "someday"}, "'someday' is neither a date nor an age"),
        ({"valid_until": "2026-13-01"}, "'2026-13-01' is neither"),
        ({"happened_at": 7}, "happened_at is a date or a time, not 7"),
        ({"valid_until": "999999w"}, "'999999w'"),
        ({"happened_at": "2026-03-14", "valid_until": "2026-03-01"}, "is not after happened_at"),
    ],
)
def test_what_is_no_moment_is_named(fields, said) -> None:
    with pytest.raises(Invalid, match=said) as caught:
        Draft(title="a", **fields)

    assert caught.value.hint


def test_an_age_is_before_and_a_time_that_it_holds_is_ahead() -> None:
    before, after = beginning("3d"), ending("2w")

    assert abs(NOW - timedelta(days=3) - before) < timedelta(minutes=30)
    assert abs(NOW + timedelta(weeks=2) - after) < timedelta(minutes=30)


@pytest.mark.parametrize(
    ("days", "said"),
    [
        (-1, "tomorrow"),
        (0, "today"),
        (1, "yesterday"),
        (2, "2 days ago"),
        (13, "13 days ago"),
        (14, "2 weeks ago"),
        (62, "8 weeks ago"),
        (63, "2026-03-20"),
        (-2, "2026-05-24"),
    ],
)
def test_a_date_is_said_as_people_say_it(days, said) -> None:
    now = datetime(2026, 5, 22, 12).astimezone()

    assert ago(now - timedelta(days=days), now) == said
    assert dated(now - timedelta(days=days), now).startswith("2026-0")


@given(st.integers(0, 2**42).map(lambda milliseconds: LONG_AGO + timedelta(milliseconds=milliseconds - 2**41)))
def test_what_a_form_shows_is_read_as_the_same_moment(moment) -> None:
    assert beginning(written(moment)) == moment
    assert ending(written(moment, end=True)) == moment
    midnight = beginning(f"{moment:%Y-%m-%d}")
    assert beginning(written(midnight)) == ending(written(midnight, end=True)) == midnight


# Saved and changed --------------------------------------------------------------


def test_it_is_saved_changed_cleared_and_taken_back(engine: Engine) -> None:
    saved = engine.save(Draft(title="The freeze", happened_at=LONG_AGO, valid_until=GONE)).memory
    assert (saved.happened_at, saved.valid_until, saved.happened) == (LONG_AGO, GONE, LONG_AGO)
    assert saved.ended(GONE)
    assert not saved.ended(GONE - timedelta(seconds=1))

    with step("update"):
        changed = engine.update(saved.id, happened_at=None, valid_until="2w").memory
    assert (changed.happened_at, changed.happened, changed.ended(NOW)) == (None, changed.created_at, False)

    engine.trash.undo(engine.trash.last(), lambda _done, _total: None)
    again = engine.documents.get(saved.id)
    assert (again.happened_at, again.valid_until) == (LONG_AGO, GONE)
    assert engine.documents.details(saved.id).history == ()


def test_deleted_and_had_back_it_happened_when_it_did(engine: Engine) -> None:
    saved = engine.save(Draft(title="The freeze", happened_at=LONG_AGO, valid_until=GONE)).memory

    engine.delete(saved.id)
    engine.trash.restore([saved.uid])

    again = engine.documents.get(saved.uid)
    assert (again.happened_at, again.valid_until) == (LONG_AGO, GONE)


def test_the_same_words_of_another_time_are_another_note(engine: Engine) -> None:
    first = engine.save(Draft(title="The call was cancelled", happened_at=LONG_AGO))
    other = engine.save(Draft(title="The call was cancelled", happened_at=LONG_AGO + timedelta(days=7)))
    same = engine.save(Draft(title="The call was cancelled", happened_at=LONG_AGO))

    assert (other.known, same.known, same.memory.id) == (False, True, first.memory.id)


def test_a_scope_narrows_by_when_it_happened(engine: Engine) -> None:
    engine.save_all([Draft(title="deploy one", happened_at=LONG_AGO), Draft(title="deploy two")])

    def found(**bounds: datetime) -> set[str]:
        scope = Scope(**bounds)
        hits = engine.search(Query("deploy", scope=scope)).hits
        assert {one.title for one in engine.documents.recent(scope, 10)} == {hit.memory.title for hit in hits}
        return {hit.memory.title for hit in hits}

    assert found(happened_until=GONE) == {"deploy one"}
    assert found(happened_since=GONE) == {"deploy two"}
    assert found(happened_since=LONG_AGO, happened_until=LONG_AGO) == set()
    assert found(since=GONE) == {"deploy one", "deploy two"}


# Ended -----------------------------------------------------------------------------


def test_what_has_ended_stands_behind_what_holds_and_says_so(engine: Engine) -> None:
    engine.save(Draft(title="Deploys", what="We deploy on Tuesdays at noon", valid_until=GONE))
    engine.save(Draft(title="Releases", what="A deploy goes out on Thursdays"))

    hits = engine.search(Query("when do we deploy, on Tuesdays at noon")).hits

    assert [hit.memory.title for hit in hits] == ["Releases", "Deploys"]
    assert [hit.score for hit in hits] == sorted([hit.score for hit in hits], reverse=True)
    ended = hits[1].memory
    assert " · no longer holds: ended 2024-12-31]" in in_short(ended)
    assert " (ended 2024-12-31)" in headline(ended)


def test_what_has_ended_and_alone_answers_is_found_before_what_hardly_does(engine: Engine) -> None:
    engine.save_all(
        Draft(title=f"Note {n}", what=f"The team has lunch in room {n} and talks about the code of part {n}")
        for n in range(12)
    )
    engine.save(Draft(title="Code freeze", what="The code freeze lasts until Christmas", valid_until=GONE))

    hits = engine.search(Query("how long does the code freeze last until Christmas")).hits

    assert hits[0].memory.title == "Code freeze"


def test_what_is_told_later_of_an_earlier_time_is_not_newer(engine: Engine) -> None:
    now = engine.save(Draft(title="The queue holds 250 jobs")).memory
    engine.save(Draft(title="The queue holds 100 jobs", happened_at=LONG_AGO))

    hits = engine.search(Query("how many jobs does the queue hold")).hits

    assert [(hit.memory.title, hit.newer_than) for hit in hits] == [
        ("The queue holds 250 jobs", hits[1].memory.short_id),
        ("The queue holds 100 jobs", ""),
    ]
    assert engine.outdated(now).title == "The queue holds 100 jobs"


def test_what_will_end_ranks_as_all_that_holds(engine: Engine) -> None:
    engine.save(Draft(title="Deploys", what="We deploy on Tuesdays at noon", valid_until=NOW + timedelta(days=40)))
    engine.save(Draft(title="Releases", what="A deploy goes out on Thursdays"))

    hits = engine.search(Query("when do we deploy, on Tuesdays at noon")).hits

    assert hits[0].memory.title == "Deploys"
    assert " · holds until " in in_short(hits[0].memory)
    assert " (until " in headline(hits[0].memory)


def test_in_a_context_it_comes_last_of_its_group(engine: Engine) -> None:
    engine.save(Draft(title="holds", what="a"))
    over = engine.save(Draft(title="over", what="b", valid_until=GONE)).memory

    found = engine.context()

    assert [one.title for one in found.memories] == ["holds", "over"]
    assert "no longer holds: ended 2024-12-31" in found.text
    engine.documents.pin([over.id])
    pinned = engine.save(Draft(title="pinned", what="c")).memory
    engine.documents.pin([pinned.id])
    assert [one.title for one in engine.context().memories][:2] == ["pinned", "over"]


RANKED = st.lists(st.tuples(st.integers(1, 8), st.floats(-1, 1), st.booleans(), st.integers(0, 15)), max_size=20)


@example(rows=[(1, 0.1, False, 1), (2, 1.0, True, 2)], plain=False)
@given(rows=RANKED, plain=st.booleans())
def test_what_holds_keeps_its_order_and_nothing_that_ended_rises(rows, plain) -> None:
    ended = {MemoryId(memory) for memory, _, over, _ in rows if over}
    ids = [MemoryId(memory) for memory, *_ in rows]
    given_scores = [score for _, score, *_ in rows]
    if plain:  # else newer ones were moved before older ones
        given_scores.sort(reverse=True)
    ranking = Ranking(
        [ChunkId(n) for n in range(1, len(rows) + 1)], ids, given_scores, [matched for *_, matched in rows]
    )

    found = ended_behind(ranking, ended)

    former = dict(zip(ranking.chunks, given_scores, strict=True))
    assert sorted(found.chunks) == sorted(ranking.chunks)
    holding = [chunk for chunk, memory in zip(found.chunks, found.memories, strict=True) if memory not in ended]
    assert holding == sorted(holding)
    if plain:
        assert found.scores == sorted(found.scores, reverse=True)
    for place, (chunk, memory) in enumerate(zip(found.chunks, found.memories, strict=True)):
        if memory in ended:
            terms, least = rows[chunk - 1][3], former[chunk] - abs(former[chunk]) * (1 - STALE)
            for one in found.chunks[place:]:
                if ids[one - 1] not in ended:  # it hardly answers
                    assert one > chunk
                    assert former[one] < least
                    assert not terms or (terms & rows[one - 1][3]).bit_count() < terms.bit_count() / WORDS
        else:
            assert found.scores[place] == former[chunk]
