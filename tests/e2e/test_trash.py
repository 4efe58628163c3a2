"""Deleting, undoing and the trash, as a person and an agent meet them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from agent import Agent
from command import Shell
from entries import START
from terminal import at_terminal

from memory import Config, Draft, Engine
from memory.keep.jsonl import parsed
from memory.keep.removing import AT_ONCE
from memory.schema.errors import Invalid, NotFound
from memory.schema.kinds import Kind
from memory.schema.step import step
from memory.store import export as lines
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    moments = [START]
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="none"))
    with Engine(SqliteStore(config.database), config, now=lambda: moments[-1]) as engine:
        engine.moments = moments  # type: ignore[attr-defined]  # the test's clock
        yield engine


def saved(shell: Shell, title: str, *more: str) -> str:
    return shell("save", title, "--what", f"{title} says alpha", *more, "--json").json["memory"]["id"]


def exported(shell: Shell) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in shell("export").out.splitlines()]
    return sorted(lines, key=lambda line: (line["schema"], str(line.get("uid"))))


def everywhere(shell: Shell, word: str) -> str:
    """All that reads memories, for a word."""
    asked = (("search", word, "--mode", "hybrid"), ("list",), ("export",), ("context", word), ("tags",), ("graph",))
    return "".join(shell(*command).out for command in asked)


def test_what_is_deleted_is_nowhere_and_comes_back_as_it_was(shell: Shell) -> None:
    shell("graph", "add", "Ann", "--observation", "a friend")
    shell("graph", "add", "Bob", "--observation", "knows Ann")
    old = saved(shell, "first", "--tag", "gamma")
    id = saved(shell, "zeppelin", "--tag", "omega", "--entity", "Ann", "--supersedes", old)
    shell("update", id, "--why", "because zeppelin")
    shell("graph", "link", "Ann", "knows", "Bob")
    before = exported(shell)

    said = shell("delete", id[:8]).out

    assert f"Deleted {id[:8]} zeppelin; `memory undo` restores it" in said
    assert "zeppelin" not in everywhere(shell, "zeppelin")
    assert "omega" not in shell("tags").out
    for command in (("details",), ("reconstruct",), ("update", "--why", "x"), ("delete",)):
        assert "no memory" in shell(command[0], id, *command[1:], code=1).err
    assert shell("trash", "--json").json["memories"][0]["id"] == id

    undone = shell("undo", "--json").json
    assert (undone["restored"], undone["done"]) == (1, True)
    assert undone["memories"] == [{"done": "restored", "id": id, "title": "zeppelin"}]
    assert exported(shell) == before
    assert "zeppelin" in shell("search", "zeppelin").out
    assert "0 chunks embedded" in shell("embed").out or "nothing to do" in shell("embed").out


def test_entities_come_back_with_their_relations_and_links(shell: Shell) -> None:
    for name in ("Ann", "Bob", "Cy"):
        shell("graph", "add", name)
    shell("graph", "link", "Ann", "knows", "Bob")
    shell("graph", "link", "Cy", "knows", "Ann")
    saved(shell, "about", "--entity", "Ann")
    before = exported(shell)

    shell("graph", "delete", "Ann")
    shell("graph", "delete", "Cy")
    assert [line["schema"] for line in exported(shell)] == ["memory.memory/1"] * 2
    ann = shell("trash", "--json").json["memories"][1]
    shell("trash", "restore", ann["id"])

    back = exported(shell)
    assert [line for line in before if line["schema"] != "memory.memory/1" or line["title"] != "Cy"][:2] == back[:2]
    assert len([line for line in back if line["schema"] == "memory.relation/1"]) == 1  # Cy is still deleted
    shell("undo", shell("trash", "--json").json["memories"][0]["id"])
    assert len([line for line in exported(shell) if line["schema"] == "memory.memory/1"]) == 4


def test_an_undo_names_whole_ids_to_programs(shell: Shell) -> None:
    id = saved(shell, "one")

    shell("update", id, "--why", "because")

    assert shell("undo", "--json").json["memories"] == [{"done": "changed", "id": id, "title": "one"}]
    assert shell("undo", "--json").json["memories"] == [{"done": "removed", "id": id, "title": "one"}]


def test_after_a_purge_nothing_is_left_to_take_back_and_it_says_so(shell: Shell) -> None:
    shell("delete", saved(shell, "one"), "--purge")

    assert "no command made a change that can still be undone" in shell("undo", code=1).err


def test_a_person_is_not_asked_about_an_id_that_is_not_in_the_trash(shell: Shell) -> None:
    shell("delete", saved(shell, "one"))

    said = at_terminal(shell, "", "trash", "empty", "ffffffff", code=1)

    assert ("for good?" in said, "no memory 'ffffffff' in the trash" in said) == (False, True)


def test_who_deletes_once_more_for_good_hears_that_it_lies_in_the_trash(shell: Shell) -> None:
    id = saved(shell, "one")
    shell("delete", id)

    told = shell("delete", "--purge", id, code=1).err

    assert f"no memory '{id}'" in told
    assert f"`memory trash empty {id[:8]}` deletes it for good" in told
    shell("trash", "empty", id)
    assert "`memory list` shows" in shell("delete", "--purge", id, code=1).err


def test_a_person_is_asked_before_a_memory_is_deleted(shell: Shell) -> None:
    id = saved(shell, "one")

    said = at_terminal(shell, "n\n", "delete", id, code=1)
    assert "nothing was deleted" in said
    assert "It can be restored for 30 days; a secret is deleted for good with --purge" in " ".join(said.split())
    assert shell("list", "--json").json["memories"]

    at_terminal(shell, "", "delete", "--yes", id)
    assert "restored" in at_terminal(shell, "", "undo"), "of one memory nobody is asked"
    assert "For good: that cannot be undone" in at_terminal(shell, "n\n", "delete", "--purge", id, code=1)
    assert len(shell("list", "--json").json["memories"]) == 1


def test_a_save_an_update_and_a_supersession_are_undone_in_turn(shell: Shell) -> None:
    worlds = [exported(shell)]
    id = saved(shell, "one")
    worlds.append(exported(shell))
    shell("update", id, "--what", "beta", "--tag", "x")
    worlds.append(exported(shell))
    saved(shell, "two", "--supersedes", id)
    worlds.append(exported(shell))
    shell("tags", "rename", "x", "y")

    assert "changes back" in shell("undo", "--dry-run").out
    for world in reversed(worlds):
        shell("undo", "--yes")
        assert exported(shell) == world
    for world in worlds[1:]:
        shell("redo", "--yes")
        assert exported(shell) == world
    for world in reversed(worlds[:-1]):
        shell("undo", "--yes")
        assert exported(shell) == world
    assert "nothing to undo" in shell("undo", code=1).err


def test_an_import_is_one_step(shell: Shell, tmp_path: Path) -> None:
    kept = saved(shell, "kept")
    file = tmp_path / "notes.jsonl"
    file.write_text("\n".join(json.dumps({"title": f"n{n}", "what": f"alpha {n}"}) for n in range(300)), "utf-8")
    shell("import", str(file))

    refused = shell("undo", code=2).err
    assert "this changes 300 memories at once (memory import)" in refused
    assert len(exported(shell)) == 301
    assert "nothing was changed" in at_terminal(shell, "n\n", "undo", code=1)
    assert len(exported(shell)) == 301

    said = shell("undo", "--yes").out

    assert "memory import" in said
    assert "and 295 memories more; in all 300 removed" in said
    assert [line["uid"] for line in exported(shell)] == [kept]
    assert shell("status", "--json").json["trash"]["memories"] == 300


def test_undo_of_a_memory_of_an_import_changes_that_memory_alone(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text("\n".join(json.dumps({"title": f"n{n}", "what": f"alpha {n}"}) for n in range(5)), "utf-8")
    shell("import", str(file))
    before = exported(shell)

    for line in before[:2]:
        assert "(of that only this memory)" in shell("undo", line["uid"]).out
    left = exported(shell)
    assert left == before[2:]
    assert "this changes 3 memories at once" in shell("undo", code=2).err
    shell("redo")
    assert exported(shell) == sorted([before[1], *left], key=before.index)
    shell("redo")
    shell("undo")
    assert exported(shell) == before[1:], "what came back by itself is a step of its own"


def test_an_import_that_was_undone_is_had_back_as_one(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text("\n".join(json.dumps({"title": f"n{n}", "what": f"alpha {n}"}) for n in range(5)), "utf-8")
    shell("import", str(file))
    other = saved(shell, "other")
    before = exported(shell)
    shell("delete", other, "--yes")
    step = shell("history", "--json").json["steps"][2]
    assert (step["verb"], step["changes"]) == ("import", 5)
    shell("undo", "--step", step["step"][:8], "--yes")
    deleted = {one["id"]: one["step"] for one in shell("trash", "list", "--json").json["memories"]}
    assert len({step for id, step in deleted.items() if id != other}) == 1

    assert "the trash has nothing of step" in shell("trash", "restore", "--step", "0" * 8, code=1).err
    assert "an ID is missing, or --step" in shell("trash", "restore", code=2).err
    shell("trash", "restore", other, "--step", next(step for id, step in deleted.items() if id != other)[:8])

    assert exported(shell) == before
    assert "nothing to redo" in shell("redo", code=1).err


def test_a_redo_writes_what_an_update_said(shell: Shell) -> None:
    id = saved(shell, "one")
    for text in ("beta", "gamma"):
        shell("update", id, "--what", text)
    worlds = [exported(shell)]
    for _ in range(2):
        shell("undo")
        worlds.append(exported(shell))
    assert shell("trash", "list", "--json").json["memories"] == []

    for world in worlds[-2::-1]:
        shell("redo")
        assert exported(shell) == world
    shell("undo")
    shell("trash", "empty", "--yes")
    assert b"gamma" not in (shell.home / "memory.db").read_bytes()
    assert "is no longer stored" in shell("redo", code=1).err


def test_what_an_agent_did_since_stays(engine: Engine) -> None:
    with step("save"):
        mine = engine.save(Draft(title="mine", what="alpha")).memory
    with step("memory_save", "codex"):
        theirs = engine.save(Draft(title="theirs", what="beta")).memory

    plan = engine.trash.last()
    assert [one.title for one in plan.named] == ["mine"]
    engine.trash.undo(plan, lambda _done, _total: None)

    assert [one.title for one in engine.recent()] == ["theirs"]
    with pytest.raises(NotFound, match="nothing to undo"):
        engine.trash.last()
    by = engine.trash.last(theirs.uid).step.by
    engine.trash.undo(engine.trash.last(theirs.uid), lambda _done, _total: None)
    assert (by, list(engine.recent())) == ("codex", [])
    assert {one.uid for one in engine.trash.recent()} == {mine.uid, theirs.uid}


def test_what_others_did_is_not_undone_and_not_taken_along(engine: Engine) -> None:
    """Bob, his agent, and what joins his to Ann's: see invariant 11."""

    def by(user: str, program: str = "") -> AbstractContextManager[str]:
        engine.store.user = user
        return step("test", program)

    with by("ann"):
        note = engine.save(Draft(title="a", what="alpha")).memory
    with by("bob"):
        engine.documents.pin([note.uid])
    with by("ann"):
        with pytest.raises(Invalid, match="changed or linked since: test by bob"):
            engine.trash.last()
        with pytest.raises(Invalid, match=r"the last change of memory .* is by bob"):
            engine.trash.last(note.uid)
        parent = engine.save(Draft(title="b", what="beta")).memory
        assert engine.trash.last().removed == 1
    with by("bob"):
        engine.save(Draft(title="c", what="child", parent_id=parent.id))
    with by("ann"), pytest.raises(Invalid, match="changed or linked since: test by bob"):
        engine.trash.last()
    with by("ann"):
        entity = engine.save(Draft(kind=Kind.ENTITY, title="Ann", body="- one")).memory
        other = engine.save(Draft(kind=Kind.ENTITY, title="Cy", body="- one")).memory
    with by("ann", "codex"):
        engine.graph.relate([("Ann", "Cy", "knows")])
    with by("ann"), pytest.raises(Invalid, match="since: test by codex"):
        engine.trash.last()
    with by("eve"), pytest.raises(NotFound, match="nothing to undo"):
        engine.trash.last()
    with by("eve"), pytest.raises(NotFound, match="nothing to redo"):
        engine.trash.last_undo()
    assert engine.graph.relations([entity.id])
    assert engine.documents.get(other.uid)


def test_what_has_no_author_can_be_undone_as_before(engine: Engine) -> None:
    engine.store.user = ""
    with step("save"):
        engine.save(Draft(title="old", what="alpha"))
    engine.store.user = "bob"

    engine.trash.undo(engine.trash.last(), lambda _done, _total: None)

    assert list(engine.recent()) == []
    assert [one.user for one in engine.trash.recent()] == ["bob"]


@pytest.mark.parametrize("change", ["update", "supersede", "delete"])
def test_what_was_changed_since_is_not_undone(engine: Engine, change: str) -> None:
    with step("save"):
        mine = engine.save(Draft(title="mine", what="alpha")).memory
    with step(change, "codex"):
        if change == "update":
            engine.update(mine.id, why="since")
        elif change == "supersede":
            engine.save(Draft(title="newer", what="beta"), supersedes=mine.id)
        else:
            engine.delete(mine.id)
    before = [*engine.maintenance.exported()]

    with pytest.raises(Invalid, match=f"memory {mine.short_id} was (changed|deleted) since"):
        engine.trash.last()

    assert [*engine.maintenance.exported()] == before


@pytest.mark.parametrize("size", [3, AT_ONCE + 3])
def test_what_was_changed_since_an_undo_was_planned_keeps_all_of_the_step(engine: Engine, size: int) -> None:
    """Also where the step takes several transactions, of which the first would have gone well: last is taken back first."""
    with step("import"):
        first, *_ = engine.save_all([Draft(title=f"note {number}", what="alpha") for number in range(size)])
    plan = engine.trash.last()
    engine.update(first.memory.id, why="since")

    with pytest.raises(Invalid, match=f"memory {first.memory.short_id} was changed since"):
        engine.trash.undo(plan, lambda _done, _total: None)

    assert engine.store.counts().memories == plan.removed == size


def test_the_same_may_be_saved_anew_and_then_stands_in_the_way(engine: Engine) -> None:
    draft = Draft(title="one", what="alpha")
    first = engine.save(draft).memory
    engine.delete(first.id)
    again = engine.save(draft)
    assert not again.known

    with pytest.raises(Invalid, match=f"another memory that says the same exists by now: {again.memory.short_id}"):
        engine.trash.restore([first.uid])

    engine.delete(again.memory.id)
    (back,), _ = engine.trash.restore([first.uid])
    assert (back.id, back.uid) == (first.id, first.uid)


def test_a_restored_memory_is_no_longer_to_be_undone(engine: Engine) -> None:
    with step("save"):
        one = engine.save(Draft(title="one", what="alpha")).memory
    with step("delete"):
        engine.delete(one.id)
    engine.trash.restore([one.id])

    assert engine.trash.last().removed == 1  # the save: that it was deleted is taken back already


def test_what_is_over_is_not_had_back_and_goes_with_later_changes(engine: Engine) -> None:
    with step("save"):
        kept = [engine.save(Draft(title=f"{n}", what=f"alpha {n}")).memory for n in range(2)]
    with step("delete"):
        engine.delete(kept[0].id)
    engine.moments.append(START + timedelta(days=30) - timedelta(seconds=1))  # type: ignore[attr-defined]
    assert len(engine.trash.recent()) == 1
    engine.moments.append(START + timedelta(days=30))  # type: ignore[attr-defined]

    assert engine.trash.recent() == []
    with pytest.raises(NotFound, match="in the trash"):
        engine.trash.restore([kept[0].uid])
    with pytest.raises(NotFound, match="is no longer in the trash"):
        engine.trash.last()
    assert engine.store.counts().trashed == 1
    engine.update(kept[1].id, why="later")
    assert engine.store.counts().trashed == 0


def test_what_is_over_takes_along_neither_a_later_deletion_nor_the_journal_of_what_is_back(engine: Engine) -> None:
    one, other = (engine.save(Draft(title=title, what=f"alpha {title}")).memory for title in ("one", "other"))
    both = [parsed(json.dumps(lines.memory_line(found)), place="") for found in engine.maintenance.exported()]
    for memory in (one, other):
        with step("delete"):
            engine.delete(memory.uid)
    engine.maintenance.restore(both)
    engine.moments.append(START + timedelta(days=20))  # type: ignore[attr-defined]
    with step("delete"):
        engine.delete(one.uid)
    with step("pin"):
        engine.documents.pin([other.uid])
    engine.moments.append(START + timedelta(days=31))  # type: ignore[attr-defined]

    engine.save(Draft(title="later", what="alpha later"))

    assert [found.deleted_at for found in engine.store.trash.page(9)] == [START + timedelta(days=20)]
    assert [(found.done, found.title) for found in engine.trash.last().named] == [("changed", "other")]
    assert [(found.done, found.title) for found in engine.trash.last(one.uid).named] == [("restored", "one")]


def test_the_file_is_written_anew_only_where_something_was_removed_for_good(shell: Shell) -> None:
    forever = replace(shell, settings={"MEMORY_TRASH_DAYS": "0"})
    id = saved(shell, "one")

    def written() -> int:
        """How often, at least: `vacuum` changes this number."""
        with closing(sqlite3.connect(shell.home / "memory.db")) as db:
            return db.execute("pragma schema_version").fetchone()[0]

    before = written()
    forever("cleanup", "--days", "0", "--delete")
    assert written() == before
    forever("delete", id)
    assert written() > before


def test_what_clears_and_cleans_up_deletes_to_the_trash(engine: Engine) -> None:
    where = {"session_id": "s", "session_iter": 1, "agent_id": "a"}
    engine.save(Draft(kind=Kind.REPORT, title="report", body="alpha", **where))
    engine.save(Draft(kind=Kind.DISCOVERY, body="beta", query_id="r", agent_id="a"))
    engine.moments.append(START + timedelta(days=9))  # type: ignore[attr-defined]

    assert engine.cleanup(1, dry_run=False).memories == 1
    assert engine.runs.clear("r").memories == 1

    assert sorted(one.draft.kind for one in engine.trash.recent()) == [Kind.DISCOVERY, Kind.REPORT]
    assert engine.store.counts().memories == 0


def test_an_export_has_the_trash_only_if_asked(shell: Shell, tmp_path: Path) -> None:
    id = saved(shell, "zeppelin", "--why", "password: hunter2swordfish")
    shell("delete", id)
    assert shell("export").out == ""
    shell("export", "--trash", "-o", str(tmp_path / "all.jsonl"))
    other = Shell(tmp_path / "other", tmp_path)

    said = other("import", str(tmp_path / "all.jsonl"))

    assert "1 memory in the trash" in said.err
    assert other("list", "--json").json["memories"] == []
    other("import", str(tmp_path / "all.jsonl"))
    assert len(other("trash", "--json").json["memories"]) == 1
    other("trash", "restore", id)
    assert exported(other)[0]["uid"] == id


def test_an_agent_deletes_to_the_trash_and_a_secret_for_good(shell: Shell) -> None:
    ids = [saved(shell, name) for name in ("zeppelin", "quokka")]
    with Agent(shell, "legacy") as agent:
        first = agent.said("memory_delete", id=ids[0])
        second = agent.said("memory_delete", id=ids[1], purge=True)

    assert first.startswith("Deleted: ")
    assert "The user can restore it for 30 days." in first
    assert second.startswith("Deleted for good")
    assert [one["title"] for one in shell("trash", "--json").json["memories"]] == ["zeppelin"]
    assert "nothing to undo" not in shell("undo", ids[0]).err
    assert shell("undo", ids[1], code=1).err
