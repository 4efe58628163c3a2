"""See: the map, the graph, sessions, runs and use show what commands tell, to whoever has a browser or a screen reader."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from time import monotonic, sleep

import pytest
from attacks import ATTACKS
from page import Ui, serving, shell, structure

SECONDS = 60
TOPICS = ("cookies session login token", "kettle tea cup leaves")
PAGES = [
    *("/see", "/see/graph", "/see/graph?entity=Redis", "/see/graph?entity=Ada&to=Redis", "/see/sessions"),
    *("/see/sessions/one?id=rework", "/see/runs", "/see/use"),
    *("/care", "/care/settings", "/care/agents", "/care/agents/cursor", "/care/trash", "/care/ledger"),
]


@pytest.fixture(scope="module")
def ui(tmp_path_factory):
    here = shell(tmp_path_factory.mktemp("see"), MEMORY_EMBEDDING_PROVIDER="hashed")
    lines = [json.dumps({"title": f"{topic} {number}"}) for topic in TOPICS for number in range(25)]
    here("import", "-", stdin="\n".join(lines))
    for entity, type in (("Redis", "database"), ("checkout", "service"), ("Ada", "person"), ("alone", "person")):
        here("graph", "add", entity, "--type", type, "--observation", f"{entity} was seen")
    here("graph", "link", "checkout", "uses", "Redis")
    here("graph", "link", "Ada", "owns", "checkout")
    for kind in ("report", "working_memory"):
        (here.folder / "said.md").write_text(f"# What the {kind} said\n\nIt was long.")
        here("store", kind, "said.md", "--session", "rework", "--iter", "1", "--agent", "coder")
    here("run", "start", "--plan", "Independent benchmarks first")
    with serving(here) as running:
        yield running


def drawn(ui: Ui) -> str:
    """The map's page, once it is drawn."""
    until = monotonic() + SECONDS
    while 'id="map"' not in (text := ui.get("/see").text):
        assert monotonic() < until, text
        sleep(0.1)
    return text


def test_the_map_has_every_memory_with_a_vector_and_its_regions_in_words(ui):
    text = drawn(ui)
    points = json.loads(ui.get("/see/points").text)

    assert len(points["x"]) == len(points["y"]) == ui.shell("status", "--json").json["memories"]
    assert {0, points["scale"]} <= set(points["x"]) & set(points["y"]) | {0, points["scale"]}
    for colouring in points["by"].values():
        assert len(colouring["of"]) == len(points["x"])
        assert max(colouring["of"]) < len(colouring["names"])
    for region in points["regions"]:
        assert region["name"] in re.sub(r"<[^>]*>", "", text)


def test_what_is_picked_with_a_lasso_is_listed_and_a_region_too(ui):
    drawn(ui)
    points = json.loads(ui.get("/see/points").text)
    of = points["by"]["region"]["of"]
    number = points["by"]["region"]["names"].index(
        next(one["name"] for one in points["regions"] if "kettle" in one["name"])
    )
    inside = [at for at, region in enumerate(of) if region == number]

    lasso = ui.post("/see/picked", at=",".join(map(str, inside)))
    listed = ui.get(f"/see?region={number}", HX_Request="true")

    assert f"{len(inside)} memories" in lasso.words
    assert f"{len(inside)} memories" in listed.words
    assert lasso.words.count("kettle tea cup leaves") == listed.words.count("kettle tea cup leaves") == 25
    assert "cookies" not in lasso.words


@pytest.mark.parametrize("at", ["9999", "-1", "x", "1,,x", "1e3", "²"])
def test_a_place_that_is_not_on_the_map_is_refused(ui, at):
    drawn(ui)

    assert ui.post("/see/picked", at=at).status == 400


def test_a_map_is_drawn_anew_when_it_is_asked_for(ui):
    drawn(ui)
    ui.shell("save", "A late kettle")
    assert "changed since the map was drawn" in ui.get("/see").words

    ui.post("/see/draw")

    until = monotonic() + SECONDS
    while "changed since the map was drawn" in ui.get("/see").words:
        assert monotonic() < until
        sleep(0.1)


def test_a_reindex_runs_in_the_background_and_says_what_it_did(ui):
    ui.post("/run/reindex", _next="/see/use")
    address = next(path for path in map("/tasks/{}".format, range(1, 20)) if "Embedding" in ui.get(path).words)
    until = monotonic() + SECONDS
    while "searches use hashed" not in (got := ui.get(address)).words:
        assert monotonic() < until, got.words
        sleep(0.1)
    assert '<a href="/see/use">Back</a>' in got.text


def test_without_vectors_the_page_says_what_a_map_needs(tmp_path):
    with serving(shell(tmp_path, MEMORY_EMBEDDING_PROVIDER="none")) as empty:
        assert "drawn from their vectors" in empty.get("/see").words
        assert empty.get("/see/points").status == 404
        assert empty.post("/see/picked", at="0").status == 404
        assert "No entity yet" in empty.get("/see/graph").words
        assert "No session" in empty.get("/see/sessions").words
        assert "No research run" in empty.get("/see/runs").words
        assert "No search" in empty.get("/see/use").words


def test_the_picture_of_a_graph_has_what_its_list_says(ui):
    got = ui.get("/see/graph?entity=checkout")

    assert set(re.findall(r'<a href="/see/graph[^>]*aria-label="(\w+), \w+"', got.text)) == {"Redis", "checkout", "Ada"}
    assert got.text.count("<line") == 2
    assert "checkout uses Redis" in got.words
    assert "Ada owns checkout" in got.words
    assert "checkout was seen" in got.words


def test_a_filter_follows_relations_of_its_types_only(ui):
    got = ui.get("/see/graph?entity=Ada&reach=3&type=owns")

    assert "Ada owns checkout" in got.words
    assert "Redis" not in got.words
    assert "checkout uses Redis" in ui.get("/see/graph?entity=Ada&reach=2").words


def test_a_path_is_the_one_that_a_command_finds(ui):
    relations = ui.shell("graph", "path", "Ada", "Redis", "--json").json["relations"]
    got = ui.get("/see/graph?entity=Ada&to=Redis")

    assert got.text.count('<line class="way"') == len(relations) == 2
    assert "No path" in ui.get("/see/graph?entity=Ada&to=alone").words


def test_an_address_that_makes_no_sense_says_so(ui):
    assert "Did you mean" in ui.get("/see/graph?entity=Reddis").words
    assert ui.get("/see/graph?entity=Reddis").status == 404
    assert ui.get("/see/graph?entity=Ada&reach=9").status == 400
    assert ui.get("/see/graph?from=x").status == 400
    assert ui.get("/see?region=99").status == 400
    assert ui.get("/see/sessions/one?id=nothing").status == 404
    assert ui.get("/see/runs/one?id=nothing").status == 404
    assert ui.get("/see/use?days=8").status == 400


def test_a_session_is_shown_in_the_order_of_time(ui):
    words = ui.get("/see/sessions/one?id=rework").words

    assert words.index("What the report said") < words.index("What the working_memory said")
    assert "2 memories" in words
    assert "rework" in ui.get("/see/sessions").words


def test_a_run_is_a_board_of_what_its_agents_found(ui):
    (run,) = ui.shell("run", "list", "--json").json["runs"]
    words = ui.get(f"/see/runs/one?id={run['query_id']}").words

    assert run["query_id"] in ui.get("/see/runs").words
    assert "Plan 1" in words
    assert "Independent benchmarks first" in words


def test_use_has_the_numbers_of_stats_and_of_the_ledger(ui):
    ui.get("/?q=kettle")
    words = ui.get("/see/use?days=7").words
    found = ui.shell("stats", "--days", "7", "--json").json

    assert f"{found['searches']} searches" in words
    calls = sum(line["calls"] for line in ui.shell("ledger", "--days", "7", "--json").json["lines"])
    assert f"{calls:,} calls" in ui.get("/care/ledger?days=7").words


def test_no_page_has_a_script_or_a_style_of_its_own(ui):
    drawn(ui)
    for path in PAGES:
        text = ui.get(path).text
        assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:|<script(?! src=\"/static/)", text), path
        assert not re.findall(r'(?:src|href|action)="(?!/|#)', text), path


def test_attacks_in_names_add_nothing_but_text(tmp_path_factory):
    """Entities, relations, sessions and what is deleted, of nothing but attacks; the pages have the elements of harmless ones."""
    pages: list[dict[str, object]] = []
    for name in ("attacked", "calm"):
        with serving(shell(tmp_path_factory.mktemp(name), MEMORY_EMBEDDING_PROVIDER="none")) as ui:
            texts = [
                f"{number}: {' '.join(a.split()) if name == 'attacked' else 'calm'}" for number, a in enumerate(ATTACKS)
            ]
            lines = [
                *({"type": "entity", "name": text, "entityType": text, "observations": [text]} for text in texts),
                *({"type": "relation", "from": a, "to": b, "relationType": a} for a, b in pairwise(texts)),
            ]
            (ui.shell.folder / "graph.jsonl").write_text("\n".join(map(json.dumps, lines)))
            ui.shell("graph", "import", "graph.jsonl")
            id = ui.shell("save", "x", "--what", texts[0], "--json").json["memory"]["id"]
            ui.post("/run/delete", id=id)
            assert ui.shell("graph", "stats", "--json").json["total_relations"] == len(ATTACKS) - 1
            found = {path: structure(ui.get(path).text) for path in ("/see/graph", "/care/trash")}
            pages.append({path: {str(one) for one in several} for path, several in found.items()})

    assert pages[0] == pages[1]
