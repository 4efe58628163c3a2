"""What is special to the store in one SQLite file: the file, its locks, its death."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
from disks import mounted
from entries import (
    SPACE,
    START,
    at,
    directions,
    embedded,
    emptied,
    everything,
    note,
    request,
    unit,
    waiting,
    within,
    words,
)
from plans import every_statement, statements, steps
from profiles import rounds
from sound import sound

from memory.keep.rules import delete_memories, replace_memory, write_entries
from memory.schema.errors import (
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    StoreTooOld,
)
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.query import ACTIVE, EVERYTHING, Scope
from memory.schema.space import Budget, OpenCircuit, Window
from memory.store import LINES, Failure
from memory.store.narrow import narrowed
from memory.store.sqlite import SqliteStore, vectors
from memory.store.sqlite.opening import APPLICATION, LATEST, PAGE_SIZE, version
from memory.store.sqlite.rows import matched
from memory.store.tables import MEMORIES

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[2] / "conformance"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of some pages, closed."""
    path = tmp_path_factory.mktemp("written") / "memory.db"
    with closing(SqliteStore(path)) as store:
        write_entries(
            store, [note(f"word {n}", body="text " * 200, embedded=embedded(directions(2, n))) for n in range(40)]
        )
    return path


@pytest.fixture
def filled(path: Path, written: Path) -> Path:
    return Path(shutil.copy(written, path))


def contents(path: Path) -> dict[str, bytes]:
    """Every file of the folder but the shared memory, which holds no data."""
    return {item.name: item.read_bytes() for item in path.parent.iterdir() if not item.name.endswith("-shm")}


def notes(store: SqliteStore) -> set[str]:
    return {memory.uid for memory in everything(store)}


# The file -------------------------------------------------------------------


def test_only_its_owner_may_read_the_file(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        write_entries(store, [note()])

        modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in path.parent.iterdir()}
    assert modes == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}


def test_rights_that_the_owner_gave_stay(path: Path) -> None:
    path.touch()
    path.chmod(0o640)

    SqliteStore(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_was_put_is_there_after_opening_again(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        memory = write_entries(store, [note("word", embedded=embedded(directions(1)))])[0].memory

    with closing(SqliteStore(path)) as store:
        assert store.memories.by_id([memory.id]) == {memory.id: memory}
        assert len(store.keywords.by_keyword(words("word"), ACTIVE, 5)) == 1
        assert len(store.vectors.by_vector(1, directions(1)[0], ACTIVE, 5)) == 1


def test_a_new_file_says_whose_it_is_and_its_format(path: Path) -> None:
    with closing(SqliteStore(path)), closing(apsw.Connection(str(path))) as db:
        assert (db.pragma("application_id"), db.pragma("user_version")) == (APPLICATION, LATEST)
        assert (db.pragma("journal_mode"), db.pragma("page_size")) == ("wal", 4096)


def test_an_older_format_is_refused_and_untouched(filled: Path) -> None:
    with closing(apsw.Connection(str(filled))) as db:
        db.pragma("user_version", LATEST - 1)
    before = contents(filled)

    with pytest.raises(StoreTooOld, match=f"format {LATEST - 1}") as caught:
        SqliteStore(filled)

    assert f"`memory migrate {filled}`" in caught.value.hint
    assert contents(filled) == before


def test_of_an_older_file_only_rows_are_read_and_nothing_is_written(filled: Path) -> None:
    with closing(apsw.Connection(str(filled))) as db:
        db.pragma("user_version", LATEST - 1)
    before = contents(filled)

    with closing(SqliteStore(filled, older=True)) as store:
        assert store.tables.count(MEMORIES) == 40
        with pytest.raises(StoreReadOnly, match="older format"):
            store.tables.remove(MEMORIES, [(1,)])
        with pytest.raises(apsw.ReadOnlyError):
            store._db.connection.execute("delete from memories")

    assert contents(filled) == before


def test_a_fingerprint_of_another_width_is_refused(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.generations.begin(SPACE, START)

        with pytest.raises(StoreError, match="CHECK"):
            store.generations.mark(1, unit(1)[:-1].tobytes())

        assert store.generations.every()[0].fingerprint == b""


def test_every_setting_of_a_connection_holds(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        db = store._db.connection

        settings = {name: db.pragma(name) for name in ("foreign_keys", "temp_store", "cache_size", "mmap_size")}
        assert settings == {"foreign_keys": 1, "temp_store": 2, "cache_size": -16000, "mmap_size": 1 << 30}


def test_a_file_is_mapped_until_others_write(path: Path) -> None:
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
        db = store._db.connection

        write_entries(store, [note("own")])
        assert store.memories.count(EVERYTHING) == 1
        assert store.memories.count(EVERYTHING) == 1
        assert db.pragma("mmap_size") == 1 << 30

        write_entries(other, [note("another's")])
        assert store.memories.count(EVERYTHING) == 2
        assert db.pragma("mmap_size") == 0
        assert store.memories.count(EVERYTHING) == 2


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_another_program_is_refused_and_untouched(path: Path, mode: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"pragma journal_mode = {mode}")
        other.execute("create table theirs (x)")
        other.commit()
        before = contents(path)

        with pytest.raises(StoreDamaged, match="another program") as caught:
            SqliteStore(path)

        assert "MEMORY_HOME" in caught.value.hint
        assert contents(path) == before


def test_the_log_of_another_program_that_crashed_is_untouched(path: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute("pragma journal_mode = wal")
        other.execute("create table theirs (x)")
        other.commit()
        crashed = tmp_path / "crashed"
        crashed.mkdir()
        for name in ("memory.db", "memory.db-wal"):
            shutil.copy(tmp_path / name, crashed / name)
    before = contents(crashed / "memory.db")

    with pytest.raises(StoreDamaged, match="another program"):
        SqliteStore(crashed / "memory.db")

    assert contents(crashed / "memory.db") == before


def test_a_file_that_another_process_makes_while_it_is_looked_at_is_not_of_another_program(path: Path) -> None:
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("journal_mode", "wal")

        def made(_cursor: object, statement: str, _bindings: object) -> bool:
            if "sqlite_schema" in statement:  # after its application is read
                db.exec_trace = None
                SqliteStore(path).close()
            return True

        db.exec_trace = made

        assert version(db, str(path)) == 0
        assert version(db, str(path)) == LATEST


def test_a_newer_format_is_refused_and_untouched(filled: Path) -> None:
    with closing(apsw.Connection(str(filled))) as db:
        db.pragma("user_version", LATEST + 1)
    before = contents(filled)

    with pytest.raises(StoreTooNew, match=f"format {LATEST + 1}") as caught:
        SqliteStore(filled)

    assert "newer version" in caught.value.hint
    assert contents(filled) == before


@pytest.mark.parametrize("size", [50, 99, 100, 512, 5000, 8192, 8193, 20_000, -8192])
def test_a_truncated_file_is_said_to_be_damaged_and_untouched(filled: Path, size: int) -> None:
    os.truncate(filled, size if size > 0 else filled.stat().st_size + size)

    damaged(filled)


@pytest.mark.parametrize("place", [0, 15, 16, 21, 23, 68, 100])
def test_a_flipped_byte_of_the_header_is_said_and_nothing_is_touched(filled: Path, place: int) -> None:
    content = bytearray(filled.read_bytes())
    content[place] ^= 0xFF
    filled.write_bytes(content)

    damaged(filled)


@pytest.mark.parametrize("garbage", [b"not a database " * 2000, b"\0" * 40_000, b"{}", os.urandom(20_000)])
def test_garbage_is_said_to_be_damaged_and_untouched(path: Path, garbage: bytes) -> None:
    path.write_bytes(garbage)

    damaged(path)


def damaged(path: Path) -> None:
    before = contents(path)

    with pytest.raises(StoreDamaged, match=str(path)) as caught:
        with closing(SqliteStore(path)) as store:
            store.counts()

    assert caught.value.hint
    assert contents(path) == before


def test_damage_that_is_met_later_is_said_too(filled: Path) -> None:
    with closing(apsw.Connection(str(filled))) as db:
        pages = [
            page for (page,) in db.execute("select pageno from dbstat where name = 'bodies' and pagetype = 'leaf'")
        ]
    content = bytearray(filled.read_bytes())
    for page in pages:
        content[(page - 1) * PAGE_SIZE : page * PAGE_SIZE] = os.urandom(PAGE_SIZE)
    filled.write_bytes(content)

    with closing(SqliteStore(filled)) as store:
        ids = [memory.id for memory in everything(store)]
        with pytest.raises(StoreDamaged, match="not a readable database"):
            [store.memories.bodies([id]).get(id) for id in ids]


@pytest.mark.parametrize("folder", ["nowhere", "a file"])
def test_a_folder_that_is_none_is_said(path: Path, folder: str) -> None:
    path.with_name("a file").touch()

    with pytest.raises(StoreError, match="cannot make") as caught:
        SqliteStore(path.parent / folder / "memory.db")

    assert "There is no folder" in caught.value.hint


def test_a_folder_in_place_of_the_file_is_said(path: Path) -> None:
    path.mkdir()

    with pytest.raises(StoreError, match=r"memory\.db"):
        SqliteStore(path)


def test_a_read_only_folder_is_said(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "4m") as disk:
        with closing(SqliteStore(disk / "memory.db")) as store:
            write_entries(store, [note("word")])
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)

        for name in ("memory.db", "new.db"):
            with pytest.raises(StoreError, match=name) as caught:
                with closing(SqliteStore(disk / name)) as store:
                    write_entries(store, [note("more")])
            assert "read-only for you" in caught.value.hint


# Room -----------------------------------------------------------------------


def put_until_full(store: SqliteStore) -> set[str]:
    acknowledged: set[str] = set()

    def put_on() -> None:
        for number in range(10_000):
            entry = note(f"word {number}", body="some text " * 500, embedded=embedded(directions(2, number)))
            write_entries(store, [entry])
            acknowledged.add(entry.uid)

    with pytest.raises(StoreFull, match="no room") as caught:
        put_on()
    assert caught.value.hint
    return acknowledged


def test_a_full_file_keeps_all_that_was_acknowledged(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store._db.connection.pragma("max_page_count", 110)

        acknowledged = put_until_full(store)

        assert notes(store) == acknowledged
        assert len(acknowledged) > 5
        sound(path)
        store._db.connection.pragma("max_page_count", 100_000)
        write_entries(store, [note("room again")])
    sound(path)


def test_a_full_disk_keeps_all_that_was_acknowledged(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "2m") as disk:
        path = disk / "memory.db"
        with closing(SqliteStore(path)) as store:
            acknowledged = put_until_full(store)
            assert notes(store) == acknowledged

        with closing(SqliteStore(path)) as store:
            assert notes(store) == acknowledged
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        with closing(SqliteStore(path)) as store:
            assert notes(store) == acknowledged
            write_entries(store, [note("room again")])
        sound(path)


def test_a_disk_without_room_for_a_new_file_is_said(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "1m") as disk:
        (disk / "ballast").write_bytes(b"x" * ((1 << 20) - 4096))

        with pytest.raises(StoreError, match=r"memory\.db"):
            SqliteStore(disk / "memory.db")


# Others at the same time ----------------------------------------------------


def test_two_threads_lose_nothing(path: Path) -> None:
    def work(thread: int) -> set[str]:
        entries = [note(f"thread {thread} says {n}", embedded=embedded(directions(1, n))) for n in range(25)]
        for entry in entries:
            write_entries(store, [entry])
        return {entry.uid for entry in entries}

    with closing(SqliteStore(path)) as store:
        with ThreadPoolExecutor(2) as pool:
            acknowledged = set.union(*pool.map(work, range(2)))

        assert notes(store) == acknowledged
    sound(path)


def test_the_connection_of_a_thread_that_ended_is_closed(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        for _ in range(20):
            with ThreadPoolExecutor(1) as pool:
                pool.submit(store.counts).result()

        assert len(store._db._opened) <= 2


def test_nothing_is_called_while_a_connection_is_freed(path: Path) -> None:
    """
    apsw 3.54 calls what weak references call before it takes a connection from the garbage collector's lists. If that starts
    the collector, or lets another thread run that does, the connection is freed twice, and the process crashes later.
    """
    with closing(SqliteStore(path)) as store:
        write_entries(store, [note()])
        with ThreadPoolExecutor(1) as pool:
            pool.submit(store.counts).result()

            references = [one for connection in apsw.connections() for one in weakref.getweakrefs(connection)]

    assert references
    assert [one.__callback__ for one in references if one.__callback__ is not None] == []


def test_who_waits_too_long_for_the_lock_is_told_so(path: Path) -> None:
    with closing(SqliteStore(path)) as holder, closing(SqliteStore(path, busy_seconds=0.05)) as store:
        with holder._db.write():
            with pytest.raises(StoreBusy, match="another process") as caught:
                write_entries(store, [note()])
            assert store.counts().memories == 0  # readers need not wait

        assert caught.value.retryable
        write_entries(store, [note()])


def test_what_is_not_worth_waiting_for_is_not_waited_for(path: Path) -> None:
    with closing(SqliteStore(path)) as holder, closing(SqliteStore(path, busy_seconds=3600)) as store:
        with ThreadPoolExecutor(1) as other, holder._db.write():
            for written in (
                lambda: store.usage.add_calls([within()]),
                lambda: store.memories.touch([MemoryId(1)], at(1)),
            ):
                with pytest.raises(StoreBusy):
                    other.submit(written).result(60)  # of the hour that a store would wait
            assert store.usage.circuit("https://one.example") is None

        assert store.usage.lines() == []


def test_of_the_usage_log_the_latest_lines_are_read_and_no_more(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        with store.transaction():
            ids = [store.usage.reserve_call(request(number)) for number in range(LINES + 1)]

        assert [line.id for line in store.usage.lines()] == ids[:0:-1]


def test_a_budget_holds_among_processes(path: Path) -> None:
    processes = [writer(path, 30, "reserve") for _ in range(4)]
    printed = [process.communicate(timeout=60)[0].split() for process in processes]

    assert [process.returncode for process in processes] == [0] * 4
    ids = [id for output in printed for id in output if id != "None"]
    assert len(ids) == len(set(ids)) == 50
    with closing(SqliteStore(path)) as store:
        assert [line.calls for line in store.usage.lines(daily=True)] == [50]
    sound(path)


def test_a_request_that_was_reserved_survives_the_end_of_the_process(path: Path) -> None:
    process = writer(path, 1_000_000, "reserve")
    assert process.stdout is not None
    reserved = int(process.stdout.readline())
    process.kill()
    process.stdout.close()
    process.wait()

    with closing(SqliteStore(path)) as store:
        assert reserved in {line.id for line in store.usage.lines()}


def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    store.close()

    with pytest.raises(StoreError, match="was closed"):
        store.counts()


WRITER = """
import sys
from pathlib import Path
from entries import SPACE, START, directions, embedded, note, request
from memory.schema.space import Budget
from memory.schema.memory import ChunkId
from memory.schema.space import Window
from memory.store.sqlite import SqliteStore
from memory.keep.rules import write_entries

path, count, kind = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
store = SqliteStore(path)
for number in range(count):
    if kind == "reserve":
        print(store.usage.reserve_call(request(), Budget(calls=50)), flush=True)
        continue
    vectors = embedded(directions(2, number)) if kind == "put" else None
    entry = note(f"word {number}", body="some text " * 100, embedded=vectors)
    write_entries(store, [entry])
    print("put", entry.uid, flush=True)
    if kind == "fill":
        generation = store.generations.begin(vectors.space if vectors else embedded(directions(1)).space, START)
        pieces = store.vectors.pending(generation.id, ChunkId(0), 5)
        store.vectors.set_vectors(generation.id, directions(5), [Window(piece.id, 0, row) for row, piece in enumerate(pieces)])
        print(*("filled", *(piece.id for piece in pieces)), flush=True)
"""


def writer(path: Path, count: int, kind: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])}
    command = [sys.executable, "-c", WRITER, str(path), str(count), kind]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


def test_eight_processes_that_begin_with_the_same_new_file_lose_nothing(path: Path) -> None:
    processes = [writer(path, 25, "put") for _ in range(8)]
    printed = [process.communicate(timeout=120)[0] for process in processes]

    assert [process.returncode for process in processes] == [0] * 8
    acknowledged = {line.split()[1] for output in printed for line in output.splitlines()}
    assert len(acknowledged) == 8 * 25
    with closing(SqliteStore(path)) as store:
        assert notes(store) == acknowledged
        assert store.counts().queued == 0
    sound(path)


@pytest.mark.parametrize("kind", ["put", "fill"])
def test_killed_at_any_moment_it_keeps_all_that_was_acknowledged(path: Path, kind: str) -> None:
    uids: set[str] = set()
    chunks: set[int] = set()
    attempts = rounds(0.4)
    for attempt in range(attempts):
        process = writer(path, 1_000, kind)
        assert process.stdout is not None
        for _ in range(1 + attempt % 7):
            acknowledge(process.stdout.readline(), uids, chunks)
        process.kill()
        for line in process.stdout.read().splitlines(keepends=True):
            if line.endswith("\n"):
                acknowledge(line, uids, chunks)
        process.stdout.close()
        process.wait()

        with closing(SqliteStore(path)) as store:
            assert uids <= notes(store)
            assert len(notes(store)) <= len(uids) + attempt + 1  # at most the last one was not acknowledged
            if chunks:
                assert not chunks & {piece.id for piece in store.vectors.pending(1, ChunkId(0), 10_000)}
        sound(path)
    assert len(uids) >= attempts


def acknowledge(line: str, uids: set[str], chunks: set[int]) -> None:
    what, *names = line.split()
    if what == "put":
        uids.update(names)
    else:
        chunks.update(map(int, names))


# Care -----------------------------------------------------------------------


@contextmanager
def tampered(path: Path) -> Iterator[apsw.Connection]:
    """A connection as another program has it, which knows nothing of foreign keys."""
    with closing(apsw.Connection(str(path))) as db:
        db.pragma("foreign_keys", 0)
        yield db


TAMPERED = {
    "keywords that are no longer there": (
        "delete from passages_fts_docsize where id = 7",
        ["the keyword index differs from the memories it should hold"],
    ),
    "a word that was changed behind the index": (
        "drop trigger indexed_text_changed; update memories set what = 'zebra' where id = 3",
        ["the keyword index differs from the memories it should hold"],
    ),
    "a broken index": (
        "update passages_fts_data set block = x'00' where id > 1000",
        ["the keyword index differs from the memories it should hold"],
    ),
    "a wrong counter": (
        "update counters set value = 1000",
        ["chunks are counted as 1,000, there are 80"],
    ),
    "a vector that is gone": (
        "delete from vectors_1 where chunk_id = 5",
        [
            "the vectors of index version 1 are counted as 80, there are 79",
            "the sum of index version 1 is not the sum of its vectors",
            "1 chunk with neither a vector in the active index version nor a place in the queue",
        ],
    ),
    "a total that is another": (
        "update generations set total = zeroblob(64)",
        ["the sum of index version 1 is not the sum of its vectors"],
    ),
    "a table of vectors that is nobody's": (
        vectors._TABLES.format(id=9, bytes=4),
        ["the table vectors_9 belongs to no index version"],
    ),
    "a generation without its table": (
        "drop view vectors_1; drop table vector_blocks_1; drop table vector_rows_1",
        [
            "index version 1 lacks tables or triggers of its vectors",
        ],
    ),
    "vectors without a trigger": (
        "drop trigger vector_1_added",
        ["index version 1 lacks tables or triggers of its vectors"],
    ),
    "a table of vectors without its other half": (
        "drop table vector_blocks_1",
        ["index version 1 lacks tables or triggers of its vectors"],
    ),
    "a block that is gone": (
        "delete from vector_blocks_1 where block = 1",
        ["6 rows of vector_rows_1 make no vector"],
    ),
    "a block with another number": (
        "update vector_blocks_1 set block = 100 where block = 1",
        ["6 rows of vector_rows_1 make no vector", "1 row of vector_blocks_1 make no vector"],
    ),
    "rows below 0": (
        "update vector_rows_1 set row = row - 12 where row between 6 and 11",
        ["6 rows of vector_rows_1 make no vector", "1 row of vector_blocks_1 make no vector"],
    ),
    "chunks that are queued for nothing": (
        "insert into embed_queue (chunk_id) values (1), (2)",
        ["2 chunks in the queue although they have a vector in the active index version"],
    ),
    "a memory that was deleted by hand": (
        """update memories set parent_id = 3, status = 'superseded', superseded_by = 3 where id = 4;
           delete from memories where id = 3""",
        [
            "1 row of bodies belong to something that is gone",
            "2 rows of memories belong to something that is gone",
            "2 rows of vector_rows_1 belong to something that is gone",
        ],
    ),
}


@pytest.mark.parametrize("kind", TAMPERED)
def test_what_is_wrong_is_said_and_made_anew(filled: Path, kind: str) -> None:
    script, told = TAMPERED[kind]
    trigger = "select sql from sqlite_schema where name = 'indexed_text_changed'"
    with tampered(filled) as db:
        kept = db.execute(trigger).get
        db.execute(script)
        if db.execute(trigger).get is None:
            db.execute(kept)

    with closing(SqliteStore(filled)) as store:
        assert list(store.check()) == told

        store.repair()

        assert store.check() == ()
        if kind == "a word that was changed behind the index":
            assert [found.memory for found in store.keywords.by_keyword(words("zebra"), ACTIVE, 5)] == [3]
    sound(filled)


@pytest.mark.parametrize("kind", ["a block that is gone", "a block with another number"])
def test_a_vector_that_lost_its_block_is_made_again(filled: Path, kind: str) -> None:
    with tampered(filled) as db:
        db.execute(TAMPERED[kind][0])
    with closing(SqliteStore(filled)) as store:
        lost = [excerpt.id for excerpt in store.vectors.pending(1, ChunkId(0), 9)]
        again = [Window(chunk, 0, row) for row, chunk in enumerate(lost)]

        assert store.vectors.set_vectors(1, np.stack([unit(1)] * 6), again) == 6

        assert store.vectors.pending(1, ChunkId(0), 9) == []
        assert store.generations.size(1).chunks == 80


@pytest.mark.parametrize(
    ("table", "told"), [("chunks", "1 memory without chunks"), ("bodies", "1 memory without a body")]
)
def test_a_memory_that_lost_a_part_is_told_of(filled: Path, table: str, told: str) -> None:
    with closing(SqliteStore(filled)) as store:
        with store._db.write() as db:
            if table == "chunks":
                db.execute("delete from vectors_1 where chunk_id in (select id from chunks where memory_id = 3)")
            db.execute(f"delete from {table} where memory_id = 3")

        store.repair()

        assert list(store.check()) == [told]


def test_repairing_keeps_what_is_known_of_failures(filled: Path) -> None:
    with closing(SqliteStore(filled)) as store:
        write_entries(store, [note("waits"), note("waits too")])
        [first, second] = (excerpt.id for excerpt in waiting(store, 9))
        store.queue.release([first], Failure("down", at(1)))
        before = store.queue.waiting(limit=9)
        with store._db.write() as db:
            db.execute("delete from embed_queue where chunk_id = ?", (second,))

        store.repair()

        assert store.queue.waiting(limit=9) == before
        assert [excerpt.id for excerpt in waiting(store, 9, at(2))] == [second, first]


def test_a_repair_is_noticed_by_those_who_hold_a_copy_of_the_vectors(path: Path) -> None:
    with closing(SqliteStore(path)) as store, closing(SqliteStore(path)) as other:
        write_entries(store, [note(str(n), embedded=embedded(directions(1, n))) for n in range(200)])

        def nearest() -> list[ChunkId]:
            return [scored.chunk for scored in store.vectors.by_vector(1, unit(1), EVERYTHING, 1)]

        before = [nearest() for _ in range(3)][-1]
        assert store.vectors._matrix._held is not None
        with tampered(path) as db:
            db.execute("update vectors_1 set embedding = ? where chunk_id = 1", (*narrowed(unit(1).reshape(1, -1)),))
        other.repair()

        assert nearest() == [1] != before
        assert [nearest() for _ in range(3)][-1] == [1]
        assert store.vectors._matrix._held is not None
        emptied(other, 1)
        assert nearest() == []


def test_a_damaged_file_is_told_of_and_not_repaired(filled: Path) -> None:
    content = bytearray(filled.read_bytes())
    free = int.from_bytes(content[36:40], "big")
    content[36:40] = (free + 3).to_bytes(4, "big")  # pages that are free: there are fewer
    filled.write_bytes(content)
    before = contents(filled)

    with closing(SqliteStore(filled)) as store:
        [told] = store.check()
        assert told.startswith("the file is damaged in 1 place: ")
        with pytest.raises(StoreDamaged, match="is damaged") as caught:
            store.repair()

    assert "copy or an export" in caught.value.hint
    assert contents(filled)["memory.db"] == before["memory.db"]


def test_a_file_that_cannot_be_read_is_not_repaired(filled: Path) -> None:
    with closing(apsw.Connection(str(filled))) as db:
        pages = [page for (page,) in db.execute("select pageno from dbstat where name = 'bodies'")]
    content = bytearray(filled.read_bytes())
    for page in pages:
        content[(page - 1) * PAGE_SIZE : page * PAGE_SIZE] = b"\xff" * PAGE_SIZE
    filled.write_bytes(content)
    before = contents(filled)

    with closing(SqliteStore(filled)) as store:
        for act in (store.check, store.repair):
            with pytest.raises(StoreDamaged):
                act()

    assert contents(filled)["memory.db"] == before["memory.db"]


def test_an_index_of_sqlite_that_lost_a_row_is_made_anew(filled: Path) -> None:
    with tampered(filled) as db:
        root = db.execute("select rootpage from sqlite_schema where name = 'memories_by_hash'").get
        db.execute("pragma writable_schema = on")
        db.execute("update sqlite_schema set sql = sql || ' where id <> 3' where name = 'memories_by_hash'")
        db.execute("pragma writable_schema = reset")
        db.execute("reindex memories_by_hash")
        db.execute("pragma writable_schema = on")
        db.execute("update sqlite_schema set sql = replace(sql, ' where id <> 3', '') where rootpage = ?", (root,))

    with closing(SqliteStore(filled)) as store:
        [told] = store.check()
        assert "memories_by_hash" in told

        store.repair()

        assert store.check() == ()


# Speed that can be counted --------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """3,000 memories that all say "word", in an order that has nothing to do with their scores."""
    store = SqliteStore(tmp_path_factory.mktemp("many") / "memory.db")
    write_entries(
        store,
        [note("word " * (1 + n * 7919 % 13) + "x " * (n * 104_729 % 50), project=f"p{n % 50}") for n in range(3_000)],
    )
    yield store
    store.close()


@pytest.mark.parametrize(
    "scope", [ACTIVE, EVERYTHING, Scope(projects=frozenset({"p1"}))], ids=["active", "all", "narrow"]
)
def test_a_keyword_search_looks_up_only_the_memories_it_found(many: SqliteStore, scope: Scope) -> None:
    found = steps(many, lambda: many.keywords.by_keyword(words("word"), scope, 10))

    assert any("passages_fts" in step or "VIRTUAL TABLE" in step for step in found)
    assert not [step for step in found if step.startswith(("SCAN m", "SCAN c", "SCAN memories", "SCAN chunks"))]
    assert [step for step in found if step.startswith("SEARCH m ")]


@pytest.mark.parametrize(
    "scope", [ACTIVE, EVERYTHING, Scope(projects=frozenset({"p1"}))], ids=["active", "all", "narrow"]
)
def test_what_a_row_holds_is_asked_only_of_rows_that_enter_the_best(many: SqliteStore, scope: Scope) -> None:
    calls = 0

    def counted(api: apsw.FTS5ExtensionApi, *arguments: apsw.SQLiteValue) -> bytes:
        nonlocal calls
        calls += 1
        return matched(api, *arguments)

    many._db.connection.register_fts5_function("matched", counted)
    found = many.keywords.by_keyword(words("word"), scope, 10)
    many._db.connection.register_fts5_function("matched", matched)

    assert len(found) == 10
    assert calls <= 400  # of 3,000: about k + k ln(n / k), with k = 30


def test_a_write_looks_up_only_what_it_needs(many: SqliteStore) -> None:
    def write() -> None:
        id = write_entries(many, [note("new", unless_known=True, embedded=embedded(directions(1)))])[0].memory.id
        replace_memory(many, id, note("newer", embedded=embedded(directions(1))))
        delete_memories(many, [id])

    found = steps(many, write)

    harmless = ("SCAN json_each", "SCAN CONSTANT ROW", "SCAN generations", "SCAN lexicons", "SCAN begun")
    assert not [step for step in found if step.startswith("SCAN") and not step.startswith(harmless)]
    same = [step for step in found if "content_hash is value" in step and step.startswith("SEARCH memories")]
    assert any("USING INDEX memories_by_hash (<expr>=?)" in step for step in same)


def test_what_cannot_be_made_again_is_synced_to_disk(path: Path) -> None:
    def write() -> None:
        id = write_entries(store, [note()])[0].memory.id
        replace_memory(store, id, note("new"))
        store.generations.activate(store.generations.begin(SPACE, START).id, instead_of=1)
        delete_memories(store, [id])

    with closing(SqliteStore(path)) as store:
        found = [sql for sql, _ in every_statement(store, write)]
        assert [sql for sql in found if sql.startswith("pragma synchronous")] == ["pragma synchronous = full"] * 5
        for durable, level in ((True, 2), (False, 1)):
            with store._db.write(durable=durable) as db:
                assert db.pragma("synchronous") == level


def test_what_costs_is_not_synced_to_disk(path: Path) -> None:
    def write() -> None:
        id = store.usage.reserve_call(request(), Budget(calls=9)) or 0
        store.usage.record_call(id, tokens=1, seconds=1, cost=0)
        store.usage.add_calls([within(), within()])
        store.usage.set_circuit("host", OpenCircuit("host", at(1), "down"))
        store.usage.set_circuit("host", None)
        store.generations.mark(1, unit(1).tobytes())

    with closing(SqliteStore(path)) as store:
        found = [sql for sql, _ in every_statement(store, write)]

        assert [sql for sql in found if sql.startswith("pragma synchronous")] == ["pragma synchronous = normal"] * 6


def test_asking_for_a_circuit_is_one_look_up(path: Path) -> None:
    with closing(SqliteStore(path)) as store:

        def ask() -> OpenCircuit | None:
            return store.usage.circuit("host")

        assert len([sql for sql, _ in statements(store, ask) if sql.startswith("select")]) == 1
        assert [step.split(" <- ")[0] for step in steps(store, ask)] == ["SEARCH outages USING PRIMARY KEY (host=?)"]


def test_what_waits_and_what_was_used_is_looked_up_in_an_index(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        id = write_entries(store, [note("word")])[0].memory.id

        def ask() -> None:
            waiting(store, 5)
            waiting(store, 5, at(1))
            store.queue.waiting([id])
            store.queue.waiting(limit=5)
            store.usage.reserve_call(request(), Budget(calls=1))
            store.usage.add_calls([within()])
            store.usage.lines(at(1))

        found = [step for step in steps(store, ask) if step.startswith(("SCAN", "USE"))]
        harmless = ("SCAN json_each", "SCAN f ", "SCAN q ", "SCAN embed_queue USING INDEX embed_queue_by_attempts")
        few = [step for step in found if not step.startswith(harmless)]
        assert {step.split(" <- ")[0] for step in few} <= {
            "USE TEMP B-TREE FOR ORDER BY",
            "USE TEMP B-TREE FOR GROUP BY",
        }


def test_usage_is_loaded_when_it_is_asked_for(path: Path) -> None:
    program = """
import sys
from memory.schema.query import ACTIVE
from memory.store.sqlite import SqliteStore
store = SqliteStore(sys.argv[1])
store.keywords.by_keyword(store.keywords.weigh([]), ACTIVE, 5)
store.usage.circuit("host")
print(*{"numpy", "memory.schema.space", "memory.store.sqlite.care"} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
