"""A damaged database: what can be read is read, what cannot is named, nothing is written, and nothing ends in a traceback."""

from __future__ import annotations

import io
import json
import os
import random
import re
import shutil
from contextlib import closing, redirect_stderr, redirect_stdout, suppress
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np
import pytest
from command import Ran, Shell
from hypothesis import HealthCheck, example, given, strategies as st
from profiles import examples

from memory import Config, Draft, Engine
from memory.cli import main
from memory.keep.rules import delete_memories
from memory.schema.errors import StoreDamaged
from memory.schema.memory import MemoryId
from memory.schema.query import ACTIVE
from memory.store.narrow import narrowed
from memory.store.sqlite import SqliteStore
from memory.store.sqlite.opening import PAGE_SIZE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMANDS = [
    ["export"],
    ["doctor"],
    ["doctor", "--fix"],
    ["search", "alpha beta"],
    ["search", "alpha", "--granularity", "medium", "--mode", "hybrid"],
    ["details", "1"],
    ["details", "3"],
    ["list"],
    ["status"],
    ["context", "alpha"],
    ["save", "new", "--details", "some text"],
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with something in every table."""
    folder = tmp_path_factory.mktemp("sound")
    shell = Shell(folder / "home", folder)
    lines = [
        {
            "title": f"alpha {n}",
            "what": "beta",
            "body": f"# Part {n}\n\nwords of it\n\n## Deep\n\nmore {n}" * 5,
            "tags": ["t"],
        }
        for n in range(6)
    ]
    lines += [{"kind": "discovery", "title": "found", "query_id": "R", "agent_id": "a", "body": "alpha text"}]
    lines += [
        {"kind": "report", "title": "said", "session_id": "s", "session_iter": 1, "agent_id": "a", "body": "alpha"}
    ]
    lines += [{"kind": "entity", "title": name, "category": "service", "body": "alpha"} for name in ("one", "two")]
    shell("import", "-", stdin="\n".join(map(json.dumps, lines)))
    shell("update", "1", "--what", "changed")
    shell("graph", "link", "one", "uses", "two")
    shell("search", "alpha", "--mode", "hybrid")
    return shell.home


@pytest.fixture
def home(sound: Path, tmp_path: Path) -> Path:
    return shutil.copytree(sound, tmp_path / "home")


@pytest.fixture(autouse=True)
def _hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    as_hashed(monkeypatch)


def as_hashed(patch: pytest.MonkeyPatch) -> None:
    patch.setenv("MEMORY_EMBEDDING_PROVIDER", "hashed")
    patch.setenv("MEMORY_EMBEDDING_MODEL", "hashed-64")


def called(home: Path, *words: str) -> Ran:
    """A command in this process: what would end in a traceback is raised."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        code = main(["--home", str(home), *words])
    return Ran(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def all_called(home: Path) -> dict[str, Ran]:
    """Every command, on a copy each: none of them stands in a traceback, or fails without a word."""
    found = {}
    for words in COMMANDS:
        copy = shutil.copytree(home, home.with_name("copy"))
        ran = found[" ".join(words)] = called(copy, *words)
        assert ran.code in {0, 1}, ran
        assert ran.code == 0 or ran.err or words[0] == "doctor", words
        shutil.rmtree(copy)
    return found


def cells(db: apsw.Connection) -> list[tuple[str, str, int]]:
    """Every text that can be damaged: table, column, and which one by its order."""
    tables = """select t.name, c.name from pragma_table_list t join pragma_table_info(t.name) c
                where t.schema = 'main' and t.type = 'table' and c.type = 'TEXT' and t.name not glob 'sqlite_*'"""
    return [
        (table, column, number)
        for table, column in db.execute(tables).fetchall()
        for number in range(db.execute(f"select count(*) from {table} where length({column}) > 0").get)
    ]


def spoiled(path: Path, cell: tuple[str, str, int], spoil: Callable[[bytes], bytes]) -> None:
    """Write other bytes into a text, past everything that would not let them in."""
    table, column, number = cell
    with closing(apsw.Connection(str(path))) as db:
        triggers = db.execute("select name, sql from sqlite_schema where type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"drop trigger {name}")
        db.pragma("ignore_check_constraints", 1)
        first = db.execute("select name from pragma_table_info(?) limit 1", (table,)).get
        one = (
            f"select {first}, {column} from {table} where length({column}) > 0 order by {first} limit 1 offset {number}"
        )
        before = db.execute(f"select cast({column} as blob) from ({one})").get
        with suppress(apsw.ConstraintError):  # what must be there once; then it stays as it is
            db.execute(
                f"update {table} set {column} = cast(? as text) where ({first}, {column}) in ({one})", (spoil(before),)
            )
        for _, sql in triggers:
            db.execute(sql)


@examples(0.4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_byte_of_a_text_ends_a_command_in_a_traceback(sound: Path, tmp_path_factory, data) -> None:
    home = shutil.copytree(sound, tmp_path_factory.mktemp("spoiled") / "home")
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        cell = data.draw(st.sampled_from(cells(db)), "cell")
    place, bit = data.draw(st.integers(0, 200), "place"), data.draw(st.integers(0, 7), "bit")

    def flip(text: bytes) -> bytes:
        at = place % len(text)
        return text[:at] + bytes([text[at] ^ 1 << bit]) + text[at + 1 :]

    spoiled(home / "memory.db", cell, flip)

    all_called(home)


@examples(0.4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 1 << 32), flips=st.integers(1, 20))
@example(seed=1260, flips=5)  # a null became a number
def test_no_damage_of_the_file_ends_a_command_in_a_traceback(sound: Path, tmp_path_factory, seed, flips) -> None:
    home = shutil.copytree(sound, tmp_path_factory.mktemp("flipped") / "home")
    dice, path = random.Random(seed), home / "memory.db"
    content = bytearray(path.read_bytes())
    for _ in range(flips):
        content[dice.randrange(100, len(content))] ^= 1 << dice.randrange(8)
    path.write_bytes(content)

    all_called(home)


@pytest.mark.parametrize(
    ("cell", "named"),
    [
        (("memories", "title", 2), "title"),
        (("memories", "what", 0), "what"),
        (("bodies", "body", 2), "body"),
        (("history", "body", 0), "history"),
        (("history", "record", 0), "history"),
    ],
    ids=lambda value: "_".join(map(str, value)) if isinstance(value, tuple) else value,
)
def test_what_can_be_read_of_a_text_is_exported_and_the_rest_is_named(home: Path, cell, named) -> None:
    whole = lines(called(home, "export"))
    spoiled(home / "memory.db", cell, lambda text: text[:3] + b"\xff" + text[4:])

    exported = called(home, "export")
    written = called(home, "export", "-o", str(home / "out.jsonl"), "--json")
    looked = called(home, "doctor")
    mended = called(home, "doctor", "--fix")

    kept = lines(exported)
    changed = [(old, new) for old, new in zip(whole, kept, strict=True) if old != new]
    assert len(changed) == 1
    old, new = changed[0]
    assert old["uid"] == new["uid"]
    assert "\ufffd" in json.dumps(new, ensure_ascii=False) or new["history"] == []
    assert exported.code == written.code == looked.code == mended.code == 1
    assert exported.err.startswith("memory: lost: memory ")
    assert f"({old['uid']})" in exported.err
    assert named in exported.err
    assert "the rest is exported" in exported.err
    assert json.loads(written.out)["lost"] == [exported.err.removeprefix("memory: lost: ").rstrip("\n")]
    assert old["uid"] in looked.out.replace("\n", "").replace(" ", "")
    assert "memory export" in " ".join(looked.out.split())
    assert called(home, "list").code == 0
    assert called(home, "search", "alpha").code == 0
    if "record" in cell:
        refused = called(home, "details", old["uid"])
        assert re.search(rf"the history of memory \d+ \({old['uid']}\) cannot be read", refused.err)


@pytest.mark.parametrize("column", ["kind", "status", "created_at", "updated_at", "metadata", "tags", "related_files"])
@pytest.mark.parametrize("bytes", [b"x", b"\xff\xfeA"], ids=["makes no sense", "is not text"])
def test_what_is_whole_of_a_damaged_memory_is_exported_and_imported(home: Path, column: str, bytes: bytes) -> None:
    whole = {line["uid"]: line for line in lines(called(home, "export")) if "uid" in line}
    for number in range(10):
        spoiled(home / "memory.db", ("memories", column, number), lambda _text: bytes)

    exported = called(home, "export")

    assert exported.code == 1
    kept = [line for line in lines(exported) if "uid" in line]
    assert len(kept) == len(whole)
    for line in kept:
        old = whole[line["uid"]]
        assert [line[name] for name in ("title", "what", "body", "history")] == [
            old[name] for name in ("title", "what", "body", "history")
        ]
        assert {name for name in old if line[name] != old[name]} <= {column, "flags"}
        assert f"({line['uid']})" in exported.err
    assert exported.err.count(column) == len(kept)
    (home / "out.jsonl").write_text(exported.out, "utf-8")
    assert called(home.with_name("other"), "import", str(home / "out.jsonl")).code == 0


NO_LISTS = [
    *product(("tags", "related_files"), (b"[1]", b"[null]", b'[["t"]]', b'{"t": 1}', b'"t"', b"7")),
    *product(["metadata"], (b"[1]", b'"t"', b"7", b"null")),
]
"""JSON, but not what belongs there."""
SEARCHES = [["search", "alpha"], ["search", "alpha", "--mode", "hybrid"], ["search", "alpha", "--tag", "t"]]
SHOWING = [*SEARCHES, ["list"], ["list", "--tag", "t"], ["context", "alpha"], ["status"]]


@pytest.fixture(scope="module")
def undamaged(sound: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[dict[str, Any]], str]:
    """What is shown before something is damaged, and the id of the memory that will be."""
    home = shutil.copytree(sound, tmp_path_factory.mktemp("undamaged") / "home")
    with pytest.MonkeyPatch.context() as patch:
        as_hashed(patch)
        shown = [called(home, *one, "--json").json for one in SHOWING]
        return shown, next(line["uid"] for line in lines(called(home, "export")) if line["title"] == "alpha 2")


@pytest.mark.parametrize(
    ("column", "bytes"),
    [
        *product(("kind", "created_at", "metadata", "tags", "related_files"), (b"x", b"\xff\xfeA")),
        *NO_LISTS,
    ],
)
def test_a_damaged_memory_keeps_nobody_from_the_others(home: Path, undamaged, column: str, bytes: bytes) -> None:
    """It is shown with what is whole of it, and named."""
    before, uid = undamaged
    spoiled(home / "memory.db", ("memories", column, 2), lambda _text: bytes)

    for one, former in zip(SHOWING, before, strict=True):
        ran, told = called(home, *one, "--json"), called(home, *one)
        assert ran.code == told.code == 0, (one, told)
        for found in ("hits", "memories"):
            if one != ["status"] and found in former:
                ids = [{json.dumps(row.get("id")) for row in rows[found]} for rows in (former, ran.json)]
                assert ids[0] - ids[1] <= (
                    {json.dumps(uid)} if "--tag" in one or (one[0], column) == ("context", "kind") else set()
                )
        if one in (["list"], ["search", "alpha"]):
            assert f"({uid}) is damaged: its {column} cannot be read" in told.err
            assert f"({uid}) is damaged: its {column} cannot be read" in ran.json["notices"][0]["text"]
    assert uid in called(home, "doctor").out.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("column", ["tags", "related_files", "metadata"])
def test_json_that_does_not_belong_there_is_named_and_never_a_traceback(home: Path, column: str) -> None:
    several = [json for name, json in NO_LISTS if name == column]
    for number, other in enumerate(several):
        spoiled(home / "memory.db", ("memories", column, number), lambda _text, other=other: other)

    all_called(home)

    for number in range(len(several)):
        ran = called(home, "details", str(number + 1))
        assert (ran.code, ran.err.count(f"cannot be read: its {column} is damaged")) == (1, 1)
    assert called(home, "export").err.count(f"{column} cannot be read") == len(several)
    assert called(home, "reindex").code == 0


def test_headings_that_are_no_texts_are_named_and_never_a_traceback(home: Path) -> None:
    for number in range(6):
        spoiled(home / "memory.db", ("chunks", "header_path", number), lambda _text: b"[1]")

    ran = all_called(home)

    assert "chunks.header_path makes no sense" in " ".join(ran["doctor"].out.split())
    assert "chunks.header_path makes no sense" in " ".join(ran["doctor --fix"].out.split())


@pytest.mark.parametrize("table", ["chunks", "memories"])
def test_vectors_whose_owner_is_gone_teach_nothing_and_stop_nobody(home: Path, table: str) -> None:
    with closing(SqliteStore(home / "memory.db")) as store:
        store.term_vectors.learn(1, None)  # all is to be learned again
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        db.execute(f"pragma foreign_keys = 0; delete from {table} where id = (select min(id) from {table})")

    assert called(home, "reindex").code == 0
    assert "belong to something that is gone" in " ".join(called(home, "doctor").out.split())


def test_a_memory_without_its_body_is_found_embedded_and_exported_without_it(home: Path) -> None:
    whole = lines(called(home, "export"))
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        db.execute("delete from bodies where memory_id in (1, 3)")

    ran = all_called(home)
    reindexed = called(home, "reindex")
    other = called(home, "reindex", "--json")

    assert (reindexed.code, other.code) == (0, 0)
    assert "2 memories without a body" in " ".join(ran["doctor"].out.split())
    assert ran["details 1"].err.startswith(
        f"memory: memory 1 ({whole[0]['uid']}) cannot be read: its details are missing"
    )
    exported = ran["export"]
    assert exported.code == 1
    assert [line.get("uid") for line in lines(exported)] == [line.get("uid") for line in whole]
    assert [line["body"] for line in lines(exported)[:3]] == ["", whole[1]["body"], ""]
    assert exported.err.count("body cannot be read") == 2
    assert called(home, "search", "alpha 0", "--json").json["hits"][0]["title"] == "alpha 0"


@pytest.mark.parametrize("column", ["header_path", "chunk_type"])
def test_a_damaged_chunk_is_mended_by_the_way_the_doctor_names(home: Path, column: str) -> None:
    """No body is lost: what is cut from them anew is whole."""
    whole = lines(called(home, "export"))
    for number in range(6):
        spoiled(home / "memory.db", ("chunks", column, number), lambda _text: b"\xff\xfeA")
    mended = called(home, "doctor", "--fix", "--json")

    [told] = [one for one in mended.json["findings"] if one["name"] == "database"]
    assert not told["well"]
    assert f"chunks.{column} has bytes that are no text" in told["told"]
    assert "`memory export -o FILE`" in told["hint"]
    assert "`memory import FILE`" in told["hint"]
    assert called(home, "export", "-o", str(home / "out.jsonl")).code == 0
    for path in home.glob("memory.db*"):
        path.unlink()
    assert called(home, "import", str(home / "out.jsonl")).code == 0
    assert called(home, "search", "words of it").code == 0
    assert called(home, "doctor").code == 0
    assert [line.get("body") for line in lines(called(home, "export"))] == [line.get("body") for line in whole]


def lines(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.split("\n") if line]


# A file that was cut ------------------------------------------------------


@pytest.mark.parametrize("number", [b"\0\0\0\0", b"\0\0\x80\x7f", b"\0\0\xc0\x7f"], ids=["0", "inf", "nan"])
def test_a_memory_whose_vector_makes_no_sense_is_found_by_its_words(home: Path, number: bytes) -> None:
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        owned = "select c.id from chunks c join memories m on m.id = c.memory_id where m.title = 'alpha 0'"
        db.execute(
            f"update vectors_1 set embedding = ? where chunk_id in ({owned})",
            (*narrowed(np.frombuffer(number * 64, "<f4").reshape(1, -1)),),
        )

    all_called(home)
    for mode in ("hybrid", "vector", "tiered"):
        found = called(home, "search", "alpha beta", "--mode", mode, "--limit", "20", "--json").json["hits"]
        assert ("alpha 0" in {hit["title"] for hit in found}) == (mode != "vector")
    assert called(home, "graph", "search", "one", "--json").code == 0

    # It is not taken from the sum of all vectors either, which would leave no centre to compare with.
    assert called(home, "delete", "1").code == 0
    assert called(home, "search", "alpha beta", "--mode", "hybrid", "--json").json["hits"]
    with closing(SqliteStore(home / "memory.db")) as store:
        assert np.isfinite(store.generations.centre(1)[0]).all()


def test_a_sum_of_all_vectors_that_makes_no_sense_leaves_the_words(home: Path) -> None:
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        db.execute("update generations set total = ?", (b"\0\0\0\0\0\0\xf8\x7f" * 64,))

    assert called(home, "search", "alpha beta", "--mode", "hybrid", "--json").json["hits"]


def test_a_damaged_dimension_is_said_wherever_vectors_of_another_are_met(home: Path) -> None:
    with closing(SqliteStore(home / "memory.db")) as store:
        store.term_vectors.learn(1, None)  # all is to be learned again
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        db.execute("update generations set fingerprint = null, dimension = 32")
    told = "the vectors of index version 1 have 64 numbers, not 32"

    ran = all_called(home)

    for command in ("doctor", "doctor --fix"):
        assert told in " ".join(ran[command].out.split())
    with closing(Engine.open(home=str(home), lasting=False)) as engine:
        for act in (lambda: engine.update(1, what="other words"), lambda: engine.delete(1), engine.learn):
            with pytest.raises(StoreDamaged, match=told):
                act()


DERIVED = [
    "update lexicons set fit = 9e999",
    "update lexicons set passages = -5",
    "update lexicons set along = -9e999",
    "update lexicons set spread = zeroblob(3)",
    "update lexicons set spread = cast(replace(hex(zeroblob(axes)), '00', x'000000000000F87F') as blob)",
    "update lexicon_terms set scale = 1e300",
    "update lexicon_terms set passages = -1",
    "update lexicon_terms set met = -1e300",
    "update lexicon_pairs set pairs = x'00'",
    "update generations set total = x''",
]


@pytest.mark.parametrize("statement", DERIVED)
def test_what_is_made_from_memories_never_keeps_one_from_being_saved(home: Path, statement: str) -> None:
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        assert db.execute("select count(*) from lexicon_terms").get
        db.execute(statement)
        assert db.changes()

    for number in range(2):
        assert called(home, "save", f"gamma {number}", "--what", f"words that nobody said {number}").code == 0
    for mode in ("tiered", "hybrid", "keyword"):
        found = called(home, "search", "gamma nobody", "--mode", mode, "--json").json["hits"]
        assert {"gamma 0", "gamma 1"} <= {hit["title"] for hit in found}
    assert called(home, "reindex").code == 0
    assert called(home, "doctor", "--fix").code == 0
    assert called(home, "doctor").code == 0


@examples(0.4, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lacking=st.integers(1, 200_000))
@example(lacking=777)
@example(lacking=8192)
def test_a_file_that_was_cut_is_not_written_to(sound: Path, tmp_path_factory, lacking) -> None:
    home = shutil.copytree(sound, tmp_path_factory.mktemp("cut") / "home")
    path = home / "memory.db"
    os.truncate(path, path.stat().st_size - lacking)
    before = path.read_bytes()

    for words in (["save", "new"], ["delete", "1"], ["embed"], ["doctor", "--fix"]):
        ran = called(home, *words, "--json")
        assert ran.code == 1 or words == ["embed"], ran
        if words[0] in {"save", "delete"}:
            error = json.loads(ran.err)
            assert error["error"] == "StoreDamaged"
            assert "memory export" in error["hint"] or "The list of its tables is gone" in error["hint"]
    exported = called(home, "export", "-o", str(home / "out.jsonl"))

    assert path.read_bytes() == before
    assert exported.code in {0, 1}, exported
    all_called(home)


def test_what_can_be_read_of_a_file_that_was_cut_is_exported(sound: Path, tmp_path: Path) -> None:
    """However much is missing: half of a file with many memories has about half of them."""
    home = tmp_path / "home"
    shell = Shell(home, tmp_path)
    shell("import", "-", stdin="\n".join(json.dumps({"title": f"n {n}", "body": f"{n} " * 400}) for n in range(400)))
    whole = {line["uid"]: line for line in lines(called(home, "export"))}
    path = home / "memory.db"
    os.truncate(path, path.stat().st_size // 2)

    exported = called(home, "export")

    kept = lines(exported)
    assert exported.code == 1
    assert 40 < len(kept) < 400
    for line in kept:
        assert line == whole[line["uid"]] or f"({line['uid']})" in exported.err
    assert len(kept) + exported.err.count("cannot be read") >= 400


def test_status_says_that_a_file_was_cut(home: Path) -> None:
    path = home / "memory.db"
    assert "is cut" not in called(home, "status").err + called(home, "status").out
    os.truncate(path, path.stat().st_size - 777)

    told = called(home, "status", "--json")

    assert told.code == 0
    assert [one["text"] for one in told.json["problems"]] == [
        "the database is truncated: its last 777 bytes are missing"
    ]
    assert "memory export" in told.json["problems"][0]["hint"]


@pytest.mark.parametrize("left", [20_000, PAGE_SIZE * 2, PAGE_SIZE, 3000])
def test_where_the_list_of_tables_is_gone_a_copy_is_asked_for(home: Path, left: int) -> None:
    os.truncate(home / "memory.db", left)

    for words in COMMANDS:
        error = json.loads(called(home, *words, "--json").err) if words[0] != "export" else {}
        error = error or json.loads(called(home, *words, "-o", str(home / "out.jsonl"), "--json").err)
        assert error["error"] == "StoreDamaged", words
        assert "The list of its tables is gone" in error["hint"]
        assert "restore it from a copy" in error["hint"]
        assert "memory export" not in error["hint"]
    assert not (home / "out.jsonl").exists()


def test_pages_that_stand_in_the_log_need_not_be_in_the_file(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "copy" / "memory.db"
    with closing(SqliteStore(path)) as store:
        before = path.stat().st_size
        with closing(apsw.Connection(str(path))) as holding:
            holding.execute("begin; select count(*) from memories").fetchall()  # the log cannot be emptied
            config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="none"))
            Engine(store, config).save_all([Draft(title=f"n {n}", body="text " * 500) for n in range(300)])
            copy.parent.mkdir()
            for name in ("memory.db", "memory.db-wal"):
                shutil.copy(tmp_path / name, copy.parent)  # as kill -9 leaves them

    os.truncate(copy, before)  # as a version left it that did not let the file grow before a commit
    size = copy.stat().st_size
    with closing(SqliteStore(copy)) as store, closing(apsw.Connection(str(copy))) as plain:
        assert plain.pragma("page_count") * PAGE_SIZE > size
        assert delete_memories(store, [store.salvaged(MemoryId(0), 1)[0].id])
    with closing(SqliteStore(copy)) as store:
        assert store.check() == ()
        assert store.counts().memories == 299


def test_a_file_that_was_cut_and_has_a_log_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="none"))
        engine = Engine(store, config)
        engine.save_all([Draft(title=f"n {n}", body="text " * 500) for n in range(130)])
        with closing(apsw.Connection(str(path))) as holding:
            holding.execute("pragma wal_checkpoint(truncate)").fetchall()
            holding.execute("begin; select count(*) from memories").fetchall()
            engine.save(Draft(title="in the log"))
            shutil.copytree(tmp_path, tmp_path / "copy", ignore=shutil.ignore_patterns("copy", "*-shm"))
    copy = tmp_path / "copy" / "memory.db"
    assert copy.with_name("memory.db-wal").stat().st_size > 0
    os.truncate(copy, copy.stat().st_size * 9 // 10)
    before = copy.read_bytes()

    with closing(SqliteStore(copy)) as store:
        assert store.memories.count(ACTIVE) == 131
        with pytest.raises(StoreDamaged, match="is truncated: its last "):
            delete_memories(store, [MemoryId(1)])

    assert copy.read_bytes() == before


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("update memories set title = '' where id = 3", "a note needs a title"),
        ("update memories set tags = '[\" \"]' where id = 3", "tags has a blank entry"),
        ("update memories set session_iter = -5 where id = 3", "session_iter is a whole number"),
        ("update memories set kind = 'report' where id = 3", "a report needs an agent_id"),
    ],
)
def test_what_cannot_be_read_is_called_no_secret(home: Path, sql: str, why: str) -> None:
    before = called(home, "doctor", "--json").json["findings"]
    with closing(apsw.Connection(str(home / "memory.db"))) as db:
        for (name,) in db.execute("select name from sqlite_schema where type = 'trigger'").fetchall():
            db.execute(f"drop trigger {name}")
        db.execute(sql)
        uid = db.execute("select uid from memories where id = 3").get

    ran = called(home, "doctor", "--json")
    (found,) = [one for one in ran.json["findings"] if one["name"] == "secrets"]

    assert [one["told"] for one in before if one["name"] == "secrets"] == [
        "no memory contains text that looks like a secret"
    ]
    assert (ran.code, found["well"]) == (1, False)
    assert found["told"].startswith(f"memory {uid[:8]} cannot be checked: {why}")
    assert "looks like a secret" not in ran.out
    assert "delete" not in found["hint"]


def test_an_engine_that_has_found_the_database_damaged_says_how_to_save_it_and_reads_it_no_more(home: Path) -> None:
    database = home / "memory.db"
    with closing(apsw.Connection(str(database))) as db:
        page = db.execute("select rootpage from sqlite_schema where name = 'passages_fts_data'").get
        size = db.pragma("page_size")
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    with Engine.open(replace(Config(), home=str(home))) as engine:
        with pytest.raises(StoreDamaged) as first:
            engine.search("alpha")
        engine.store.close()

        with pytest.raises(StoreDamaged) as second:
            engine.search("alpha")

    assert str(second.value) == str(first.value)
    assert "memory export" in first.value.hint
    assert second.value.hint.endswith("until then it searches no more.")
