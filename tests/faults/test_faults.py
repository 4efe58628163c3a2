"""What an acknowledged save survives: kill -9, crowds, no rights, no room, damage."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import apsw
import pytest
from command import COMMAND, Shell
from killing import engine, killed, python
from profiles import rounds
from sound import sound

from memory import Config, Draft, Engine, Mode, Query
from memory.schema.moments import second
from memory.store import State
from memory.store.sqlite import SqliteStore
from memory.vectors.backfill import CLAIM
from memory.vectors.term_vectors.learn import OWN_AXES, enough

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KILLS = rounds(0.4)

SAVING = """
with Engine.open(load()) as engine:
    for number in range(10_000):
        said(engine.save(note(f"{sys.argv[1]} {number}")).memory.uid)
"""

REINDEXING = """
with Engine.open(load()) as engine:
    said("begun")
    engine.reindex(said)
    said("done")
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


def uids(shell: Shell) -> Iterator[str]:
    with engine(shell) as kept:
        yield from (found.memory.uid for found in kept.maintenance.exported())


def test_what_was_acknowledged_survives_kill_9(shell: Shell) -> None:
    dice, acknowledged = random.Random(2), set()

    for number in range(KILLS):
        child = python(shell, SAVING, str(number))
        acknowledged |= set(killed(child, dice, 12))
        assert child.returncode == -signal.SIGKILL
        sound(shell.home / "memory.db")

    kept = set(uids(shell))
    assert len(acknowledged) > KILLS
    assert acknowledged <= kept
    assert len(kept - acknowledged) <= KILLS  # written, and killed before it could say so
    with engine(shell) as found:
        found.vectors.try_learning(whole=False)  # the last was killed before its thread had learned: the next one does
        chunks, waiting = in_step(found)
        assert chunks > KILLS
        assert waiting <= enough(chunks)


def in_step(kept: Engine) -> tuple[int, int]:
    """How many chunks have vectors, and how many of these are pending: each was learned from once, or is pending."""
    terms, size = kept.store.term_vectors, kept.store.generations.size(1)
    waiting = len(terms.pending(1, size.chunks + 1))
    learned = terms.learned(1)
    assert (learned.passages if learned else 0) + waiting == size.chunks
    return size.chunks, waiting


def test_killed_while_a_store_gets_axes_of_its_own_each_vector_was_learned_from_or_is_pending(shell: Shell) -> None:
    with engine(shell) as kept:
        kept.save_all([Draft(title=f"{n} zebra", what=f"note {n % 40}") for n in range(OWN_AXES - 4)])
        kept.vectors.learn()
        assert in_step(kept) == (OWN_AXES - 4, 0)
    dice, before = random.Random(5), OWN_AXES - 4

    for number in range(KILLS // 2):
        killed(python(shell, SAVING, str(number)), dice, 8)
        sound(shell.home / "memory.db")
        with closing(SqliteStore(shell.home / "memory.db")) as store, Engine(store, Config(), lasting=False) as kept:
            chunks, _ = in_step(kept)
            assert chunks > before
            before = chunks

    with engine(shell) as kept:
        kept.vectors.learn()
        assert in_step(kept) == (before, 0)
        assert kept.store.term_vectors.learned(1).basis is not None


def test_a_reindex_that_is_killed_loses_nothing_and_goes_on(shell: Shell) -> None:
    with engine(shell) as kept:
        kept.save_all([Draft(title=f"note {n}", what=f"alpha {n}") for n in range(200)])
    dice, model, kills, before = random.Random(3), "hashed-128", 0, 0

    while kills < KILLS:
        child = python(
            replace(shell, settings={"MEMORY_EMBEDDING_MODEL": model, "MEMORY_EMBEDDING_BATCH_SIZE": "2"}), REINDEXING
        )
        kills += "done" not in killed(child, dice, 40)
        sound(shell.home / "memory.db")
        filled = {state: (space, filled) for state, space, filled in generations(shell)}
        assert filled[State.ACTIVE][1] == 200  # whoever answers has all
        if filled[State.ACTIVE][0] == model:  # three in turn: the one before is kept, and would be there at once
            model, before = {"hashed-128": "hashed-32", "hashed-32": "hashed-64", "hashed-64": "hashed-128"}[model], 0
        else:
            done = filled.get(State.BUILDING, (model, 0))[1]
            assert done >= before
            before = done

    with engine(shell, model) as kept:
        assert kept.reindex().embedded == 200 - before
        answer = kept.search(Query("alpha 7", 1, mode=Mode.VECTOR))
    assert answer.hits[0].memory.title == "note 7"
    sound(shell.home / "memory.db")


def generations(shell: Shell) -> list[tuple[State, str, int]]:
    with engine(shell) as kept:
        return [(found.state, found.space.model, filled) for found, filled in kept.status().generations]


EMBEDDING = """
    from memory.vectors.providers.inside import HashedEmbedder

    class Silent(HashedEmbedder):
        def embed(self, texts, purpose):
            said("claimed")
            sys.stdin.read()

    with Engine.open(load(), embedder=Silent(64)) as engine:
        engine.embed()
"""


def test_what_a_killed_process_had_begun_to_embed_is_embedded_at_once(shell: Shell) -> None:
    unembedded(shell, 40)
    with python(shell, EMBEDDING, stdin=subprocess.PIPE) as child:
        assert child.stdout.readline() == "claimed\n"
        busy = shell("embed", "--json").json
        child.kill()
        child.wait()

    done = shell("embed")

    assert [(one["chunks"], one["process"], one["fate"]) for one in busy["held"]] == [(32, child.pid, "runs")]
    assert (busy["embedded"], busy["left"]) == (8, 32)
    assert done.out.startswith("32 chunks embedded")
    assert (
        done.err == f"memory: 32 chunks that process {child.pid} had begun to embed were free at once: it has ended\n"
    )
    assert shell("embed", "--json").json["held"] == []


def test_what_was_begun_elsewhere_is_free_after_five_minutes_and_that_is_said(shell: Shell) -> None:
    unembedded(shell, 3)
    now = datetime.now(UTC)
    with closing(SqliteStore(shell.home / "memory.db")) as store:
        for by in ("another-machine 4711 99", "no holder"):
            store.queue.claim(1, now=now, until=now + CLAIM, by=by)

    ran = shell("embed")
    told = shell("doctor", "--fix", code=1).out

    assert ran.out.startswith("1 chunk embedded")
    assert len(lines := ran.err.splitlines()) == 2
    assert "process 4711 began to embed 1 chunk on another machine" in lines[0]
    assert "a process began to embed 1 chunk on another machine" in lines[1]
    assert all(line.endswith(f"they are free at {second(now + CLAIM)}") for line in lines)
    assert "process 4711 began" in " ".join(told.split())
    with closing(SqliteStore(shell.home / "memory.db")) as store:
        assert len(store.queue.claim(9, now=now + CLAIM, until=now + 2 * CLAIM, by="me")) == 2


def unembedded(shell: Shell, count: int) -> None:
    lines = [json.dumps({"title": f"note {n}", "what": f"alpha {n}"}) for n in range(count)]
    replace(shell, settings={"MEMORY_EMBEDDING_FILL": "lazy"})("import", "-", stdin="\n".join(lines))
    assert shell("status", "--json").json["queued"] == count


def test_eight_processes_lose_no_save(shell: Shell) -> None:
    program = """
        with Engine.open(load()) as engine:
            for number in range(25):
                said(engine.save(note(f"{sys.argv[1]} {number}")).memory.uid)
    """

    children = [python(shell, program, str(number)) for number in range(8)]
    said = [child.communicate(timeout=60)[0].split() for child in children]

    assert [child.returncode for child in children] == [0] * 8
    assert [len(lines) for lines in said] == [25] * 8
    assert sorted(uid for lines in said for uid in lines) == sorted(uids(shell))
    sound(shell.home / "memory.db")


def test_eight_commands_at_once_make_one_home(shell: Shell) -> None:
    children = [shell.start("save", f"Note {number}", stdout=subprocess.DEVNULL) for number in range(8)]

    assert [child.wait(60) for child in children] == [0] * 8
    assert len(list(uids(shell))) == 8


# No rights, no room ------------------------------------------------------


@pytest.mark.parametrize("place", ["/proc/nowhere/home", "/proc", "/dev/null", "file", "file/home"])
@pytest.mark.parametrize("command", [["save", "Title"], ["init"]], ids=lambda words: words[0])
def test_a_home_nobody_can_write_is_said(shell: Shell, tmp_path: Path, place: str, command: list[str]) -> None:
    (tmp_path / "file").write_text("text")

    ran = replace(shell, home=tmp_path / place)(*command, "--json", code=1)

    assert ran.error["error"] == "StoreError"
    assert place in ran.error["message"]
    assert ran.error["hint"]
    assert (tmp_path / "file").read_text() == "text"


def limited(size: int) -> dict[str, object]:
    """Options of a process whose files end at a size, as on a full disk."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return {"preexec_fn": limit}


FILLING = """
with Engine.open(load()) as engine:
    try:
        for number in range(10_000):
            said(engine.save(note(f"{sys.argv[1]} {number}")).memory.uid)
    except Error as error:
        said("error", type(error).__name__, error)
"""


@pytest.mark.parametrize("size", [1_400_000, 2_000_000, 4_000_000])
def test_what_was_acknowledged_survives_a_full_disk(shell: Shell, size: int) -> None:
    child = python(shell, FILLING, "full", **limited(size))
    said = child.communicate(timeout=60)[0].splitlines()

    assert child.returncode == 0
    assert said[-1].startswith("error StoreFull no room")
    assert str(shell.home) in said[-1]
    assert set(said[:-1]) <= set(uids(shell))
    assert len(said) > 2
    sound(shell.home / "memory.db")
    shell("save", "There is room again")


@pytest.mark.parametrize("command", [["save", "Title", "--details", "-"], ["import", "-"], ["reindex"]])
def test_a_full_disk_is_said_in_a_sentence(shell: Shell, command: list[str]) -> None:
    shell("import", "-", stdin="\n".join(json.dumps({"title": f"n {n}", "body": "x" * 5_000}) for n in range(100)))
    text = json.dumps({"title": "huge", "body": "word " * 80_000})
    changed = replace(shell, settings={"MEMORY_EMBEDDING_MODEL": "hashed-4096"})

    run = subprocess.run(
        [COMMAND, *command],
        input=text.encode(),
        env=changed.env,
        capture_output=True,
        check=False,
        timeout=60,
        **limited(200_000),  # the log of what is to be written reaches it
    )

    error = run.stderr.decode()
    assert run.returncode == 1, error
    assert all(line.startswith("memory: ") for line in error.splitlines())
    assert str(shell.home) in error
    assert len(list(uids(shell))) == 100
    sound(shell.home / "memory.db")


# Damage ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("damage", "error"),
    [("text", "StoreDamaged"), ("header", "StoreDamaged"), ("newer", "StoreTooNew"), ("older", "StoreTooOld")],
)
def test_a_file_that_cannot_be_read_is_said_and_left_alone(shell: Shell, damage: str, error: str) -> None:
    shell("save", "Title")
    path = shell.home / "memory.db"
    match damage:
        case "text":
            path.write_text("my notes\n" * 1_000)
        case "header":
            path.write_bytes(os.urandom(100) + path.read_bytes()[100:])
        case "newer" | "older":
            database = apsw.Connection(str(path))
            database.pragma("user_version", 99 if damage == "newer" else 9)
            database.close()
    before = path.read_bytes()

    for command in (["save", "Another"], ["search", "title"], ["export"], ["status"]):
        assert shell(*command, "--json", code=1).error["error"] == error

    assert path.read_bytes() == before
