"""What has a rare value is looked up in its index; what is common is read where all columns stand."""

from __future__ import annotations

import shutil
from contextlib import closing

import pytest
from entries import note

from memory.keep.rules import write_entries
from memory.schema.answer import Ranking
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.store.sqlite import SqliteStore
from memory.store.sqlite.rows import FEW_SUPERSEDED, inside, rarest, where, within

RARE, COMMON = 4, 400


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("scopes") / "memory.db"
    entries = [note(str(i), source="common", category="bug", project="p", task_code="t") for i in range(COMMON)]
    others = [note(f"rare {i}", source="rare", category="decision", project="p", task_code="u") for i in range(RARE)]
    with closing(SqliteStore(path)) as store:
        write_entries(store, [*entries, *others])
    return path


@pytest.fixture
def store(tmp_path, written):
    store = SqliteStore(shutil.copy(written, tmp_path))
    yield store
    store.close()


def plan(db, scope):
    condition, values = where(scope, rarest(db, scope))
    rows = db.execute(f"explain query plan select m.id from memories m where {condition}", values)
    return next(text for *_, text in rows if " m " in f"{text} ")


def scope(**fields):
    return Scope(**{name: frozenset({value}) for name, value in fields.items()})


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        ({"sources": "rare"}, "memories_by_source"),
        ({"categories": "decision"}, "memories_by_category"),
        ({"tasks": "u"}, "memories_by_task"),
        ({"sources": "rare", "categories": "bug"}, "memories_by_source"),
        ({"sources": "common", "categories": "decision"}, "memories_by_category"),
        ({"projects": "p", "sources": "rare"}, "memories_by_source"),
        ({"sources": "nowhere"}, "memories_by_source"),
    ],
)
def test_the_rarest_value_is_looked_up(store, filters, index):
    with store.snapshot() as db:
        assert f"SEARCH m USING INDEX {index} " in plan(db, scope(**filters))


@pytest.mark.parametrize(
    "filters", [{"sources": "common"}, {"categories": "bug"}, {"sources": "common", "categories": "bug"}]
)
def test_of_common_values_all_are_read_from_the_index_that_has_every_column(store, filters):
    with store.snapshot() as db:
        assert plan(db, scope(**filters)) == "SCAN m USING COVERING INDEX memories_by_update"


def test_what_is_found_is_the_same_either_way(store):
    fields = {"sources": ["rare", "common"], "categories": ["bug", "decision"], "tasks": ["t", "u"]}
    with store.snapshot() as db:
        for name, values in fields.items():
            for value in values:
                one = scope(**{name: value})
                rare = value in {"rare", "decision", "u"}
                assert len(within(db, one)) == (RARE if rare else COMMON)
                both = one._replace(projects=frozenset({"p"}), sources=one.sources or frozenset({"rare"}))
                assert len(within(db, both)) == (RARE if rare else COMMON if one.sources else 0)
        assert rarest(db, ACTIVE) is None


@pytest.mark.parametrize("count", [0, 1, FEW_SUPERSEDED, FEW_SUPERSEDED + 1])
def test_what_is_superseded_is_taken_from_what_was_ranked(store, count):
    with store.snapshot():
        ids = within(store._db.local.open, EVERYTHING)
    with store.transaction():
        store._db.connection.execute(
            "update memories set status = 'superseded' where id in (select id from memories order by id limit ?)",
            (count,),
        )

    with store.snapshot() as db:
        ranked = Ranking(ids, ids, [0.0] * len(ids))
        assert set(inside(db, ranked, ACTIVE).memories) == set(within(db, ACTIVE))
        assert len(inside(db, ranked, ACTIVE)) == len(ids) - count
        assert inside(db, ranked, EVERYTHING) == ranked
        [(*_, text)] = db.execute("explain query plan select m.id from memories m where m.status = 'superseded'")
        assert text == "SCAN m USING COVERING INDEX superseded_memories"
