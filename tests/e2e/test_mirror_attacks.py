"""What people, editors, other programs and other machines do to the folder of a mirror loses nothing that was written."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from secrets_made import made

from memory import Config, Draft, Engine
from memory.carry.mirror_folder import check_place
from memory.config.settings import EmbeddingSettings
from memory.engine.mirror_sides import MirrorAction
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.engine.mirror import Mirror
    from memory.schema.memory import Memory

SECRET = made("stripe-key  ⟨sk_live_{a24}⟩", random.Random(1)).secret


class Desk(NamedTuple):
    """A store and its folder."""

    engine: Engine
    folder: Path
    mirror: Mirror

    def look(self, mirror: Mirror | None = None) -> list[str]:
        """What looks do until nothing changes any more, a line each; pages that stay as they are with their reason."""
        mirror, found = mirror or self.mirror, []
        for _ in range(6):
            steps = list(mirror.look())
            found += [
                f"{one.done} {one.path}" if isinstance(one, MirrorAction) else f"{one.path}: {one.error}"
                for one in steps
            ]
            if not any(isinstance(one, MirrorAction) for one in steps) and not mirror.again:
                return list(dict.fromkeys(found))
        raise AssertionError(found)

    def save(self, title: str, body: str = "", **more: object) -> Memory:
        return self.engine.save(Draft(title=title, what=f"what of {title}", body=body, **more)).memory

    def body(self, uid: str) -> str:
        return self.engine.documents.details(uid).body

    def said(self) -> str:
        """All that the memories say."""
        found = [self.engine.documents.details(one.uid) for one in self.engine.recent(limit=1000)]
        return "\n".join(f"{one.memory} {one.body}" for one in found)

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def change(self, name: str, old: str, new: str) -> None:
        path = self.folder / name
        text = path.read_bytes().decode()
        assert old in text, text
        path.write_bytes(text.replace(old, new).encode())


def opened(home: Path) -> Engine:
    return Engine.open(Config(home=str(home), embedding=EmbeddingSettings(provider="none")), lasting=False)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    folder = tmp_path / "pages"
    folder.mkdir()
    with opened(tmp_path / "home") as engine:
        yield Desk(engine, folder, engine.mirror(folder))


# Projects ---------------------------------------------------------------------


def test_a_page_that_gets_another_project_keeps_its_memory(desk: Desk) -> None:
    saved = desk.save("One", "text", project="api")
    api = desk.engine.mirror(desk.folder, "api")
    desk.look(api)
    desk.change("api/One.md", 'project: "api"', 'project: "web"')

    desk.look(api)

    assert desk.engine.documents.get(saved.uid).project == "web"
    assert [path.name for path in desk.folder.rglob("*.md")] == ["One.md"]
    assert desk.look(api) == []


def test_a_memory_that_goes_to_another_project_takes_its_page_along(desk: Desk) -> None:
    saved = desk.save("One", "text", project="api")
    api = desk.engine.mirror(desk.folder, "api")
    desk.look(api)
    desk.engine.update(saved.uid, project="web")

    assert desk.look(api) == ["moved web/One.md"]
    assert desk.look(api) == []


def test_an_edit_outlives_a_memory_that_goes_to_another_project(desk: Desk) -> None:
    saved = desk.save("One", "text", project="api")
    api = desk.engine.mirror(desk.folder, "api")
    desk.look(api)
    desk.engine.update(saved.uid, project="web")
    desk.change("api/One.md", "text", "edited")

    desk.look(api)

    assert desk.body(saved.uid) == "edited"
    assert desk.engine.documents.get(saved.uid).project == "web"


def test_a_look_at_one_project_leaves_the_others_alone(desk: Desk) -> None:
    saved = [desk.save(name, "text", project=name) for name in ("api", "web")]
    desk.look()
    desk.change("web/web.md", "uid:", "mine: 1\nuid:")
    (desk.folder / "web/web.md").rename(desk.folder / "web/moved.md")

    assert desk.look(desk.engine.mirror(desk.folder, "api")) == []
    assert "mine: 1" in (desk.folder / "web/moved.md").read_text()
    assert len(desk.engine.recent()) == len(saved)


# What stands in a page --------------------------------------------------------


def test_lines_of_ones_own_have_no_secret(desk: Desk) -> None:
    desk.save("One", "text")
    desk.look()
    desk.change("One.md", "uid:", f"token: {SECRET}\nuid:")
    desk.write("new.md", f"---\ntoken: {SECRET}\n---\ntext")

    desk.look()

    assert not [path for path in desk.folder.rglob("*.md") if SECRET in path.read_text()]
    assert "token: " in (desk.folder / "One.md").read_text()
    assert "token: " in (desk.folder / "new.md").read_text()
    assert desk.look() == []


def test_no_file_has_a_secret_for_its_name(desk: Desk) -> None:
    desk.write(f"{SECRET}.md", "text")
    desk.write(f"{SECRET}/a.md", "words")

    desk.look()

    assert not [path for path in desk.folder.rglob("*") if SECRET in path.name]
    assert SECRET not in desk.said()
    assert len(list(desk.folder.rglob("*.md"))) == 2
    assert desk.look() == []


def test_a_second_page_of_an_entity_is_named_and_stays(desk: Desk) -> None:
    moments = "".join(f"{name}: 2026-01-01T00:00:00Z\n" for name in ("created_at", "updated_at"))
    text = f"---\nuid: {'a' * 32}\nkind: entity\ntitle: Redis\n{moments}---\n- holds tokens"
    desk.write("a.md", text)
    desk.write("b.md", text.replace("a" * 32, "b" * 32).replace("Redis", "'Redis '").replace("holds", "has"))

    first = desk.look()
    second = desk.look()

    assert [one for one in first if one.startswith("b.md: ")]
    assert [one for one in second if one.startswith("b.md: ")] == second
    assert "has tokens" in (desk.folder / "b.md").read_text()


@pytest.mark.parametrize(
    "line",
    [
        "status: gone",
        f"session_iter: {'9' * 5000}",
        f"metadata: {'[' * 100_000}",
        'why: "\\ud800"',
        'why: "\\u0000"',
        "why: x\nwhy: y",
        "about: [[[a]]]",
        'about: ["[[Nowhere]]"]',
        'relations: ["uses [[One]]"]',
        'about: ["[[Two]]"]',
        "why: <redacted>a</redacted> <redacted>b",
    ],
)
def test_one_bad_page_stays_and_stops_no_other(desk: Desk, line: str) -> None:
    saved = desk.save("One", "text")
    desk.save("Two", "text")
    desk.look()
    desk.change("One.md", "uid:", f"{line}\nuid:")
    text = (desk.folder / "One.md").read_text()
    desk.write("new.md", f'---\nuid: "{"a" * 32}"\nkind: note\ntitle: new\n{line}\n---\ntext')
    desk.write("other.md", "# Other\n\ntext")

    found = desk.look()

    assert "saved other.md" in found
    assert any(one.startswith("One.md: ") for one in found), found
    assert (desk.folder / "One.md").read_text() == text
    assert desk.body(saved.uid) == "text"
    assert "'Two'" in desk.said()


def test_a_page_without_front_matter_keeps_its_links(desk: Desk) -> None:
    saved = desk.save("One", "text")
    gateway = desk.engine.save(Draft(kind="entity", title="Gateway", body="- checks")).memory
    desk.engine.graph.attach("Gateway", [saved.uid])
    desk.look()
    desk.write("One.md", "edited")

    desk.look()

    assert desk.body(saved.uid) == "edited"
    assert [one.entity for one in desk.engine.graph.attached(memories=[saved.id])] == [gateway.id]


@pytest.mark.parametrize("mark", ["\ufeff", ""])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
def test_marks_and_line_ends_of_windows(desk: Desk, mark: str, end: str) -> None:
    desk.write("a.md", f"{mark}# A title{end}{end}text{end}")

    desk.look()

    [memory] = desk.engine.recent()
    assert memory.title == "A title"
    assert desk.body(memory.uid) == f"# A title{end}{end}text{end}"
    data = (desk.folder / "a.md").read_bytes()
    assert "\ufeff".encode() not in data[3:]
    assert data.count(b"\r\n") == (data.count(b"\n") if end == "\r\n" else 0)


def test_line_ends_alone_are_no_change(desk: Desk) -> None:
    saved = desk.save("One", "one\ntwo\n")
    desk.look()
    path = desk.folder / "One.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))

    assert desk.look() == []
    assert desk.body(saved.uid) == "one\ntwo\n"
    desk.engine.update(saved.uid, body="one\ntwo\nthree\n")
    assert desk.look() == ["written One.md"]
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    desk.engine.delete(saved.uid)
    assert desk.look() == ["removed One.md"]


def test_an_empty_file_says_nothing(desk: Desk) -> None:
    saved = desk.save("One", "text")
    desk.look()
    desk.write("One.md", "")
    desk.write("Untitled.md", "")

    found = desk.look()

    assert [one for one in found if "Untitled" in one] == []
    assert desk.body(saved.uid) == "text"


def test_text_about_conflicts_of_git_is_text(desk: Desk) -> None:
    body = "git writes\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> branch\n"
    saved = desk.save("One", body)
    desk.look()
    desk.change("One.md", "git writes", "git leaves")

    desk.look()

    assert desk.body(saved.uid) == body.replace("writes", "leaves")
    assert len(desk.engine.recent()) == 1


def test_a_flag_is_taken_away(desk: Desk) -> None:
    saved = desk.save("One", "text", keyword_only=True)
    desk.look()
    desk.change("One.md", "keyword_only: true\n", "")
    desk.look()
    assert not desk.engine.documents.get(saved.uid).keyword_only


# Both sides -------------------------------------------------------------------


def test_an_entity_that_both_changed_has_what_both_say(desk: Desk) -> None:
    desk.engine.save(Draft(kind="entity", title="Gateway", body="- checks"))
    desk.look()
    desk.engine.graph.observe("Gateway", ["from the store"])
    desk.change("Gateway.md", "- checks", "- checks\n- from the page")

    desk.look()

    said = desk.said()
    assert "from the store" in said
    assert "from the page" in said
    shown = "".join(path.read_text() for path in desk.folder.rglob("*.md"))
    assert "from the store" in shown
    assert "from the page" in shown


def test_what_both_changed_of_the_one_of_its_kind_is_kept_as_a_document(desk: Desk) -> None:
    run = {"agent_id": "a", "query_id": "q", "session_id": "s"}
    saved = desk.engine.save(Draft(kind="feedback", body="text", **run)).memory
    desk.look()
    desk.engine.update(saved.uid, body="of the store")
    desk.change("text.md", "\n---\ntext", "\n---\nof the page")

    assert not [one for one in desk.look() if ": " in one]
    assert desk.body(saved.uid) == "of the store"
    assert "of the page" in desk.said()


def test_own_lines_of_a_conflict_stay(desk: Desk) -> None:
    saved = desk.save("One", "text\n")
    desk.look()
    (desk.folder / ".git").mkdir()
    text = (desk.folder / "One.md").read_text()
    mine, yours = (text.replace("---\n", f"---\n{word}: 1\n", 1).replace("text", word) for word in ("mine", "yours"))
    desk.write("One.md", f"<<<<<<< HEAD\n{mine}=======\n{yours}>>>>>>> other\n")

    desk.look()

    shown = "".join(path.read_text() for path in desk.folder.rglob("*.md"))
    assert "mine: 1" in shown
    assert "yours: 1" in shown
    assert "<<<<" not in shown
    assert saved.uid in shown


def test_a_conflict_that_is_met_again_comes_to_an_end(desk: Desk) -> None:
    saved = desk.save("One", "text")
    desk.look()
    state = (desk.folder / ".memory").rglob("*.json")
    former = {path: path.read_bytes() for path in state}
    desk.engine.update(saved.uid, body="of the store")
    desk.change("One.md", "text", "of the page")
    edited = (desk.folder / "One.md").read_bytes()
    desk.look()
    desk.write("One.md", edited)  # as if it had been killed before it wrote the page
    for path, data in former.items():
        path.write_bytes(data)

    desk.look(desk.engine.mirror(desk.folder))

    assert len(desk.engine.recent()) == 2
    assert "of the page" in desk.said()
    assert "of the store" in desk.said()


def test_a_link_to_what_was_renamed_is_followed(desk: Desk) -> None:
    saved = desk.save("One", "text")
    for name in ("Redis", "Gateway"):
        desk.engine.save(Draft(kind="entity", title=name, body="- is"))
    desk.engine.graph.attach("Redis", [saved.uid])
    desk.look()
    (desk.folder / "Redis.md").rename(desk.folder / "C# [cache].md")
    desk.change("One.md", '"[[Redis]]"', '"[[Redis]]", "[[Gateway]]"')

    desk.look()
    desk.change("One.md", "text", "edited")
    desk.look()

    assert desk.body(saved.uid) == "edited"
    assert len(desk.engine.graph.attached(memories=[saved.id])) == 2


def test_two_entities_of_one_name_become_one_on_every_machine(desk: Desk, tmp_path: Path) -> None:
    desk.engine.save(Draft(kind="entity", title="Redis", body="- of the first"))
    with opened(tmp_path / "other") as engine:
        engine.save(Draft(kind="entity", title="Redis", body="- of the second"))
        (tmp_path / "clone").mkdir()
        other = Desk(engine, tmp_path / "clone", engine.mirror(tmp_path / "clone"))
        desk.look()
        other.look()
        (desk.folder / ".git").mkdir()
        (desk.folder / ".git/MERGE_HEAD").touch()
        first, second = ((one.folder / "Redis.md").read_text() for one in (desk, other))
        desk.write("Redis.md", f"<<<<<<< HEAD\n{first}\n=======\n{second}\n>>>>>>> other\n")
        desk.look()
        assert "of the first" in desk.said()
        assert "of the second" in desk.said()
        assert "<<<<" not in (desk.folder / "Redis.md").read_text()
        before = (desk.folder / "Redis.md").read_bytes()
        shutil.copy(desk.folder / "Redis.md", other.folder / "Redis.md")
        assert other.look() == ["updated Redis.md"]
        assert other.look() == []
        assert (other.folder / "Redis.md").read_bytes() == before
        other.change("Redis.md", "of the first", "edited")
        other.look()
        assert "edited" in other.said()
        assert "edited" in (other.folder / "Redis.md").read_text()


# Files ------------------------------------------------------------------------


def test_a_file_is_no_page_for_its_name_alone(desk: Desk) -> None:
    desk.save("One", "text")
    desk.look()
    os.mkfifo(desk.folder / "pipe.md")
    desk.write(os.fsdecode(b"caf\xe9.md"), "text")
    for name in ("One.md~", ".One.md.swp", "One.md.tmp", "#One.md#", "4913", ".One.md.icloud.tmp"):
        desk.write(name, "text")
    desk.write("other.md", "# Other\n\ntext")

    found = desk.look()

    assert "saved other.md" in found
    assert len(desk.engine.recent()) == 2
    assert desk.look(desk.engine.mirror(desk.folder)) == [one for one in found if ": " in one]


def test_what_stands_in_the_way_is_named(desk: Desk) -> None:
    (desk.folder / "One.md").mkdir()
    (desk.folder / "Two.md").symlink_to("nowhere")
    desk.save("One", "text")
    desk.save("Two", "text")

    desk.look()

    assert len([path for path in desk.folder.rglob("*.md") if path.is_file()]) == 2


def test_a_page_that_is_away_for_a_moment_is_not_deleted(desk: Desk) -> None:
    saved = [desk.save(name, "text") for name in ("One", "Two")]
    desk.look()
    text = (desk.folder / "One.md").read_text()
    (desk.folder / "One.md").unlink()
    assert not list(desk.mirror.look())
    desk.write("One.md", text)

    assert desk.look() == []
    assert {one.id for one in desk.engine.recent()} == {one.id for one in saved}


def test_a_page_in_the_cloud_is_not_deleted(desk: Desk) -> None:
    saved = [desk.save(name, "text") for name in ("One", "Two")]
    desk.look()
    (desk.folder / "One.md").rename(desk.folder / ".One.md.icloud")

    desk.look()

    assert len(desk.engine.recent()) == len(saved)


def test_a_folder_that_cannot_be_read_deletes_nothing(desk: Desk) -> None:
    saved = [desk.save(name, "text", project=name) for name in ("api", "web")]
    desk.look()
    (desk.folder / "api").chmod(0)
    try:
        if os.access(desk.folder / "api", os.R_OK):
            pytest.skip("nothing is closed to this user")
        found = desk.look()
    finally:
        (desk.folder / "api").chmod(0o700)

    assert found == ["api/: it cannot be read: Permission denied"]
    assert len(desk.engine.recent()) == len(saved)
    assert desk.look() == []


def test_a_page_that_was_moved_and_broken_keeps_its_memory(desk: Desk) -> None:
    saved = [desk.save(name, "text") for name in ("One", "Two")]
    desk.look()
    desk.change("One.md", "what:", "tags: [\nwhat:")
    (desk.folder / "One.md").rename(desk.folder / "moved.md")

    desk.look()

    assert len(desk.engine.recent()) == len(saved)


def test_a_copy_that_another_program_made_is_kept(desk: Desk) -> None:
    saved = desk.save("One", "text")
    desk.look()
    for name in ("One (1).md", "One (conflicted copy 2026-11-23).md"):
        shutil.copy(desk.folder / "One.md", desk.folder / name)
        desk.change(name, "text", f"text of {name}")
    desk.change("One.md", "text", "edited")

    desk.look()

    assert desk.body(saved.uid) == "edited"
    assert "text of One (1).md" in desk.said()
    assert "text of One (conflicted" in desk.said()


def test_two_machines_with_one_folder_agree(desk: Desk, tmp_path: Path) -> None:
    """As with a service that keeps the same files on both, the state of each among them."""
    saved = desk.save("One", "text")
    desk.look()
    with opened(tmp_path / "other") as engine:
        other = Desk(engine, desk.folder, engine.mirror(desk.folder))
        other.look()
        for one, two, word in ((desk, other, "first"), (other, desk, "second")):
            one.engine.update(saved.uid, body=word)
            one.look()
            two.look()
            assert two.body(saved.uid) == word
        (desk.folder / "One.md").write_text((desk.folder / "One.md").read_text() + "third")
        desk.save("Two")
        for one in (desk, other, desk, other):
            one.look()
        assert {len(one.engine.recent()) for one in (desk, other)} == {2}
        other.engine.delete(saved.uid)
        for one in (other, desk):
            one.look()
        assert {len(one.engine.recent()) for one in (desk, other)} == {1}


@pytest.mark.parametrize("later", [0, 1, 3])
def test_a_store_from_a_backup_takes_nothing_for_deleted(desk: Desk, tmp_path: Path, later: int) -> None:
    desk.save("Old", "text")
    desk.look()
    path = Path(desk.engine.store.path)
    backup = tmp_path / "backup.db"
    with closing(sqlite3.connect(path)) as store:
        store.execute("vacuum into ?", (str(backup),))
    saved = desk.save("New", "text")
    desk.look()
    desk.engine.close()
    path.write_bytes(backup.read_bytes())  # the inode stays
    for suffix in ("-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)

    with opened(tmp_path / "home") as engine:
        again = Desk(engine, desk.folder, engine.mirror(desk.folder))
        for number in range(later):  # their ids are those of what is no longer there
            again.save(f"Later {number}", "text")
        found = again.look()

        assert "removed New.md" not in found
        assert engine.documents.get(saved.uid).title == "New"


def test_a_store_that_changes_while_it_is_listed_loses_no_page(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memory that another process updates between two pages of a list is on neither."""
    from memory.store import export

    monkeypatch.setattr(export.pages, "__defaults__", (2,))
    saved = [desk.save(f"M{number}", "text") for number in range(6)]
    desk.look()
    desk.change("M0.md", "uid:", "mine: 1\nuid:")
    desk.look()
    recent, read = desk.engine.documents.recent, []

    with opened(tmp_path / "home") as another:

        def meanwhile(*arguments: object, **more: object) -> object:
            read.append(recent(*arguments, **more))
            if len(read) == 1:
                another.update(saved[0].uid, body="meanwhile")
            return read[-1]

        monkeypatch.setattr(desk.engine.documents, "recent", meanwhile)
        assert "removed M0.md" not in desk.look()
        desk.look()

    assert "mine: 1" in (desk.folder / "M0.md").read_text()
    assert "meanwhile" in (desk.folder / "M0.md").read_text()


# Folders of others --------------------------------------------------------


def test_no_mirror_is_made_of_a_root_nor_of_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))

    for path in (Path(tmp_path.anchor), tmp_path.resolve()):
        with pytest.raises(Invalid, match="is not made a mirror"):
            check_place(path)
    check_place(tmp_path.resolve() / "notes")


def test_no_mirror_is_made_inside_a_mirror(desk: Desk) -> None:
    desk.save("one")
    desk.look()
    inner = desk.folder / "inner" / "deep"
    inner.mkdir(parents=True)

    with pytest.raises(Invalid, match=r"is in .* which is a mirror"):
        list(desk.engine.mirror(inner).look())
    assert not [*inner.iterdir()]


def test_a_mirror_inside_the_folder_is_named_and_its_pages_stay(desk: Desk) -> None:
    desk.write("inner/one.md", "Words of one.")
    desk.look()
    shutil.copytree(desk.folder / ".memory", desk.folder / "inner" / ".memory")
    desk.write("inner/two.md", "Words of two.")

    assert desk.look() == ["inner/: it is a mirror of its own"]
    assert [one.title for one in desk.engine.recent()] == ["one"]


def test_echovaults_folder_around_it_is_no_mirror(desk: Desk) -> None:
    (desk.folder.parent / ".memory" / "vault").mkdir(parents=True)
    (desk.folder.parent / ".memory" / "index.db").write_bytes(b"")

    desk.save("one")

    assert desk.look() == ["written one.md"]
