"""When something happened and until when it holds, from one end of the program to the other: said, carried, changed."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from agent import Agent
from command import Shell
from page import serving, shell as served

from memory.schema.errors import iso

if TYPE_CHECKING:
    from pathlib import Path

ENDED = ("--at", "2024-05-04", "--until", "2024-12-31")


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    return Shell(tmp_path / "home", folder, {"MEMORY_EMBEDDING_PROVIDER": "none"})


def moments(memory: dict) -> tuple[str | None, str | None]:
    return memory["happened_at"], memory["valid_until"]


def midnight(year: int, month: int, day: int) -> str:
    return iso(datetime(year, month, day).astimezone())  # local time is meant


SAID = (midnight(2024, 5, 4), midnight(2025, 1, 1))
"""What `ENDED` says, in UTC."""

LATER = midnight(2999, 2, 1)


def test_every_face_says_when_it_happened_and_that_it_has_ended(shell: Shell) -> None:
    saved = shell("save", "Code freeze", "--what", "no deploys", *ENDED, "--json").json["memory"]
    assert moments(saved) == SAID

    found = shell("search", "freeze")
    assert "Code freeze (ended 2024-12-31)  note · work · 2024-05-04  " in found.out
    assert moments(shell("search", "freeze", "--json").json["hits"][0]) == SAID
    assert "(ended 2024-12-31)" in shell("list").out
    details = shell("details", saved["id"]).out
    assert "(ended 2024-12-31)" in details
    assert "Happened: 2024-05-04 00:00" in details
    assert " · 2024-05-04 · no longer holds: ended 2024-12-31]" in shell("context").out


def test_what_holds_until_a_day_says_so(shell: Shell) -> None:
    shell("save", "Trial", "--what", "of the search service", "--until", "2999-01-31")

    assert "Trial (until 2999-01-31)  note · work · today  " in shell("search", "trial").out
    assert ", today · holds until 2999-01-31] Trial" in shell("context").out


def test_it_is_corrected_cleared_and_refused(shell: Shell) -> None:
    id = shell("save", "Code freeze", *ENDED, "--json").json["memory"]["id"]

    shell("update", id, "--until", "2999-01-31", "--at", "")
    changed = shell("details", id, "--json").json["memory"]
    assert moments(changed) == (None, LATER)
    assert "It had happened 2024-05-04 00:00; It held until 2025-01-01 00:00" in shell("details", id).out
    shell("undo")
    assert moments(shell("details", id, "--json").json["memory"]) == SAID

    error = shell("update", id, "--until", "never", "--json", code=2).error
    assert error["message"] == "'never' is neither a date nor an age"
    assert "2026-03-01" in error["hint"]
    assert "is not after" in shell("save", "x", "--at", "2026-03-14", "--until", "2026-03-01", code=2).err


def test_an_agent_says_it_and_reads_it(shell: Shell) -> None:
    with Agent(shell, "legacy") as agent:
        agent.call("memory_save", title="Code freeze", what="no deploys", happened_at="2024-05-04", until="2024-12-31")
        found = agent.call("memory_search", query="freeze")
        context = agent.call("memory_context")
        id = found["hits"][0]["id"]
        assert moments(found["hits"][0]) == moments(context["memories"][0]) == SAID
        agent.call("memory_update", id=id, valid_until="")
        assert moments(agent.call("memory_details", id=id)["memory"]) == (SAID[0], None)


def test_an_export_and_its_import_carry_both(shell: Shell, tmp_path: Path) -> None:
    id = shell("save", "Code freeze", *ENDED, "--json").json["memory"]["id"]
    shell("save", "plain")
    shell("update", id, "--at", "2024-06-01")
    line, plain = sorted(shell("export").out.splitlines(), key=lambda text: "happened_at" not in text)
    assert moments(json.loads(line)) == (midnight(2024, 6, 1), SAID[1])
    assert "valid_until" not in plain

    other = Shell(tmp_path / "other", shell.folder, shell.settings)
    other("import", "-", stdin=f"{line}\n{plain}\n")
    assert other("export").out == shell("export").out
    assert moments(other("details", id, "--json").json["history"][0]["memory"]) == SAID


def test_a_line_of_somebody_says_it_as_people_do(shell: Shell) -> None:
    line = {"title": "Code freeze", "happened_at": "2024-05-04", "valid_until": "2024-12-31"}
    shell("import", "-", stdin=json.dumps(line))

    assert moments(shell("list", "--json").json["memories"][0]) == SAID
    wrong = shell("import", "-", stdin=json.dumps(line | {"title": "b", "valid_until": "soon"}), code=2)
    assert "'soon' is neither a date nor an age" in wrong.err


def test_a_file_and_another_program_say_it_in_their_words(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "freeze.md"
    file.write_text("---\nhappened: 2024-05-04T10:00:00Z\nexpires: 2024-12-31\n---\n# Code freeze\n\nNo deploys.\n")
    row = {"id": "1", "memory": "Trial of the search service", "expiration_date": "2024-12-31"}
    (tmp_path / "mem0.json").write_text(json.dumps({"results": [row]}))
    said = "2024-05-04T10:00:00.000000Z", "2025-01-01T00:00:00.000000Z"

    shell("import", file)
    shell("import", tmp_path / "mem0.json")

    known = {one["title"]: moments(one) for one in shell("list", "--json").json["memories"]}
    assert known == {"Code freeze": said, "Trial of the search service": (None, said[1])}
    file.write_text(file.read_text().replace("2024-12-31", "2999-12-31"))
    shell("import", file)
    assert shell("search", "freeze", "--json").json["hits"][0]["valid_until"].startswith("3000-01-01")


def test_a_page_of_the_mirror_has_both_and_gives_them_back(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    id = shell("save", "Code freeze", "--what", "no deploys", *ENDED, "--json").json["memory"]["id"]
    shell("mirror", folder)
    [page] = folder.rglob("*.md")
    text = page.read_text()
    assert f'happened_at: "{SAID[0]}"\nvalid_until: "{SAID[1]}"\n' in text

    page.write_text(text.replace(f'valid_until: "{SAID[1]}"', "valid_until: 2999-01-31"))
    shell("mirror", folder)
    shell("mirror", folder)
    assert moments(shell("details", id, "--json").json["memory"]) == (SAID[0], LATER)
    page.write_text(page.read_text().replace(f'happened_at: "{SAID[0]}"\n', ""))
    shell("mirror", folder)
    assert moments(shell("details", id, "--json").json["memory"]) == (None, LATER)


def test_a_page_that_somebody_else_wrote_has_both_in_its_own_words(shell: Shell, tmp_path: Path) -> None:
    page = tmp_path / "pages" / "freeze.md"
    page.parent.mkdir()
    page.write_text("---\nevent_date: 2024-05-04\nexpires: 2024-12-30\n---\n# Code freeze\n\nNo deploys.\n")
    shell("mirror", page.parent)

    def known() -> object:
        return moments(shell("list", "--json").json["memories"][0])

    assert known() == ("2024-05-04T00:00:00.000000Z", "2024-12-31T00:00:00.000000Z")
    page.write_text(page.read_text().replace("expires: 2024-12-30", "expires: 2025-12-30"))
    shell("mirror", page.parent)
    assert known() == ("2024-05-04T00:00:00.000000Z", "2025-12-31T00:00:00.000000Z")
    text = page.read_text()
    shell("mirror", page.parent)
    assert page.read_text() == text
    assert "event_date: 2024-05-04\nexpires: 2025-12-30\n" in text


def test_the_page_shows_both_and_changes_them(tmp_path: Path) -> None:
    with serving(served(tmp_path)) as ui:
        id = ui.shell("save", "Code freeze", *ENDED, "--json").json["memory"]["id"]

        shown = ui.get(f"/memory/{id}").words
        assert "ended 2024-12-31" in shown
        assert "happened 2024-05-04" in shown
        assert "ended 2024-12-31" in ui.get("/").words
        form = ui.get(f"/memory/{id}/edit").text
        assert 'name="at" value="2024-05-04"' in form
        assert 'name="until" value="2024-12-31"' in form
        seen = ui.shell("details", id, "--json").json["memory"]["updated_at"].replace("Z", "+00:00")
        ui.post(f"/memory/{id}/edit", title="Code freeze", until="2999-01-31", at="2024-05-04", project="", _seen=seen)
        changed = ui.shell("details", id, "--json").json["memory"]
        assert moments(changed) == (SAID[0], LATER)
        assert 'name="until" value=""' in ui.get(f"/memory/{id}/replace").text
