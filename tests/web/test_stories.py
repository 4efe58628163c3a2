"""What a person does on the page, in a real browser."""

from __future__ import annotations

import pytest
from attacks import ATTACKS
from browsing import press, seen, shows, until
from page import serving, shell
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys


def typed(browser, text: str) -> None:
    """In place of what a memory says."""
    field = seen(browser, "#what")[0]
    field.clear()
    field.send_keys(text)


@pytest.fixture
def here(tmp_path):
    return shell(tmp_path)


@pytest.fixture
def ui(here):
    here("save", "Switched to JWT", "--what", "Replaced session cookies", "--tag", "auth", "--project", "shop")
    here("save", "Pool size is 20", "--what", "The database takes no more", "--tag", "db", "--project", "shop")
    with serving(here) as running:
        yield running


def test_the_printed_address_opens_the_page_and_the_token_is_gone_from_it(browser, ui):
    browser.get(ui.url)

    shows(browser, "Switched to JWT")
    assert browser.current_url == f"{ui.own}/"
    assert browser.execute_script("return document.cookie") == ""


def test_a_search_as_one_types_is_in_the_address_and_can_be_shared(browser, ui):
    browser.get(ui.url)
    seen(browser, "#q")[0].send_keys("cookies")
    until(browser, lambda it: it.current_url.endswith("/?q=cookies"))
    shows(browser, "by keywords in")

    browser.switch_to.new_window("tab")
    browser.get(f"{ui.own}/?q=cookies")
    shows(browser, "by keywords in")
    browser.close()
    browser.switch_to.window(browser.window_handles[0])


def test_keys_alone_find_and_open_a_memory(browser, ui):
    browser.get(ui.url)
    shows(browser, "Switched to JWT")
    press(browser, Keys.ESCAPE, "/", "pool")
    until(browser, lambda it: it.current_url.endswith("q=pool"))
    press(browser, Keys.ESCAPE, "j", Keys.ENTER)

    until(browser, lambda it: "/memory/" in it.current_url)
    assert browser.find_element(By.TAG_NAME, "h1").text == "Pool size is 20"

    press(browser, "?")
    assert seen(browser, "dialog[open]")


def test_attacks_do_not_run(browser, ui):
    for number, attack in enumerate(ATTACKS):
        ui.post(
            "/run/save", named=f"{number} {attack}", what=attack, why=attack, details=attack, tag=f"{number} {attack}"
        )
    browser.get(ui.url)
    seen(browser, "[data-row]")
    places = [f"{ui.own}/?n=200"]
    browser.get(places[0])
    places += [link.get_attribute("href") for link in seen(browser, "[data-open]")]
    assert len(places) > len(ATTACKS)

    for place in places:
        browser.get(place)
        assert browser.execute_script(
            "return [window.hit, document.querySelectorAll('main img, main iframe').length]"
        ) == [
            None,
            0,
        ]
        assert browser.current_url == place


def test_a_server_that_ends_is_said_and_one_that_is_started_anew(browser, here):
    with serving(here) as first:
        browser.get(first.url)
        shows(browser, "Nothing is saved yet")
    shows(browser, "The server does not answer")

    with serving(here, "--port", str(first.port)):
        shows(browser, "The server was restarted")


def test_what_is_typed_outlives_a_server_that_is_killed(browser, here):
    id = here("save", "Pool size is 20", "--what", "The database takes no more", "--json").json["memory"]["id"]
    with serving(here) as first:
        browser.get(first.url)
        seen(browser, "#find")
        browser.get(f"{first.own}/memory/{id}/edit")
        seen(browser, "#what")[0].send_keys(" than 20 connections")
        first.process.kill()
        shows(browser, "The server does not answer")
    assert (
        browser.find_element(By.ID, "what").get_attribute("value") == "The database takes no more than 20 connections"
    )

    with serving(here, "--port", str(first.port)) as second:
        shows(browser, "The server was restarted")
        form = browser.current_window_handle
        browser.switch_to.new_window("tab")
        browser.get(second.url)
        seen(browser, "#find")
        browser.close()
        browser.switch_to.window(form)
        browser.find_element(By.CSS_SELECTOR, "button.main").click()

        shows(browser, "Changed what.")
    assert here("list", "--json").json["memories"][0]["what"] == "The database takes no more than 20 connections"


def test_of_two_tabs_that_edit_one_memory_the_later_overwrites_nothing(browser, ui):
    id = ui.shell("list", "--json").json["memories"][0]["id"]
    browser.get(ui.url)
    seen(browser, "#find")
    edit = f"{ui.own}/memory/{id}/edit"
    browser.get(edit)
    typed(browser, "Typed in the first tab")
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get(edit)
    typed(browser, "Typed in the second tab")
    browser.find_element(By.CSS_SELECTOR, "button.main").click()
    shows(browser, "Changed what.")
    browser.close()
    browser.switch_to.window(first)

    browser.find_element(By.CSS_SELECTOR, "button.main").click()

    assert seen(browser, ".told[role=alert]")
    assert seen(browser, "#what")[0].get_attribute("value") == "Typed in the first tab"
    assert ui.shell("list", "--json").json["memories"][0]["what"] == "Typed in the second tab"


def test_what_commands_do_meanwhile_is_found_as_one_types(browser, ui):
    browser.get(ui.url)
    shows(browser, "Switched to JWT")
    saved = ui.shell("save", "Retries back off", "--what", "Twice as long each time", "--json").json["memory"]["id"]
    seen(browser, "#q")[0].send_keys("retries")
    shows(browser, "Retries back off")

    ui.shell("delete", saved, "--yes")
    browser.find_element(By.ID, "q").send_keys(" back off")

    until(browser, lambda it: "Retries back off" not in it.find_element(By.ID, "found").text)


def test_a_step_taken_back_on_a_page_leads_back_to_that_page(browser, ui):
    browser.get(ui.url)
    shows(browser, "Pool size is 20")
    browser.get(f"{ui.own}/?project=shop&q=pool")
    press(browser, Keys.ESCAPE, "j", "x")
    until(browser, lambda it: it.find_element(By.CSS_SELECTOR, "[data-count]").text == "1")
    browser.find_element(By.CSS_SELECTOR, "[data-chosen] .risky").click()
    shows(browser, "Deleted 1 memory.")

    browser.find_element(By.CSS_SELECTOR, ".told button").click()

    shows(browser, "undone")
    shows(browser, "Pool size is 20")
    assert browser.current_url == f"{ui.own}/?project=shop&q=pool"


def test_an_edit_by_keys_alone_is_seen_by_the_command_and_in_another_tab(browser, ui):
    browser.get(ui.url)
    shows(browser, "Switched to JWT")
    press(browser, Keys.ESCAPE, "/", "JWT")
    until(browser, lambda it: it.current_url.endswith("q=JWT"))
    press(browser, Keys.ESCAPE, "j", Keys.ENTER)
    seen(browser, "[data-key=e]")
    press(browser, "e")
    typed(browser, "Tokens are signed with ES256" + Keys.TAB)
    press(browser, Keys.SHIFT + Keys.TAB)
    browser.find_element(By.CSS_SELECTOR, "button.main").send_keys(Keys.ENTER)
    shows(browser, "Changed what.")
    assert browser.find_element(By.CSS_SELECTOR, "ins").text
    assert "ES256" in ui.shell("search", "tokens signed").out

    here = browser.current_url
    browser.switch_to.new_window("tab")
    browser.get(here)
    shows(browser, "ES256")
    ui.shell("undo", "--yes")
    browser.refresh()
    until(browser, lambda it: "ES256" not in it.find_element(By.CSS_SELECTOR, ".lead").text)
    browser.close()
    browser.switch_to.window(browser.window_handles[0])


def test_what_is_narrowed_down_to_is_in_the_address_and_back_works(browser, ui):
    ui.shell("save", "Of the bank", "--project", "bank")
    browser.get(ui.url)
    until(browser, lambda it: it.find_elements(By.CSS_SELECTOR, "input[name=project][value=bank]"))
    browser.find_element(By.CSS_SELECTOR, "input[name=project][value=bank]").click()
    until(browser, lambda it: it.current_url.endswith("?project=bank"))
    until(browser, lambda it: len(it.find_elements(By.CSS_SELECTOR, "[data-row]")) == 1)

    browser.back()

    until(browser, lambda it: len(it.find_elements(By.CSS_SELECTOR, "[data-row]")) == 3)


def test_several_are_chosen_by_keys_deleted_and_taken_back(browser, ui):
    browser.get(ui.url)
    shows(browser, "Pool size is 20")
    press(browser, Keys.ESCAPE, "j", "x", "j", "x")
    until(browser, lambda it: it.find_element(By.CSS_SELECTOR, "[data-count]").text == "2")
    browser.find_element(By.CSS_SELECTOR, "[data-chosen] .risky").send_keys(Keys.ENTER)
    shows(browser, "Deleted 2 memories.")
    assert ui.shell("list", "--json").json["memories"] == []

    browser.find_element(By.CSS_SELECTOR, ".told button").click()

    shows(browser, "Pool size is 20")
    assert len(ui.shell("list", "--json").json["memories"]) == 2


def test_two_that_say_nearly_the_same_are_reviewed(browser, ui):
    ui.shell("save", "Pool size is 20", "--what", "The database takes no more than that", "--project", "shop")
    browser.get(ui.url)
    press(browser, Keys.ESCAPE, "g", "r")
    seen(browser, "[data-key=l]")
    press(browser, "l")
    seen(browser, ".twins")

    browser.find_element(By.CSS_SELECTOR, "button[value=other]").click()

    shows(browser, "One replaces the other.")
    assert not browser.find_elements(By.CSS_SELECTOR, ".twins")
