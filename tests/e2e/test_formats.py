"""Files of older formats: every face says what to do, and `memory migrate` carries over all that they hold."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
import pytest
from agent import ERAS, Agent
from command import Shell
from formats_made import FORMATS, unpacked
from page import serving
from sound import sound

from memory import Engine, StoreTooOld
from memory.config import load
from memory.store.narrow import plain, rounded
from memory.store.sqlite import SqliteStore
from memory.store.sqlite.opening import LATEST

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from page import Ui

OLDER = [format for format in FORMATS if format < LATEST]

ACQUAINTED = [23, 24]
"""Older ones that know strangers."""

OWN = {
    *("counters", "removals", "derived", "unwiped", "arrival", "sqlite_sequence", "sqlite_stat1"),
    *("vocabulary", "occurrences", "passages_fts"),
}
"""Tables that each file keeps of itself."""

OWN_COLUMNS = {
    *(("generations", "changes"), ("generations", "total")),
    *(("embed_queue", "claimed_until"), ("embed_queue", "claimed_by")),
    ("lexicon_terms", "id"),
}

PACKED = {("lexicon_axes", "basis"), ("strangers", "embeddings"), ("vectors", "embedding")}
"""Numbers of 14 bits; before they were of 32, or in format 24, but for vectors, IEEE halves behind an empty byte."""

TIMES = {"met": 2.0**24, "scale": 2.0**36}
"""What numbers of a term are multiplied by since format 25."""

LEARNED_ANEW = {"lexicons", "lexicon_axes", "lexicon_terms", "lexicon_pairs", "lexicon_lessons"}
"""Of a format before 26, whose words were not folded."""

ADDED = {
    "memories": {
        **dict.fromkeys(("author", "owner", "happened_at", "valid_until", "namespace", "key")),
        "pinned": 0,
    },
    "chunks": {"folded": None},
}
"""What the columns say that older formats lack."""

FOLDED = ("größe.md", "grosse.md")
"""The file of a memory that is indexed in another form since format 26."""

ROUNDED = 25
"""The first format whose vectors are of 14 bits a number."""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


def numbers(packed: bytes, format: int, dimension: int) -> bytes:
    """Of a vector in a file of a format, as they are carried over: float32, little-endian."""
    if format >= ROUNDED:
        return plain(packed, dimension)
    given = np.frombuffer(packed[1:], "<f2") if len(packed) % 2 else np.frombuffer(packed, "<f4")
    return rounded(given.astype(np.float32).reshape(-1, dimension)).tobytes()


def rows(path: Path) -> Mapping[str, list[dict[str, Any]]]:
    """All that a file holds for others, by table and column."""
    with closing(apsw.Connection(str(path))) as db:
        format = db.pragma("user_version")
        dimensions = dict(db.execute("select id, dimension from generations").fetchall())
        db.row_trace = lambda cursor, row: {
            name: one for (name, _), one in zip(cursor.get_description(), row, strict=True)
        }
        names = [
            row["name"]
            for row in db.execute(
                """select name from sqlite_schema where type = 'table' or name glob 'vectors_*' order by name"""
            )
        ]
        return {
            name: [
                {
                    column: numbers(one, format, dimensions[abs(row.get("generation") or int(name.partition("_")[2]))])
                    if (name.rstrip("_0123456789"), column) in PACKED
                    else one / TIMES[column]
                    if name == "lexicon_terms" and column in TIMES and format >= ROUNDED
                    else one
                    for column, one in row.items()
                    if (name, column) not in OWN_COLUMNS and not (column == "row" and name.startswith("vectors_"))
                }
                for row in db.execute(f"select * from {name}")
            ]
            for name in names
            if name not in OWN and not name.startswith(("passages_fts_", "vector_rows_", "vector_blocks_"))
        }


def uncompared(nearest: bytes) -> dict[str, Any]:
    """How near strangers come to vectors that are rounded as they arrive is not known yet."""
    farthest = np.full(len(nearest) // 4, -1, "<f4").tobytes()
    return {"nearest": b"", "products": 0.0, "loose": 0, "rising": farthest, "comparison": None}


def ordered(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def last_ids(path: Path) -> dict[str, int]:
    with closing(apsw.Connection(str(path))) as db:
        return dict(db.execute("select name, seq from sqlite_sequence"))


@pytest.mark.parametrize("format", FORMATS)
def test_all_that_a_file_holds_is_carried_over(shell, tmp_path, format) -> None:
    path, target = unpacked(format, shell.home), tmp_path / "target"
    before, given = contents(shell.home), last_ids(path)
    held = rows(path)

    facts = shell("migrate", shell.home, target, "--verify", "--json").json

    arrived = rows(target / "memory.db")
    assert facts["verified"]["same"]
    assert facts["memories"] == len(held["memories"])
    anew = LEARNED_ANEW if format < LATEST else set()
    for table, found in arrived.items():
        if table in anew or table not in held:
            assert found == [], table
            continue
        expected = [ADDED.get(table, {}) | row for row in held[table]]
        if table == "chunks":  # what is not in ASCII is folded
            expected = [row for row in expected if row["files"] not in FOLDED]
            found = [row for row in found if row["files"] not in FOLDED]  # noqa: PLW2901
        if table == "nearness" and format < ROUNDED:
            expected = [row | uncompared(row["nearest"]) for row in expected]
        assert sorted(map(ordered, found)) == sorted(map(ordered, expected)), table
    assert held.keys() <= arrived.keys() | anew
    assert last_ids(target / "memory.db").items() >= given.items()
    with closing(SqliteStore(target / "memory.db")) as store:
        assert store.check() == ()
    sound(target / "memory.db")
    assert contents(shell.home) == before


def test_what_was_indexed_otherwise_is_found_in_any_form(shell) -> None:
    unpacked(25, shell.home)
    shell("migrate", shell.home)

    for asked in ("еще раз", "STRASSE", "✅", "C++", "データ", "grosse", "größe"):
        [hit] = shell("search", asked, "--mode", "keyword", "--project", "größe", "--json").json["hits"]
        assert hit["title"] == "Ещё раз", asked


@pytest.mark.parametrize("format", ACQUAINTED)
def test_how_near_strangers_come_is_found_anew_in_vectors_that_were_rounded(shell, tmp_path, format) -> None:
    path, target = unpacked(format, shell.home), tmp_path / "target"
    noted = {row["generation"]: np.frombuffer(row["nearest"], "<f4") for row in rows(path)["nearness"]}
    shell("migrate", shell.home, target)

    with closing(SqliteStore(target / "memory.db")) as store:
        assert {one.strangers for one in store.generations.every()} == {None}
        assert all(store.vectors.set_strangers(id, None) for id in noted)

        found = {one.id: one.strangers for one in store.generations.every() if one.strangers}
        assert found.keys() == noted.keys()
        for id, former in noted.items():
            assert found[id].nearest == pytest.approx(former, abs=1e-3)
            assert found[id].loose == 0
        assert any(not np.array_equal(found[id].nearest, former) for id, former in noted.items())
        assert store.check() == ()


@pytest.mark.parametrize("format", OLDER)
def test_without_a_target_the_new_file_takes_the_place_of_the_old(shell, format) -> None:
    path = unpacked(format, shell.home)
    path.chmod(0o640)
    old, held = path.read_bytes(), rows(path)
    said = shell("search", "wal", code=1).err

    [command] = [part for part in said.split("`") if part.startswith("memory migrate ")]
    ran = shell(*command.split()[1:], "--verify")

    kept = path.with_name(f"memory.db.format{format}")
    assert ran.out.splitlines() == [
        f"verified: both have {len(held['memories'])} memories with equal hashes, and all else is equal",
        f"{len(held['memories'])} memories in {path}, up to date; the old file is {kept}",
        "next:",
        "  start the programs again",
        "  remove the old file once nothing is missing",
    ]
    assert sorted(contents(shell.home)) == [path.name, kept.name]
    assert kept.read_bytes() == old
    assert path.stat().st_mode & 0o777 == 0o640
    assert len(rows(path)["memories"]) == len(held["memories"])
    title = held["memories"][0]["title"]
    assert title in shell("search", title).out
    assert "What was" in shell("details", "1").out  # the history
    assert "has the format of this version" in shell("migrate", shell.home, code=2).err


def test_what_is_there_already_is_not_brought_up_to_date(shell) -> None:
    shell("save", "alpha")

    assert "Name TO" in shell("migrate", shell.home, code=2).err
    assert "Name TO" in shell("migrate", shell.home, "--json", code=2).error["hint"]
    assert "TO is missing" in shell("migrate", "postgresql://nowhere.invalid/x", code=2).err


def test_a_folder_of_somebody_else_is_refused_and_stays(shell) -> None:
    path = unpacked(8, shell.home)
    new = shell.home / "memory.db.new"
    new.mkdir()
    (new / "notes.txt").write_text("mine")
    before = contents(shell.home)

    assert f"{new}/notes.txt is in the way" in shell("migrate", shell.home, code=2).err
    assert (contents(shell.home), contents(new)) == (before, {"notes.txt": b"mine"})

    (new / "notes.txt").unlink()
    shell("migrate", shell.home)
    assert sorted(contents(shell.home)) == [path.name, f"{path.name}.format8"]
    new.mkdir()
    (new / "notes.txt").write_text("mine")
    shell("migrate", shell.home, code=2)
    assert contents(new) == {"notes.txt": b"mine"}


def test_a_dry_run_and_a_switch_change_nothing(shell) -> None:
    unpacked(8, shell.home)
    before = contents(shell.home)

    said = shell("migrate", shell.home, "--dry-run").out
    refused = shell("migrate", shell.home, "--switch", code=2).err

    assert said.startswith(f"would bring {shell.home}/memory.db up to date, in rows:\n")
    assert "Leave out --switch" in refused
    assert contents(shell.home) == before


@pytest.mark.parametrize("words", [["save", "new"], ["search", "wal"], ["context"], ["export"], ["status"], ["doctor"]])
def test_every_command_says_how_to_go_on_and_touches_nothing(shell, words) -> None:
    path = unpacked(8, shell.home)
    before = contents(shell.home)

    error = shell(*words, "--json", code=1).error

    assert error["error"] == "StoreTooOld"
    assert error["message"].startswith(f"{path} has format 8, which this version of memory does not open")
    assert f"`memory migrate {path}` brings it to format {LATEST}" in error["hint"]
    assert contents(shell.home) == before


def test_the_library_says_it(shell) -> None:
    unpacked(8, shell.home)

    with pytest.raises(StoreTooOld, match="has format 8") as caught:
        Engine.open(load(env=shell.env))

    assert "memory migrate" in caught.value.hint


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_is_told_and_goes_on_once_it_is_done(shell, era) -> None:
    unpacked(8, shell.home)

    with Agent(shell, era) as agent:
        told = agent.tried("memory_search", query="wal")
        shell("migrate", shell.home)
        found = agent.tried("memory_search", query="wal")

    assert told.is_error
    assert "`memory migrate " in told.content[0].text
    assert "We use WAL" in found.content[0].text


def test_the_page_says_it_and_goes_on_once_it_is_done(shell) -> None:
    unpacked(8, shell.home)

    with serving(shell) as ui:
        told = page(ui)
        shell("migrate", shell.home)
        found = page(ui)

    assert "has format 8" in told
    assert "memory migrate" in told
    assert "We use WAL" in found


def page(ui: Ui) -> str:
    return ui.get("/").words


def test_a_hook_says_it_in_a_line_and_begins_no_session(shell, tmp_path) -> None:
    (tmp_path / ".git").mkdir()
    unpacked(8, shell.home)
    told = {"session_id": "s", "cwd": str(tmp_path), "hook_event_name": "SessionStart"}

    ran = shell("hook", "session-start", stdin=json.dumps(told), code=1)

    assert ran.out == ""
    assert "has format 8" in ran.err
    assert not (shell.home / "memory.db-wal").exists()


def test_what_stands_in_the_log_alone_is_carried_over_and_the_log_stays(shell, tmp_path) -> None:
    path = unpacked(8, tmp_path / "used")
    with closing(apsw.Connection(str(path))) as db:
        db.execute("update memories set description = 'in the log' where id = 1")
        shell.home.mkdir()
        for name in ("memory.db", "memory.db-wal"):
            (shell.home / name).write_bytes((path.parent / name).read_bytes())
    before = contents(shell.home)

    shell("search", "wal", code=1)
    shell("migrate", shell.home, tmp_path / "target")
    after = contents(shell.home)
    shell("migrate", shell.home)

    assert {name: after[name] for name in before} == before
    for file in (tmp_path / "target" / "memory.db", path, shell.home / "memory.db", shell.home / "memory.db.format8"):
        assert rows(file)["memories"][0]["description"] == "in the log"


def test_a_table_that_lacks_what_has_no_default_is_never_left_out(shell, tmp_path) -> None:
    path = unpacked(8, shell.home)
    with closing(apsw.Connection(str(path))) as db:
        db.execute("alter table tool_calls drop column result")

    assert "no such column: result" in shell("migrate", shell.home, tmp_path / "target", code=1).err
