"""What is stored of what is read: in batches, known by what it says, and without waiting for a model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from memory import Draft, Engine, Kind
from memory.carry import LISTED
from memory.carry.formats.items import Item, LeftOut, NamedRelation, timed, uid_of
from memory.config import load
from memory.engine.importing import BATCH, Importer
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOMENT = datetime(2026, 3, 1, tzinfo=UTC)
TOO_LONG = "password=hunter2x; " * 526  # below the limit, until a marker takes the place of each secret


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(load(flags={"home": str(tmp_path)}), embedder=HashedEmbedder(8)) as opened:
        yield opened


def note(number: int, what: str = "said", **more: object) -> Item:
    return Item(Draft(title=f"n {number}", what=what), uid_of("program", number), MOMENT, MOMENT)._replace(**more)


def test_nothing_is_embedded_before_all_is_stored(engine: Engine) -> None:
    Importer(engine, None).take(note(number) for number in range(BATCH + 1))

    assert engine.status().counts.queued == engine.status().counts.chunks == BATCH + 1
    assert engine.maintenance.catch_up() == ()
    assert engine.status().counts.queued == 0


def test_saves_after_an_import_are_embedded_at_once_again(engine: Engine) -> None:
    Importer(engine, None).take([])
    engine.save(Draft(title="after"))

    assert engine.status().counts.queued == 0


def test_what_has_no_key_is_known_by_what_it_says(engine: Engine) -> None:
    draft = Draft(title="n", what="said")

    first = Importer(engine, None).take([Item(draft), Item(draft)])
    again = Importer(engine, None).take([Item(draft)])

    assert (first.sum.saved, first.sum.there, again.sum.there) == (1, 1, 1)


def test_one_that_cannot_be_stored_costs_only_itself(engine: Engine) -> None:
    done = Importer(engine, None).take([note(1), note(2, TOO_LONG), note(3)])

    assert (done.sum.found, done.sum.saved) == (3, 2)
    assert done.sum.left_out[0].name == "n 2"
    assert done.sum.left_out[0].why.startswith("with its secrets replaced by markers, what has ")


def test_what_changed_where_it_comes_from_is_taken_and_what_changed_here_stays(engine: Engine) -> None:
    importer = Importer(engine, None)
    importer.take([note(1), note(2)])
    later = MOMENT + timedelta(days=1)
    here = engine.update(uid_of("program", 2), what="changed here").memory

    done = Importer(engine, None).take([note(1, "new", updated=later), note(2, "new", updated=later)])

    assert (done.sum.updated, done.sum.there) == (1, 1)
    assert engine.get(uid_of("program", 1)).what == "new"
    assert engine.get(here.id).what == "changed here"


def test_an_entity_gains_what_is_new_and_one_that_is_spoken_of_is_made(engine: Engine) -> None:
    thing = Item(Draft(kind=Kind.ENTITY, title="Crane", body="- lifts"))
    more = Item(Draft(kind=Kind.ENTITY, title="Crane", body="- turns"))

    done = Importer(engine, None).take([NamedRelation("Crane", "Ship", "loads", makes=True), thing, more])
    lost = Importer(engine, None).take([NamedRelation("Crane", "Quay", "stands on")])

    assert (done.sum.saved, done.sum.updated, done.joined) == (2, 1, 1)
    assert engine.graph.known([engine.graph.entity("Crane")]) == {engine.graph.entity("Crane").id: ("lifts", "turns")}
    assert (lost.joined, lost.sum.left_out) == (0, (LeftOut("Crane → Quay", "one of them is not there"),))


def test_of_many_that_are_left_out_ten_are_told_and_all_are_in_the_sum(engine: Engine) -> None:
    done = Importer(engine, None).take(LeftOut(f"file {number}", "it is odd") for number in range(LISTED + 5)).sum

    assert (done.found, done.left, len(done.left_out)) == (LISTED + 5,) * 3
    assert [one.text for one in done.told[-2:]] == [
        "left out: file 9: it is odd",
        "left out: 5 more, which --json names",
    ]


# When it happened ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "happened", "ends"),
    [
        ({"happened_at": "2025-03-14T10:30:00Z"}, datetime(2025, 3, 14, 10, 30, tzinfo=UTC), None),
        ({"Event Date": "2025-03-14", "expires": "2025-12-31"}, datetime(2025, 3, 14, tzinfo=UTC), (2026, 1, 1)),
        ({"valid-until": "2025-12-31T00:00:00+00:00"}, None, (2025, 12, 31)),
        (
            {"valid_at": 1741948200, "invalid_at": 1767139200.0},
            datetime(2025, 3, 14, 10, 30, tzinfo=UTC),
            (2025, 12, 31),
        ),
        ({"expires": 30, "valid_from": True, "happened": ["2025-03-14"], "expiry": "soon"}, None, None),
        ({"date": f"{MOMENT:%Y-%m-%d}"}, None, None),  # that is when it was made
        ({"occurred_at": "2025-03-14", "valid_until": "2024-01-01"}, datetime(2025, 3, 14, tzinfo=UTC), None),
        ({"expires": None, "expiration_date": "2025-12-31"}, None, (2026, 1, 1)),
    ],
)
def test_when_it_happened_and_when_it_ends_is_read_where_it_is_said(metadata, happened, ends) -> None:
    draft = timed(Item(Draft(title="a", metadata=metadata), created=MOMENT))

    assert (draft.happened_at, draft.valid_until) == (happened, ends and datetime(*ends, tzinfo=UTC))
    assert dict(draft.metadata) == metadata
