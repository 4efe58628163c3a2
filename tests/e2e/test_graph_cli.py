"""The commands of the entity graph, run as a person runs them."""

from __future__ import annotations

import json
import re
import shutil
from typing import TYPE_CHECKING

import pytest
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "folder").mkdir()
    return Shell(tmp_path / "home", tmp_path / "folder")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three entities in a row, one alone."""
    lines = [
        {"type": "entity", "name": "checkout-api", "entityType": "service", "observations": ["written in Go"]},
        {"type": "entity", "name": "Redis", "entityType": "database", "observations": ["holds sessions", "no\nbackup"]},
        {"type": "entity", "name": "Linux", "entityType": "", "observations": []},
        {"type": "entity", "name": "Alone", "entityType": "", "observations": ["nothing to do with anything"]},
        {"type": "relation", "from": "checkout-api", "to": "Redis", "relationType": "uses"},
        {"type": "relation", "from": "Redis", "to": "Linux", "relationType": "runs_on"},
    ]
    folder = tmp_path_factory.mktemp("written")
    shell = Shell(folder / "home", folder)
    shell("graph", "import", "-", stdin="\n".join(map(json.dumps, lines)))
    return shell.home


@pytest.fixture
def kept(shell: Shell, written: Path) -> Shell:
    shutil.copytree(written, shell.home)
    return shell


def test_alone_it_says_how_much_there_is(kept) -> None:
    out = kept("graph").out

    assert "entities: 4 (database 1, service 1)" in out
    assert "relations: 2 (runs_on 1, uses 1)" in out
    assert "embeddings (generated 4)" in out
    assert kept("graph", "stats", "--json").json["total_observations"] == 4
    assert "Usage: memory graph" in kept("graph", "--help").out


def test_an_entity_is_made_told_more_shown_renamed_and_removed(shell) -> None:
    made = shell("graph", "add", "Redis", "--type", "database", "--observation", "holds sessions")
    id = shell("graph", "show", "Redis", "--json").json["entities"][0]["id"][:8]
    assert (made.out, made.err) == (f"Saved [{id} · database] Redis\n", "")
    again = shell("graph", "add", "Redis", "--type", "x", "--observation", "holds sessions", "--observation", "fast")
    assert f"already saved: [{id} · database] Redis\n  - added: fast\n  - known already: holds sessions\n" in again.out
    shell("graph", "observe", "Redis", "version 7", "no backup")
    assert "removed: fast" in shell("graph", "forget", "Redis", "fast").out
    shown = shell("graph", "show", "Redis").out
    assert shown == f"[{id} · database] Redis\n  - holds sessions\n  - version 7\n  - no backup\n"
    shell("graph", "rename", "Redis", "Valkey")
    for form in ("1", id):
        assert shell("graph", "show", form).out.startswith(f"[{id} · database] Valkey\n")
    assert shell("graph", "delete", id).out == f"Deleted [{id}] Valkey\n"
    assert shell("graph", "show", "--json").json["entities"] == []


def test_an_entity_can_be_kept_from_every_model_and_given_back(shell) -> None:
    shell("graph", "add", "Vault", "--keyword-only")
    assert shell("graph", "show", "Vault", "--json").json["entities"][0]["embedding_status"] == "excluded"

    shell("graph", "add", "Vault", "--embed")

    assert shell("graph", "show", "Vault", "--json").json["entities"][0]["embedding_status"] == "generated"


def test_relations(kept) -> None:
    assert kept("graph", "link", "Alone", "likes", "Alone").out == "Saved Alone -[likes]-> Alone\n"
    assert kept("graph", "link", "Alone", "likes", "Alone").out.startswith("already saved: ")
    assert kept("graph", "path", "Linux", "checkout-api").out.startswith("Linux - Redis - checkout-api\n")
    assert kept("graph", "path", "Linux", "Alone").err == "memory: no path\n"
    assert kept("graph", "unlink", "Alone", "likes", "Alone").out == "Deleted Alone -[likes]-> Alone\n"
    assert kept("graph", "unlink", "Alone", "likes", "Alone").out == "not there: Alone -[likes]-> Alone\n"
    refused = kept("graph", "link", "Alone", "likes", "Redi", code=1)
    assert refused.err == "memory: no entity 'Redi'\nmemory: Did you mean 'Redis'?\n"


def test_entities_are_found_by_words_and_near_others(kept) -> None:
    words = kept("graph", "search", "holds", "sessions", "--json").json
    near = kept(
        "graph", "search", "anything", "--near", "checkout-api", "--distance", "1", "--vector-weight", "0", "--json"
    )
    alike = kept("graph", "search", "sessions", "--keyword-weight", "1", "-n", "1", "--json").json

    assert (words["entities"][0]["name"], words["tier"]) == ("Redis", "keyword")
    assert [(row["name"], row["score"]) for row in near.json["entities"]] == [("checkout-api", 1.0), ("Redis", 0.5)]
    assert [row["name"] for row in alike["entities"]] == ["Redis"]
    assert kept("graph", "search", "sessions").out.startswith(f"[{words['entities'][0]['id'][:8]} · database · score")


def test_memories_are_about_entities(kept) -> None:
    saved = kept("save", "Sessions expire", "--entity", "Redis", "--entity", "Linux", "--json").json["memory"]
    other = kept("save", "Sessions of others", "--json").json["memory"]

    assert "Sessions expire" in kept("graph", "about", "Redis").out
    assert kept("graph", "about", "Linux", other["id"], "--json").json["linked"][0]["id"] == other["id"]
    near = kept("search", "sessions", "--kind", "note", "--near", "checkout-api", "--json").json
    assert [hit["id"] for hit in near["hits"]] == [saved["id"]]
    within = kept("search", "sessions", "--kind", "note", "--near", "checkout-api", "--within", "2", "--json").json
    assert {hit["id"] for hit in within["hits"]} == {saved["id"], other["id"]}
    assert kept("search", "sessions", "--kind", "note", "--near", "Alone", "--json").json["hits"] == []
    kept("graph", "about", "Linux", other["id"], "--remove")
    assert [row["id"] for row in kept("graph", "about", "Linux", "--json").json["memories"]] == [saved["id"]]


def test_a_memory_about_nobody_known_is_not_kept(kept) -> None:
    refused = kept("save", "lost", "--entity", "Reddis", code=1)

    assert "Did you mean 'Redis'?" in refused.err
    assert kept("search", "lost", "--mode", "keyword", "--json").json["hits"] == []
    assert "no entity" in kept("search", "x", "--near", "Reddis", code=1).err


def test_an_export_is_read_back_and_nothing_is_kept_twice(kept, tmp_path) -> None:
    lines = kept("graph", "export").out
    done = kept("graph", "export", "-o", "graph.jsonl", "--json").json
    (tmp_path / "other").mkdir()
    other = Shell(tmp_path / "other" / "home", kept.folder)

    first = other("graph", "import", "graph.jsonl", "--json").json
    again = other("graph", "import", "graph.jsonl")

    assert (done["lines"], len(lines.splitlines())) == (6, 6)
    assert (first["entities"], first["relations"], first["known"]) == (4, 2, 0)
    assert again.out == "0 entities, 0 relations, 0 links saved; 6 already saved\n"
    assert said(other("graph", "export").out) == said(lines)
    assert "cannot write" in kept("graph", "export", "-o", "graph.jsonl", code=2).err


def said(lines: str) -> list[str]:
    """An export without what belongs to one database."""
    return sorted(re.sub(r'"(uid|created_at)": "[^"]*"', "", lines).splitlines())


def test_the_graph_for_graphviz(kept) -> None:
    kept("graph", "add", 'a "quoted"\\ name', "--type", "x")
    kept("graph", "link", 'a "quoted"\\ name', "is", "Alone")

    lines = kept("graph", "export", "--format", "dot").out.splitlines()

    assert (lines[0], lines[-1]) == ("digraph memory {", "}")
    assert '  n5 [label="a \\"quoted\\"\\\\ name\\n(x)"];' in lines
    assert '  n5 -> n4 [label="is"];' in lines
    assert all(re.fullmatch(r'  n\d+( -> n\d+)? \[label="([^"\\]|\\.)*"\];', line) for line in lines[1:-1])


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "said"),
    [
        (["import", "nowhere.jsonl"], "", 2, "nowhere.jsonl: No such file"),
        (["import", "-"], "{", 2, "line 1 is not JSON"),
        (["import", "-"], '{"type": "entity", "name": "ok"}\n{"type": "entity"}', 2, "line 2"),
        (["import", "-"], b"\xff", 2, "not UTF-8"),
        (["show", "Nobody"], "", 1, "no entity 'Nobody'"),
        (["delete", "Nobody"], "", 1, "no entity 'Nobody'"),
        (["add", "two\nlines"], "", 2, "one line"),
        (["add", ""], "", 2, "'NAME': it must not be blank"),
        (["show", "quux"], "", 1, "`memory graph add` makes one"),
        (["rename", "Redis", "Linux"], "", 2, "another entity"),
        (["search"], "", 2, "Missing argument"),
        (["search", "x", "--distance", "11"], "", 2, "0<=x<=10"),
        *(
            ([verb, "Redis", type, "Linux"], "", 2, f"the type of a relation {said}")
            for verb in ("link", "unlink")
            for type, said in ((" ", 'is blank\nmemory: Say how: "depends_on".'), ("", "is blank"), ("x" * 9000, "has"))
        ),
        (["link", "Redis", "uses", "nobody"], "", 1, "no entity 'nobody'"),
        (["link", "", "uses", "Linux"], "", 1, "no entity ''"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(kept, arguments, stdin, code, said) -> None:
    before = kept("graph", "export").out

    assert said in kept("graph", *arguments, stdin=stdin, code=code).err
    assert kept("graph", *arguments, "--json", stdin=stdin, code=code).error["schema"] == "memory.error/1"

    assert kept("graph", "export").out == before


def test_names_that_a_terminal_would_obey_are_shown_and_not_obeyed(shell) -> None:
    shell("graph", "add", "evil \x1b[31m name", "--observation", "\x1b]0;title\x07")

    for ran in (shell("graph", "show"), shell("graph", "export", "--format", "dot")):
        assert "\x1b" not in ran.out


def test_a_note_that_no_model_may_see_is_found_by_its_words(shell):
    shell("save", "Pool size", "--what", "the pool is exhausted", "--keyword-only")
    shell("save", "Usual", "--what", "the pool is fine")

    assert shell("details", "1", "--json").json["embedding"]["state"] == "excluded"
    assert shell("status", "--json").json["queued"] == 0
    found = shell("search", "exhausted", "--mode", "hybrid", "--json").json["hits"]
    assert [(hit["title"], hit["cosine"]) for hit in found[:1]] == [("Pool size", None)]
    assert [hit["title"] for hit in shell("search", "pool", "--mode", "vector", "--json").json["hits"]] == ["Usual"]


def test_without_a_command_it_says_how_much_there_is(kept) -> None:
    assert kept("graph", "--json").json == kept("graph", "stats", "--json").json
    assert kept("graph").out == kept("graph", "stats").out
    assert kept("run", "--json").json["schema"] == "memory.run-list/1"
    assert "Commands:" in kept("graph", "--help").out


def test_entities_that_begin_alike_are_shown_by_more_of_their_ids(shell: Shell, tmp_path: Path) -> None:
    shell("graph", "add", "Redis")
    line = json.loads(shell("export").out)
    ids = [f"aaaaaaaa{n}" + "0" * 23 for n in range(2)]
    twins = [line | {"id": id, "uid": id, "title": f"twin {id[8]}"} for id in ids]
    (tmp_path / "twins.jsonl").write_text("".join(f"{json.dumps(twin)}\n" for twin in twins))
    shell("import", tmp_path / "twins.jsonl")

    shown = shell("graph", "show").out
    assert "[aaaaaaaa0] twin 0" in shown
    assert "[aaaaaaaa1] twin 1" in shown
    assert shell("graph", "show", "aaaaaaaa1", "--json").json["entities"][0]["id"] == ids[1]
