"""Look after: what a command tells and does of settings, agents, the trash and repairs, the page tells and does too."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from time import monotonic, sleep

import pytest
from page import Ui, serving, shell

from memory.tools.arguments import filled
from memory.web.care import MENDS, mends
from memory.web.work import BEGIN, declared

SECONDS = 60


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    here = shell(tmp_path_factory.mktemp("care"), MEMORY_EMBEDDING_PROVIDER="none")
    here("save", "Switched to JWT", "--what", "Replaced session cookies")
    with serving(here) as running:
        yield running


def setting(ui: Ui, key: str) -> dict[str, object]:
    return ui.shell("config", key, "--json").json["settings"][0]


def ended(ui: Ui, path: str) -> str:
    """The words of a page once nothing of it moves."""
    until = monotonic() + SECONDS
    while 'hx-trigger="every' in (got := ui.get(path)).text:
        assert monotonic() < until, got.words
        sleep(0.1)
    return got.words


def test_a_setting_that_the_page_changes_is_changed_for_commands(ui):
    ui.post("/care/settings", key="search.limit", value="7", _next="/care/settings")
    assert setting(ui, "search.limit")["value"] == 7

    ui.post("/care/settings", key="search.limit", value="7", usual="1", _next="/care/settings")
    assert setting(ui, "search.limit")["origin"] == "default"


def test_a_setting_is_checked_as_a_command_checks_it(ui):
    refused = ui.shell("config", "set", "search.limit", "many", code=2).err.splitlines()[0].removeprefix("memory: ")

    assert refused in ui.post("/care/settings", key="search.limit", value="many", _next="/care/settings").words
    assert "no setting" in ui.post("/care/settings", key="search.nothing", value="1", _next="/care/settings").words
    assert setting(ui, "search.limit")["origin"] == "default"


def test_each_setting_stands_there_with_where_it_comes_from(ui):
    words = ui.get("/care/settings").words

    assert "provider none $MEMORY_EMBEDDING_PROVIDER" in words
    for one in ui.shell("config", "--json").json["settings"]:
        assert one["key"].rpartition(".")[2] in words


def test_an_agent_is_set_up_and_removed_and_what_would_change_is_shown_before(ui):
    file = ui.shell.folder.parent / ".cursor" / "mcp.json"
    assert '"mcpServers"' in ui.get("/care/agents/cursor").words
    assert not file.exists()

    ui.post("/run/setup", agent="cursor", _next="/care/agents/cursor")
    assert "memory" in json.loads(file.read_text())["mcpServers"]

    ui.post("/run/setup", agent="cursor", remove="yes", _next="/care/agents/cursor")
    assert not file.exists()
    assert ui.get("/care/agents/nobody").status == 404


def test_what_was_deleted_is_had_back_or_goes_for_good(ui):
    uids = [ui.shell("save", f"Deleted {number}", "--json").json["memory"]["id"] for number in range(2)]
    ui.shell("delete", uids[0], "--yes")
    ui.shell("delete", uids[1], "--yes")
    assert "2 memories" in ui.get("/care/trash").words

    ui.post("/run/trash/restore", id=uids[0], _next="/care/trash")
    assert ui.shell("details", uids[0])

    assert "empty" in ui.post("/run/trash/empty", yes="yes", _next="/care/trash").words
    assert ui.shell("trash", "--json").json["memories"] == []


def test_what_undo_would_take_back_is_said_before(ui):
    ui.shell("save", "A step to take back")
    assert "would be removed: A step to take back" in ui.get("/care").words

    ui.post("/run/undo")
    ended(ui, "/care")

    assert "A step to take back" not in ui.shell("list").out


def test_an_import_is_undone_after_a_yes_redone_and_had_back_as_one(ui):
    file = ui.shell.folder / "many.jsonl"
    file.write_text("\n".join(json.dumps({"title": f"m{n}", "what": f"alpha {n}"}) for n in range(4)), "utf-8")
    ui.shell("import", str(file))

    def there() -> list[str]:
        return sorted(one["title"] for one in ui.shell("list", "--json").json["memories"] if one["title"][0] == "m")

    id = next(one["id"] for one in ui.shell("list", "--json").json["memories"] if one["title"] == "m0")
    ui.post("/run/undo", id=id, _next=f"/memory/{id}")
    ended(ui, "/care")
    assert there() == ["m1", "m2", "m3"], "beside one memory that alone"
    assert "this changes 3 memories at once" in ui.post("/run/undo", _next="/care").words
    ended(ui, "/care")
    assert there() == ["m1", "m2", "m3"]
    page = ui.get("/care")
    assert ("Undo it: 3 memories…" in page.words, "Redo import: 1 memory" in page.words) == (True, True)

    step = re.search(r'name="step" value="(\w+)"', page.text)[1]
    ui.post("/run/undo", step=step, yes="yes", _next="/care")
    ended(ui, "/care")
    assert there() == []
    page = ui.get("/care/trash")
    assert "Restore all 3 of this import" in page.words
    step = re.search(r'name="step" value="(\w+)"', page.text)[1]
    ui.post("/run/trash/restore", step=step, _next="/care/trash")
    assert there() == ["m1", "m2", "m3"]


def test_everything_is_checked_in_the_background(ui):
    ui.post("/care/begin/doctor", _next="/care")

    words = ended(ui, "/care")
    for finding in ui.shell("doctor", "--json").json["findings"]:
        assert finding["told"] in words


def test_an_import_runs_in_the_background_and_is_there_for_commands(ui):
    (ui.shell.folder / "notes.md").write_text("# Imported from the page\n\nWith a text.")

    ui.post("/run/import", path=str(ui.shell.folder / "notes.md"))
    ended(ui, "/care")

    assert "Imported from the page" in ui.shell("list").out


def test_only_what_takes_long_is_begun_there(ui):
    assert ui.post("/care/begin/delete", id="x").status == 400
    assert ui.post("/care/begin/doctor", colour="red").status == 400
    assert ui.get("/care/begin/doctor").status in (404, 405)


def test_every_mend_is_a_command_that_takes_what_it_says():
    for named, mend in MENDS.items():
        path = mend.address.removeprefix("/care/begin/").removeprefix("/run/").replace("/", " ")
        assert named.startswith(f"memory {path}")
        assert mend.address.startswith("/run/") != (path in BEGIN)
        filled(declared(path), {name: [value] for name, value in mend.fields})


def test_a_hint_has_the_buttons_of_the_commands_it_names():
    hint = "`memory doctor --fix` rebuilds it; `memory export` saves it; `rm -rf /` does not."

    assert [mend.words for mend in mends(hint)] == ["Repair"]


def test_an_address_of_no_span_is_refused(ui):
    assert ui.get("/care/ledger?days=7").status == 200
    assert ui.get("/care/ledger?days=8").status == 400


def test_nobody_is_asked_at_the_terminal_for_what_the_page_does(tmp_path):
    """Setting up this agent asks at a terminal whether its sessions propose what to keep."""
    here = shell(tmp_path)
    (tmp_path / ".claude").mkdir()
    ours, its = os.openpty()
    options = {"stdin": its, "stdout": subprocess.PIPE, "stderr": its, "text": True}
    with here.start("ui", "--no-open", "--json", "--port", "0", **options) as process:
        os.close(its)
        running = Ui(here, process, json.loads(process.stdout.readline())["url"])
        said = running.post("/run/setup", agent="claude-code", no_hooks="no", _next="/care/agents").words
        process.send_signal(signal.SIGINT)
        process.wait(SECONDS)
    os.close(ours)

    assert "server: added" in said
