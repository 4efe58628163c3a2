"""
The page in a real browser: when something is seen, how soon an answer stands while one types, how long a look through
all memories takes.

    python bench/web.py                  10,000 and 100,000 memories, some five minutes
    python bench/web.py --sizes 10000    others
    python bench/web.py --quick          500: does the script work?
    python bench/web.py --keep           the run is kept in bench/runs/

The memories are those of `tests/support/many.py`, in series, which is the hardest case for the look through.
It needs Chromium with its driver, as `make test-web` does.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from many import MODEL, fill
from page import Ui, serving, shell

from report import Figure, barred, figure, keep, setting, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from selenium.webdriver import Chrome

SEEN, ANSWERED, LOOKED = 1_000, 100, 60_000  # milliseconds
TEXTS = ("kettle", "login token", "upload photo resize", "invoice currency", "case-77", "vacuum of an index")
PATIENCE = 600  # seconds
TOLD = "Memories in series and vectors of 16 numbers. Milliseconds of the browser's clock; `ratio` is to the bar."

LISTEN = """
window.answers = [];
document.addEventListener("htmx:beforeRequest", (event) => {
  if (event.target.id === "q") event.target.asked = performance.now();
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id !== "found") return;
  const q = document.getElementById("q");
  requestAnimationFrame(() => setTimeout(() => window.answers.push([q.value, performance.now() - q.asked])));
});
"""
"""An answer is there once the frame after it is drawn."""

ANSWERS = "return window.answers.some((one) => one[0] === arguments[0]) ? window.answers.splice(0) : null"
PAINT = "return performance.getEntriesByName('first-contentful-paint').map((one) => one.startTime)"


def seen(browser: Chrome, ui: Ui, turns: int) -> list[float]:
    """Milliseconds from a request for the page to the first of it that is seen."""
    browser.get(ui.url)
    taken = []
    for _ in range(turns):
        browser.get("about:blank")
        browser.get(f"{ui.own}/")
        taken += _until(lambda: browser.execute_script(PAINT))
    return taken


def answered(browser: Chrome, ui: Ui, turns: int) -> tuple[list[float], list[float]]:
    """Milliseconds from each request while one types to its answer, and of the server's processor for each."""
    taken, worked = [], []
    browser.get(f"{ui.own}/")
    _until(lambda: browser.execute_script("return document.querySelector('.facets input')"))
    browser.execute_script(LISTEN)
    field = browser.find_element("id", "q")
    for text in TEXTS * turns:
        field.clear()
        field.send_keys(text)
        before = _worked(ui)
        found = _until(lambda text=text: browser.execute_script(ANSWERS, text))
        taken += [milliseconds for _, milliseconds in found]
        worked.append((_worked(ui) - before) / len(found))
    return taken, worked


def looked(browser: Chrome, ui: Ui) -> float:
    """Milliseconds of a look through all memories, as the page says."""
    browser.get(f"{ui.own}/review")
    browser.find_element("css selector", "[data-key=l]").click()
    found = _until(lambda: re.search(r"looked through in ([\d.]+) s", browser.find_element("id", "main").text))
    return float(found[1]) * 1000


def _until(found: Callable[[], Any]) -> Any:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.wait import WebDriverWait

    wait = WebDriverWait(None, PATIENCE, poll_frequency=0.02, ignored_exceptions=[StaleElementReferenceException])
    return wait.until(lambda _: found())


def _worked(ui: Ui) -> float:
    """Milliseconds of the processor that the server has used; 0 where the system does not say."""
    threads = Path(f"/proc/{ui.process.pid}/task").glob("*/schedstat")
    return sum(int(one.read_text().split()[0]) for one in threads) / 1e6


def idle(ui: Ui) -> bool:
    """Whether nothing goes on in the server: it learns from all memories once, as they came without it."""
    before = _worked(ui)
    time.sleep(1.0)
    return _worked(ui) - before < 50


def figures(browser: Chrome, size: int, turns: int, raw: dict[str, object]) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as folder:
        here = shell(Path(folder), MEMORY_EMBEDDING_MODEL=MODEL)
        fill(here.home, size)
        with serving(here) as ui:
            first = seen(browser, ui, 2 * turns)
            busy, _ = answered(browser, ui, min(turns, 2))
            _until(lambda: idle(ui))
            answers, worked = answered(browser, ui, turns)
            look = looked(browser, ui)
    raw[f"{size}"] = {"seen": first, "answered while busy": busy, "answered": answers, "server": worked, "looked": look}
    return [
        _barred("first paint", size, first, SEEN),
        figure("answer while it learns from all", size, busy, {}),
        _barred("answer while typing", size, answers, ANSWERED),
        figure("the server's processor for it", size, worked, {}),
        _barred("look through all", size, [look], LOOKED),
    ]


def _barred(what: str, size: int, taken: list[float], most: int) -> Figure:
    found = figure(what, size, taken, {})
    assert found.worst is not None
    return barred(found, f"p95 <= {most:,} ms", met=found.worst <= most)


def main() -> None:
    parser = argparse.ArgumentParser(description="The page in a real browser.")
    parser.add_argument("--sizes", default="10000,100000", help="how many memories")
    parser.add_argument("--quick", action="store_true", help="500 memories, few turns: does the script work?")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    if find_spec("selenium") is None:
        print("left out: selenium is not installed; `make test-web` installs it")
        return
    from browsing import BROWSERS, DRIVERS, chromium, program

    if not (program(*BROWSERS) and program(*DRIVERS)):
        print("left out: there is no Chromium with its driver; on Debian: sudo apt install chromium chromium-driver")
        return
    sizes, turns = ([500], 1) if given.quick else ([int(size) for size in given.sizes.split(",")], 5)
    raw: dict[str, object] = {}
    measured: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as profile, chromium(Path(profile)) as browser:
        began = time.monotonic()
        for size in sizes:
            measured += figures(browser, size, turns, raw)
        facts = setting() | {"browser": f"Chromium {browser.capabilities['browserVersion']}"}
    facts["took"] = f"{time.monotonic() - began:.0f} s"
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(measured), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(measured, raw, facts, name='web', told=TOLD).name}")


if __name__ == "__main__":
    main()
