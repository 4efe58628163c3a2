"""See and Look after in a real browser: what a person does there, by the mouse and by the keyboard alone."""

from __future__ import annotations

import json

import pytest
from browsing import LOOKS, faults, press, seen, shows, until
from page import serving, shell
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

TOPICS = ("cookies session login token", "kettle tea cup leaves", "index table vacuum query")
EACH = 20
PAGES = [
    *("/see", "/see?region=0", "/see/graph", "/see/graph?entity=checkout", "/see/graph?entity=Ada&to=Redis"),
    *("/see/sessions", "/see/sessions/one?id=rework", "/see/runs", "/see/runs/one?id={run}", "/see/use"),
    *("/care", "/care/settings", "/care/agents", "/care/agents/cursor", "/care/trash", "/care/ledger"),
]


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    here = shell(tmp_path_factory.mktemp("see"), MEMORY_EMBEDDING_PROVIDER="hashed")
    lines = [f"# {topic} {number}\n" for topic in TOPICS for number in range(EACH)]
    for number, line in enumerate(lines):
        here("save", line.strip("# \n"), "--project", f"project-{number % 3}")
    for entity, type in (("Redis", "database"), ("checkout", "service"), ("Ada", "person")):
        here("graph", "add", entity, "--type", type, "--observation", f"{entity} was seen")
    here("graph", "link", "checkout", "uses", "Redis")
    here("graph", "link", "Ada", "owns", "checkout")
    (here.folder / "said.md").write_text("# What was found\n\nIt was long.")
    here("store", "report", "said.md", "--session", "rework", "--iter", "1", "--agent", "coder")
    run = here("run", "start", "--plan", "Independent benchmarks first").out.strip()
    here("delete", here("save", "To be deleted", "--json").json["memory"]["id"], "--yes")
    here("search", "kettle")
    with serving(here) as running:
        running.run = run
        running.post("/care/begin/doctor", _next="/care")
        yield running


@pytest.fixture
def entered(browser, ui):
    browser.get(ui.url)
    seen(browser, "#find")
    return browser


def mapped(browser, ui) -> dict[str, object]:
    """The map as it is drawn, and its points."""
    browser.get(f"{ui.own}/see")
    seen(browser, "#map[data-drawn]")
    return json.loads(ui.get("/see/points").text)


def around(browser, corners) -> None:
    """Draw around a part of the map; corners are from its middle, in pixels."""
    canvas = browser.find_element(By.ID, "map")
    (x, y), *others = corners
    chain = ActionChains(browser, duration=20).move_to_element_with_offset(canvas, x, y).click_and_hold()
    for x, y in others:
        chain.move_to_element_with_offset(canvas, x, y)
    chain.release().perform()


@pytest.mark.parametrize("look", LOOKS, ids=str)
@pytest.mark.parametrize("path", PAGES)
def test_axe_finds_nothing_serious_and_nothing_is_too_wide(entered, ui, axe, path, look):
    mapped(entered, ui)

    assert faults(entered, axe, ui.own + path.format(run=ui.run), look) == []


def test_a_lasso_around_all_points_lists_all_memories(entered, ui):
    points = mapped(entered, ui)
    size = entered.find_element(By.ID, "map").size
    x, y = size["width"] // 2 - 4, size["height"] // 2 - 4

    around(entered, [(-x, -y), (x, -y), (x, y), (-x, y), (-x, 0)])

    shows(entered, f"{len(points['x'])} memories")


def test_a_lasso_around_nothing_lists_nothing_more(entered, ui):
    mapped(entered, ui)
    entered.find_element(By.CSS_SELECTOR, ".regions a").click()
    seen(entered, "#picked h2")

    around(entered, [(0, 0), (1, 0), (1, 1)])

    assert until(entered, lambda it: not it.find_elements(By.CSS_SELECTOR, "#picked [data-region]"))


def test_keys_alone_choose_a_region_and_open_a_memory_of_it(entered, ui):
    mapped(entered, ui)
    press(entered, "j", Keys.ENTER)
    heading = seen(entered, "#picked h2")[0].text
    assert "/see?region=" in entered.current_url
    assert entered.find_element(By.CSS_SELECTOR, ".regions [aria-current]").text == heading

    until(entered, lambda it: it.find_elements(By.CSS_SELECTOR, "#picked [data-open]"))
    for _ in range(len(entered.find_elements(By.CSS_SELECTOR, ".regions li"))):
        press(entered, "j")
    press(entered, Keys.ENTER)

    until(entered, lambda it: "/memory/" in it.current_url)


@pytest.mark.parametrize("by", ["kind", "project", "time"])
def test_the_map_is_coloured_by_what_is_chosen_and_the_legend_counts(entered, ui, by):
    points = mapped(entered, ui)
    picture = "return document.querySelector('#map canvas').toDataURL()"
    before = entered.execute_script(picture)

    entered.find_element(By.ID, "by").send_keys(by)

    legend = until(entered, lambda it: [one.text for one in it.find_elements(By.CSS_SELECTOR, "#legend li")])
    found = points["by"][by]
    assert legend == [f"{name} {found['of'].count(number)}" for number, name in enumerate(found["names"])]
    assert entered.execute_script(picture) != before


def test_the_graph_is_walked_by_its_links(entered, ui):
    entered.get(f"{ui.own}/see/graph?entity=Ada")
    entered.find_element(By.CSS_SELECTOR, '.graph a[aria-label^="checkout"]').send_keys(Keys.ENTER)
    until(entered, lambda it: it.current_url.endswith("entity=checkout"))

    entered.find_element(By.CSS_SELECTOR, 'input[name="type"][value="uses"]').click()
    until(entered, lambda it: "type=uses" in it.current_url)

    shows(entered, "checkout uses Redis")
    assert "Ada owns checkout" not in entered.find_element(By.TAG_NAME, "main").text


def test_a_day_of_the_ledger_stands_on_one_line(entered, ui):
    entered.set_window_size(640, 680)  # the page is read narrow too
    entered.get(f"{ui.own}/care/ledger")

    lines = "const range = document.createRange(); range.selectNodeContents(arguments[0]); return range.getClientRects().length"
    days = seen(entered, ".table td:first-child")
    assert [entered.execute_script(lines, day) for day in days] == [1] * len(days)


def test_a_setting_is_changed_by_keys_and_a_command_sees_it(entered, ui):
    entered.get(f"{ui.own}/care/settings?key=search.limit#search.limit")
    field = entered.find_element(By.CSS_SELECTOR, '[id="search.limit"] input[name="value"]')
    field.clear()
    field.send_keys("9", Keys.ENTER)

    shows(entered, "search.limit = 9")
    assert ui.shell("config", "search.limit", "--json").json["settings"][0]["value"] == 9


def test_everything_is_checked_while_one_looks_on(entered, ui):
    entered.get(f"{ui.own}/care")
    press(entered, "c")

    shows(entered, "Results")
    shows(entered, "is sound")


def test_the_trash_is_emptied_after_a_question_only(entered, ui):
    ui.shell("delete", ui.shell("save", "Gone for good", "--json").json["memory"]["id"], "--yes")
    entered.get(f"{ui.own}/care/trash")
    entered.find_element(By.CSS_SELECTOR, "[data-opens='empty']").click()
    seen(entered, "dialog[open]")
    press(entered, Keys.ENTER)  # what has the focus keeps them
    assert ui.shell("trash", "--json").json["memories"]

    entered.find_element(By.CSS_SELECTOR, "[data-opens='empty']").click()
    entered.find_element(By.CSS_SELECTOR, "dialog[open] button.risky").click()

    shows(entered, "The trash is empty")
    assert ui.shell("trash", "--json").json["memories"] == []
