"""What people bring along, as the programs that they come from wrote it: tests/support/peers, by scripts/peer_files.py."""

from __future__ import annotations

import io
import json
import os
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import threading
import zipfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import pytest
from command import Shell
from secret_ways import left
from secrets_made import made

from faults import Held
from memory.carry.formats.claude_code import turns
from memory.carry.formats.conversation import MARGIN, WHAT
from memory.carry.formats.reading import _TOKEN
from memory.schema.errors import BODY_LIMIT, LINE_LIMIT, TITLE_LIMIT

if TYPE_CHECKING:
    from provider import Provider

PEERS = Path(__file__).resolve().parents[1] / "support" / "peers"
FILES = {
    "basic-memory": "basic-memory/harbour",
    "chatgpt": "documented/chatgpt/export.zip",
    "claude.ai": "documented/claude.ai",
    "claude-code": "claude-code",
    "echovault": "echovault",
    "vault": "echovault/vault/harbour",
    "mcp-memory-service": "mcp-memory-service/export.json",
    "mcp-memory-service database": "mcp-memory-service/sqlite_vec.db",
    "mem0": "mem0/export.json",
    "mem0 database": "mem0/history.db",
    "reference": "reference/memory.jsonl",
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "harbour" / ".git").mkdir(parents=True)
    return Shell(tmp_path / "home", tmp_path / "harbour")


@pytest.fixture(params=FILES)
def brought(request: pytest.FixtureRequest, shell: Shell) -> Path:
    return copied(shell, FILES[request.param])


def copied(shell: Shell, name: str) -> Path:
    """A copy of what a peer wrote, outside of any repository."""
    target = shell.folder.parent / "brought" / name
    target.parent.mkdir(parents=True, exist_ok=True)
    source = PEERS / name
    (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    return target


def exported(shell: Shell) -> dict[str, dict[str, Any]]:
    """What is kept, by title."""
    lines = [json.loads(line) for line in shell("export").out.splitlines()]
    return {_named(line): line for line in lines}


def _named(line: dict[str, Any]) -> str:
    return f"the entity {line['title']}" if line.get("kind") == "entity" else line.get("title") or line["schema"]


# Every format ------------------------------------------------------------


def test_what_every_program_wrote_is_kept_once(shell: Shell, brought: Path) -> None:
    first = shell("import", brought, "--json").json
    before = shell("export").out
    again = shell("import", brought, "--json").json

    assert first["kept"] > 0
    assert first["skipped"] == []
    assert (again["kept"], again["updated"], again["joined"]) == (0, 0, 0)
    assert again["known"] > 0
    assert shell("export").out == before


def test_a_dry_run_counts_what_an_import_keeps_and_opens_nothing(shell: Shell, brought: Path) -> None:
    said = shell("import", brought, "--dry-run", "--json").json
    assert not shell.home.exists()

    done = shell("import", brought, "--json").json

    spoken_of = sum(line.get("kind") == "entity" and not line["body"] for line in exported(shell).values())
    would = sum(row["memories"] for row in said["found"])
    assert done["kept"] - spoken_of <= would <= done["kept"] + done["known"]


SAID = {
    "basic-memory": "six minutes",
    "claude.ai": "high water",
    "claude-code": "the tide",
    "vault": "two seconds",
    "mcp-memory-service": "six minutes",
    "mem0": "five minutes",
    "reference": "six minutes",
}
"""Words of each text."""


@pytest.mark.parametrize("name", SAID)
def test_a_secret_in_what_is_brought_is_taken_out(shell: Shell, name: str) -> None:
    secret = "AKIA" + "QY3NFZ7J4KOEXAMP"
    brought = copied(shell, FILES[name])
    files = [brought] if brought.is_file() else [file for file in brought.rglob("*") if file.is_file()]
    for file in files:
        file.write_text(file.read_text().replace(SAID[name], secret))
    assert any(secret in file.read_text() for file in files)

    shell("import", brought)

    assert secret not in shell("export").out
    assert not any(secret.encode() in file.read_bytes() for file in shell.home.iterdir() if file.is_file())


# One by one --------------------------------------------------------------


def test_front_matter_is_fields_and_never_text(shell: Shell) -> None:
    text = (
        "---\ntitle: North pier\ntags: [place, Pier]\naliases: the mole\ncategory: site\ndate: 2025-02-03\n"
        "updated: 2025-03-04 10:00:00\nstatus: draft\n---\n# Another heading\n\nOf granite.\n"
    )
    (shell.folder / "pier.md").write_text(text)

    shell("import", "pier.md")

    note = exported(shell)["North pier"]
    assert note["tags"] == ["place", "Pier"]
    assert (note["category"], note["body"]) == ("general", "# Another heading\n\nOf granite.\n")
    assert (note["created_at"][:10], note["updated_at"][:19]) == ("2025-02-03", "2025-03-04T10:00:00")
    assert note["metadata"] == {
        "aliases": "the mole",
        "category": "site",
        "date": "2025-02-03",
        "updated": "2025-03-04 10:00:00",
        "status": "draft",
    }
    for word in ("mole", "site", "draft"):
        assert shell("search", word, "--json").json["hits"][0]["title"] == "North pier", word
    assert "status:" not in shell("search", "granite").out + shell("details", note["id"]).out.partition("metadata")[0]


def test_a_changed_tag_in_front_matter_is_added_and_one_of_the_users_stays(shell: Shell) -> None:
    (shell.folder / "pier.md").write_text("---\ntags: place\n---\n# Pier\n")
    shell("import", "pier.md")
    id = exported(shell)["Pier"]["id"]
    shell("update", id, "--tag", "mine", "--tag", "place")

    assert "0 updated, 1 already there" in shell("import", "pier.md").out
    (shell.folder / "pier.md").write_text("---\ntags: place, stone\n---\n# Pier\n")
    assert "1 updated" in shell("import", "pier.md").out

    assert set(exported(shell)["Pier"]["tags"]) == {"mine", "place", "stone"}


def test_what_is_no_yaml_is_read_line_by_line(shell: Shell) -> None:
    (shell.folder / "pier.md").write_text("---\ntitle: {{title}}\n\ttags: [a]\nwho knows\n---\n# Pier\n")

    shell("import", "pier.md")

    note = exported(shell)["{{title}}"]
    assert (note["body"], note["tags"], note["metadata"]) == ("# Pier\n", ["a"], {"front_matter": "who knows"})


def test_an_echovault_memory_is_a_note_with_all_that_it_had(shell: Shell) -> None:
    home = copied(shell, "echovault")

    ran = shell("import", home)

    notes = exported(shell)
    with sqlite3.connect(home / "index.db") as db:
        ids = dict(db.execute("select title, replace(id, '-', '') from memories").fetchall())
    assert {title: note["id"] for title, note in notes.items()} == ids
    note = notes["Readings carry a number"]
    assert (note["project"], note["category"], note["source"]) == ("harbour", "decision", "claude-code")
    assert (note["tags"], note["related_files"]) == (["tide", "radio"], ["src/gauge.py"])
    assert note["what"] == "Each tide reading has a sequence number"
    assert "### Options" in note["body"]
    assert notes["Charts are drawn at night"]["project"] == "charts"
    old = notes["Readings are sent hourly"]
    assert (old["status"], old["superseded_by"]) == ("superseded", note["id"])
    assert old["metadata"]["archive_reason"] == "the gauge was replaced"
    assert "found 1 EchoVault database, for notes of the projects they name" in ran.err


def test_a_vault_alone_says_the_same_but_for_what_it_does_not_have(shell: Shell) -> None:
    home = copied(shell, "echovault")
    shell("import", home / "index.db")
    known = exported(shell)
    other = Shell(shell.home.with_name("other"), shell.folder)
    (home / "index.db").unlink()

    other("import", home)

    found = exported(other)
    assert set(found) == set(known)
    for title, note in found.items():
        same = ("id", "title", "what", "why", "impact", "category", "project", "status", "superseded_by")
        assert {name: note[name] for name in same} == {name: known[title][name] for name in same}
        # Its vault loses what stands below a heading in the details, as soon as it writes the file anew.
        assert known[title]["body"].startswith(note["body"])


def test_a_note_of_basic_memory_is_a_document_and_what_it_states_is_the_graph(shell: Shell) -> None:
    shell("import", copied(shell, "basic-memory/harbour"))

    graph = [json.loads(line) for line in shell("graph", "export").out.splitlines()]
    things = {line["name"]: line for line in graph if line["type"] == "entity"}
    assert set(things) == {"Tide gauge", "Radio link", "Forecast"}
    assert things["Tide gauge"]["entityType"] == "device"
    assert things["Tide gauge"]["observations"] == [
        "[method] reads the level every six minutes #tide (since spring)",
        "[limit] needs a new battery each year",
    ]
    assert things["Radio link"]["observations"] == ["[fact] repeats what was not confirmed"]
    related = {(line["from"], line["relationType"], line["to"]) for line in graph if line["type"] == "relation"}
    assert related == {
        ("Tide gauge", "links_to", "Radio link"),
        ("Tide gauge", "feeds", "Forecast"),
        ("Tide gauge", "speaks over", "Radio link"),
    }
    notes = {line["uid"]: line["title"] for line in exported(shell).values() if line.get("kind") == "knowledge_base"}
    assert set(notes.values()) == {"Tide gauge", "Radio link", "North pier"}
    links = {(line["entity"], notes[line["memory"]]) for line in graph if line["type"] == "link"}
    assert links == {("Tide gauge", "Tide gauge"), ("Radio link", "Radio link")}


def test_a_session_of_claude_code_is_a_note_of_its_project(shell: Shell) -> None:
    shell("import", copied(shell, "claude-code"))

    (note,) = exported(shell).values()
    assert note["title"] == note["what"] == "Which column of levels.csv has the tide?"
    assert (note["project"], note["source"], note["kind"]) == ("harbour", "claude-code", "note")
    user, assistant = note["body"].split("## Assistant")
    assert user.startswith("## User · 2026-")
    assert "Which column of levels.csv has the tide?" in user
    assert assistant.partition("\n")[2].strip() == "done"
    assert "tool_use" not in note["body"]
    assert "2.4" not in note["body"]


def test_the_turns_of_a_transcript_are_read_with_their_places() -> None:
    content = (PEERS / "claude-code" / "session.jsonl").read_bytes() + b"{broken\n"

    user, assistant, broken = turns(io.BytesIO(content), "session.jsonl")

    assert (user.role, user.text) == ("user", "Which column of levels.csv has the tide?")
    assert (assistant.role, assistant.text) == ("assistant", "done")
    lines = content.splitlines()
    assert all(json.loads(lines[one.place - 1])["type"] == one.role for one in (user, assistant))
    assert user.time < assistant.time
    assert broken.notice.text.startswith(f"session.jsonl:{len(lines)}: not JSON")


def transcript(shell: Shell, *texts: str) -> Path:
    """A transcript in which a person said this."""
    path = shell.folder / "session.jsonl"
    lines = [
        {"type": "user", "sessionId": "s1", "cwd": str(shell.folder), "message": {"role": "user", "content": text}}
        for text in texts
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


@pytest.mark.parametrize("sizes", [(600, 600, 600), (1_800,)])
def test_a_session_that_is_longer_than_is_kept_is_cut_and_says_so(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]
) -> None:
    monkeypatch.setattr("memory.carry.formats.conversation.LONGEST", 1_000)
    path = transcript(shell, *("walrus " * (size // 7) for size in sizes))

    ran = shell("import", path, code=1)

    [note] = exported(shell).values()
    assert note["body"].count("walrus") in {142, 143}
    assert "claude-code s1: what follows 1,000 characters of a conversation is left out" in ran.err


def test_a_session_of_the_longest_length_is_whole(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.carry.formats.conversation.LONGEST", 700)

    assert "left out" not in shell("import", transcript(shell, "walrus " * 50, "walrus " * 50)).err


def long_export(folder: Path, program: str, text: str) -> Path:
    """What this program writes of a memory that says this, or is named so."""
    path = folder / "export.json"
    turn = {"type": "user", "sessionId": "s1", "message": {"role": "user", "content": text}}
    told = {"id": "1", "author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
    exports: dict[str, Any] = {
        "claude-code": turn,
        "codex": {"type": "event_msg", "payload": {"type": "user_message", "message": text}},
        "gemini-cli": {
            "sessionId": "s",
            "projectHash": "h",
            "messages": [{"id": "1", "type": "user", "content": text}],
        },
        "claude-mem": {"totalObservations": 1, "totalSummaries": 0, "observations": [{"title": text, "project": text}]},
        "claude.ai projects": [{"uuid": "p", "name": text, "docs": [{"filename": text, "content": text}]}],
        "chatgpt": [{"id": "c", "current_node": "1", "mapping": {"1": {"message": told}}}],
        "claude.ai": [{"uuid": "c", "name": text, "chat_messages": [{"sender": "human", "text": "Hello"}]}],
        "mem0": {"results": [{"id": "m", "memory": text, "categories": [text]}]},
        "mcp-memory-service": {
            "export_metadata": {},
            "memories": [{"content": text, "content_hash": "h", "tags": [text]}],
        },
        "reference": {"type": "entity", "name": text, "entityType": text, "observations": ["It is."]},
    }
    if program == "echovault":
        path = copied_database(folder, text)
    else:
        path = path.with_suffix(".jsonl" if program in {"claude-code", "codex", "reference"} else ".json")
        path.write_text(json.dumps(exports[program]) + "\n", "utf-8")
    return path


def copied_database(folder: Path, text: str) -> Path:
    path = folder / "index.db"
    shutil.copy(PEERS / "echovault" / "index.db", path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("update memories set title = ?, what = ?, why = ?, project = ?", (text, text, text, text))
    return path


@pytest.mark.parametrize(
    ("program", "size"),
    [
        *((program, TITLE_LIMIT) for program in ("chatgpt", "claude.ai", "mem0", "reference")),
        *((program, TITLE_LIMIT) for program in ("codex", "gemini-cli", "claude-mem", "claude.ai projects")),
        *(("claude-code", size) for size in (TITLE_LIMIT, WHAT, BODY_LIMIT - MARGIN)),
        *((program, size) for program in ("echovault", "mcp-memory-service") for size in (TITLE_LIMIT, LINE_LIMIT)),
    ],
)
def test_half_a_secret_is_not_kept_where_a_text_is_cut_off(shell: Shell, program: str, size: int) -> None:
    secret = made("any ⟨ghp_{a36}⟩", random.Random(size))
    text = f"{'walrus ' * (size // 7 - 4)}{secret.text}{' walrus' * 40}"

    ran = shell("import", long_export(shell.folder, program, text), code=None)

    assert "walrus" in shell("export").out, ran.err
    assert left(shell.home, [secret]) == []


def test_a_string_that_is_cut_off_is_one_token_however_many_quotes_are_in_it() -> None:
    r"""A transcript whose first line holds JSON: from each \" the end was looked for once more."""
    assert [one[0] for one in _TOKEN.finditer('{"type": "' + r"\"a\"" * 9 + "\\")][2:] == ['"' + r"\"a\"" * 9 + "\\"]


def test_what_is_kept_is_said_before_a_model_is_waited_for(shell: Shell, provider: Provider) -> None:
    go = threading.Event()
    provider.always(Held(go))
    server = {"PROVIDER": "ollama", "MODEL": "all-minilm", "BASE_URL": provider.url, "FILL": "eager"}
    shell.settings.update({f"MEMORY_EMBEDDING_{name}": value for name, value in server.items()})
    with shell.start("import", str(transcript(shell, "a walrus")), stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        provider.wait(1)
        assert select.select([running.stdout], [], [], 60)[0]
        assert running.stdout.readline() == b"found 1: 1 saved, 0 updated, 0 already there, 0 left out\n"
        go.set()
        assert running.wait(60) == 0
    assert shell("status", "--json").json["queued"] == 0


def test_progress_is_a_line_now_and_then_where_no_terminal_is(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    page = shell.folder / "page.md"
    page.write_text("# A page\n")
    quiet = shell("import", page).err
    monkeypatch.setattr("memory.cli.options.EVERY", 0.0)
    told = shell("import", transcript(shell, "a walrus"), "--json")
    page.write_text("# Another page\n")
    folder = shell("import", shell.folder).err

    assert "storing" not in quiet
    assert "embedding" not in quiet
    assert told.json["kept"] == 1
    assert told.err.index("memory: found 1: 1 saved, 0 updated, 0 already there, 0 left out\n") < told.err.index(
        "memory: embedding: 0 of 2\n"
    )
    assert "memory: storing: 0 of 2\n" in folder
    assert "memory: embedding: 0 of 1\n" in folder


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may look into every folder")
def test_a_folder_that_may_not_be_looked_into_is_named(shell: Shell) -> None:
    (shell.folder / "closed").mkdir(mode=0o000)
    (shell.folder / "fine.md").write_text("# Fine\n")

    ran = shell("import", ".", code=1)

    assert ran.out == "found 2: 1 saved, 0 updated, 0 already there, 1 left out\n"
    assert "closed: Permission denied" in ran.err


def test_a_file_without_an_ending_is_called_by_its_name(shell: Shell) -> None:
    (shell.folder / "LICENSE").write_text("Do what you like.\n")

    shell("import", "LICENSE")

    assert [note["title"] for note in exported(shell).values()] == ["LICENSE"]


def test_a_session_that_went_on_updates_its_note_and_a_title_is_taken(shell: Shell) -> None:
    folder = copied(shell, "claude-code")
    shell("import", folder)
    id = next(iter(exported(shell).values()))["id"]
    session = folder / "session.jsonl"
    more = json.loads(session.read_text().splitlines()[2])
    more |= {"timestamp": "2099-01-01T00:00:00Z", "message": {"role": "user", "content": "And the unit?"}}
    title = {"type": "ai-title", "aiTitle": "Columns of the levels", "sessionId": more["sessionId"]}
    hidden = more | {"isSidechain": True, "message": {"role": "user", "content": "of a subagent"}}
    with session.open("a") as file:
        file.write("".join(f"{json.dumps(line)}\n" for line in (more, title, hidden)))

    assert "0 saved, 1 updated" in shell("import", folder).out
    assert "found 1: 0 saved, 0 updated, 1 already there, 0 left out" in shell("import", folder).out

    (note,) = exported(shell).values()
    assert (note["id"], note["title"]) == (id, "Columns of the levels")
    assert "And the unit?" in note["body"]
    assert "subagent" not in note["body"]


def test_a_session_that_forked_from_another_is_a_note_of_its_own(shell: Shell) -> None:
    def line(session: str, text: str) -> str:
        message = {"role": "user", "content": text}
        return json.dumps({"type": "user", "sessionId": session, "cwd": str(shell.folder), "message": message})

    first, fork = (f"5f3a9f0e-0000-4000-8000-00000000000{number}" for number in (1, 2))
    folder = shell.folder / "sessions"
    folder.mkdir()
    head = line(first, "How high is the tide?")
    (folder / f"{first}.jsonl").write_text("\n".join((head, line(first, "And whales?"))))
    (folder / f"{fork}.jsonl").write_text("\n".join((head, line(fork, "And squids?"))))

    assert shell("import", folder).out == "found 2: 2 saved, 0 updated, 0 already there, 0 left out\n"
    assert shell("import", folder).out == "found 2: 0 saved, 0 updated, 2 already there, 0 left out\n"

    notes = [json.loads(found) for found in shell("export").out.splitlines()]
    assert {note["metadata"]["sessionId"]: "whales" in note["body"] for note in notes} == {first: True, fork: False}
    assert all(note["id"] == note["metadata"]["sessionId"].replace("-", "") for note in notes)


def test_of_an_export_of_chatgpt_the_branch_that_was_shown_last_is_kept(shell: Shell) -> None:
    ran = shell("import", copied(shell, "documented/chatgpt/export.zip"), "--project", "")

    notes = exported(shell)
    note = notes["Numbering tide readings"]
    assert note["body"] == (
        "## User · 2025-03-03 11:06\n\nHow do I tell a repeated tide reading?\n\n"
        "## Assistant · 2025-03-03 11:11\n\nGive each reading a sequence number.\n\n"
    )
    assert (note["what"], note["project"], note["source"]) == ("Numbering tide readings", None, "chatgpt")
    assert note["created_at"] == "2025-03-03T11:06:40.500000Z"
    assert notes["Is this a neap tide?"]["what"] == "Is this a neap tide?"
    assert "found 1 ChatGPT export, for notes, one a conversation, of no project" in ran.err
    assert "nobody@example.org" not in json.dumps(notes)


def test_conversations_of_one_title_are_told_apart_by_their_time_where_they_have_no_id(shell: Shell) -> None:
    def conversation(text: str, moment: float) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        message = {"author": {"role": "user"}, "content": content, "create_time": moment}
        nodes = {"1": {"id": "1", "message": message, "parent": None}}
        return {"title": "New chat", "create_time": moment, "mapping": nodes, "current_node": "1"}

    file = shell.folder / "conversations.json"
    file.write_text(json.dumps([conversation("alpha whale", 1.67e9), conversation("beta squid", 1.68e9)]))

    assert shell("import", file).out == "found 2: 2 saved, 0 updated, 0 already there, 0 left out\n"
    assert shell("import", file).out == "found 2: 0 saved, 0 updated, 2 already there, 0 left out\n"
    assert "beta squid" in shell("search", "squid").out


def test_of_an_export_of_claude_ai_texts_and_attachments_are_kept(shell: Shell) -> None:
    ran = shell("import", copied(shell, "documented/claude.ai"))

    (note,) = exported(shell).values()
    assert (note["title"], note["project"]) == ("Levels of the north pier", "claude.ai")
    assert "for notes, one a conversation, of the project claude.ai" in ran.err
    assert "When is high water?\n\n[levels.csv]\n\ntime,level" in note["body"]
    assert "At six, by these levels." in note["body"]


def test_the_reference_servers_file_is_the_graph(shell: Shell) -> None:
    file = copied(shell, "reference/memory.jsonl")

    shell("import", file)

    graph = [json.loads(line) for line in shell("graph", "export").out.splitlines()]
    said = [
        {
            name: line[name]
            for name in ("type", "name", "entityType", "observations", "from", "to", "relationType")
            if name in line
        }
        for line in graph
    ]
    given = [json.loads(line) for line in file.read_text().splitlines()]
    assert sorted(map(str, said)) == sorted(map(str, given))


@pytest.mark.parametrize("name", ["mem0/export.json", "mem0/history.db"])
def test_what_mem0_knows_in_the_end_is_kept(shell: Shell, name: str) -> None:
    shell("import", copied(shell, name))

    notes = exported(shell)
    assert set(notes) == {"The gauge is read every five minutes", "The lamp is lit at dusk"}
    note = notes["The gauge is read every five minutes"]
    assert note["source"] == "mem0"
    assert note["updated_at"] >= note["created_at"]
    if name.endswith("json"):
        assert note["tags"] == ["tide"]
        assert note["metadata"]["pier"] == "north"


def test_the_export_and_the_database_of_mem0_name_the_same(shell: Shell) -> None:
    shell("import", copied(shell, "mem0/export.json"))

    assert (
        shell("import", copied(shell, "mem0/history.db")).out
        == "found 2: 0 saved, 0 updated, 2 already there, 0 left out\n"
    )


@pytest.mark.parametrize("name", ["mcp-memory-service/export.json", "mcp-memory-service/sqlite_vec.db"])
def test_what_mcp_memory_service_knows_is_kept(shell: Shell, name: str) -> None:
    shell("import", copied(shell, name))

    notes = exported(shell)
    assert set(notes) == {"The gauge is read every six minutes", "Readings carry a sequence number"}
    note = notes["The gauge is read every six minutes"]
    assert (note["tags"], note["metadata"]["unit"], note["source"]) == (["tide", "sensor"], "min", "mcp-memory-service")
    assert notes["Readings carry a sequence number"]["category"] == "decision"
    assert "cranes" not in json.dumps(notes)


def test_a_folder_of_everything_is_imported_at_once(shell: Shell) -> None:
    for name in FILES.values():
        if not (shell.folder.parent / "brought" / name).exists():
            copied(shell, name)

    done = shell("import", shell.folder.parent / "brought", "--json").json
    again = shell("import", shell.folder.parent / "brought", "--json").json

    assert (done["skips"], again["kept"], again["updated"]) == (0, 0, 0)
    assert done["kept"] >= 18


# Names of a project ------------------------------------------------------


def test_a_project_that_is_named_is_that_of_everything(shell: Shell) -> None:
    ran = shell("import", copied(shell, "echovault"), "--project", "quay")

    assert {note["project"] for note in exported(shell).values()} == {"quay"}
    assert "for notes of the project quay" in ran.err


# What is wrong -----------------------------------------------------------


def test_bad_parts_are_named_and_the_others_are_kept(shell: Shell) -> None:
    lines = [
        '{"type":"entity","name":"Crane","entityType":"machine","observations":["lifts 40 t"]}',
        "{not json",
        '{"type":"entity","name":"","observations":[]}',
        '{"type":"relation","from":"Crane","to":"Ship","relationType":"loads"}',
        "[1]",
    ]
    (shell.folder / "graph.jsonl").write_text("\n".join(lines))

    ran = shell("import", "graph.jsonl", code=1)

    assert ran.out == "found 5: 1 saved, 0 updated, 0 already there, 4 left out\n"
    for said in (
        "graph.jsonl:2: not JSON",
        "graph.jsonl:3: ",
        "graph.jsonl:5: not a JSON object",
        "Crane → Ship: one of",
    ):
        assert any(line.startswith(f"memory: left out: {said}") for line in ran.err.splitlines()), said


def test_a_link_to_what_can_have_none_is_named_and_the_other_relations_are_added(shell: Shell) -> None:
    shell("graph", "add", "Ship")
    lines = [
        {"type": "entity", "name": "Crane", "entityType": "machine", "observations": ["lifts 40 t"]},
        {"type": "link", "entity": "Crane", "memory": exported(shell)["the entity Ship"]["uid"]},
        {"type": "relation", "from": "Crane", "to": "Ship", "relationType": "loads"},
    ]
    (shell.folder / "graph.jsonl").write_text("\n".join(map(json.dumps, lines)))

    ran = shell("import", "graph.jsonl", code=1)

    assert ran.out == "found 2: 1 saved, 0 updated, 0 already there, 1 left out; 1 relation or link\n"
    assert "is an entity itself" in ran.err
    assert "Crane -[loads]-> Ship" in shell("graph", "show", "Crane").out


def test_of_what_cannot_be_renewed_the_rest_is_counted_once(shell: Shell) -> None:
    old = {"id": "6225d224-0000-4000-8000-000000000000", "memory": "Tides are read hourly", "categories": ["tide"]}
    file = shell.folder / "mem0.json"
    file.write_text(json.dumps([old]))
    shell("import", file)
    (note,) = exported(shell).values()
    shell("update", note["id"], *(word for number in range(99) for word in ("--tag", f"{number}")), "--tag", "tide")
    new = {"id": "6225d225-0000-4000-8000-000000000000", "memory": "The crane lifts 40 t"}
    later = {"memory": "Tides are read daily", "categories": ["daily"], "updated_at": "2099-01-01T00:00:00Z"}
    file.write_text(json.dumps([new, old | later]))

    ran = shell("import", file, code=1)

    assert ran.out == "found 2: 1 saved, 0 updated, 0 already there, 1 left out\n"
    assert "left out: Tides are read daily: tags must be" in ran.err


def test_a_database_of_nobody_knows_whom_is_refused(shell: Shell) -> None:
    with sqlite3.connect(shell.folder / "x.db") as db:
        db.execute("create table notes (text)")

    assert "not a file of a program that memory can import" in shell("import", "x.db", code=2).err
    assert "nothing in . can be imported" in shell("import", ".", code=2).err


def test_a_web_page_costs_a_sentence(shell: Shell) -> None:
    for name in ("chat.html", "page.md"):
        (shell.folder / name).write_text("<!DOCTYPE html>\n<html><body>said</body></html>")

    assert "a web page is not imported" in shell("import", "chat.html", code=2).err
    (shell.folder / "fine.md").write_text("# Fine\n")
    ran = shell("import", ".", code=1)
    assert ran.out == "found 3: 1 saved, 0 updated, 0 already there, 2 left out\n"
    assert "page.md: a web page" in ran.err
    assert "chat.html: memory does not import this kind of file" in ran.err


def test_an_archive_is_only_read(shell: Shell) -> None:
    inner = shell.folder / "inner.zip"
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("a.md", "# Inner\n")
    outer = shell.folder / "outer.zip"
    with zipfile.ZipFile(outer, "w") as archive:
        archive.writestr("../../escaped.md", "# Escaped\n\nOut.\n")
        archive.writestr("/absolute.md", "# Absolute\n\nOut.\n")
        archive.write(inner, "inner.zip")

    ran = shell("import", outer, code=1)

    assert ran.out == "found 3: 2 saved, 0 updated, 0 already there, 1 left out\n"
    assert "an archive in an archive is not read" in ran.err
    assert {file.name for file in shell.folder.parent.rglob("*.md")} == set()


@pytest.mark.parametrize("cut", [10, 60, -30])
def test_an_archive_that_is_cut_short_is_named(shell: Shell, cut: int) -> None:
    whole = copied(shell, "documented/chatgpt/export.zip")
    whole.write_bytes(whole.read_bytes()[:cut])

    ran = shell("import", whole, code=2)

    assert "not a readable archive" in ran.err


def test_an_archive_of_too_many_names_is_not_opened(shell: Shell) -> None:
    with zipfile.ZipFile(shell.folder / "many.zip", "w") as archive:
        archive.writestr("a.md", "# A\n")
    content = bytearray((shell.folder / "many.zip").read_bytes())
    at = content.rindex(b"PK\x05\x06")
    content[at + 12 : at + 16] = (1 << 30).to_bytes(4, "little")
    (shell.folder / "many.zip").write_bytes(bytes(content))

    assert "too many files for an export" in shell("import", "many.zip", code=2).err


def test_pipes_links_in_circles_and_hidden_files_in_a_folder_are_passed_by(shell: Shell) -> None:
    (shell.folder / "circle").symlink_to(shell.folder)
    (shell.folder / "self.md").symlink_to("self.md")
    os.mkfifo(shell.folder / "pipe.md")
    (shell.folder / ".hidden.md").write_text("# Hidden\n")
    (shell.folder / "fine.md").write_text("# Fine\n")

    ran = shell("import", ".")

    assert ran.out == "found 3: 1 saved, 0 updated, 0 already there, 2 left out\n"
    assert "pipe.md: it is not a regular file" in ran.err
    assert "self.md: it is a link that leads nowhere" in ran.err


def test_standard_input_may_be_of_any_program(shell: Shell) -> None:
    content = (PEERS / "mem0" / "export.json").read_bytes()

    assert shell("import", "-", stdin=content).out == "found 2: 2 saved, 0 updated, 0 already there, 0 left out\n"


@pytest.mark.parametrize("file", ["documented/chatgpt/export.zip", "mem0/history.db"])
def test_archives_and_databases_in_a_pipe_are_refused_for_what_they_are(shell: Shell, file: str) -> None:
    said = shell("import", "-", stdin=(PEERS / file).read_bytes(), code=2).err

    assert said.endswith("cannot be read from a pipe\nmemory: Import it from a file.\n")


# Ended early -------------------------------------------------------------


@pytest.mark.parametrize("path", [".", "own.jsonl"])
def test_what_was_stored_before_it_was_interrupted_stays_and_the_next_goes_on(shell: Shell, path: str) -> None:
    count = 1000
    for number in range(count):
        (shell.folder / f"n{number}.md").write_text(f"# Note {number}\n\nA word.\n")
    own = [json.dumps({"title": f"Note {number}", "what": "A word."}) for number in range(count)]
    (shell.folder / "own.jsonl").write_text("\n".join(own))

    shell, before, said = interrupted(replace(shell, settings={"MEMORY_EMBEDDING_FILL": "lazy"}), path)

    kept = len(shell("export").out.splitlines())
    assert kept >= before >= 200
    assert 0 < int(said.partition(" are saved")[0].split()[-1].replace(",", "")) <= kept
    done = shell("import", path, "--json").json
    assert (done["kept"], done["known"]) == (count - kept, kept)


def interrupted(shell: Shell, path: str) -> tuple[Shell, int, str]:
    """
    An import into a new home that was ended by Ctrl-C, how many were stored just before, and what it said. One that is
    through before it is looked at is begun again: a busy machine may let it run and not those who watch it.
    """
    for attempt in range(10):
        own = replace(shell, home=shell.home / str(attempt))
        running = own.start("import", path, stderr=subprocess.PIPE)
        os.setpriority(os.PRIO_PROCESS, running.pid, 19)
        while (before := stored(own.home / "memory.db")) < 200 and running.poll() is None:
            sleep(0.01)
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
        if running.returncode:
            assert running.returncode == 130
            return own, before, said.decode()
    raise AssertionError("each was through before it was looked at")


def stored(database: Path) -> int:
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as db:
        there = db.execute("select count(*) from sqlite_schema where name = 'bodies'").fetchone()[0]
        return db.execute("select count(*) from memories").fetchone()[0] if there else 0


def test_all_is_found_by_keyword_before_the_first_is_embedded(shell: Shell) -> None:
    (shell.folder / "n.md").write_text("# Note\n\nfathoms\n")
    dead = Shell(shell.home, shell.folder, {"MEMORY_EMBEDDING_PROVIDER": "local", "MEMORY_EMBEDDING_MODEL": "nowhere"})

    ran = dead("import", "n.md")

    assert ran.out == "found 1: 1 saved, 0 updated, 0 already there, 0 left out\n"
    assert "found only by keyword for now" in ran.err
    assert "Note" in dead("search", "fathoms", "--mode", "keyword").out
