"""What is deleted, brought back and undone by processes that are killed, and bytes of what was taken for good."""

from __future__ import annotations

import json
import random
import signal
import subprocess
from typing import TYPE_CHECKING

import apsw
import pytest
from command import Shell
from killing import engine, killed, python
from sound import sound

from memory import Draft
from memory.config.settings import StoreSettings
from memory.schema.errors import NotFound
from memory.schema.query import EVERYTHING
from memory.schema.step import step

if TYPE_CHECKING:
    from pathlib import Path

KILLS = 4
WORDS = ("xylophonic", "quokkabane", "zanzibarium", "vexillophile", "hunter2swordfish")
"""Of one memory each field has one, and its former version another."""

CHANGING = """
from itertools import count
from memory.schema.step import step
with Engine.open(load()) as engine:
    held = [engine.save(note(f"{sys.argv[1]} {number}")).memory.uid for number in range(3)]
    for number in count():
        uid = held[number % 3]
        with step("delete"):
            engine.delete(uid)
        said("deleted", uid)
        if sys.argv[2] == "restore":
            engine.trash.restore([uid])
        else:
            engine.trash.undo(engine.trash.last(), said)
        said("back", uid)
"""

EMPTYING = """
with Engine.open(load()) as engine:
    for number in range(100):
        uid = engine.save(note(f"{sys.argv[1]} {number} zanzibarium")).memory.uid
        said(uid)
        engine.delete(uid)
        engine.trash.empty([uid])
        said("emptied", uid)
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


def bytes_of(shell: Shell) -> bytes:
    """All that lies in the folder: the file, its log, and what is derived."""
    return b"".join(path.read_bytes() for path in sorted(shell.home.rglob("*")) if path.is_file())


def left(shell: Shell, *words: str) -> list[str]:
    found = bytes_of(shell).lower()
    return [word for word in words if word.encode() in found]


def secret(shell: Shell) -> str:
    """Save a memory with a word in each text, say it anew, and link it; beside many others. Its id."""
    title, what, why, body, former = WORDS
    with engine(shell) as kept, step("save"):
        kept.save_all([Draft(title=f"note {number}", what="alpha beta " * 30) for number in range(60)])
        id = kept.save(Draft(title=title, what=former, why=why, body=f"# {body}\n\n{body}\n" * 40)).memory.uid
        kept.update(id, what=what, tags=(why,))
        kept.graph.attach(kept.save(Draft(kind="entity", title="Ann", body="- friend\n")).memory.uid, [id])
        kept.search(f"{title} {what}")
    assert left(shell, *WORDS) == list(WORDS)
    return id


@pytest.mark.parametrize("way", ["restore", "undo"])
def test_killed_at_any_moment_a_memory_is_there_or_in_the_trash_and_never_both(shell: Shell, way: str) -> None:
    dice = random.Random(3)

    for number in range(KILLS):
        child = python(shell, CHANGING, str(number), way)
        heard = killed(child, dice, 20)
        assert child.returncode == -signal.SIGKILL
        assert heard
        sound(shell.home / "memory.db")
        with engine(shell) as kept:
            there = {one.uid for one in kept.recent(EVERYTHING, 1000)}
            lying = {one.uid for one in kept.trash.rows()}
            assert not there & lying
            uids = {line.split()[1] for line in heard if line.startswith(("deleted", "back"))}
            assert uids <= there | lying
            while lying:  # the journal is in step with what was done
                kept.trash.undo(kept.trash.last(min(lying)), lambda _done, _total: None)
                lying = {one.uid for one in kept.trash.rows()}
            assert uids <= {one.uid for one in kept.recent(EVERYTHING, 1000)}


def test_killed_while_the_trash_is_emptied_it_says_what_bytes_are_left(shell: Shell) -> None:
    dice = random.Random(4)

    for number in range(KILLS):
        heard = killed(python(shell, EMPTYING, str(number)), dice, 6)
        assert heard
        sound(shell.home / "memory.db")
        with engine(shell) as kept:
            counts = kept.store.counts()
            gone = [line.split()[1] for line in heard if line.startswith("emptied")]
            assert all(not kept.store.trash.page(1, named=uid) for uid in gone)
            if not (counts.unwiped or counts.memories or counts.trashed):
                assert left(shell, "zanzibarium") == []
            for one in kept.recent(EVERYTHING, 100):
                kept.delete(one.uid)
            kept.trash.empty()
            assert not kept.store.counts().unwiped
        assert left(shell, "zanzibarium") == []


PROPOSING = """
from memory.config.files import new_file
with new_file(load().database + "-review", private=True) as file:
    file.write(b"hunter2swordfish")
    file.flush()
    said("half")
    sys.stdin.read()
"""


def test_what_a_killed_writer_left_beside_the_database_goes_with_a_purge(shell: Shell) -> None:
    id = secret(shell)
    with python(shell, PROPOSING, stdin=subprocess.PIPE) as child:
        assert child.stdout.readline() == "half\n"
        child.kill()
    assert [*shell.home.glob(".memory.*.new")]

    shell("delete", "--purge", id)

    assert left(shell, *WORDS) == []


@pytest.mark.parametrize("way", ["purge", "empty", "days"])
def test_no_byte_is_left_of_what_was_taken_for_good(shell: Shell, way: str) -> None:
    id = secret(shell)
    forever = Shell(shell.home, shell.folder, {"MEMORY_TRASH_DAYS": "0"})

    if way == "purge":
        shell("delete", "--purge", id)
    elif way == "empty":
        shell("delete", id)
        assert left(shell, *WORDS) == list(WORDS)
        shell("trash", "empty")
    else:
        forever("delete", id)

    assert left(shell, *WORDS, id) == []
    sound(shell.home / "memory.db")
    assert len(shell("list", "-n", "100", "--json").json["memories"]) == 61


def test_no_byte_is_left_though_its_steps_were_undone(shell: Shell) -> None:
    id = secret(shell)
    shell("delete", id)
    shell("undo")
    shell("update", id, "--why", "quokkabane again")
    shell("undo")
    shell("delete", id)
    shell("trash", "restore", id)

    shell("delete", "--purge", id)

    assert left(shell, *WORDS, id) == []
    shell("undo", id, code=1)


def test_who_reads_what_was_there_before_is_named(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StoreSettings, "busy_seconds", 0.5)  # no reason to wait for a reader
    id = secret(shell)
    reader = apsw.Connection(str(shell.home / "memory.db"))
    reader.execute("begin")
    assert reader.execute("select count(*) from memories").get == 62

    told = shell("delete", "--purge", id)
    assert "bytes of memories deleted for good are still" in told.err
    assert "bytes of memories deleted for good are still" in shell("status").out + shell("status").err
    reader.execute("rollback")
    reader.close()

    assert shell("doctor", "--fix", code=None).out.count("repaired trash") == 1
    assert left(shell, *WORDS, id) == []


def test_a_step_of_another_process_is_not_undone_twice(shell: Shell) -> None:
    shell("save", "one", "--what", "alpha")
    with engine(shell) as kept:
        plan = kept.trash.last()
        shell("undo")
        with pytest.raises(NotFound, match="nothing to undo"):
            kept.trash.last()
        done, _ = kept.trash.undo(plan, lambda _done, _total: None)
        assert done.removed == 0
        assert kept.store.counts().memories == 0


def test_a_damaged_line_of_the_trash_is_named(shell: Shell) -> None:
    with engine(shell) as kept:
        uid = kept.save(Draft(title="one", what="alpha")).memory.uid
        kept.delete(uid)
    db = apsw.Connection(str(shell.home / "memory.db"))
    db.execute("update trash set line = ?", (json.dumps({"schema": "memory.trash/1"}),))
    db.close()

    told = shell("trash", "restore", uid, code=2)

    assert f"the trash, {uid}" in told.err
    shell("trash", "empty")
    assert "the trash is empty" in shell("trash").err
