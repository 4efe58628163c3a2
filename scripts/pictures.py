"""
Draw again the pictures of the page in docs/web: made-up memories and those of `memory demo`, in Chromium.

    .venv/bin/python scripts/pictures.py

By hand, where the page changes on purpose; then look at each. It needs what `make test-web` needs. A test tells whether
docs/web.md shows just these.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

from browsing import chromium, press, seen, shows
from page import serving, shell

from memory import Draft, Engine
from memory.cli.demo import drafted
from memory.config import load

if TYPE_CHECKING:
    from command import Shell
    from page import Ui
    from selenium.webdriver import Chrome

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "web"
WIDE, HIGH = 1100, 680
MODEL = {"embedding.provider": "hashed", "embedding.model": "hashed-64"}
PICTURES = {
    "find": "/?q=postgres+pool",
    "read": "/memory/{id}",
    "edit": "/memory/{id}/edit",
    "review": "/review",
    "map": "/see",
    "graph": "/see/graph?entity=checkout&reach=2",
    "session": "/see/sessions/one?id=auth-rework",
    "run": "/see/runs/one?id={run}",
    "use": "/see/use",
    "state": "/care",
    "settings": "/care/settings?key=search.limit#search.limit",
    "agents": "/care/agents",
    "trash": "/care/trash",
    "ledger": "/care/ledger",
}
"""The address of each picture, in the order of docs/web.md."""

AT_HOME = """
const all = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (all.nextNode()) all.currentNode.data = all.currentNode.data.replaceAll(arguments[0], "~");
"""
"""No picture names a folder of the machine it was drawn on."""

NOTES = (
    ("Postgres pool raised to 20", "Requests waited for connections at 12 under the evening load", "bug"),
    (
        "Pool size of the database is 20",
        "Requests waited for connections at 12 under the load of the evening",
        "learning",
    ),
    ("Retries back off", "Each try of a payment waits twice as long as the one before, five times", "pattern"),
    ("Invoices are rounded per line", "Totals differ by a cent where tax is rounded once", "decision"),
)
RELATIONS = (
    ("checkout", "uses", "Postgres"),
    ("checkout", "uses", "Redis"),
    ("gateway", "calls", "checkout"),
    ("gateway", "calls", "billing"),
    ("billing", "uses", "Postgres"),
    ("Ada", "owns", "billing"),
)
SAID = (("1", "planner", "input_prompt"), ("1", "coder", "working_memory"), ("2", "coder", "report"))
FOUND = (
    ("discovery", "worker-1", "Queries of the report page wait for one index"),
    ("discovery", "worker-2", "With the index they take 7 ms in place of 900"),
    ("insight", "worker-1", "Most of the time was spent on sorting"),
    ("deadend", "worker-2", "A larger cache changes nothing"),
)


def filled(here: Shell) -> dict[str, str]:
    """Save what the pictures show; the ids that their addresses need."""
    with Engine.open(load(flags={"home": str(here.home), **MODEL})) as engine:
        engine.save_all(drafted())
    for title, what, category in NOTES:
        here("save", title, "--what", what, "--category", category, "--project", "shop", "--tag", category)
    first = ("--what", "Sessions are cookies in Redis", "--why", "Two regions serve one user", "--tag", "auth")
    id = here("save", "Where sessions are kept", *first, "--project", "shop", "--json").json["memory"]["id"]
    here("update", id, "--what", "Sessions are tokens signed with ES256, no longer cookies in Redis")
    here("pin", id)
    for one in dict.fromkeys(name for a, _, b in RELATIONS for name in (a, b)):
        here("graph", "add", one, "--type", "service", "--observation", f"{one} was seen in production")
    for one, how, other in RELATIONS:
        here("graph", "link", one, how, other)
    for iteration, agent, kind in SAID:
        text = f"# {kind.replace('_', ' ').capitalize()} of iteration {iteration}\n\nTokens in place of cookies."
        here("store", kind, "-", "--session", "auth-rework", "--iter", iteration, "--agent", agent, stdin=text)
    run = here("run", "start", "--plan", "Where do slow queries wait?").out.strip()
    with Engine.open(load(flags={"home": str(here.home), **MODEL})) as engine:
        for kind, agent, what in FOUND:
            engine.save(Draft(kind=kind, title=what, body=f"{what}.", query_id=run, agent_id=agent))
    here("delete", here("save", "A note of no use", "--json").json["memory"]["id"], "--yes")
    for text in ("postgres pool", "how do I walk through a folder", "retry a payment", "kettle"):
        here("search", text)
    return {"id": id, "run": run}


def draw(browser: Chrome, ui: Ui, ids: dict[str, str], folder: Path) -> None:
    """Write each picture, as PNG."""
    screen = {"width": WIDE, "height": HIGH, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    browser.get(ui.url)
    seen(browser, "#find")
    browser.get(ui.own + PICTURES["find"])  # the first search reads what others find read
    for name, address in PICTURES.items():
        browser.get(ui.own + address.format(**ids))
        seen(browser, "main")
        if name == "find":
            seen(browser, ".facets fieldset")
            browser.find_element("css selector", ".how summary").click()
        elif name == "review":
            press(browser, "l")
            shows(browser, "checked in")
        elif name == "map":
            seen(browser, "#map[data-drawn]")
        browser.execute_script(AT_HOME, str(ui.shell.folder.parent))
        picture = browser.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        (folder / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def main() -> None:
    with tempfile.TemporaryDirectory() as place, chromium(Path(place, "profile")) as browser:
        here = shell(Path(place), MEMORY_EMBEDDING_PROVIDER="hashed", MEMORY_EMBEDDING_MODEL=MODEL["embedding.model"])
        ids = filled(here)
        with serving(here) as ui:
            draw(browser, ui, ids, FOLDER)


if __name__ == "__main__":
    main()
