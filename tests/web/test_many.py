"""
The page with many memories, in a real browser: 10,000; with `MEMORY_TEST_MANY=1` in the environment 100,000 too, which
takes more than a minute.
"""

from __future__ import annotations

import json
import os

import pytest
from browsing import press, seen, shows, until
from many import MODEL, PROJECTS, fill, note
from page import serving, shell
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

SIZES = [10_000, 100_000] if os.environ.get("MEMORY_TEST_MANY") else [10_000]
PATIENCE = 180  # seconds for what runs in the background
ON_THE_MAP = {10_000: 10_000, 100_000: 12_500}  # of more than 20,000 every second, fourth, eighth


@pytest.fixture(scope="module", params=SIZES, ids=str)
def ui(request, tmp_path_factory):
    here = shell(tmp_path_factory.mktemp("many"), MEMORY_EMBEDDING_MODEL=MODEL)
    fill(here.home, request.param)
    with serving(here) as running:
        running.count = request.param
        yield running


@pytest.fixture
def entered(browser, ui):
    browser.get(ui.url)
    seen(browser, "#find")
    return browser


def test_one_among_all_is_found_as_one_types_and_opened_by_keys(entered, ui):
    wanted = ui.count * 2 // 3
    press(entered, Keys.ESCAPE, "/", f"case-{wanted}")
    until(entered, lambda it: it.current_url.endswith(f"q=case-{wanted}"))
    until(entered, lambda it: it.find_element(By.CSS_SELECTOR, "[data-open]").text == f"Ticket {wanted}")
    press(entered, Keys.ESCAPE, "j", Keys.ENTER)

    until(entered, lambda it: "/memory/" in it.current_url)
    assert entered.find_element(By.TAG_NAME, "h1").text == f"Ticket {wanted}"
    assert note(wanted).what in entered.find_element(By.TAG_NAME, "main").text


def test_counts_beside_the_list_are_those_of_all_and_narrow_it(entered, ui):
    each = f"{ui.count // len(PROJECTS):,}"
    counted = {
        one.get_attribute("value"): one.find_element(By.XPATH, "../span[@class='number']").text
        for one in seen(entered, "input[name=project]")
    }
    assert counted == dict.fromkeys(PROJECTS, each)

    entered.find_element(By.CSS_SELECTOR, "input[name=project][value=mobile]").click()
    until(entered, lambda it: it.current_url.endswith("?project=mobile"))
    entered.get(f"{entered.current_url}&q=kettle")

    shows(entered, "memories by keywords")
    numbers = [int(one.text.removeprefix("Ticket ")) for one in seen(entered, "[data-open]")]
    assert {(PROJECTS[number % len(PROJECTS)], "kettle" in note(number).what) for number in numbers} == {
        ("mobile", True)
    }


def test_the_map_is_drawn_and_a_region_of_it_is_listed(entered, ui):
    entered.get(f"{ui.own}/see")
    seen(entered, "#map[data-drawn]")
    drawn = ON_THE_MAP[ui.count]
    assert len(json.loads(ui.get("/see/points").text)["x"]) == drawn
    told = f"The map shows {drawn:,} of {ui.count:,} memories."
    assert (told in entered.find_element(By.TAG_NAME, "main").text) == (drawn < ui.count)
    regions = entered.find_elements(By.CSS_SELECTOR, ".regions li .number")
    assert sum(int(one.text.replace(",", "")) for one in regions) == drawn

    words = entered.find_element(By.CSS_SELECTOR, ".regions a").text
    entered.find_element(By.CSS_SELECTOR, ".regions a").click()

    until(entered, lambda it: it.find_elements(By.CSS_SELECTOR, "#picked h2"))
    assert entered.find_element(By.CSS_SELECTOR, "#picked h2").text == words


def test_all_are_looked_through_and_the_two_that_say_the_same_are_found(entered, ui):
    for title in ("Pool size", "Size of the pool"):
        what = "The database takes no more than twenty connections at once"
        ui.shell("save", title, "--what", what, "--project", "pool", "--category", "decision")
    entered.get(f"{ui.own}/review")
    press(entered, "l")

    shows(entered, f"{ui.count + 2:,} memories checked", seconds=PATIENCE)
    twins = seen(entered, ".twins")
    assert len(twins) == 1
    assert "twenty connections" in twins[0].text
