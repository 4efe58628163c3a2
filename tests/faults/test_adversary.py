"""What an adversary found once, so that it is not found twice."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from command import COMMAND, Shell
from entries import embedded, note
from sound import sound

from memory import Draft, Engine, Mode, Query
from memory.config import Config
from memory.keep.jsonl import parsed
from memory.keep.rules import write_entries
from memory.schema.answer import Tier
from memory.schema.errors import ConfigError, Invalid, StoreBusy, StoreError
from memory.schema.query import EVERYTHING
from memory.store import State
from memory.store.generations import Generations
from memory.store.sqlite import SqliteStore
from memory.store.sqlite.keywords import SqliteKeywords
from memory.store.sqlite.memories import SqliteMemories
from memory.vectors.backfill import Backfill
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.registry import Embedders
from memory.vectors.reindex import reindex

MOMENT = datetime(2026, 11, 21, tzinfo=UTC)
NO_MODEL = replace(Config(), embedding=replace(Config().embedding, provider="none"))


@pytest.fixture
def engine(tmp_path):
    with Engine(SqliteStore(tmp_path / "memory.db"), NO_MODEL) as engine:
        yield engine
    sound(tmp_path / "memory.db")


def together(*jobs):
    threads = [threading.Thread(target=job) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_updates_of_different_fields_at_once_all_stay(engine):
    id = engine.save(Draft(title="t")).memory.id

    def writer(field):
        def write():
            for i in range(15):
                engine.update(id, **{field: str(i)})

        return write

    together(*(writer(field) for field in ("what", "why", "impact")))

    memory = engine.get(id)
    assert (memory.what, memory.why, memory.impact) == ("14", "14", "14")
    assert len(engine.details(id).history) == 45


def test_details_exports_and_searches_see_a_memory_at_one_moment(engine):
    id = engine.save(Draft(title="zebra", what="0", body="0")).memory.id
    done = threading.Event()
    torn: list[object] = []

    def write():
        for i in range(60):
            engine.update(id, what=str(i), body=str(i))
        done.set()

    def read():
        while not done.is_set():
            found = engine.details(id, count=False)
            [exported] = engine.maintenance.exported()
            torn.extend(one for one in (found, exported) if one.memory.what != one.body)
            if not engine.search("zebra").hits:
                torn.append("an empty answer")

    together(write, read)

    assert torn == []


class RestlessKeywords(SqliteKeywords):
    """Somebody else updates what is found before it is read, so many times."""

    changes = 0

    def by_keyword(self, terms, scope, k, **more):
        found = super().by_keyword(terms, scope, k, **more)
        if found and self.changes:
            self.changes -= 1
            with Engine(SqliteStore(self._db.path), NO_MODEL) as other:
                other.update(found[0].memory, what=f"striped {self.changes}")
        return found


def test_a_search_reads_one_moment_whatever_others_change_meanwhile(tmp_path):
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        store.keywords = RestlessKeywords(store._db)
        engine = Engine(store, NO_MODEL)
        engine.save(Draft(title="zebra", what="striped"))
        store.keywords.changes = 1

        answers = [engine.search(Query("zebra", mode=Mode.KEYWORD)) for _ in range(2)]

        assert [[hit.memory.what for hit in answer.hits] for answer in answers] == [["striped"], ["striped 0"]]
        assert [answer.notices for answer in answers] == [(), ()]


def test_what_others_change_while_the_model_works_is_found_as_it_is_then(tmp_path):
    path = tmp_path / "memory.db"
    with Engine(SqliteStore(path), Config(), embedder=HashedEmbedder(64)) as engine:
        ids = [engine.save(Draft(title=f"zebra {n}", what="striped")).memory.id for n in range(3)]

    def change():
        with Engine(SqliteStore(path), NO_MODEL) as other:
            other.delete(ids[0])
            other.update(ids[1], what="striped anew")

    always = replace(Config(), search=replace(Config().search, gate="always"))
    with Engine(SqliteStore(path), always, embedder=Racing(change), lasting=False) as engine:
        answer = engine.search(Query("zebra", 2))

    assert {(hit.memory.id, hit.memory.what) for hit in answer.hits} == {(ids[1], "striped anew"), (ids[2], "striped")}
    assert answer.tier is Tier.HYBRID


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_store_does_not_write_after_a_fork(engine):
    child = os.fork()
    if child == 0:
        with suppress(StoreError):
            engine.save(Draft(title="from the child"))
            os._exit(1)
        os._exit(0)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert engine.recent() == []


class Racing(HashedEmbedder):
    """Somebody else does something while it embeds for the first time."""

    def __init__(self, meanwhile):
        super().__init__(64)
        self._meanwhile = [meanwhile]

    def embed(self, texts, role):
        if self._meanwhile:
            self._meanwhile.pop()()
        return super().embed(texts, role)


def test_a_reindex_that_says_it_is_done_is_done(engine):
    engine.save(Draft(title="t"))
    store = engine.store

    result = reindex(
        store, given(store, Racing(lambda: store.generations.begin(result_space(128), MOMENT))), Backfill()
    )

    [active] = [found for found in store.generations.every() if found.state is State.ACTIVE]
    assert active.space == result.after


def test_a_reindex_embeds_what_is_kept_at_its_last_moment(tmp_path):
    class Late(Generations):
        """Somebody else keeps something after the last batch, right before the new vectors answer."""

        def activate(self, generation, **how):
            SqliteMemories(self._db).insert(note("late"))
            return super().activate(generation, **how)

    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        store.generations = Late(store._db)
        write_entries(store, [note("early")])
        reindex(store, given(store, HashedEmbedder(32)), Backfill())

        result = reindex(store, given(store, HashedEmbedder(64)), Backfill())

        assert (result.embedded, store.queue.queued()) == (2, 0)
    sound(tmp_path / "memory.db")


def given(store, embedder):
    return Embedders(Config().embedding, store, embedder=embedder)


def result_space(dimension):
    from memory.vectors import space

    return space(HashedEmbedder(dimension))


def test_who_loses_a_race_of_reindexes_is_told_so(engine):
    engine.save(Draft(title="t"))
    store = engine.store
    reindex(store, given(store, HashedEmbedder(32)), Backfill())

    with pytest.raises(StoreBusy, match="took over"):
        reindex(store, given(store, Racing(lambda: store.generations.begin(result_space(128), MOMENT))), Backfill())


def test_many_ties_give_the_same_answer_however_often_it_is_asked(tmp_path):
    store = SqliteStore(tmp_path / "memory.db")
    rows = np.eye(8, dtype=np.float32)
    write_entries(store, [note(str(i), embedded=embedded([rows[i % 4]])) for i in range(1500)])
    vector = np.asarray([0.5] * 4 + [0] * 4, np.float32)

    answers = [[found.chunk for found in store.vectors.by_vector(1, vector, EVERYTHING, 8)] for _ in range(4)]

    assert answers == [list(range(1500, 1492, -1))] * 4
    store.close()


@pytest.mark.parametrize("metadata", [{"a": "\ud800"}, {"\ud800": 1}])
def test_metadata_that_could_not_be_exported_is_refused(metadata):
    with pytest.raises(Invalid, match="surrogate"):
        Draft(title="t", metadata=metadata)


def test_metadata_is_not_nested_without_end():
    deep: dict = {}
    for _ in range(70):
        deep = {"a": deep}
    with pytest.raises(Invalid, match="nested"):
        Draft(title="t", metadata=deep)


def test_a_line_with_an_endless_number_is_refused():
    with pytest.raises(Invalid, match="not a memory"):
        parsed('{"title": "t", "metadata": {"a": ' + "9" * 5000 + "}}", place="x:1")


def test_a_line_without_a_field_that_it_needs_names_it():
    with pytest.raises(Invalid, match=r"^x:1: the field 'created_at' is missing$"):
        parsed(f'{{"title": "t", "uid": "{"0" * 32}"}}', place="x:1")


@pytest.mark.parametrize("fields", [{"tags": 5}, {"tags": {"a"}}, {"parent_id": "1"}])
def test_a_draft_of_the_wrong_types_is_refused(fields):
    with pytest.raises(Invalid):
        Draft(title="t", **fields)


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path / "home", tmp_path, {"MEMORY_EMBEDDING_PROVIDER": "none"})


def test_files_of_the_same_name_in_two_folders_are_two_memories(shell):
    for folder in ("notes", "docs"):
        (shell.folder / folder).mkdir()
        (shell.folder / folder / "README.md").write_text(f"# {folder}\ntext\n")
        shell("import", folder, "--project", "p")

    assert len(shell("list", "--project", "p").out.splitlines()) == 2


def in_shell(shell, script, code=1):
    ran = subprocess.run(
        ["sh", "-c", script, COMMAND], env=shell.env, cwd=shell.folder, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.returncode == code, ran
    return ran.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the platform has no /dev/full")
def test_an_output_that_cannot_be_written_is_said(shell):
    shell("save", "title")

    for command in ("export", "list", "search title", "status --json"):
        assert "No space left" in in_shell(shell, f'"$0" {command} > /dev/full')


def test_closed_streams_are_no_accident(shell):
    in_shell(shell, '"$0" save title >&-', 0)
    in_shell(shell, '"$0" search title >&- 2>&-', 0)
    assert "standard input is closed" in in_shell(shell, '"$0" save x --details - <&-', 2)
    assert "standard input is closed" in in_shell(shell, '"$0" import - <&-', 2)


def test_odd_names_are_said(shell):
    assert "no file or folder" in in_shell(shell, '"$0" import ' + "a" * 5000, 2)
    assert "no model" in in_shell(
        shell, 'MEMORY_EMBEDDING_PROVIDER=hashed MEMORY_EMBEDDING_MODEL=hashed-² "$0" reindex'
    )
    (shell.folder / ".git").write_bytes(b"gitdir: a\0b")
    in_shell(shell, '"$0" save title --json', 0)


def test_a_home_that_is_not_utf8_is_said():
    with pytest.raises(ConfigError, match="not UTF-8"):
        replace(Config(), home="/tmp/\udcff").database


def test_the_same_width_under_another_name_never_answers(engine, tmp_path):
    with Engine(SqliteStore(tmp_path / "other.db"), NO_MODEL, embedder=HashedEmbedder(64)) as made:
        made.save(Draft(title="zebra"))
        made.store.generations.begin(result_space(128), MOMENT)  # a reindex to another width was begun
    with Engine(SqliteStore(tmp_path / "other.db"), NO_MODEL, embedder=HashedEmbedder(128)) as moved:
        assert moved.search(Query("zebra", mode=Mode.VECTOR)).hits  # the old model answers until it is done


def test_a_search_keeps_its_answer_when_another_process_reindexes_before_it_fills(tmp_path):
    def opened(model, fill="eager"):
        settings = replace(Config().embedding, provider="hashed", model=model, fill=fill)
        return Engine.open(replace(Config(), home=str(tmp_path), embedding=settings))

    with opened("hashed-64") as old, opened("hashed-32") as new, opened("hashed-32", "lazy") as lazy:
        old.save(Draft(title="a", what="alpha"))
        real = old.vectors.embedders.query

        def query(text):
            found = real(text)
            new.reindex()
            lazy.save(Draft(title="b", what="beta"))
            return found

        old.vectors.embedders.query = query
        answer = old.search(Query("alpha", mode=Mode.VECTOR))

    assert [hit.memory.title for hit in answer.hits] == ["a"]
    assert "chunks wait" in answer.notices[0].text


def test_many_that_make_the_same_database_at_once_all_can(tmp_path):
    """SQLite does not wait where WAL mode is turned on: of 240 first opens, five failed with "database is locked"."""
    code = (
        "import sys\n"
        "from memory.store.sqlite import SqliteStore\n"
        "print('ready', flush=True)\n"
        "for path in sys.stdin:\n"
        "    SqliteStore(path.strip()).close()\n"
        "    print('ready', flush=True)\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    opened = [subprocess.Popen([sys.executable, "-c", code], **pipes) for _ in range(6)]
    for number in range(24):
        assert [process.stdout.readline() for process in opened] == [b"ready\n"] * 6
        for process in opened:  # a write each: as near to at once as it gets
            process.stdin.write(f"{tmp_path / str(number)}.db\n".encode())
            process.stdin.flush()
    said = [process.communicate(timeout=60) for process in opened]
    assert [(process.returncode, out) for process, (out, _) in zip(opened, said, strict=True)] == [(0, b"ready\n")] * 6
