"""Memories read, edited, replaced and chosen on the page: every change is a command, and a step that can be taken back."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

import pytest
from page import Ui, serving, shell

from memory.web.read import DiffLine, pieces


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    with serving(shell(tmp_path_factory.mktemp("mend"))) as running:
        yield running


def saved(ui: Ui, title: str, **options: str) -> str:
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return ui.shell("save", title, *words, "--json").json["memory"]["id"]


def details(ui: Ui, id: str) -> dict:
    return ui.shell("details", id, "--json").json


class _Form(HTMLParser):
    """The fields of the form of a page, as a browser would send them untouched."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.fields: dict[str, str] = {}
        self._area = self._select = ""

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "input" and found.get("name"):
            self.fields[found["name"]] = found.get("value") or ""
        elif tag == "textarea":
            self._area = found["name"]
            self.fields[self._area] = ""
        elif tag == "select":
            self._select = found["name"]
            self.fields[self._select] = ""
        elif tag == "option" and "selected" in found:
            self._area = self._select
            self.fields[self._area] = ""

    def handle_data(self, data):
        if self._area:
            self.fields[self._area] += data

    def handle_endtag(self, tag):
        if tag in ("textarea", "option"):
            self.fields[self._area] = self.fields.get(self._area, "").removeprefix("\n").replace("\n", "\r\n")
            self._area = ""


def form(ui: Ui, path: str) -> dict[str, str]:
    parser = _Form()
    parser.feed(ui.get(path).text)
    return parser.fields


ODD = 'Two lines\n\n  indented "quoted" & <b>bold</b>\t\u202ereversed\u202c \x01 end'


def test_a_form_sent_as_it_is_changes_nothing(ui):
    id = saved(
        ui, 'Odd & "quoted"', what=ODD, why=ODD, details=f"\n{ODD}\n", tags="a,b", project="shop", category="bug"
    )
    before = ui.shell("export").out

    ui.post(f"/memory/{id}/edit", **form(ui, f"/memory/{id}/edit"))

    assert ui.shell("export").out == before


def test_an_edit_changes_what_was_typed_and_is_history(ui):
    id = saved(ui, "The pool has 12", what="Twelve connections are open", tags="db,old", project="shop")

    fields = form(ui, f"/memory/{id}/edit") | {"what": "Twenty connections are open", "tags": "db, new"}
    page = ui.post(f"/memory/{id}/edit", **fields)

    now = details(ui, id)["memory"]
    assert (now["what"], now["tags"], now["project"]) == ("Twenty connections are open", ["db", "new"], "shop")
    assert "<del>Twelve</del><ins>Twenty</ins> connections are open" in page.text
    assert "Changed what, tags." in page.words

    ui.post("/run/undo", id=id)
    assert details(ui, id)["memory"]["what"] == "Twelve connections are open"


def test_an_edit_of_what_changed_meanwhile_is_not_lost_and_overwrites_nothing(ui):
    id = saved(ui, "Edited in two tabs", what="at first")
    first = form(ui, f"/memory/{id}/edit") | {"what": "from the page"}
    ui.shell("update", id, "--what", "from the command")

    page = ui.post(f"/memory/{id}/edit", **first)

    assert page.status == 400
    assert "changed meanwhile" in page.words
    assert "from the page" in page.words
    assert details(ui, id)["memory"]["what"] == "from the command"


def test_what_cannot_be_saved_is_said_and_stays_typed(ui):
    page = ui.post("/new", title="", what="typed with care")

    assert page.status == 400
    assert "a note needs a title" in page.words
    assert "typed with care" in page.words


def test_a_new_memory_has_the_category_that_was_chosen(ui):
    ui.post("/new", title="Chosen", what="of a kind", category="decision", project="-3")

    found = ui.shell("list", "--project", "*", "--category", "decision", "--json").json["memories"]
    assert [(one["title"], one["project"]) for one in found] == [("Chosen", "-3")]


def test_what_supersedes_a_memory_is_linked_both_ways(ui):
    old = saved(ui, "Cookies hold sessions")

    page = ui.post(f"/memory/{old}/replace", title="JWT holds sessions", what="Sessions are in tokens", project="shop")

    assert "Supersedes Cookies hold sessions" in page.words
    assert "Superseded by JWT holds sessions" in ui.get(f"/memory/{old}").words
    assert details(ui, old)["memory"]["status"] == "superseded"


@pytest.mark.parametrize(
    ("what", "tag", "left"),
    [
        ("tag", "both", ["both"]),
        ("untag", "one", []),
        ("delete", "", None),
        ("pin", "", "pinned"),
        ("unpin", "", "free"),
    ],
)
def test_several_are_one_step(ui, what, tag, left):
    ids = [saved(ui, f"Several {what} {n}", tags="one") for n in range(3)]

    page = ui.post("/several", _id=ids, _do=what, _tag=tag)

    assert "3 memories" in page.words
    listed = {one["id"]: one for one in ui.shell("list", "--limit", "100", "--json").json["memories"]}
    if left is None:
        assert not listed.keys() & set(ids)
    elif isinstance(left, list):
        assert [sorted(set(listed[id]["tags"]) - ({"one"} if what == "tag" else set())) for id in ids] == [left] * 3
    else:
        assert [listed[id]["pinned"] for id in ids] == [left == "pinned"] * 3

    if what in ("delete", "tag", "untag"):
        ui.shell("undo", "--yes")
        again = {one["id"]: one["tags"] for one in ui.shell("list", "--limit", "100", "--json").json["memories"]}
        assert [again.get(id) for id in ids] == [["one"]] * 3


def test_facets_count_what_would_be_shown(ui):
    for n in range(3):
        saved(ui, f"Facet {n}", project="facets", category=["bug", "bug", "pattern"][n], tags=f"t{n},all")

    words = ui.get("/facets?project=facets").words

    assert "facets 3" in words
    assert "all 3" in words
    assert "bug 2 pattern 1" in words
    assert unescape(ui.get("/?project=facets&tag=all&category=bug").text).count("data-row") == 2


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("a b c", "a x c", [("same", "a "), ("drop", "b"), ("add", "x"), ("same", " c")]),
        ("", "new", [("add", "new")]),
        ("all of it", "nothing left here", [("drop", "all of it"), ("add", "nothing left here")]),
    ],
)
def test_the_pieces_of_two_texts(old, new, found):
    assert pieces(old, new) == [DiffLine(*one) for one in found]


@pytest.mark.parametrize("size", [10, 2_000, 20_000])
def test_pieces_make_both_texts_again_unless_they_say_what_was_left_out(size):
    old = "".join(f"line {n}\n" for n in range(size))
    new = old.replace("line 5\n", "line five\nand more\n")

    found = pieces(old, new)

    if not any(piece.how == "skip" for piece in found):
        assert "".join(piece.text for piece in found if piece.how != "add") == old
        assert "".join(piece.text for piece in found if piece.how != "drop") == new
    assert any(piece.how == "add" and "five" in piece.text for piece in found)
