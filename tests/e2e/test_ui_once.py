"""What is sent twice is done once, what is asked for twice is done twice, and after it one stands where something is."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from page import Ui, serving, shell
from starlette.responses import RedirectResponse, Response

from memory.web.work import Once, Tasks

SECONDS = 60


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    with serving(shell(tmp_path_factory.mktemp("once"), MEMORY_EMBEDDING_PROVIDER="none")) as running:
        yield running


def saved(ui: Ui, *titles: str) -> list[str]:
    return [ui.shell("save", title, "--json").json["memory"]["id"] for title in titles]


def there(ui: Ui, ids: list[str]) -> list[bool]:
    known = {one["id"] for one in ui.shell("list", "--limit", "100", "--json").json["memories"]}
    return [id in known for id in ids]


def number(ui: Ui, path: str) -> str:
    return re.search(r'action="/run/undo">\s*<input type="hidden" name="_once" value="(\w+)"', ui.get(path).text)[1]


def test_a_form_sent_twice_acts_once_and_another_one_acts_again(ui):
    ids = saved(ui, "Kept", "Undone by the second form", "Undone by the first form")
    first, second = number(ui, "/care"), number(ui, "/care")

    with ThreadPoolExecutor(4) as pool:
        pages = [*pool.map(lambda _: ui.post("/run/undo", _next="/care", _once=first), range(4))]
    assert {page.status for page in pages} == {200}
    assert there(ui, ids) == [True, True, False]
    assert "already sent; it was done once" in ui.post("/run/undo", _next="/care", _once=first).words
    assert there(ui, ids) == [True, True, False]

    ui.post("/run/undo", _next="/care", _once=second)
    assert there(ui, ids) == [True, False, False]


def test_one_form_with_other_fields_is_another_request(ui):
    ids = saved(ui, "First of two", "Second of two")

    for id in ids:
        ui.post("/run/undo", id=id, _next="/care", _once="a tab that was not loaded again")

    assert there(ui, ids) == [False, False]


def test_each_form_that_changes_something_has_a_number_of_its_own(ui):
    [id] = saved(ui, "Has forms")
    numbers = []
    for path in ("/", "/new", f"/memory/{id}", f"/memory/{id}/edit", "/review", "/care", "/care/agents/cursor"):
        text = ui.get(path).text
        found = re.findall(r'name="_once" value="(\w{16})"', text)
        assert len(found) == text.count('method="post"') > 0, path
        numbers += found
    assert len(numbers) == len({*numbers})


@pytest.mark.parametrize("more", ["", "?a=b", "/edit"])
def test_where_a_memory_is_no_more_one_is_led_to_find(ui, more):
    saved(ui, "Another one")  # where nothing is saved, there is nothing to find
    [id] = saved(ui, f"Taken back {more}")

    page = ui.post("/run/undo", id=id, _next=f"/memory/{id}{more}")

    assert page.status == 200
    assert "undone" in page.words
    assert 'id="find"' in page.text


def test_where_a_memory_still_is_one_stays(ui):
    [id] = saved(ui, "Stays")
    ui.shell("update", id, "--what", "changed")

    assert "<h1>Stays</h1>" in ui.post("/run/undo", id=id, _next=f"/memory/{id}").text


def test_of_one_name_a_second_task_waits_and_is_done():
    tasks, go, done = Tasks(), threading.Event(), []
    first = tasks.begin("undo", "undoing", lambda _: go.wait(SECONDS) and done.append("first"))
    second = tasks.begin("undo", "undoing", lambda _: done.append("second"))
    other = tasks.begin("embed", "embedding", lambda _: done.append("other"))

    assert other.wait(SECONDS)
    assert (first.waiting, second.waiting, second.running) == (False, True, True)
    go.set()
    assert second.wait(SECONDS)
    assert done == ["other", "first", "second"]
    assert not second.waiting


def test_what_is_enough_to_do_once_is_joined_while_it_runs():
    tasks, go = Tasks(), threading.Event()
    first = tasks.begin("doctor", "checking", lambda _: go.wait(SECONDS), same={})

    assert tasks.begin("doctor", "checking", lambda _: None, same={}) is first
    other = tasks.begin("doctor", "checking", lambda _: None, same={"fix": ["yes"]})
    assert other is not first
    go.set()
    assert other.wait(SECONDS)
    assert tasks.begin("doctor", "checking", lambda _: None, same={}) is not first


@pytest.mark.parametrize(("made", "times"), [(lambda: RedirectResponse("/"), 1), (lambda: Response("busy", 503), 2)])
def test_an_answer_that_leads_on_is_made_once_and_a_failure_again(made, times):
    once, calls = Once(), []

    def counted() -> Response:
        calls.append(1)
        return made()

    assert [once.answered(b"form", counted)[1] for _ in range(2)] == [True, times == 2]
    assert len(calls) == times
