"""`memory inspect ID`: what the index sees of one memory, and why a question finds it or does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from command import Shell

from memory import KeyedStore

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path / "home", tmp_path)


def saved(shell: Shell, title: str, what: str = "", *options: str) -> str:
    return shell("save", title, "--what", what or title, *options, "--json").json["memory"]["id"][:8]


def why(shell: Shell, id: str, question: str) -> Any:
    return shell("inspect", id, "--question", question, "--json").json["question"]


def test_it_shows_chunks_with_their_rarest_terms_vectors_and_neighbours(shell: Shell) -> None:
    pool = saved(shell, "Postgres pool", "Twenty connections", "--details", "# Why\n\nEach worker takes a connection.")
    near = saved(shell, "Postgres pool of the shop", "Ten connections")
    saved(shell, "Bicycle shed", "Its roof leaks")
    shell("embed")

    shown = shell("inspect", pool, "--json").json
    assert [(one["type"], one["heading"], one["vector"]) for one in shown["chunks"]] == [
        ("head", [], True),
        ("section", ["# Why"], True),
    ]
    terms = {one["term"].lower(): one for one in shown["chunks"][0]["terms"]}
    assert (terms["twenty"]["chunks"], terms["postgres"]["chunks"]) == (1, 3)
    assert terms["twenty"]["weight"] > terms["postgres"]["weight"] > 0
    weights = [one["weight"] for one in shown["chunks"][0]["terms"]]
    assert weights == sorted(weights, reverse=True)
    assert (shown["embedding"]["state"], shown["embedding"]["space"]) == ("generated", "hashed:hashed-64")
    assert shown["neighbours"][0]["id"].startswith(near)
    assert all(-1.001 <= one["cosine"] <= 1.001 for one in shown["neighbours"])
    text = shell("inspect", pool).out
    assert "Chunk 2 · Why · characters" in text
    assert f"{near}  Postgres pool of the shop" in text


def test_what_has_no_vector_says_so(shell: Shell) -> None:
    saved(shell, "first")
    id = saved(shell, "Postgres pool")
    alone = Shell(shell.home, shell.folder, {"MEMORY_EMBEDDING_PROVIDER": "none", "MEMORY_EMBEDDING_MODEL": ""})
    other = saved(alone, "Redis cluster", "Three nodes")

    assert alone("inspect", id, "--json").json["embedding"]["state"] in ("none", "outdated")
    found = alone("inspect", other, "--question", "walrus", "--json").json
    assert not found["chunks"][0]["vector"]
    assert found["question"]["rank"] is None
    assert found["question"]["lacking"] == ["walrus"]
    assert "It holds none of the words that are looked for." in found["question"]["why"]
    assert any(reason.startswith("It is not found by meaning") for reason in found["question"]["why"])


def test_it_says_why_a_question_finds_a_memory_or_not(shell: Shell) -> None:
    ids = [saved(shell, f"Postgres pool {number}", f"Pool {number} has connections to postgres") for number in range(9)]
    old = saved(shell, "Session cookies", "Cookies expire after an hour")
    saved(shell, "Session tokens", "Tokens expire after a day", "--supersedes", old)

    first = why(shell, ids[-1], f"postgres pool {len(ids) - 1}")
    assert first["why"] == [f"It is found: hit {first['rank']}."]
    assert set(map(str.lower, first["held"])) >= {"postgres", "pool"}
    assert 0 < first["coverage"] <= 1
    ranks = [why(shell, id, "postgres pool") for id in ids]
    assert sorted(one["rank"] for one in ranks) == list(range(1, 10))
    behind = next(one for one in ranks if one["rank"] == 9)
    assert behind["why"][0] == "It is found as hit 9; a search shows 5 (--limit)."
    assert why(shell, old, "session cookies")["why"][0].startswith("It was superseded by ")
    assert why(shell, old, "session cookies")["rank"] is None


def test_it_leaves_no_trace_and_gives_a_terminal_no_orders(shell: Shell) -> None:
    id = saved(shell, "Title \u001b[31m red", "what \u001b]0;x\u0007")
    before = shell("stats", "--json").json, shell("list", "--json").json

    assert "\u001b" not in shell("inspect", id, "--question", "red \u001b[1m title").out
    assert (shell("stats", "--json").json, shell("list", "--json").json) == before


def test_an_item_of_a_program_is_inspected_too(shell: Shell) -> None:
    saved(shell, "a note")
    with KeyedStore.open(home=shell.home) as items:
        item = items.put(("users", "ann"), "tea", {"likes": "green tea"})

    assert "green" in shell("inspect", str(item.memory)).out
    assert shell("inspect", "nope1234", code=1).err.startswith("memory: no memory")
