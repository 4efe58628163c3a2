"""The page in the browser, without a browser: who gets an answer, and that pages and commands show the same memories."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
from functools import cache
from pathlib import Path
from textwrap import dedent
from time import monotonic
from urllib.parse import urlencode

import pytest
from attacks import ATTACKS
from command import COMMAND
from page import Ui, serving, shell, structure

RISKY = {"img", "iframe", "object", "embed", "base", "math", "template", "video", "audio", "style", "noscript", "b"}
OPEN = ["/", "/?q=cookies", "/review", "/alive", "/static/app.css", "/nowhere"]
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    here = shell(tmp_path_factory.mktemp("ui"))
    here("save", "Switched to JWT", "--what", "Replaced session cookies", "--tag", "auth", "--project", "shop")
    with serving(here) as running:
        yield running


def saved(ui: Ui, title: str, **options: str) -> str:
    """The uid of a new memory."""
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    return ui.shell("save", title, *words, "--json").json["memory"]["id"]


# Who gets an answer -----------------------------------------------------------


@pytest.mark.parametrize("path", OPEN)
def test_without_the_cookie_nobody_gets_in(ui, path):
    assert ui.raw("GET", path).status == 403
    assert ui.raw("GET", path, {"Cookie": "memory-ui-1=x; memory-ui-" + str(ui.port) + "=wrong"}).status == 403


def test_a_wrong_token_is_refused_and_sets_no_cookie(ui):
    got = ui.raw("GET", "/?token=" + "x" * 43)

    assert (got.status, "set-cookie" in got.headers) == (403, False)


def test_the_token_is_exchanged_for_a_strict_cookie_that_is_another_secret(ui):
    got = ui.raw("GET", ui.url.removeprefix(ui.own))

    assert re.fullmatch(r"memory-ui-\d+=\S{43}; HttpOnly; Path=/; SameSite=strict", got.headers["set-cookie"])
    assert ui.url.partition("token=")[2] not in got.text + str(got.headers)


def test_the_token_opens_nothing_but_the_first_page(ui):
    assert ui.raw("GET", "/review?" + ui.url.partition("?")[2]).status == 403


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1:1", "127.0.0.1", "localhost.evil:{port}"]
)
def test_another_host_is_refused_even_with_the_cookie(ui, host):
    assert ui.raw("GET", "/", {"Host": host.format(port=ui.port), "Cookie": ui.cookie}).status == 421


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", ""]
)
def test_a_change_from_another_origin_is_refused_even_with_the_cookie(ui, origin):
    headers = {"Cookie": ui.cookie, "Content-Type": "application/x-www-form-urlencoded"}
    headers |= {"Origin": origin.format(port=ui.port)} if origin else {}

    assert ui.raw("POST", "/run/save", headers, "named=Stolen").status == 403
    assert "Stolen" not in ui.shell("list").out


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_on_another_site_gets_nothing(ui, site):
    assert ui.get("/", Sec_Fetch_Site=site).status == 403
    assert ui.get("/", Origin="http://evil.example").status == 403


def test_every_answer_has_the_headers_refusals_too(ui):
    for got in [*map(ui.get, OPEN), ui.raw("GET", "/"), ui.raw("GET", "/", {"Host": "x"}), ui.post("/run/nothing")]:
        assert got.headers["content-security-policy"] == POLICY
        assert got.headers["x-content-type-options"] == "nosniff"
        assert got.headers["referrer-policy"] == "same-origin"
        assert "no-store" in got.headers["cache-control"]


def test_no_page_has_a_script_or_a_style_of_its_own(ui):
    id = saved(ui, "A page to look at")
    for path in ["/", "/?q=JWT", "/review", f"/memory/{id}", "/nowhere"]:
        text = ui.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?! src=\"/static/)", text), path
        assert not re.findall(r'(?:src|href|action)="(?!/|#)', text), path


def test_htmx_is_the_file_of_its_release(ui):
    """Version 2.0.11, `dist/htmx.min.js` of htmx.org on npm."""
    sent = ui.get("/static/vendor/htmx.min.js").text.encode()

    assert hashlib.sha256(sent).hexdigest() == "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_do_nothing(ui, method):
    assert ui.raw(method, "/run/save", {"Cookie": ui.cookie, "Origin": ui.own}).status == 405


def test_no_address_changes_anything_by_get(ui):
    id = saved(ui, "It stays")
    before = ui.shell("export").out

    for path in ["delete", "undo", "pin", "update", "trash/empty", "save"]:
        assert ui.get(f"/run/{path}?id={id}&named=x").status in (404, 405)

    assert ui.shell("export").out == before


def test_a_form_leads_to_this_page_only(ui):
    id = saved(ui, "Not away")
    for away in ["https://evil.example/", "//evil.example", "/\\evil.example", "evil", "/\nSet-Cookie: x"]:
        assert ui.post("/run/pin", id=id, _next=away).status == 400


# What is there ----------------------------------------------------------------


@cache
def ids_by_number(ui: Ui) -> dict[int, str]:
    found = ui.shell("list", "--limit", "100", "--json").json["memories"]
    return {int(one["title"].split()[1]): one["id"] for one in found}


def without_marks(found: list[object]) -> list[object]:
    """Without the marks of memories, for some attacks look like orders."""
    return [one for one in found if "span" not in one]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    """A store of nothing but attacks, and one of harmless texts in their places."""
    with (
        serving(shell(tmp_path_factory.mktemp("attacked"))) as hit,
        serving(shell(tmp_path_factory.mktemp("calm"))) as calm,
    ):
        for number, attack in enumerate(ATTACKS):
            for ui, text in ((hit, attack), (calm, "a harmless text")):
                texts = dict.fromkeys(("what", "why", "impact", "details"), f"{number}: {text}")
                line = " ".join(text.split())
                names = dict.fromkeys(("tag", "project", "source", "file"), f"{number}: {line}")
                assert "Saved" in ui.post("/run/save", named=f"Attack {number} {line}", **texts, **names).words
        yield hit, calm


@pytest.mark.parametrize("number", range(len(ATTACKS)))
def test_an_attack_adds_nothing_to_a_page_but_text(attacked, number):
    ids = [ids_by_number(ui)[number] for ui in attacked]
    hit, calm = (structure(ui.get(f"/memory/{id}").text) for ui, id in zip(attacked, ids, strict=True))

    assert without_marks(hit) == without_marks(calm)


def test_attacks_in_a_list_add_nothing_but_text(attacked):
    hit, calm = (structure(ui.get("/?n=200").text) for ui in attacked)

    assert without_marks(hit) == without_marks(calm)


def test_attacks_among_what_can_be_chosen_add_nothing_but_text(attacked):
    hit, calm = (structure(ui.get("/facets").text) for ui in attacked)

    assert hit == calm


def test_attacks_under_review_add_no_element(attacked):
    ui = attacked[0]
    ui.post("/review/look")
    until = monotonic() + 60
    while "Checking memories" in (page := ui.get("/review")).words and monotonic() < until:
        pass
    elements = [one for one in structure(page.text) if isinstance(one, tuple)]

    assert "Look like instructions to an agent" in page.words
    assert not {tag for tag, _ in elements} & RISKY
    assert [tag for tag, _ in elements].count("script") == 2
    assert not [name for _, names in elements for name in names if name.startswith(("on", "style", "formaction"))]


def test_attacks_that_a_search_finds_add_no_element(attacked):
    hit, calm = ({str(one) for one in without_marks(structure(ui.get("/?q=attack&n=200").text))} for ui in attacked)

    assert hit <= calm


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_in_the_address_adds_no_element(ui, attack):
    for name in ("q", "project", "session"):
        usual = [ui.get(f"/?{name}=harmless").text, ui.get(f"/?{name}=JWT").text]
        known = {str(one) for text in usual for one in structure(text)}
        assert {str(one) for one in structure(ui.get("/?" + urlencode({name: attack})).text)} <= known


def test_what_a_command_saved_is_on_the_page_and_the_other_way_round(ui):
    id = saved(ui, "From the command")
    assert "From the command" in ui.get("/").words

    ui.post("/run/save", named="From the page", what="Typed in a form", project="shop")
    assert "From the page" in ui.shell("list").out

    ui.post("/run/delete", id=id)
    assert "From the command" not in ui.shell("list").out


def test_what_the_page_did_a_command_takes_back(ui):
    id = saved(ui, "Deleted on the page")
    assert "Deleted" in ui.post("/run/delete", id=id, _next="/").words

    ui.shell("undo", "--yes")

    assert "Deleted on the page" in ui.get(f"/memory/{id}").words


def test_a_command_checks_the_fields_of_a_form_as_words_at_a_terminal(ui):
    assert "has no colour" in ui.post("/run/pin", id="x", colour="red").words
    assert "no memory" in ui.post("/run/pin", id="00000000").words
    assert "is not one of" in ui.post("/run/save", named="x", category="nonsense").words
    assert "a NUL" in ui.post("/run/save", named="a\0b").words
    assert "no command" in ui.post("/run/ui").words
    assert "no command" in ui.post("/run/watch", folder="/").words


def test_an_address_that_makes_no_sense_says_so(ui):
    assert ui.get("/memory/00000000").status == 404
    assert ui.get("/?kind=nonsense").status == 400
    assert ui.get("/?n=0").status == 400
    assert ui.get("/tasks/999").status == 404


def test_typing_gets_the_list_alone_with_its_address(ui):
    got = ui.get("/?q=JWT&tag=a&tag=&project=", HX_Request="true")

    assert "<html" not in got.text
    assert "0 memories" in got.words
    assert got.headers["hx-replace-url"] == "/?q=JWT&tag=a"


# The process ------------------------------------------------------------------


def test_what_is_still_being_typed_is_not_counted_and_what_was_sent_is(ui):
    def counted() -> int:
        return ui.shell("stats", "--json").json["searches"]

    before = counted()
    for fragment in ("co", "cook", "cookies"):
        ui.get(f"/?q={fragment}", HX_Request="true")
    assert counted() == before

    ui.get("/?q=cookies")
    assert counted() == before + 1


def test_what_ends_soon_leads_back_to_where_it_was_begun(ui):
    saved = ui.shell("save", "A step that is taken back", "--json").json["memory"]["id"]

    got = ui.post("/run/undo", _next="/?project=shop")

    assert "undone: memory save" in got.words
    assert 'id="find"' in got.text
    assert f"/memory/{saved}" not in got.text


def test_what_ends_soon_with_an_error_says_it_where_it_was_begun(ui):
    got = ui.post("/run/undo", id="nowhere-near", _next="/review")

    assert 'role="alert"' in got.text
    assert "nowhere-near" in got.words
    assert "Check memories" in got.words


def test_ctrl_c_ends_it_with_success_and_no_word(tmp_path):
    with serving(shell(tmp_path)) as ui:
        ui.process.send_signal(signal.SIGINT)

        assert ui.process.wait(60) == 0


def test_ctrl_c_before_the_first_request_is_no_error(tmp_path):
    here = shell(tmp_path)
    program = """
        from memory.config import load
        from memory.engine.keeper import Keeper
        from memory.web.server import serve

        def ready(_url):
            raise KeyboardInterrupt

        serve(Keeper(load, ""), (None, None), port=0, ready=ready)
    """

    ran = subprocess.run(
        [sys.executable, "-c", dedent(program)], env=here.env, capture_output=True, text=True, timeout=60, check=False
    )

    assert (ran.returncode, ran.stderr) == (0, "")


def test_a_port_that_is_taken_is_said(ui):
    ran = ui.shell.process("ui", "--no-open", "--port", str(ui.port), code=1)

    assert f"cannot listen on 127.0.0.1:{ui.port}" in ran.err


def test_it_listens_on_this_machine_alone(ui):
    sockets = [Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6") if Path(f"/proc/net/{name}").exists()]
    listening = [line.split()[1] for text in sockets for line in text.splitlines()[1:] if line.split()[3] == "0A"]
    own = [place for place in listening if place.endswith(f":{ui.port:04X}")]

    assert own == [f"0100007F:{ui.port:04X}"]


def test_without_the_extra_it_says_how_to_add_it(tmp_path):
    here = shell(tmp_path)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import sys\nsys.modules['jinja2'] = None\n")
    env = here.env | {"PYTHONPATH": os.fspath(hidden)}

    ran = subprocess.run(
        [COMMAND, "ui"], env=env, cwd=here.folder, capture_output=True, text=True, timeout=60, check=False
    )

    assert ran.returncode == 1
    assert "the page needs jinja2" in ran.stderr
    assert "tiermem[" in ran.stderr
