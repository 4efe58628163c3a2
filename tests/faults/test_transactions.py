"""Several processes keep the same at once, and one dies in the middle of a transaction."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from entries import note
from sound import sound

from memory.keep.rules import write_entries
from memory.schema.kinds import Kind
from memory.schema.memory import MemoryId, Standing
from memory.store.sqlite import SqliteStore

TESTS = Path(__file__).parents[1] / "conformance"

SAME_AT_ONCE = """
import sys
from entries import at, note
from memory.schema.kinds import BY_AUTHOR, Kind
from memory.store.sqlite import SqliteStore
from memory.keep.rules import write_entries

path, which, who = sys.argv[1:]
store = SqliteStore(path)

def made(number):
    scope = {"agent_id": "a", "query_id": f"r{number}"}
    return {
        "content": lambda: note(f"word {number}", unless_known=True),
        "uid": lambda: note(who, uid=f"{number:032x}"),
        "name": lambda: note(who, title=f"name {number}", kind=Kind.ENTITY, unless_known=True),
        "author": lambda: note(who, body=who, kind=Kind.FEEDBACK, **scope)._replace(renews=BY_AUTHOR),
    }[which]()

print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    (saved,) = write_entries(store, [made(number)])
    print(saved.memory.id, "known" if saved.known else "renewed" if saved.renewed else "new", flush=True)
"""

INSIDE = """
import sys
from entries import directions, embedded, note
from memory.schema.kinds import Kind
from memory.store.sqlite import SqliteStore
from memory.keep.rules import delete_memories, write_entries

store = SqliteStore(sys.argv[1])
with store.transaction():
    write_entries(store, [note(str(n), body="text " * 5000, embedded=embedded(directions(2, n))) for n in range(200)])
    write_entries(store, [note("instead", supersedes=1)])
    delete_memories(store, [2])
    print("inside", flush=True)
    sys.stdin.readline()
"""


def started(program: str, *arguments: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.parametrize("which", ["content", "uid", "name", "author"])
def test_of_what_processes_keep_at_once_there_is_one(tmp_path: Path, which: str) -> None:
    path = tmp_path / "memory.db"
    SqliteStore(path).close()
    processes = [started(SAME_AT_ONCE, str(path), which, f"process {number}") for number in range(3)]
    assert [process.stdout and process.stdout.readline() for process in processes] == ["ready\n"] * 3
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    printed = [process.communicate(timeout=120)[0].splitlines() for process in processes]

    assert [process.returncode for process in processes] == [0] * 3
    again = "renewed" if which == "author" else "known"
    for answers in zip(*printed, strict=True):
        ids, outcomes = zip(*(answer.split() for answer in answers), strict=True)
        assert len(set(ids)) == 1
        assert sorted(outcomes) == sorted(["new", again, again])
    with closing(SqliteStore(path)) as store:
        assert store.counts().memories == 20
    sound(path)


def test_killed_inside_a_transaction_it_has_kept_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        write_entries(store, [note("first"), note("second"), note(title="Python", kind=Kind.ENTITY)])
        before = store.counts()

    process = started(INSIDE, str(path))
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == "inside\n"
    process.kill()
    process.communicate()

    with closing(SqliteStore(path)) as store:
        assert store.counts()._replace(bytes=0) == before._replace(bytes=0)
        memories = store.memories.by_id([MemoryId(1), MemoryId(2)])
        assert [one.status for one in memories.values()] == [Standing.ACTIVE] * 2
        assert list(store.generations.every()) == []
        assert not write_entries(store, [note("after")])[0].known
    sound(path)
