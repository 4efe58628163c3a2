"""Sessions, runs, use, what is under way and agents, in a real browser; and attacks in their names."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from attacks import ATTACKS
from browsing import press, seen, shows, until
from page import serving, shell
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    here = shell(tmp_path_factory.mktemp("looking"))
    (here.folder / "said.md").write_text("# What was found\n\nIt was long.")
    for number in (1, 2):
        here("store", "report", "said.md", "--session", "rework", "--iter", str(number), "--agent", f"coder-{number}")
    run = here("run", "start", "--plan", "Independent benchmarks first").out.strip()
    with serving(here) as running:
        running.run = run
        yield running


@pytest.fixture
def entered(browser, ui):
    browser.get(ui.url)
    seen(browser, "#find")
    return browser


def test_a_session_is_opened_by_keys_and_drawn_as_a_line_for_each_agent(entered, ui):
    entered.get(f"{ui.own}/see/sessions")
    press(entered, "j", Keys.ENTER)

    dots = seen(entered, ".strip circle")
    assert entered.find_element(By.TAG_NAME, "h2").text == "rework"
    assert [one.text for one in entered.find_elements(By.CSS_SELECTOR, ".strip text")] == ["coder-1", "coder-2"]
    moments = entered.find_elements(By.CSS_SELECTOR, ".moments [data-row]")
    assert len(dots) == len(moments) == 2

    press(entered, "j", Keys.ENTER)
    until(entered, lambda it: "/memory/" in it.current_url)


def test_a_run_is_opened_by_keys_and_its_board_leads_to_memories(entered, ui):
    entered.get(f"{ui.own}/see/runs")
    press(entered, "j", Keys.ENTER)
    shows(entered, "Independent benchmarks first")
    assert entered.find_element(By.TAG_NAME, "h2").text == ui.run

    press(entered, "j", Keys.ENTER)

    until(entered, lambda it: "/memory/" in it.current_url)
    shows(entered, "Independent benchmarks first")


def test_use_counts_what_was_sent_and_not_what_was_being_typed(entered, ui):
    def counted() -> str:
        entered.get(f"{ui.own}/see/use")
        shows(entered, "searches")
        return entered.find_element(By.CSS_SELECTOR, ".figures dd").text

    ui.shell("search", "benchmarks")
    before = int(counted())
    entered.get(f"{ui.own}/")
    seen(entered, "#q")[0].send_keys("long")
    until(entered, lambda it: it.current_url.endswith("q=long"))
    assert int(counted()) == before

    entered.get(f"{ui.own}/")
    seen(entered, "#q")[0].send_keys("long", Keys.ENTER)
    shows(entered, "by keywords in")

    assert int(counted()) == before + 1 == ui.shell("stats", "--json").json["searches"]
    assert seen(entered, ".columns rect")


def test_an_import_leads_back_to_where_it_was_begun_and_is_there_for_commands(entered, ui):
    notes = ui.shell.folder / "notes.md"
    notes.write_text("# Imported from the page\n\nWith a text.")
    entered.get(f"{ui.own}/care")
    seen(entered, "#path")[0].send_keys(str(notes), Keys.ENTER)
    until(entered, lambda it: "Imported from the page" in ui.shell("list").out)

    until(entered, lambda it: it.find_elements(By.LINK_TEXT, "Back") or it.find_elements(By.CSS_SELECTOR, ".told"))
    for link in entered.find_elements(By.LINK_TEXT, "Back"):  # it took longer than one waits for without being told
        link.click()

    until(entered, lambda it: it.current_url == f"{ui.own}/care")


def test_an_agent_is_set_up_and_removed_by_what_has_the_focus(entered, ui):
    file = ui.shell.folder.parent / ".cursor" / "mcp.json"
    entered.get(f"{ui.own}/care/agents/cursor")
    entered.find_element(By.CSS_SELECTOR, "form[action='/run/setup'] button").send_keys(Keys.ENTER)
    until(entered, lambda it: it.find_elements(By.CSS_SELECTOR, "form[action='/run/setup'] button.risky"))
    assert "memory" in json.loads(file.read_text())["mcpServers"]

    entered.find_element(By.CSS_SELECTOR, "form[action='/run/setup'] button.risky").send_keys(Keys.ENTER)

    until(entered, lambda it: not it.find_elements(By.CSS_SELECTOR, "form[action='/run/setup'] button.risky"))
    assert not file.exists()


def test_attacks_in_names_do_not_run(browser, tmp_path):
    here = shell(tmp_path)
    texts = [f"{number}: {' '.join(attack.split())}" for number, attack in enumerate(ATTACKS)]
    lines = [
        *({"type": "entity", "name": text, "entityType": text, "observations": [text]} for text in texts),
        *({"type": "relation", "from": a, "to": b, "relationType": a} for a, b in pairwise(texts)),
    ]
    (here.folder / "graph.jsonl").write_text("\n".join(map(json.dumps, lines)))
    here("graph", "import", "graph.jsonl")
    for text in texts:
        here("save", text, "--what", text, "--project", text)
    here("embed")
    with serving(here) as ui:
        browser.get(ui.url)
        seen(browser, "[data-row]")
        browser.get(f"{ui.own}/see")
        seen(browser, "#map[data-drawn]")
        browser.find_element(By.ID, "by").send_keys("project")
        seen(browser, "#legend li")
        browser.find_element(By.CSS_SELECTOR, ".regions a").click()
        seen(browser, "#picked h2")
        for place in ("/see", "/see?region=0", "/see/graph", "/care", "/care/trash", "/?n=200"):
            browser.get(ui.own + place)
            seen(browser, "main")
            run = browser.execute_script("return [window.hit, document.querySelectorAll('main img, iframe').length]")
            assert run == [None, 0], place
