"""What a move brings: every table and column, and with them the same answers."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from memory import Config, Draft, Engine
from memory.engine.move import Move
from memory.schema.query import Mode, Query
from memory.schema.step import step
from memory.store.sqlite import SqliteStore
from memory.store.tables import GENERATIONS, following

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COUNTED = {
    "lexicons.made_of": "worked out of the number by the database",
    "generations.changes": "says whether a copy in memory is current",
    "lexicons.terms": "triggers count them",
    "lexicon_terms.id": "only the order in which they were written",
    "embed_queue.claimed_until": "whoever claims it embeds it for the other store",
    "embed_queue.claimed_by": "the same",
    "ledger.day": "generated from the moment",
}
"""Columns of tables that move which do not, and why."""

STAYING = {
    "counters": "triggers count",
    "vector_rows_1": "what `vectors_1` is made of",
    "vector_blocks_1": "what `vectors_1` is made of",
    "removals": "of copies in memory",
    "derived": "files beside the database",
    "unwiped": "what is left in this file",
    "arrival": "of this store",
}
"""Tables that do not move, and why."""

ASKED = ("alpha", "how does beta work", "gamma delta", "w17 w18", "what of epsilon", "nothing that is there")


def quiet(_done: int, _total: int) -> None:
    pass


def opened(home: Path) -> Engine:
    embedding = replace(Config().embedding, provider="hashed", model="hashed-64")
    return Engine(SqliteStore(home / "memory.db"), replace(Config(), home=str(home), embedding=embedding))


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A store that has learned what its words mean, with a history, a tag, a successor and something in the trash."""
    home = tmp_path / "home"
    home.mkdir()
    words = ("alpha", "beta", "gamma", "delta", "epsilon")
    with opened(home) as engine, step("test"):
        drafts = [
            Draft(title=f"{words[n % 5]} {n}", what=f"w{n} {words[(n * 3) % 5]} works by w{n + 1}", project=f"p{n % 3}")
            for n in range(60)
        ]
        saved = engine.save_all(drafts)
        engine.embed()
        engine.learn()
        engine.update(saved[3].memory.id, what="beta works otherwise")
        engine.save(Draft(title="newer", what="alpha again"), supersedes=saved[5].memory.id)
        engine.delete(saved[7].memory.id)
        engine.embed()
    return home


def answers(home: Path) -> list[object]:
    """Of each question in each mode what is found, with scores, the tier, and what the answer is worth."""
    with opened(home) as engine:
        found = [engine.search(Query(asked, 10, mode=mode)) for asked in ASKED for mode in Mode]
        return [
            ([(hit.memory, hit.score) for hit in one.hits], one.tier, one.outcome, one.verdict, one.terms)
            for one in found
        ]


def test_the_same_store_gives_the_same_answers(home, tmp_path) -> None:
    before = answers(home)

    Move.of(Config(), str(home), str(tmp_path / "target")).run(quiet)

    assert answers(tmp_path / "target") == before
    tiers = {tier for _, tier, *_ in before}
    assert len(tiers) > 1


def test_a_step_of_before_is_taken_back_after(home, tmp_path) -> None:
    Move.of(Config(), str(home), str(tmp_path / "target")).run(quiet)

    with opened(tmp_path / "target") as engine:
        assert engine.details(4).memory.what == "beta works otherwise"
        assert [trashed.id for trashed in engine.trash.rows()] == [8]
        engine.trash.undo(engine.trash.last(), quiet)
        assert engine.store.counts().memories == 0


def test_what_was_taken_for_good_leaves_no_byte_in_a_copy_that_is_brought_up_to_date(home, tmp_path) -> None:
    target = tmp_path / "target"
    with opened(home) as engine:
        [secret] = engine.save_all([Draft(title="secret", what="zebrafish", body="plutonium " * 3000)])
    Move.of(Config(), str(home), str(target)).run(quiet)
    with opened(home) as engine:
        engine.delete(secret.memory.id, purge=True)

    Move.of(Config(), str(home), str(target)).run(quiet)

    with opened(target) as engine:
        assert not engine.trash.owed()
    for file in target.iterdir():
        assert b"zebrafish" not in file.read_bytes()
        assert b"plutonium" not in file.read_bytes()


def test_ids_go_on_where_they_were(home, tmp_path) -> None:
    with opened(home) as engine:
        last = engine.save(Draft(title="last", what="deleted")).memory.id
        engine.delete(last, purge=True)

    Move.of(Config(), str(home), str(tmp_path / "target")).run(quiet)

    with opened(tmp_path / "target") as engine:
        assert engine.save(Draft(title="first", what="there")).memory.id == last + 1


def test_all_columns_of_all_tables_move_but_those_that_are_known_not_to(home) -> None:
    with closing(SqliteStore(home / "memory.db")) as store, store.snapshot() as db:
        there = {
            (table, column)
            for (table,) in db.execute(
                """select name from pragma_table_list where schema = 'main' and name not like 'sqlite_%'
                   and (type = 'table' or name = 'vectors_1')"""
            ).fetchall()
            for (column,) in db.execute("select name from pragma_table_xinfo(?)", (table,)).fetchall()
        }
    renamed = {"strangers.fit": "strangers.right"}
    moving = [GENERATIONS, *following([1])]
    moved = {renamed.get(name, name) for one in moving for name in (f"{one.name}.{column}" for column in one.columns)}
    assert {f"{table}.{column}" for table, column in there if table not in STAYING} - moved == COUNTED.keys()
    assert moved <= {f"{table}.{column}" for table, column in there}
