"""The page Find, and what a new memory is written with: totals, order, excerpts, and where an empty store leads."""

from __future__ import annotations

import re

import pytest
from page import Ui, serving, shell

from memory.carry.review import Proposed, Review
from memory.schema.query import Term
from memory.web.find import LONG, excerpt
from memory.web.site import plain


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    here = shell(tmp_path_factory.mktemp("find"))
    here("save", "The pool is small", "--what", "pool pool pool", "--tag", "db", "--project", "shop")
    here("save", "Billing", "--what", "It shares the pool with checkout", "--tag", "api", "--project", "till")
    here("save", "Another", "--what", "nothing of that kind")
    with serving(here) as running:
        yield running


def titles(ui: Ui, address: str) -> list[str]:
    return re.findall(r"data-open>([^<]*)</a>", ui.get(address).text)


def test_an_empty_store_leads_to_an_agent_an_import_and_a_first_memory(tmp_path):
    with serving(shell(tmp_path)) as running:
        page = running.get("/")

    assert "Nothing is saved yet" in page.words
    for address in ("/care/agents", "/care#import", "/new"):
        assert f'class="button" href="{address}"' in page.text


def test_a_list_says_how_many_there_are_in_all(ui):
    assert "3 memories · last changed first" in ui.get("/").words
    assert "1 memory · last changed first" in ui.get("/?project=till&n=1").words
    assert "2 of 3 memories by keywords" in ui.get("/?q=pool").words


def test_hits_are_in_the_order_that_is_asked_for(ui):
    assert titles(ui, "/?q=pool") == ["The pool is small", "Billing"]
    assert titles(ui, "/?q=pool&sort=newest") == ["Billing", "The pool is small"]
    assert ui.get("/?q=pool&sort=oldest").status == 400


def test_a_form_completes_projects_and_tags(ui):
    lists = re.findall(r'<datalist id="([a-z-]+)">(.*?)</datalist>', ui.get("/new").text)

    found = {name: set(re.findall(r'value="(\w+)"', options)) for name, options in lists}
    assert {"shop", "till"} <= found["projects"]
    assert found["tags-known"] == {"db", "api"}


def test_proposals_of_a_session_are_dropped_together(tmp_path):
    here = shell(tmp_path)
    here("save", "One")
    queue = Review(str(here.home / "memory.db"))
    of = {"a": 2, "b": 1}
    for file, count in of.items():
        queue.add(
            [
                Proposed(
                    f"{file}{number}" + "0" * 62,
                    "decision",
                    f"We use {file}{number}",
                    "",
                    "user",
                    file,
                    1,
                    "",
                    file,
                    None,
                )
                for number in range(count)
            ]
        )
    with serving(here) as running:
        page = running.get("/review")
        assert page.words.count("Drop all 2") == 1
        running.post("/run/review/drop", id=[f"a{number}" + "0" * 62 for number in range(2)], _next="/review")

    assert [one.what for one in queue.waiting()] == ["We use b0"]


# Excerpts ---------------------------------------------------------------------


def test_an_excerpt_has_no_signs_of_markdown():
    text = "# Head\n\n> said\n\n- **Bold** and `code`\n1. [words](http://x)\n\n```sh\nls\n```\n| a | b |\n|---|---|\n"

    assert plain(text) == "Head said Bold and code words ls a | b |"
    assert plain("snake_case __init__ 2 * 3 # no heading") == "snake_case __init__ 2 * 3 # no heading"


def test_an_excerpt_is_around_the_match_and_marks_it():
    text = f"{'before ' * 100}the Needles are here {'after ' * 100}"

    pieces = excerpt(text, [Term("needle"), Term("absent")])

    assert [piece.text for piece in pieces if piece.sought] == ["Needles"]
    shown = "".join(piece.text for piece in pieces)
    assert shown.startswith("… before")
    assert shown.endswith("after …")
    assert len(shown) <= LONG + 4


def test_an_excerpt_without_a_match_is_the_beginning():
    assert "".join(piece.text for piece in excerpt("short text", [Term("x")])) == "short text"
    assert excerpt("", []) == []
