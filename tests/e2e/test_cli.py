"""The `memory` command, run as a person runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import apsw
import pytest
from click.testing import CliRunner
from command import COMMAND, Shell
from terminal import written

from memory import Config, Draft, Engine, __version__
from memory.cli import ALIASES, COMMANDS, GROUPS, cli, demo
from memory.config import keys
from memory.schema.answer import Answer, Notice, Tier, Verdict
from memory.schema.errors import BODY_LIMIT
from memory.schema.kinds import RULES, Kind
from memory.schema.query import Query
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = 'nothing is saved yet. Begin with: memory save "A title" --what "What you decided"'
NARROW = "nothing is saved with these options; leave some out to see more"

HEAVY = {
    "numpy",
    "logging",
    "mcp",
    "httpx",
    "yaml",
    "rich",
    "torch",
    "openai",
    "ollama",
    "tokenizers",
    "sqlite_vec",
    "pyromark",
}


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with three notes."""
    folder = tmp_path_factory.mktemp("prepared")
    shell = Shell(folder / "home", folder)
    shell("save", "Switched to JWT", "--what", "Replaced session cookies", "--tag", "auth", "--project", "shop")
    shell(
        "save",
        "Cache is cold",
        "--what",
        "Warm it at start",
        "--details",
        "# Why\n\nFirst calls wait.",
        "--project",
        "",
    )
    shell("save", "WAL mode", "--why", "Readers never block", "--category", "decision", "--source", "cursor")
    return shell.home


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder, without any memories."""
    (tmp_path / "folder").mkdir()
    return Shell(tmp_path / "home", tmp_path / "folder")


@pytest.fixture
def kept(shell: Shell, prepared: Path) -> Shell:
    """The same with three notes."""
    shutil.copytree(prepared, shell.home)
    return shell


def titles(shell: Shell, *arguments: str) -> list[str]:
    return [memory["title"] for memory in shell("list", *arguments, "--json").json["memories"]]


def count(shell: Shell) -> int:
    """Memories in the database, without the command's help."""
    database = apsw.Connection(str(shell.home / "memory.db"), flags=apsw.SQLITE_OPEN_READWRITE)
    found = database.execute("select count(*) from memories").get
    database.close()
    return found


# Every command ------------------------------------------------------------

CALLS = {
    "save": ["save", "A title", "--what", "x"],
    "store": ["store", "report", "notes.jsonl", "--session", "s", "--agent", "a"],
    "update": ["update", "1", "--what", "Replaced them all"],
    "pin": ["pin", "1", "2"],
    "unpin": ["unpin", "1"],
    "delete": ["delete", "1"],
    "search": ["search", "session cookies", "--explain"],
    "details": ["details", "2"],
    "inspect": ["inspect", "2", "--question", "cookies"],
    "expand": ["expand", "1"],
    "reconstruct": ["reconstruct", "2"],
    "list": ["list", "-n", "2"],
    "context": ["context", "cookies"],
    "import": ["import", "notes.jsonl"],
    "export": ["export", "-o", "out.jsonl"],
    "init": ["init"],
    "embed": ["embed"],
    "reindex": ["reindex"],
    "history": ["history"],
    "status": ["status"],
    "cleanup": ["cleanup"],
    "stats": ["stats"],
    "doctor": ["doctor"],
    "ledger": ["ledger"],
    "config": ["config"],
    "completion": ["completion", "bash"],
    "setup": ["setup"],
    "help": ["help", "save"],
    "version": ["version"],
}


def test_every_command_is_run_here() -> None:
    assert set(CALLS) == set(COMMANDS) - {
        "demo",
        "eval",
        "mcp",
        "model",
        "hook",
        "session",
        "tags",
        "run",
        "graph",
        "watch",
        "mirror",
        "trash",
        "undo",
        "redo",
        "review",
        "ui",
        "migrate",
    }  # which have tests of their own


@pytest.mark.parametrize("name", CALLS)
def test_every_command_prints_json_with_its_schema(kept: Shell, name: str) -> None:
    (kept.folder / "notes.jsonl").write_text('{"title": "Imported"}\n')

    ran = kept(*CALLS[name], "--json")

    assert ran.json["schema"] == f"memory.{name.replace('update', 'save')}/1"
    assert ran.err == (
        "memory: found 1: 1 saved, 0 updated, 0 already there, 0 left out\n" if name == "import" else ""
    )  # said before it embeds


@pytest.mark.parametrize("name", CALLS)
def test_every_command_prints_something_for_people(kept: Shell, name: str) -> None:
    (kept.folder / "notes.jsonl").write_text('{"title": "Imported"}\n')

    ran = kept(*CALLS[name])

    assert ran.out.strip()
    assert "\x1b" not in ran.out + ran.err  # colour is for terminals
    assert not ran.out.startswith("{")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(shell: Shell, name: str) -> None:
    assert f"memory {name}" in shell(name, "--help").out
    assert not shell.home.exists()


RIGHT = {
    "shutil copytree": "shutil.copytree",
    "temporary directory": "tempfile.TemporaryDirectory",
    "send an e-mail": "smtplib.SMTP",
    "toss a coin": "random.choice",
    "count how often each word occurs": "collections.Counter",
    "wait until several workers are done": "queue.Queue",
    "find the position to insert into an ordered list": "bisect.bisect_left",
    "find out what changed between two versions of a text": "difflib.unified_diff",
}


def test_the_demos_first_answers_are_right_and_what_has_none_is_told() -> None:
    run = CliRunner().invoke(cli, ["demo", "--json"], env={"MEMORY_EMBEDDING_PROVIDER": "local"})

    document = json.loads(run.stdout)
    assert (document["schema"], document["kept"]) == ("memory.demo/1", len(list(demo.drafted())))
    *answers, last = document["answers"]
    assert {answer["query"]: answer["hits"][0]["title"] for answer in answers} == RIGHT
    assert {answer["outcome"] for answer in answers} == {"answered", "weak"}
    assert {"keyword", "hybrid"} <= {answer["tier"] for answer in answers}  # no words of the model begin so new a store
    assert last["outcome"] == "nothing_relevant"


def test_the_demo_says_once_that_the_model_was_missing(capsys: pytest.CaptureFixture[str]) -> None:
    enough = Answer(Query("x"), (), Tier.KEYWORD, Verdict(True, ""))
    wanting = enough._replace(verdict=Verdict(False, ""), notices=(Notice("keywords only"),))

    demo._conclude([enough, wanting, wanting])

    said = capsys.readouterr()
    assert said.out.startswith("3 questions: 3 by keywords.\n2 needed the model")
    assert said.err == "memory: keywords only\n"


def test_the_demos_notes_are_of_the_standard_library() -> None:
    drafts = list(demo.drafted())

    assert {draft.tags[0] for draft in drafts} <= sys.stdlib_module_names
    assert len({draft.title for draft in drafts}) == len(drafts)


def test_the_version_is_that_of_the_package(shell: Shell) -> None:
    assert shell("--version").out == shell("version").out == f"memory {__version__}\n"


def test_the_help_shows_every_command_under_one_heading(shell: Shell) -> None:
    said = shell("--help").out

    assert re.findall(r"^([A-Z].*):$", said, re.MULTILINE) == ["Options", *GROUPS]
    assert [said.count(f"\n  {name} ") for name in COMMANDS] == [1] * len(COMMANDS)
    assert shell("help").out == said


def test_help_of_a_command_is_its_own_help(shell: Shell) -> None:
    for words in (["save"], ["session", "list"], ["config", "unset"]):
        assert shell("help", *words).out == shell(*words, "--help").out
    assert shell("help", "rm").out == shell("delete", "--help").out
    assert "no command 'nope'" in shell("help", "nope", code=2).err


@pytest.mark.parametrize(("name", "command"), ALIASES.items())
def test_another_word_for_a_command_is_that_command(shell: Shell, name: str, command: str) -> None:
    words = [word for word in command.split() if not word.startswith("-")]
    words = words[:2] if words[0] in ("config", "session") else words[:1]

    assert shell(*name.split(), "--help").out == shell(*words, "--help").out


def test_an_unknown_command_gets_one_hint(shell: Shell) -> None:
    assert shell("serach", code=2).err == "memory: no command 'serach'\nmemory: Did you mean 'search'?\n"
    assert shell("xyzzy", code=2).err == "memory: no command 'xyzzy'\nmemory: See `memory --help`.\n"
    assert len(shell("search", "x", "--lmit", "3", code=2).err.splitlines()) == 1


# What EchoVault's documents say to type -----------------------------------


def test_a_line_of_echovault_saves(shell: Shell) -> None:
    (shell.folder / "more.md").write_text("All of it\n")
    saved = shell(
        *("save", "--title", "Switched to JWT auth", "--what", "Replaced session cookies with JWT"),
        *("--why", "Needed stateless auth", "--impact", "All endpoints now require a bearer token"),
        *("--tags", "auth,jwt", "--category", "decision", "--related-files", "src/auth.py, src/middleware.py"),
        *("--details-file", "more.md", "--source", "claude-code", "--project", "web"),
    )

    found = shell("details", saved.out.split()[1], "--json").json
    assert (found["memory"]["title"], found["memory"]["project"]) == ("Switched to JWT auth", "web")
    assert found["memory"]["tags"] == ["auth", "jwt"]
    assert found["memory"]["related_files"] == ["src/auth.py", "src/middleware.py"]
    assert found["details"] == "All of it\n"


def test_lines_of_echovault_find_and_show(kept: Shell) -> None:
    kept("save", "--title", "Ours", "--what", "Warm it here")
    recent = kept("context", "--project", "--limit", "2", "--fts-only").out
    about = kept("context", "--query", "cookies", "--semantic").out

    assert "Warm it here" in recent
    assert "About the task:" in about
    assert "Switched to JWT" in kept("search", "cookies", "--limit", "3", "--source", "", "--project", "").out
    kept("config", "set-home", str(kept.folder / "elsewhere"))
    assert "elsewhere" in (kept.home / "config.yaml").read_text()
    kept("config", "clear-home")
    assert "elsewhere" not in (kept.home / "config.yaml").read_text()


def test_a_setting_is_got_as_other_programs_get_theirs(kept: Shell) -> None:
    assert kept("config", "get", "search.limit").out == kept("config", "search.limit").out
    assert kept("config", "list").out == kept("config").out


def test_details_of_echovaults_template_are_headings_to_fill_in(shell: Shell) -> None:
    def details(*options: str) -> str:
        saved = shell("save", *options, "--details-template").out.split()[1]
        return str(shell("details", saved, "--json").json["details"])

    assert details("One").startswith("Context:\n\nOptions considered:\n- Option A:\n")
    assert details("Two", "--details", "All of it") == "All of it"


def test_a_context_for_a_file_of_instructions_has_a_heading(kept: Shell) -> None:
    plain, headed = (kept("context", "--format", form).out for form in ("hook", "agents-md"))

    assert headed.startswith("## Memory Context\n\nRecalled memories")
    assert plain.startswith("Recalled memories")
    assert kept("context", "--format", "agents-md", "--tag", "none").out == ""


def test_a_context_shows_the_settings_if_asked(kept: Shell) -> None:
    assert kept("context", "--show-config").out == kept("config").out
    assert kept("context", "--show-config", "--json").json == kept("config", "--json").json


def test_a_home_that_was_set_is_used_and_the_settings_stay_where_they_are_read(shell: Shell) -> None:
    person = replace(shell, settings={"MEMORY_HOME": ""})
    person("config", "set-home", str(shell.home))
    person("config", "set", "search.limit", "3")

    person("save", "Kept there")

    assert (shell.home / "memory.db").exists()
    assert person("config", "search.limit", "--json").json["settings"][0]["value"] == 3
    person("config", "clear-home")
    assert person("config", "home", "--json").json["settings"][0]["value"] == ""


def test_the_context_of_a_project_has_what_holds_in_every_project(shell: Shell) -> None:
    for project in ("web", "api", ""):
        shell("save", f"of {project or 'none'}", "--project", project)

    def shown(*options: str) -> set[str]:
        return {one["title"] for one in shell("context", *options, "--json").json["memories"]}

    assert shown("--project", "web") == {"of web", "of none"}
    assert shown() == {"of web", "of api", "of none"}
    assert "of none" not in shell("list", "--project", "web").out


def test_a_note_has_one_title_and_one_text_of_details(shell: Shell) -> None:
    assert "a note needs a title" in shell("save", "--what", "x", code=2).err
    assert "two titles" in shell("save", "a", "--title", "b", code=2).err
    (shell.folder / "more.md").write_text("x")
    assert "two texts" in shell("save", "a", "--details", "b", "--details-file", "more.md", code=2).err
    assert "no.md" in shell("save", "a", "--details-file", "no.md", code=2).err
    assert not shell.home.exists()


# What stands beside an answer ---------------------------------------------


def test_a_near_twin_is_named_with_what_replaces_it(shell: Shell) -> None:
    first = shell("save", "Switched to JWT auth", "--what", "Replaced session cookies with JWT tokens").out.split()[1]

    ran = shell("save", "JWT replaces cookies")

    assert ran.out.startswith("Saved ")
    assert ran.err == (
        f"memory: this may replace {first} Switched to JWT auth; if so, save this again with --supersedes {first}\n"
    )
    again = shell("save", "JWT replaces cookies", "--supersedes", first)
    assert again.err == ""
    assert titles(shell) == ["JWT replaces cookies"]


def test_a_project_that_is_none_is_said(shell: Shell) -> None:
    home = replace(shell, settings={"HOME": str(shell.folder)})
    home("save", "Tabs, not spaces")

    for command in (["context"], ["list"], ["search", "tabs"]):
        ran = home(*command, "--project")
        assert "memory: this folder is in no project, so all projects are included; --project NAME picks one" in ran.err
        assert "Tabs, not spaces" in ran.out


# Settings -----------------------------------------------------------------


def test_what_was_changed_comes_first_and_can_be_undone(shell: Shell) -> None:
    shell("config", "set", "search.limit", "9", "context.topup_recent", "false")

    said = shell("config").out
    assert re.search(r"\A(Changed:\n(.*  \$MEMORY_\w+\n)*)?", said)
    changed = dict(re.findall(r"^(\S+) +(.*?)  +config\.yaml$", said.partition("Defaults:")[0], re.MULTILINE))
    assert changed == {"context.topup_recent": "false", "search.limit": "9"}
    assert re.search(r"^search\.deepen +true$", said, re.MULTILINE)
    assert shell("config", "unset", "search.limit", "context.topup_recent").out == (
        "search.limit = 5 (the default)\ncontext.topup_recent = true (the default)\n"
    )
    assert shell("config", "search.limit", "--json").json["settings"][0]["origin"] == "default"
    assert "no setting 'search.limi'" in shell("config", "unset", "search.limi", code=2).err


@pytest.mark.parametrize("words", [[], ["search"], ["search.limit", "--json"], ["--json"]])
def test_config_shows_with_and_without_the_word(shell: Shell, words: list[str]) -> None:
    assert shell("config", "show", *words).out == shell("config", *words).out


def test_nothing_is_written_to_go_back_to_a_default(shell: Shell) -> None:
    shell("config", "unset", "search.limit")

    assert not (shell.home / "config.yaml").exists()


def test_columns_of_settings_hold(shell: Shell) -> None:
    rows = shell("config").out.partition("Defaults:\n")[2].partition("\n\n")[0].splitlines()

    assert len({re.match(r"\S+ +", row)[0].__len__() for row in rows}) == 1


# Keeping and finding ------------------------------------------------------


def test_what_was_saved_is_found(shell: Shell) -> None:
    saved = shell(
        "save", "Switched to JWT", "--what", "Replaced session cookies", "--details", "-", stdin="All of it\n"
    )

    uid = saved.out.split()[1]
    assert saved.out == f"Saved {uid}\n"
    assert len(uid) == 8
    found = shell("search", "cookies", "--json").json["hits"][0]
    assert (found["memory_id"], found["title"], found["has_details"]) == (1, "Switched to JWT", True)
    assert shell("details", uid, "--json").json["details"] == "All of it\n"


def test_a_search_says_how_it_was_found_in_one_line(kept: Shell) -> None:
    assert re.fullmatch(r"Found by keywords in [\d.]+ m?s\n", kept("search", "cookies").err)
    by_meaning = kept("search", "what should be warm when nothing is known").err
    assert re.match(r"(Possible matches, f|F)ound by meaning in [\d.]+ m?s\n", by_meaning)


def test_explain_shows_terms_gate_ranks_and_time(kept: Shell) -> None:
    out = kept("search", "session cookies", "--mode", "hybrid", "--explain").out

    for part in ("cookies", "weight", "BM25", "cosine", "coverage", "score", "Steps", "ms", "Tier: hybrid"):
        assert part in out


def test_finding_nothing_is_done(kept: Shell) -> None:
    ran = kept("search", "xylophone", "--mode", "keyword")

    assert ran.out == ""
    assert re.fullmatch(r"Nothing found by keywords in [\d.]+ m?s\n", ran.err)


def test_the_same_note_is_known(kept: Shell) -> None:
    first = kept("save", "Twice", "--json").json
    second = kept("save", "Twice", "--json").json

    assert (first["known"], second["known"]) == (False, True)
    assert first["memory"]["id"] == second["memory"]["id"]


def test_an_update_shows_what_was_said_before(kept: Shell) -> None:
    kept("update", "1", "--what", "Replaced everything")

    out = kept("details", "1").out
    assert "Replaced everything" in out
    assert out.splitlines()[-1].endswith(': What was "Replaced session cookies"')


def test_an_update_clears_and_replaces(kept: Shell) -> None:
    kept("save", "Full", "--tag", "a", "--file", "a.py", "--category", "bug", "--source", "cursor", "--project", "shop")

    kept(
        "update",
        "4",
        "--tag",
        "",
        "--category",
        "",
        "--file",
        "b.py",
        "--file",
        "c.py",
        "--source",
        "",
        "--project",
        "",
    )

    memory = kept("details", "4", "--json").json["memory"]
    assert (memory["tags"], memory["category"], memory["related_files"]) == ([], None, ["b.py", "c.py"])
    assert (memory["source"], memory["project"], memory["title"]) == (None, None, "Full")
    kept("update", "4", "--file", "", "--project", "blog", "--source", "claude")
    memory = kept("details", "4", "--json").json["memory"]
    assert (memory["related_files"], memory["project"], memory["source"]) == ([], "blog", "claude")


def test_words_need_no_quotes(kept: Shell) -> None:
    assert kept("search", "session", "cookies", "--json").json["query"] == "session cookies"
    assert "Switched to JWT" in kept("context", "session", "cookies").out
    assert kept("context").out


def test_a_project_that_took_the_text_is_named(kept: Shell) -> None:
    assert "--project took 'how' as the name of the project" in kept("search", "--project", "how", code=2).err


def test_an_empty_memory_is_told_from_one_without_a_match(kept: Shell, tmp_path: Path) -> None:
    empty = replace(kept, home=tmp_path / "empty")

    for command in (["search", "cookies"], ["list"], ["context"]):
        assert empty(*command).err == f"memory: {BEGIN}\n"
        told = kept(*command, "--tag", "auht").err
        assert sorted(told.splitlines()) == [
            "memory: no memory has the tag 'auht'. Did you mean 'auth'?",
            f"memory: {NARROW}",
        ]
    assert kept("context", "--tokens", "1").err == "memory: 3 did not fit into 1 tokens\n"


def test_other_kinds_may_have_any_category(kept: Shell) -> None:
    assert titles(kept, "--kind", "reports", "--category", "weekly") == []


def test_one_is_not_several(shell: Shell) -> None:
    shell("save", "Only")

    assert "1 memory, 1 chunk\n" in shell("status").out
    assert shell("save", "Only").out.startswith("Already saved ")


@pytest.mark.parametrize(
    ("settings", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_terminals_that_take_it(kept: Shell, settings: dict[str, str], coloured: bool) -> None:
    asked = replace(kept, settings={"TERM": "xterm", **settings})

    assert ("\x1b[" in on_a_terminal(asked, "list")) is coloured


def on_a_terminal(shell: Shell, *arguments: str) -> str:
    """What a command writes to a terminal."""
    terminal, screen = os.openpty()
    run = shell.start(*arguments, stdout=screen)
    os.close(screen)
    said = written(terminal)
    assert run.wait(60) == 0
    return said.decode()


def test_the_help_fits_a_terminal(shell: Shell) -> None:
    help = replace(shell, settings={"COLUMNS": "80"})("--help").out

    assert not any(line.endswith("...") for line in help.splitlines()[1:])
    assert max(map(len, help.splitlines())) <= 80


def test_a_superseded_note_is_listed_only_when_asked_for(kept: Shell) -> None:
    kept("save", "Sessions are back", "--supersedes", "1")

    assert "Switched to JWT" not in titles(kept)
    assert "Switched to JWT" in titles(kept, "--superseded")


@pytest.mark.parametrize(
    ("filter", "expected"),
    [
        (["--project", "shop"], ["Switched to JWT"]),
        (["--source", "cursor"], ["WAL mode"]),
        (["--category", "decision"], ["WAL mode"]),
        (["--tag", "auth"], ["Switched to JWT"]),
        (["--kind", "notes"], ["WAL mode", "Cache is cold", "Switched to JWT"]),
        (["--since", "1d"], ["WAL mode", "Cache is cold", "Switched to JWT"]),
        (["--since", "2999-01-01"], []),
        (["--tag", "auth", "--source", "cursor"], []),
    ],
)
def test_a_filter_leaves_what_it_names(kept: Shell, filter: list[str], expected: list[str]) -> None:
    assert titles(kept, *filter) == expected
    hits = kept("search", "switched cache wal", "--mode", "vector", *filter, "--json").json["hits"]
    assert {hit["title"] for hit in hits} == set(expected)


def test_project_without_a_name_is_the_repository_of_the_folder(shell: Shell) -> None:
    inside = shell.folder / "shop" / "src"
    inside.mkdir(parents=True)
    (shell.folder / "shop" / ".git").mkdir()
    there = replace(shell, folder=inside)

    there("save", "Here")
    there("save", "There", "--project", "blog")
    there("save", "Nowhere", "--project", "")

    assert titles(there, "--project") == ["Here"]
    assert titles(there, "--project", "shop") == ["Here"]
    assert [hit["title"] for hit in there("search", "here there", "--project", "--json").json["hits"]] == ["Here"]


def test_a_folder_that_is_gone_has_no_project(shell: Shell) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && "$0" save Title --json'

    run = subprocess.run(
        ["sh", "-c", script, COMMAND], env=shell.env, cwd=shell.folder, capture_output=True, text=True, check=False
    )

    assert run.returncode == 2
    assert json.loads(run.stderr)["message"] == "the current folder no longer exists"


# Refusing ----------------------------------------------------------------


@pytest.mark.parametrize("reference", ["", "%", "_", "*", "zzzzzzzz", "0", "99", "1.0", "' or 1=1 --", b"\xff"])
@pytest.mark.parametrize("command", ["delete", "details"])
def test_what_names_no_memory_is_refused(kept: Shell, command: str, reference: str | bytes) -> None:
    ran = kept(command, reference, "--json", code=1)

    assert ran.error["error"] == "NotFound"
    assert ran.out == ""
    assert count(kept) == 3


def test_a_prefix_that_means_several_names_them(shell: Shell) -> None:
    lines = [
        {"uid": uid, "title": uid, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}
        for uid in ("abcdef01" + "1" * 24, "abcdef01" + "2" * 24)
    ]
    shell("import", "-", stdin="\n".join(map(json.dumps, lines)))

    error = shell("delete", "abcdef01", "--json", code=1).error

    assert error["error"] == "Ambiguous"
    assert all(line["uid"] in error["message"] for line in lines)
    assert shell("delete", "abcdef012").out.startswith("Deleted abcdef01")


def test_a_memory_without_a_body_says_where_the_rest_is(shell):
    id = shell("save", "A title", "--what", "x").out.split()[1]

    ran = shell("reconstruct", "1")

    assert ran.out == ""
    assert f"`memory details {id}` shows them" in ran.err


def test_a_list_that_is_cut_says_so(kept):
    """And one that is not says nothing."""
    assert "memory: there are more than 2; -n shows them" in kept("list", "-n", "2").err
    assert kept("list", "-n", "3").err == kept("list").err == ""


def test_a_list_that_is_cut_at_the_most_says_so():
    from memory.schema.query import MOST
    from memory.tools.render.text import first

    assert first(range(MOST), MOST) == (list(range(MOST)), "there may be more: 10,000 are shown at most")
    assert first(range(4), 3) == ([0, 1, 2], "there are more than 3; -n shows them")
    assert first(range(3), 3) == ([0, 1, 2], "")


def test_an_export_over_a_file_says_what_to_do(shell):
    (shell.folder / "taken").write_text("x")

    assert "Choose another name, or replace it with --force." in shell("export", "-o", "taken", code=2).err


@pytest.mark.parametrize("more", [["--details", "long"], ["--source", "me"], []])
def test_x58_a_project_without_a_name_is_this_folders_where_something_is_kept_too(shell, more):
    shell("save", "A title", "--project", *more)
    shell("save", "Another", "--project", "named")
    shell("update", "2", "--project", *(["--what", "x"] if more else []))

    assert {one["project"] for one in shell("list", "--json").json["memories"]} == {shell.folder.name}


@pytest.mark.parametrize("command", ["save", "update", "import", "watch"])
def test_x58_a_project_that_took_the_argument_for_its_name_says_so(shell, command):
    ran = shell(command, "--project", "what was meant", code=2)

    assert "--project took 'what was meant' as the name of the project; put --project last." in ran.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["serch", "x"], "no command 'serch'"),
        (["frobnicate"], "no command 'frobnicate'"),
        (["search"], "Missing argument"),
        (["search", ""], "a query needs text"),
        (["search", " \n"], "a query needs text"),
        (["search", "x" * 10_001], "10,001 characters"),
        (["search", "word " * 20_000], "100,000 characters"),  # an argument of Linux ends at 131,072 bytes
        (["search", b"\xff"], "lone surrogate"),
        (["search", "x", "-n", "0"], "1..10,000"),
        (["search", "x", "-n", "many"], "'many'"),
        (["list", "-n", "many"], "'-n' / '--limit': 'many' is not a whole number"),
        (["search", "x", "--mode", "fast"], "'fast'"),
        (["search", "x", "--kind", "reprot"], "no kind 'reprot'"),
        (["search", "x", "--category", "decisions"], "no category 'decisions'"),
        (["list", "--kind", "note", "--category", "gossip"], "no category 'gossip'"),
        (["update", "1", "--category", "gossip"], "'gossip'"),
        (["search", "--project", "how"], "Missing argument"),
        (["search", "x", "--since", "yesterday"], "'yesterday' is neither a date"),
        (["search", "x", "--since", "999999w"], "is neither a date"),
        (["list", "-n", "0"], "0"),
        (["list", "--iter", "vx"], "'vx'"),
        (["save", ""], "needs a title"),
        (["save", "two\nlines"], "one line"),
        (["save", "x" * 201], "201 characters"),
        (["save", b"\xff"], "lone surrogate"),
        (["save", "x", "--category", "gossip"], "'gossip'"),
        (["save", "x", "--tag", ""], "'--tag': it must not be blank"),
        (["save", "x", "--file", " "], "'--file': it must not be blank"),
        (["graph", "add", " "], "'NAME': it must not be blank"),
        (["graph", "add", "x", "--observation", ""], "'--observation': it must not be blank"),
        (["graph", "observe", "x", "a", ""], "it must not be blank"),
        (["run", "start", "--plan", ""], "'--plan': it must not be blank"),
        (["update", "1"], "nothing to change"),
        (["import", "nowhere.jsonl"], "no file or folder"),
        (["import", "."], "nothing in . can be imported"),
        (["export", "-o", "/nowhere/out.jsonl"], "/nowhere/out.jsonl"),
        (["config", "search.limi"], "no setting 'search.limi'"),
        (["completion", "tcsh"], "'tcsh'"),
        (["stats", "--days", "0"], "--days"),
        (["reindex", "--dry-run", "--rollback"], "cannot be combined"),
        (["cleanup", "--delete", "--days", "-1"], "-1"),
        (["cleanup", "--delete", "--days", "36501"], "36501"),
        (["cleanup", "--delete", "--days", "x"], "'x'"),
        (["cleanup", "--delete", "--kind", "gossip"], "no kind 'gossip'"),
        (["--config", "nowhere.yaml", "status"], "nowhere.yaml"),
        (["--frob"], "--frob"),
    ],
)
def test_what_was_asked_wrongly_is_said_and_changes_nothing(
    kept: Shell, arguments: list[str | bytes], said: str
) -> None:
    ran = kept(*arguments, "--json", code=2)

    assert said in ran.error["message"]
    assert ran.error["schema"] == "memory.error/1"
    assert ran.error["error"] in {"Invalid", "ConfigError"}
    assert ran.error["retryable"] is False
    assert ran.out == ""
    assert count(kept) == 3


def test_an_error_for_people_is_a_sentence_and_a_hint(kept: Shell) -> None:
    lines = kept("details", "zzzzzzzz", code=1).err.splitlines()

    assert len(lines) == 2
    assert all(line.startswith("memory: ") for line in lines)


def test_an_unknown_setting_suggests_the_nearest(kept: Shell) -> None:
    (kept.home / "config.yaml").write_text("search:\n  limits: 3\n")

    error = kept("search", "x", "--json", code=2).error

    assert error["error"] == "ConfigError"
    assert "'search.limits'" in error["message"]
    assert "'search.limit'" in error["hint"]


@pytest.mark.parametrize(
    ("stdin", "said"),
    [
        (b"\xff\xfe\x00binary", "not UTF-8"),
        (b"text\x00binary", "NUL"),
        (b"x" * 500_001, "500,001 characters"),
    ],
)
def test_details_that_are_no_text_are_refused(shell: Shell, stdin: bytes, said: str) -> None:
    assert said in shell("save", "Title", "--details", "-", "--json", stdin=stdin, code=2).error["message"]
    assert not shell.home.exists() or count(shell) == 0


def test_half_a_million_characters_are_kept_to_the_last(shell: Shell) -> None:
    text = "".join(f"line {n} of many\r\n" for n in range(40_000))[:500_000]

    shell("save", "Title", "--details", "-", stdin=text)

    assert shell("details", "1", "--json").json["details"] == text


# Settings ----------------------------------------------------------------


def test_config_shows_where_every_value_comes_from(shell: Shell) -> None:
    shell("init")
    (shell.home / "config.yaml").write_text("search:\n  limit: 7\n")
    asked = replace(shell, settings={"MEMORY_SEARCH_GATE": "count"})

    rows = asked("--home", str(shell.home), "config", "--json").json["settings"]

    assert [row["key"] for row in rows] == keys()
    shown = {row["key"]: (row["value"], row["origin"]) for row in rows}
    assert shown["home"] == (str(shell.home), "flag")
    assert shown["search.gate"] == ("count", "$MEMORY_SEARCH_GATE")
    assert shown["search.limit"] == (7, str(shell.home / "config.yaml"))
    assert shown["search.mode"] == ("tiered", "default")


def test_init_writes_settings_once(shell: Shell) -> None:
    assert shell("init", "--json").json["written"] is True
    (shell.home / "config.yaml").write_text("search:\n  limit: 7\n")

    assert shell("init", "--json").json["written"] is False
    assert (shell.home / "config.yaml").read_text() == "search:\n  limit: 7\n"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has links only for some")
def test_init_writes_where_a_link_leads(shell: Shell) -> None:
    (shell.folder / "link.yaml").symlink_to("dotfiles.yaml")

    assert shell("--config", "link.yaml", "init", "--json").json["written"] is True

    assert (shell.folder / "link.yaml").is_symlink()
    assert (shell.folder / "dotfiles.yaml").read_text().startswith("# Settings")


@pytest.mark.parametrize("by_variable", [True, False])
def test_init_writes_the_settings_file_that_was_named(shell: Shell, by_variable: bool) -> None:
    named = replace(shell, settings={"MEMORY_CONFIG": "new.yaml"} if by_variable else {})
    arguments = ["init"] if by_variable else ["--config", "new.yaml", "init"]

    assert named(*arguments, "--json").json["written"] is True

    assert (shell.folder / "new.yaml").read_text().startswith("# Settings")
    assert sorted(path.name for path in shell.home.glob("*.yaml")) == []
    assert named(*arguments, "--json").json["written"] is False


def test_without_a_home_the_platforms_folder_is_used(shell: Shell) -> None:
    env = {name: value for name, value in shell.env.items() if name != "MEMORY_HOME"}

    run = subprocess.run([COMMAND, "save", "Title"], env=env, cwd=shell.folder, capture_output=True, check=False)

    assert run.returncode == 0
    assert [path.name for path in shell.folder.parent.rglob("memory.db")] == ["memory.db"]  # below $HOME


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_completion_is_a_script(shell: Shell, shell_name: str) -> None:
    assert "_MEMORY_COMPLETE" in shell("completion", shell_name).out


@pytest.mark.parametrize(
    "words", ["import ", "--home ", "--config ", "export -o ", "demo --keep "], ids=lambda words: words.strip()
)
def test_a_path_is_completed_from_files(shell: Shell, words: str) -> None:
    count = str(len(words.split()) + 1)
    asked = replace(
        shell,
        settings={"_MEMORY_COMPLETE": "bash_complete", "COMP_WORDS": f"memory {words}", "COMP_CWORD": count},
    )

    assert asked(code=None).out.startswith("file,")


# Carrying over -----------------------------------------------------------


BODY = "\ufeff\r\n# {}\n\n said\u2028 \t\n\n"


def everything(home: Path) -> None:
    """Memories of every kind, with all that can belong to one."""
    config = replace(Config(), home=str(home), embedding=replace(Config().embedding, provider="hashed"))
    seconds = iter(range(10_000))  # no generator, which the thread that learns may not ask at the same time
    begun = datetime(2026, 1, 1, 0, 0, 0, 7, tzinfo=UTC)
    home.mkdir(parents=True)
    with Engine(SqliteStore(config.database), config, now=lambda: begun + timedelta(seconds=next(seconds))) as engine:
        first = engine.save(
            Draft(title="First 東京 \u2028 👩‍👩‍👧", what="é", tags=("a", "b"), metadata={"n": [1, None, "x"]})
        )
        engine.save(
            Draft(title="Second", body="\r\n# H\r\n\r\n text \ufeff\t", project="shop"), supersedes=first.memory.id
        )
        engine.update(2, what="changed", related_files=("a.py",))
        engine.update(2, body="")
        for kind in Kind:
            place = {"session_id": "s", "session_iter": 3, "task_code": "t", "query_id": "q"}
            engine.save(
                Draft(
                    **{name: value for name, value in place.items() if name not in RULES[kind].forbidden},
                    kind=kind,
                    title=f"A {kind}",
                    body=BODY.format(kind),
                    agent_id="agent",
                    parent_id=first.memory.id,
                    source="test",
                    metadata={"namespace": ["a", "b/"], "key": "k\n", "ttl": 5} if kind is Kind.ITEM else {},
                )
            )
        engine.details(3)


def test_an_export_imported_into_a_fresh_home_exports_the_same_bytes(shell: Shell, tmp_path: Path) -> None:
    everything(shell.home)
    other = replace(shell, home=tmp_path / "other")

    exported = shell("export").out
    imported = other("import", "-", "--json", stdin=exported)

    assert imported.json["kept"] == 19
    assert other("export").out == exported
    bodies = {line["kind"]: line["body"] for line in map(json.loads, exported.removesuffix("\n").split("\n"))}
    assert bodies == {str(kind): BODY.format(kind) for kind in Kind}


def test_what_is_pinned_is_listed_comes_first_and_goes_with_an_export(shell: Shell, tmp_path: Path) -> None:
    first = shell("save", "Use tabs", "--pin", "--json").json["memory"]["id"][:8]
    second = shell("save", "Never force-push", "--json").json["memory"]["id"][:8]
    for n in range(12):
        shell("save", f"fact {n}")

    assert shell("pin", second).out == f"Pinned {second} Never force-push\n"
    assert [one["title"] for one in shell("list", "--pinned", "--json").json["memories"]] == [
        "Never force-push",
        "Use tabs",
    ]
    assert [one["title"] for one in shell("context", "--json").json["memories"]][:2] == ["Never force-push", "Use tabs"]
    assert "(pinned)" in shell("list", "--pinned").out
    assert shell("pin", first, "ffffffff", code=1).err.startswith("memory: no memory 'ffffffff'")
    newer = shell("save", "Use spaces", "--supersedes", first, "--json").json["memory"]["id"][:8]
    assert f"Pin {newer} instead" in shell("pin", second, first, code=2).err
    shell("update", newer, "--what", "as the formatter does")

    (tmp_path / "export.jsonl").write_bytes(shell("export").out.encode())
    other = Shell(tmp_path / "other", tmp_path)
    other("import", tmp_path / "export.jsonl")
    assert len(other("list", "--pinned", "--json").json["memories"]) == 2
    assert other("unpin", newer, second, "--json").json["schema"] == "memory.unpin/1"
    assert other("list", "--pinned").err.startswith("memory: nothing is pinned")


def test_what_was_unpinned_does_not_come_back_pinned_with_what_it_superseded(shell: Shell) -> None:
    for title, *more in (["one", "--pin"], ["two", "--supersedes", "1"], ["three", "--supersedes", "2"]):
        shell("save", title, *more)
    assert titles(shell, "--pinned") == ["three"]

    shell("unpin", "3")
    for id in "32":
        shell("delete", id)

    assert titles(shell) == ["one"]
    assert titles(shell, "--pinned") == []


def test_what_replaced_a_pinned_memory_leaves_it_pinned_when_it_is_deleted(shell: Shell) -> None:
    shell("save", "one", "--pin")
    shell("save", "two", "--supersedes", "1")

    shell("delete", "2")

    assert titles(shell, "--pinned") == ["one"]


TWINS = ("aaaaaaaa" + "0" * 24, "aaaaaaaa" + "1" * 24)


def test_one_id_has_one_name_and_every_form_is_taken(shell: Shell, tmp_path: Path) -> None:
    shell("save", "first", "--what", "x")
    line = json.loads(shell("export").out)
    assert line["id"] == line["uid"] == shell("list", "--json").json["memories"][0]["id"]
    del line["uid"]
    twins = [line | {"id": id, "title": f"twin {id[8]}"} for id in TWINS]
    (tmp_path / "twins.jsonl").write_text("".join(f"{json.dumps(twin)}\n" for twin in twins))
    shell("import", tmp_path / "twins.jsonl")

    listed = shell("list").out.splitlines()
    assert [row.split()[-1] for row in listed if "twin" in row] == [f"aaaaaaaa{n}" for n in "10"]
    for form in ("2", TWINS[0], "aaaaaaaa0", "AAAAAAAA-0"):
        assert shell("details", form, "--json").json["memory"]["id"] == TWINS[0]
    refused = shell("delete", "aaaaaaaa", code=1).err
    assert refused == f"memory: 'aaaaaaaa' could be any of {', '.join(TWINS)}\n{HINT}\n"
    assert f"id {TWINS[0]} · active" in shell("details", "aaaaaaaa0").out
    assert shell("update", "aaaaaaaa1", "--what", "y").out == "Updated aaaaaaaa1\n"
    assert shell("delete", "aaaaaaaa1").out == "Deleted aaaaaaaa1 twin 1; `memory undo` restores it\n"
    assert shell("list").out.splitlines()[0].endswith("  aaaaaaaa")


HINT = "memory: Give more characters of the id."


def test_a_memory_names_another_by_the_id_of_that(shell: Shell, tmp_path: Path) -> None:
    shell("save", "first", "--what", "x")
    line = json.loads(shell("export").out)
    twins = [line | {"id": id, "uid": id, "title": "twin"} for id in TWINS]
    twins[0] |= {"status": "superseded", "superseded_by": TWINS[1], "parent": TWINS[1]}
    (tmp_path / "twins.jsonl").write_text("".join(f"{json.dumps(twin)}\n" for twin in twins))
    shell("import", tmp_path / "twins.jsonl")

    found = shell("details", TWINS[0], "--json").json["memory"]
    assert (found["superseded_by"], found["parent_id"]) == (TWINS[1], TWINS[1])
    assert "Superseded by: aaaaaaaa1\n" in shell("details", TWINS[0]).out
    assert "superseded by aaaaaaaa1]" in shell("context", "--superseded").out


def test_an_id_and_a_uid_that_differ_are_not_imported(shell: Shell, tmp_path: Path) -> None:
    shell("save", "first")
    line = json.loads(shell("export").out) | {"id": TWINS[0]}
    (tmp_path / "odd.jsonl").write_text(json.dumps(line))

    assert "is not the uid" in shell("import", tmp_path / "odd.jsonl", code=2).err


def test_a_pin_in_an_import_is_true_or_false(shell: Shell, tmp_path: Path) -> None:
    shell("save", "one")
    lines = shell("export").out.replace('"pinned": false', '"pinned": "no"')
    (tmp_path / "odd.jsonl").write_text(lines)

    assert "pinned is true or false, not 'no'" in shell("import", tmp_path / "odd.jsonl", code=2).err


def test_importing_an_export_again_keeps_nothing(shell: Shell) -> None:
    everything(shell.home)
    exported = shell("export").out

    again = shell("import", "-", "--json", stdin=exported).json

    assert (again["kept"], again["known"]) == (0, 19)
    assert shell("export").out == exported


@pytest.mark.parametrize("words", [["export"], ["graph", "export"], ["run", "export", "R"]], ids=" ".join)
def test_only_its_owner_may_open_an_export(shell: Shell, words: list[str]) -> None:
    line = {"kind": "discovery", "title": "Title", "query_id": "R", "agent_id": "a", "body": "text"}
    shell("import", "-", stdin=json.dumps(line))

    export = shell.start(*words, "-o", "out.json", stdout=subprocess.DEVNULL, preexec_fn=lambda: os.umask(0) and None)

    assert export.wait(60) == 0
    assert stat.S_IMODE((shell.folder / "out.json").stat().st_mode) == 0o600


def test_an_export_to_a_file_overwrites_nothing(kept: Shell) -> None:
    kept("export", "-o", "out.jsonl")
    first = (kept.folder / "out.jsonl").read_text()

    assert "out.jsonl" in kept("export", "-o", "out.jsonl", "--json", code=2).error["message"]
    assert (kept.folder / "out.jsonl").read_text() == first == kept("export").out


def test_lines_of_drafts_are_kept_once(shell: Shell) -> None:
    lines = (
        '\n{"title": "One", "tags": ["a"]}\r\n\n{"kind": "reports", "agent_id": "x", "session_id": "s", "body": "y"}\n'
    )

    first, second = (shell("import", "-", "--json", stdin=lines).json for _ in range(2))

    assert (first["kept"], second["kept"], second["known"]) == (2, 0, 2)


GOOD = '{"title": "Good"}'
UID = '"uid": "' + "a" * 32 + '", "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"'


@pytest.mark.parametrize(
    "bad",
    [
        "{",
        "[" * 5_000,
        "[]",
        "3",
        "{}",
        '{"titel": "x"}',
        '{"title": 3}',
        '{"title": "x", "tags": "a"}',
        '{"title": "x", "tags": [1]}',
        '{"title": "x", "tags": {"a": 1}}',
        '{"title": "x", "metadata": [1]}',
        '{"title": "x", "metadata": "text"}',
        '{"title": "x", "metadata": null}',
        '{"title": "x", "kind": "gossip"}',
        '{"title": "x", "kind": ["note"]}',
        '{"title": "x", "category": "gossip"}',
        '{"title": "x", "session_iter": 0}',
        '{"title": "x", "session_iter": 1.5}',
        '{"title": "x", "session_iter": 1e400}',
        '{"title": "x", "session_iter": 99999999999999999999999}',
        '{"title": "x", "body": "\\u0000"}',
        '{"title": "x", "body": "\\ud800"}',
        '{"title": "x", "schema": "memory.memory/2"}',
        '{"title": "x", "uid": "short"}',
        '{"title": "x", "uid": "' + "a" * 32 + '"}',
        f'{{"title": "x", {UID}, "access_count": -1}}',
        f'{{"title": "x", {UID}, "access_count": 1e400}}',
        f'{{"title": "x", {UID}, "access_count": 99999999999999999999999}}',
        f'{{"title": "x", {UID}, "status": "odd"}}',
        f'{{"title": "x", {UID}, "accessed_at": "odd"}}',
        f'{{"title": "x", {UID}, "accessed_at": "0001-01-01T00:00:00+23:00"}}',
        f'{{"title": "x", {UID}, "parent": [1]}}',
        f'{{"title": "x", {UID}, "superseded_by": 7}}',
        f'{{"title": "x", {UID}, "history": 3}}',
        f'{{"title": "x", {UID}, "history": [{{}}]}}',
        f'{{"title": "x", {UID}, "history": [3]}}',
    ],
)
def test_a_bad_line_is_named_and_nothing_is_kept(shell: Shell, bad: str) -> None:
    error = shell("import", "-", "--json", stdin=f"{GOOD}\n\n{bad}\n{GOOD}\n", code=2).error

    assert error["message"].startswith("-:3: ")
    assert not shell.home.exists() or count(shell) == 0


def test_what_is_not_utf8_is_not_imported(shell: Shell) -> None:
    assert "not UTF-8" in shell("import", "-", "--json", stdin=b'{"title": "\xff"}', code=2).error["message"]


@pytest.fixture
def notes(shell: Shell) -> Path:
    """A folder of Markdown, with what is in the way beside it."""
    folder = shell.folder / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "one.md").write_text("# One\n\nAbout cookies.\n")
    (folder / "deep" / "two.markdown").write_text("No heading.\n")
    (folder / "marked.md").write_text("\ufeff# Marked\n", encoding="utf-8")
    (folder / ".hidden" / "secret.md").write_text("# Hidden\n")
    (folder / "empty.md").write_text(" \n")
    (folder / "other.txt").write_text("# Text\n")
    return folder


def test_a_folder_of_markdown_is_kept_once(shell: Shell, notes: Path) -> None:
    first, second = (shell("import", str(notes), "--json").json for _ in range(2))

    assert (first["kept"], first["known"]) == (3, 0)
    assert (second["kept"], second["updated"], second["known"]) == (0, 0, 3)
    assert sorted(titles(shell)) == ["Marked", "One", "two"]
    hit = shell("search", "cookies", "--json").json["hits"][0]
    assert (hit["kind"], hit["title"], hit["project"]) == ("knowledge_base", "One", "folder")
    assert shell("details", str(hit["memory_id"]), "--json").json["details"] == "# One\n\nAbout cookies.\n"


def test_a_changed_file_updates_its_memory(shell: Shell, notes: Path) -> None:
    shell("import", str(notes))
    before = {memory["title"]: memory["id"] for memory in shell("list", "--json").json["memories"]}
    (notes / "one.md").write_text("# Uno\n\nAbout tokens.\n")

    assert shell("import", str(notes)).out == "found 5: 0 saved, 1 updated, 2 already there, 2 left out\n"

    after = {memory["title"]: memory["id"] for memory in shell("list", "--json").json["memories"]}
    assert after == {"Uno": before["One"], "two": before["two"], "Marked": before["Marked"]}
    details = shell("details", before["One"], "--json").json
    assert details["details"] == "# Uno\n\nAbout tokens.\n"
    assert [old["details"] for old in details["history"]] == ["# One\n\nAbout cookies.\n"]
    assert not shell("search", "cookies", "--mode", "keyword", "--json").json["hits"]


def test_the_same_folder_in_another_project_is_kept_beside(shell: Shell, notes: Path) -> None:
    shell("import", str(notes), "--project", "a")
    shell("import", str(notes), "--project", "b")

    assert len(titles(shell)) == 6


def test_a_file_of_a_folder_that_cannot_be_kept_is_named_and_the_others_are_kept(shell: Shell, notes: Path) -> None:
    (notes / "aaa.md").write_bytes(b"\xff\xd8\xff")
    (notes / "huge.md").write_text("word " * (BODY_LIMIT // 5 + 1))

    found = shell("import", str(notes), "--json", code=1).json
    again = shell("import", str(notes), code=1)

    assert (found["kept"], found["notices"]) == (3, [])
    skipped = [one["text"] for one in found["skipped"]]
    assert [[name in text for text in skipped] for name in ("aaa.md", "huge.md")] == [[True, False], [False, True]]
    assert "not UTF-8" in skipped[0]
    assert sorted(titles(shell)) == ["Marked", "One", "two"]
    assert again.out == "found 7: 0 saved, 0 updated, 3 already there, 4 left out\n"
    found, *lines = again.err.splitlines()
    assert found == "memory: found 6 Markdown files, for the knowledge base of the project folder"
    left = [*skipped, "empty.md: there is nothing in it", "other.txt: memory does not import this kind of file"]
    assert all(line.startswith("memory: left out: ") and text in line for line, text in zip(lines, left, strict=True))


def test_a_file_that_is_named_and_is_no_text_changes_nothing(shell: Shell, notes: Path) -> None:
    (notes / "photo.md").write_bytes(b"\xff\xd8\xff")

    error = shell("import", str(notes / "photo.md"), "--json", code=2).error

    assert "photo.md" in error["message"]
    assert not shell.home.exists() or count(shell) == 0


# Leaving early -----------------------------------------------------------


def test_a_reader_that_leaves_ends_an_export_quietly(shell: Shell) -> None:
    lines = "\n".join(json.dumps({"title": f"Note {n}", "body": "x" * 2_000}) for n in range(200))
    shell("import", "-", stdin=lines)

    export = shell.start("export", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = export.stdout.readline()
    export.stdout.close()
    error = export.stderr.read()
    export.stderr.close()

    assert json.loads(first)["title"] == "Note 0"
    assert export.wait(60) in {0, 1}
    assert error == b""


# What it costs -----------------------------------------------------------


def modules(shell: Shell, *arguments: str) -> set[str]:
    """What a command imports, by the first part of its name."""
    return {name.partition(".")[0] for name in shell.imports(*arguments)}


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "cookies"],
        ["search", "cookies", "--json", "--project", "shop"],
        ["list"],
        ["details", "1"],
        ["context"],
        ["context", "--project", "shop"],
        ["--version"],
    ],
    ids=" ".join,
)
def test_what_needs_no_model_imports_nothing_heavy(kept: Shell, arguments: list[str]) -> None:
    settings = replace(kept, settings={"MEMORY_EMBEDDING_PROVIDER": "local", "MEMORY_EMBEDDING_MODEL": ""})

    imported = modules(settings, *arguments)

    assert "click" in imported
    assert not imported & HEAVY


def test_a_search_by_meaning_imports_no_more_than_numpy(kept: Shell) -> None:
    imported = modules(kept, "search", "cookies", "--mode", "hybrid")

    assert imported & HEAVY == {"numpy"}


def test_ids_of_a_list_go_down(kept: Shell) -> None:
    ids = [memory["memory_id"] for memory in kept("list", "--json").json["memories"]]

    assert all(one > other for one, other in pairwise(ids))
