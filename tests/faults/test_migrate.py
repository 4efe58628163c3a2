"""Moving a store, killed anywhere, beside a writer, into targets that hold something else."""

from __future__ import annotations

import os
import random
import shutil
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from command import Shell
from entries import note
from formats_made import unpacked
from killing import engine, killed, python
from sound import sound

from memory import Draft
from memory.carry import migrate as moving
from memory.config import Config
from memory.engine.move import Move
from memory.schema.errors import Invalid, StoreBusy, StoreError, StoreFull
from memory.schema.query import EVERYTHING
from memory.schema.space import Window
from memory.schema.step import step
from memory.store.sqlite import SqliteStore
from memory.store.sqlite.vectors import SqliteVectors

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

    from memory.carry.migrate import Moved

MOVE = """
from memory.engine.move import Move
from memory.config import Config
from memory.carry import migrate
from memory.store.sqlite.tables import SqliteTables

migrate.BATCH = 3
written = SqliteTables.insert

def insert(self, table, rows):
    said(table.name)
    written(self, table, rows)

SqliteTables.insert = insert
move = Move.of(Config(), *sys.argv[1:], *[None][: 3 - len(sys.argv)])
move.run(lambda _done, _total: None)
if move.predecessor:
    move.take_place(move.predecessor)
said("done")
"""

SAVE = """
with Engine.open() as engine:
    number = 0
    while True:
        number += 1
        kept = engine.save(note(f"note {number}"))
        if number % 5 == 0:
            engine.update(kept.memory.id, description="changed")
        if number % 7 == 0:
            engine.delete(kept.memory.id)
        else:
            said(kept.memory.uid)
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with something in every table that a person can fill."""
    folder = tmp_path_factory.mktemp("written")
    with engine(Shell(folder / "home", folder)) as made:
        saved = [
            made.save(Draft(title=f"note {n}", what=f"alpha {n} beta", body=f"# One\n\ngamma {n}")) for n in range(40)
        ]
        made.embed()
        with step("test"):
            made.update(saved[3].memory.id, description="another")
        made.save(Draft(title="newer", what="better"), supersedes=saved[4].memory.id)
        made.delete(saved[5].memory.id)
    return folder / "home"


@pytest.fixture
def filled(shell: Shell, written: Path) -> Shell:
    shutil.copytree(written, shell.home)
    return shell


def move(shell: Shell, target: Path) -> Move:
    return Move.of(Config(), str(shell.home), str(target))


@contextmanager
def saving(shell: Shell, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A program that saves without end, until it is killed or the test is over."""
    with python(shell, SAVE, *arguments) as child:
        try:
            yield child
        finally:
            child.kill()


def quiet(_done: int, _total: int) -> None:
    pass


def _readable(path: Path) -> None:
    """What has arrived is whole, if something has."""
    if not path.exists():
        return
    with closing(SqliteStore(path)) as store:
        for one in store.salvaged(0, 1000):
            assert one.details is not None
            assert store.memories.outlines([one.id])[one.id]


def test_killed_anywhere_and_run_again_nothing_is_twice_and_nothing_lost(filled, tmp_path) -> None:
    dice = random.Random(22)
    target = tmp_path / "target"
    for _ in range(6):
        killed(python(filled, MOVE, str(filled.home), str(target)), dice, 40)
        _readable(target / "memory.db")

    move(filled, target).run(quiet)

    assert move(filled, target).compared(quiet).same
    sound(target / "memory.db")


def test_what_another_process_writes_meanwhile_is_caught_up(filled, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(moving, "BATCH", 2)
    monkeypatch.setattr(moving, "FEW", 0)
    target = tmp_path / "target"
    with saving(filled) as child:
        heard = [child.stdout.readline().strip() for _ in range(3)]
        move(filled, target).run(quiet)
        with closing(SqliteStore(target / "memory.db")) as store:
            during = {one.uid for one in store.memories.page(EVERYTHING, 10_000)}
            assert store.check() == ()
        child.kill()
        later = [line.strip() for line in child.stdout.readlines() if line.endswith("\n")]

    assert during.issuperset(heard)
    again = move(filled, target).run(quiet)

    with closing(SqliteStore(target / "memory.db")) as store:
        assert {one.uid for one in store.memories.page(EVERYTHING, 10_000)}.issuperset(heard + later)
    assert move(filled, target).compared(quiet).same
    assert again.rounds == 2 or again.written


def test_at_the_end_writers_to_the_source_wait(filled, tmp_path, monkeypatch) -> None:
    ended = moving._Copy.end
    waited: list[bool] = []

    def end(copy) -> None:
        with closing(SqliteStore(filled.home / "memory.db", busy_seconds=0.05)) as other, pytest.raises(StoreBusy):
            other.memories.insert(note("between the last look and the end"))
        waited.append(True)
        ended(copy)

    monkeypatch.setattr(moving._Copy, "end", end)

    move(filled, tmp_path / "target").run(quiet)

    assert waited


def test_readers_find_in_the_target_what_has_arrived(filled, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(moving, "BATCH", 5)
    target = tmp_path / "target"
    found: list[int] = []

    def look(_done: int, _total: int) -> None:
        with engine(Shell(target, tmp_path)) as reader:
            found.append(len(reader.search("alpha", limit=100).hits))

    move(filled, target).run(look)

    assert found[0] == 4  # of the first five one is superseded
    assert found == sorted(found)
    assert found[-1] == 38


def test_nobody_changes_a_target_that_is_being_filled(filled, tmp_path, monkeypatch) -> None:
    target = tmp_path / "target"
    refused: list[str] = []

    def save(_done: int, _total: int) -> None:
        with engine(Shell(target, tmp_path)) as other:
            with pytest.raises(StoreError, match="is being filled by `memory migrate`"):
                other.save(Draft(title="too", what="early"))
            with pytest.raises(StoreError, match="is being filled"):
                other.delete(1)
            refused.append("yes")

    monkeypatch.setattr(moving, "BATCH", 10)
    move(filled, target).run(save)

    assert refused
    assert move(filled, target).compared(quiet).same
    with engine(Shell(target, tmp_path)) as other:
        assert other.save(Draft(title="now", what="it may"))


def test_a_target_that_holds_something_else_is_refused_and_stays(filled, tmp_path) -> None:
    other = Shell(tmp_path / "other", tmp_path)
    with engine(other) as made:
        made.save(Draft(title="mine", what="kept"))
        before = [one.memory for one in made.maintenance.exported()]

    with pytest.raises(Invalid, match="holds memories"):
        move(filled, other.home).run(quiet)

    with engine(other) as made:
        assert [one.memory for one in made.maintenance.exported()] == before


def test_a_target_that_was_changed_since_is_never_filled_again(filled, tmp_path) -> None:
    target = Shell(tmp_path / "target", tmp_path)
    move(filled, target.home).run(quiet)
    with engine(filled) as made:
        made.save(Draft(title="after", what="caught up"))
    move(filled, target.home).run(quiet)
    with engine(target) as made:
        found = made.search("caught up").hits[0].memory
        made.documents.pin([found.id], pinned=True)

    with pytest.raises(Invalid, match="holds memories"):
        move(filled, target.home).run(quiet)

    with engine(target) as made:
        assert made.details(found.id).memory.pinned


def test_a_move_that_was_begun_from_elsewhere_is_refused(filled, tmp_path) -> None:
    other = Shell(tmp_path / "other", tmp_path)
    with engine(other) as made:
        made.save(Draft(title="mine", what="kept"))
    move(filled, tmp_path / "target").run(quiet)

    with pytest.raises(Invalid, match="is filled from"):
        move(other, tmp_path / "target").run(quiet)


def test_a_source_that_was_made_anew_takes_nothing_away(filled, tmp_path) -> None:
    target = tmp_path / "target"
    move(filled, target).run(quiet)
    for file in filled.home.glob("memory.db*"):
        file.unlink()
    with engine(filled) as made:
        made.save(Draft(title="first", what="of another store"))

    with pytest.raises(Invalid, match="become another store"):
        move(filled, target).run(quiet)

    with closing(SqliteStore(target / "memory.db")) as store:
        assert store.memories.count(EVERYTHING) == 40


def test_of_two_that_move_into_one_target_the_later_goes_on(filled, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(moving, "BATCH", 10)
    target = tmp_path / "target"
    with closing(SqliteStore(filled.home / "memory.db")) as source:
        target.mkdir()
        overtaken: list[Moved] = []
        with closing(SqliteStore(target / "memory.db")) as mine:

            def overtake(done: int, _total: int) -> None:
                if done == 20:
                    overtaken.append(move(filled, target).run(quiet))

            with pytest.raises(StoreBusy):
                moving.migrate(source, mine, str(filled.home / "memory.db"), overtake)

    assert overtaken
    assert move(filled, target).compared(quiet).same


def test_a_comparison_names_what_differs(filled, tmp_path) -> None:
    target = Shell(tmp_path / "target", tmp_path)
    move(filled, target.home).run(quiet)
    with engine(target) as made:
        made.documents.accessed([1])
        made.documents.pin([2], pinned=True)
        [(chunk, _), *_] = made.store.memories.outlines([7])[7]
        made.store.vectors.set_vectors(1, None, [Window(chunk, 0, 0)])
        [(chunk, _), *_] = made.store.memories.outlines([9])[9]
        [held] = [
            vectors for excerpt, vectors in made.store.term_vectors.pending(1, 99, learned=None) if excerpt.id == chunk
        ]
        made.store.vectors.set_vectors(1, -held, [Window(chunk, row, row) for row in range(len(held))])

    found = move(filled, target.home).compared(quiet)

    assert list(found.memories) == [2, 7, 9]
    assert not found.same


# A file of an older format, whose place the new one takes ------------------------------------------------------------


def in_place(shell: Shell) -> Move:
    return Move.of(Config(), str(shell.home), None)


def put(move: Move) -> None:
    assert move.predecessor is not None
    move.take_place(move.predecessor)


def test_killed_anywhere_either_file_is_in_place_whole(shell, tmp_path) -> None:
    dice = random.Random(8)
    for run in range(6):
        home = Shell(tmp_path / f"home{run}", tmp_path)
        path = unpacked(8, home.home)
        old = path.read_bytes()

        killed(python(home, MOVE, str(home.home)), dice, 24)

        if path.read_bytes() == old:
            put_in_place(home)
        assert (home.home / "memory.db.format8").read_bytes() == old
        with closing(SqliteStore(path)) as store:
            assert store.counts().memories == 5
        sound(path)


def put_in_place(shell: Shell) -> None:
    move = in_place(shell)
    move.run(quiet)
    put(move)


@pytest.mark.parametrize(
    ("module", "call"),
    [(os, "link"), (shutil, "copymode"), (Path, "replace"), (SqliteVectors, "sign"), (Path, "rmdir")],
)
def test_interrupted_while_it_takes_the_place_it_goes_on(shell, monkeypatch, module, call) -> None:
    path = unpacked(8, shell.home)
    old = path.read_bytes()
    move = in_place(shell)
    move.run(quiet)
    monkeypatch.setattr(module, call, interrupted)
    with pytest.raises(KeyboardInterrupt):
        put(move)
    monkeypatch.undo()

    assert (path.read_bytes() == old) == (call not in {"sign", "rmdir"})
    would = shell("migrate", shell.home, "--dry-run").out
    assert ("would only take away" in would) == (call in {"sign", "rmdir"})
    ran = shell("migrate", shell.home)

    assert f"5 memories in {path}, up to date; the old file is {path}.format8" in ran.out
    assert sorted(file.name for file in shell.home.iterdir()) == ["memory.db", "memory.db.format8"]
    assert (shell.home / "memory.db.format8").read_bytes() == old
    with closing(SqliteStore(path)) as store:
        assert store.counts().memories == 5


def interrupted(*_: object, **_more: object) -> None:
    raise KeyboardInterrupt


def test_a_file_that_another_program_has_open_stays_in_place(shell) -> None:
    path = unpacked(8, shell.home)
    old = path.read_bytes()
    with closing(apsw.Connection(str(path))) as other:
        other.execute("begin; select 1 from memories").fetchall()
        move = in_place(shell)
        move.run(quiet)

        with pytest.raises(StoreBusy, match="another program has"):
            put(move)

        other.execute("commit")
    assert path.read_bytes() == old
    assert not (shell.home / "memory.db.format8").exists()
    put_in_place(shell)
    assert (shell.home / "memory.db.format8").read_bytes() == old


def test_a_file_that_was_written_to_meanwhile_stays_in_place(shell) -> None:
    path = unpacked(8, shell.home)
    move = in_place(shell)
    move.run(quiet)
    with closing(apsw.Connection(str(path))) as other:
        other.execute("update memories set description = 'late' where id = 1")

    with pytest.raises(StoreBusy, match="changed meanwhile"):
        put(move)

    put_in_place(shell)
    with closing(SqliteStore(path)) as store:
        assert next(iter(store.memories.by_id([1]).values())).description == "late"


def test_a_file_that_is_opened_just_before_the_rename_stays_in_place(shell, monkeypatch) -> None:
    path = unpacked(8, shell.home)
    old = path.read_bytes()
    move = in_place(shell)
    move.run(quiet)
    copied = shutil.copymode
    with closing(apsw.Connection(str(path))) as other:

        def use(*places: object) -> None:
            copied(*places)
            other.execute("update memories set description = 'late' where id = 1")

        monkeypatch.setattr(shutil, "copymode", use)
        with pytest.raises(StoreBusy, match="changed meanwhile"):
            put(move)
        monkeypatch.undo()

    assert path.samefile(shell.home / "memory.db.format8")
    assert path.read_bytes() != old
    put_in_place(shell)
    with closing(SqliteStore(path)) as store:
        assert next(iter(store.memories.by_id([1]).values())).description == "late"


def test_a_move_that_is_done_does_not_fail_for_want_of_an_index(shell, monkeypatch) -> None:
    path = unpacked(8, shell.home)
    move = in_place(shell)
    move.run(quiet)

    def full(_vectors: object) -> None:
        raise StoreFull("no room left")

    monkeypatch.setattr(SqliteVectors, "sign", full)
    put(move)

    assert sorted(file.name for file in shell.home.iterdir()) == ["memory.db", "memory.db.format8"]
    with closing(SqliteStore(path)) as store:
        assert store.counts().memories == 5


@pytest.mark.parametrize("table", ["memories", "chunks", "tool_calls", "history"])
def test_damage_is_that_of_the_file_that_has_it(shell, tmp_path, table) -> None:
    path = unpacked(8, shell.home)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("pragma journal_mode = delete")
        [page] = db.execute("select rootpage from sqlite_schema where name = ?", (table,)).fetchall()[0]
        size = db.pragma("page_size")
    whole = bytearray(path.read_bytes())
    whole[(page - 1) * size : page * size] = b"\xff" * size
    path.write_bytes(whole)

    for target in ([], [tmp_path / "target"]):
        said = shell("migrate", shell.home, *target, code=1).err
        assert f"{path} is not a readable database" in said
        assert "the version of memory that wrote it" in said
        assert "run the same command" not in said
    assert path.read_bytes() == whole


def test_a_kept_file_is_never_replaced(shell) -> None:
    path = unpacked(8, shell.home)
    kept = shell.home / "memory.db.format8"
    kept.write_text("another")
    old = path.read_bytes()

    with pytest.raises(StoreError, match="cannot rename") as caught:
        put_in_place(shell)

    assert "move that file away" in caught.value.hint
    assert (path.read_bytes(), kept.read_text()) == (old, "another")


def test_a_link_stays_one_and_leads_to_the_new_file(shell, tmp_path) -> None:
    path = unpacked(8, tmp_path / "elsewhere")
    shell.home.mkdir()
    (shell.home / "memory.db").symlink_to(path)

    put_in_place(shell)

    assert (shell.home / "memory.db").is_symlink()
    assert sorted(file.name for file in path.parent.iterdir()) == ["memory.db", "memory.db.format8"]
    with closing(SqliteStore(path)) as store:
        assert store.counts().memories == 5


def test_what_was_made_from_the_old_file_goes_with_it(shell) -> None:
    path = unpacked(8, shell.home)
    made = shell.home / f"memory.db-postings-{'0' * 32}"
    made.write_text("words")

    put_in_place(shell)

    assert not made.exists()
    assert path.exists()
