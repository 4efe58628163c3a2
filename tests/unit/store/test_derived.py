"""A file made from the database is as it was written, or it is not used."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from memory.schema.errors import StoreError
from memory.store.sections import Doubt, Section
from memory.store.sqlite import derived
from memory.store.sqlite.database import Database

FACTS = {"count": 3, "last": 1 << 60}
IDS = np.array([1, 5, 1 << 40])
CODES = np.arange(-100, 50, dtype=np.int8).reshape(3, 50)
SECTIONS = {"ids": Section("<i8", (3,)), "codes": Section("|i1", (3, 50)), "none": Section("<f4", (0, 7))}


@pytest.fixture
def database(tmp_path):
    database = Database(str(tmp_path / "memory.db"), 1.0, first_fault=lambda _db: "")
    yield database
    database.close()


def make(database, *, version=1):
    with derived.making(database, "trial", version, facts=FACTS, sections=SECTIONS) as made:
        made.put("ids", IDS)
        made.put("codes", CODES[:1])
        made.put("codes", CODES[1:], 1)
    derived.publish(database, "trial", made.stamp)
    return made.stamp


def make_half(database):
    with derived.making(database, "trial", 1, facts=FACTS, sections=SECTIONS) as made:
        made.put("ids", IDS)
        made.put("codes", CODES.reshape(7, 7))


def opened(database, version=1):
    with database.read() as db:
        return derived.opened(database.path, "trial", version, derived.stamp(db, "trial"))


def files(database):
    return derived.files(database.path, "trial")


def test_what_is_made_is_read_as_it_was_written(database):
    stamp = make(database)
    found = opened(database)
    found.check()

    assert found.head["stamp"] == stamp.hex()
    assert found.head["facts"] == FACTS
    assert (found.section("ids") == IDS).all()
    assert (found.section("codes") == CODES).all()
    assert found.section("none").shape == (0, 7)


def test_its_rights_are_those_of_the_database(database):
    for mode in (0o600, 0o640):
        Path(database.path).chmod(mode)
        make(database)

        assert [stat.S_IMODE(one.stat().st_mode) for one in files(database)] == [mode]


def test_the_next_one_takes_the_place_of_the_former_which_who_has_it_open_goes_on_reading(database):
    make(database)
    former = opened(database)
    stamp = make(database)

    assert [one.name for one in files(database)] == [f"memory.db-trial-{stamp.hex()}"]
    assert (former.section("codes") == CODES).all()


@given(st.data())
def test_a_file_that_was_changed_is_doubted_or_reads_as_it_was_written(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("flipped")
    database = Database(str(folder / "memory.db"), 1.0, first_fault=lambda _db: "")
    make(database)
    [file] = files(database)
    content = bytearray(file.read_bytes())
    if data.draw(st.booleans(), label="cut"):
        del content[data.draw(st.integers(0, len(content) - 1)) :]
    else:
        sure = st.sampled_from([0, 9, 13, 40, 4096, 4100, 8192, 8200])
        content[data.draw(sure | st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    file.write_bytes(content)

    try:
        found = opened(database)
        found.check()
    except Doubt:
        return
    finally:
        database.close()
    assert (found.section("ids") == IDS).all()
    assert (found.section("codes") == CODES).all()


@pytest.mark.parametrize("size", [3 * 4096, 5_000_011])  # the second is read in two pieces, and ends within a word
def test_pages_that_changed_places_are_found(database, size):
    words = np.random.default_rng(1).integers(-128, 128, size, np.int8)
    with derived.making(database, "trial", 1, facts={}, sections={"words": Section("|i1", (size,))}) as made:
        made.put("words", words)
    derived.publish(database, "trial", made.stamp)
    assert (opened(database, 1).section("words") == words).all()
    [file] = files(database)
    content = file.read_bytes()
    pages = [content[first : first + 4096] for first in range(0, len(content), 4096)]
    for one, other in ((1, 2), (1, 3)):
        pages[one], pages[other] = pages[other], pages[one]
        file.write_bytes(b"".join(pages))

        with pytest.raises(Doubt, match="damaged"):
            opened(database, 1).check()
        pages[one], pages[other] = pages[other], pages[one]


def test_a_file_of_another_version_or_database_is_doubted(database, tmp_path):
    stamp = make(database)
    with pytest.raises(Doubt, match="another version"):
        opened(database, 2)
    (tmp_path / "other").mkdir()
    other = Database(str(tmp_path / "other" / "memory.db"), 1.0, first_fault=lambda _db: "")
    mine = make(other)
    shutil.copy(files(database)[0], files(other)[0])

    with pytest.raises(Doubt, match="another database"):
        opened(other)
    other.close()
    assert stamp != mine


def test_a_database_that_was_restored_reads_none_that_was_made_since(database):
    make(database)
    with database.read() as db:
        before = derived.stamp(db, "trial")
    make(database)
    with database.write() as db:  # as a copy from before would say
        db.execute("update derived set stamp = ?", (before,))

    with pytest.raises(Doubt, match="cannot map"):
        opened(database)


def test_what_is_removed_leaves_no_file(database):
    make(database)
    with database.write() as db:
        derived.forget(db, database.path)

    assert files(database) == []
    with database.read() as db:
        assert derived.stamp(db, "trial") is None


def test_a_making_that_fails_leaves_what_was_there(database):
    make(database)
    with pytest.raises(ValueError, match="reshape"):
        make_half(database)

    assert len(files(database)) == 1
    assert (opened(database).section("ids") == IDS).all()


MAKER = """
import resource, signal, sys, time
from test_derived import Database, derived, FACTS, SECTIONS, IDS
path, how = sys.argv[1:]
database = Database(path, 1.0, first_fault=lambda _db: "")
if how == "full":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
with derived.making(database, "trial", 1, facts=FACTS, sections=SECTIONS) as made:
    made.put("ids", IDS)
    if how == "wait":
        print("making", flush=True)
        time.sleep(60)
"""


def maker(database, how):
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.Popen(
        [sys.executable, "-c", MAKER, database.path, how],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_one_process_makes_it_at_a_time_and_what_a_killed_one_left_is_removed(database):
    with maker(database, "wait") as other:
        assert other.stdout.readline() == "making\n"
        with derived.making(database, "trial", 1, facts=FACTS, sections=SECTIONS) as made:
            assert made is None
        other.kill()
    assert len(files(database)) == 1
    stamp = make(database)

    assert [one.name for one in files(database)] == [f"memory.db-trial-{stamp.hex()}"]


def test_a_full_disk_leaves_what_was_there(database):
    make(database)
    with maker(database, "full") as other:
        _, told = other.communicate()

    assert StoreError.__name__ in told
    assert "cannot write" in told
    assert len(files(database)) == 1
    opened(database).check()


def test_what_was_removed_while_it_was_made_does_not_count(database):
    """As by a purge: what is being made may hold what was deleted."""
    with derived.making(database, "trial", 1, facts=FACTS, sections=SECTIONS) as made:
        made.put("ids", IDS)
        with database.write() as db:
            derived.forget(db, database.path)
        made.put("codes", CODES)
    derived.publish(database, "trial", made.stamp)

    assert files(database) == []
    with database.read() as db:
        assert derived.stamp(db, "trial") is None


def test_one_that_is_being_made_stays_when_another_counts(database):
    with maker(database, "wait") as other:
        assert other.stdout.readline() == "making\n"
        [begun] = files(database)
        with database.read() as db:
            assert derived.stamp(db, "trial") is None
        derived.publish(database, "trial", b"0" * 16)
        assert files(database) == [begun]
        other.kill()
