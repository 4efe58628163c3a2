"""What is stored of what is read: in batches, known by what it says, and without waiting for a model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

from memory import Draft, Engine, Kind
from memory.carry.formats.items import Item, NamedRelation, Unread, uid_of
from memory.carry.importing import BATCH, TOLD, Importer
from memory.config.config import load
from memory.schema.answer import Notice
from memory.vectors.providers.hashed import HashedEmbedder

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

    assert (first.kept, first.known, again.known) == (1, 1, 1)


def test_one_that_cannot_be_stored_costs_only_itself(engine: Engine) -> None:
    done = Importer(engine, None).take([note(1), note(2, TOO_LONG), note(3)])

    assert (done.kept, done.skips) == (2, 1)
    assert done.skipped[0].text.startswith("n 2: with its secrets replaced by markers, what has ")


def test_what_changed_where_it_comes_from_is_taken_and_what_changed_here_stays(engine: Engine) -> None:
    importer = Importer(engine, None)
    importer.take([note(1), note(2)])
    later = MOMENT + timedelta(days=1)
    here = engine.update(uid_of("program", 2), what="changed here").memory

    done = Importer(engine, None).take([note(1, "new", updated=later), note(2, "new", updated=later)])

    assert (done.updated, done.known) == (1, 1)
    assert engine.get(uid_of("program", 1)).what == "new"
    assert engine.get(here.id).what == "changed here"


def test_an_entity_gains_what_is_new_and_one_that_is_spoken_of_is_made(engine: Engine) -> None:
    thing = Item(Draft(kind=Kind.ENTITY, title="Crane", body="- lifts"))
    more = Item(Draft(kind=Kind.ENTITY, title="Crane", body="- turns"))

    done = Importer(engine, None).take([NamedRelation("Crane", "Ship", "loads", makes=True), thing, more])
    lost = Importer(engine, None).take([NamedRelation("Crane", "Quay", "stands on")])

    assert (done.kept, done.updated, done.joined) == (2, 1, 1)
    assert engine.graph.known([engine.graph.entity("Crane")]) == {engine.graph.entity("Crane").id: ("lifts", "turns")}
    assert (lost.joined, lost.skipped) == (0, (Notice("Crane → Quay: one of them is not there"),))


def test_of_many_that_are_skipped_the_first_are_named(engine: Engine) -> None:
    done = Importer(engine, None).take(Unread(Notice(str(number))) for number in range(TOLD + 5))

    assert (len(done.skipped), done.skips) == (TOLD, TOLD + 5)
