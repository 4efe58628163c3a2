"""Pages that other people and programs wrote: what they mean, in import, watch and mirror, and whose each line is."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from command import Shell

from memory.carry.formats.notes import document
from memory.config.front_matter import split, values
from memory.keep.entry import entry, excerpts
from memory.schema.memory import MemoryId
from memory.store.records import chunk_rows, passage
from memory.text.tokens import passages

if TYPE_CHECKING:
    from pathlib import Path

WAYS = (["import", "."], ["watch", ".", "--once"], ["mirror", "."])


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "vault").mkdir()
    return Shell(tmp_path / "home", tmp_path / "vault", {"MEMORY_EMBEDDING_PROVIDER": "none"})


def write(shell: Shell, name: str, text: str) -> None:
    path = shell.folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def read(shell: Shell, name: str) -> str:
    return (shell.folder / name).read_text()


def memories(shell: Shell) -> dict[str, dict[str, Any]]:
    """All but entities, by title."""
    lines = map(json.loads, shell("export").out.splitlines())
    return {line["title"]: line for line in lines if line.get("kind", "entity") != "entity"}


def found(shell: Shell, query: str) -> list[str]:
    return [hit["title"] for hit in shell("search", query, "--mode", "keyword", "--json").json["hits"]]


# What a page says -------------------------------------------------------------

OBSIDIAN = """---
Title: 1984
tags: "#book #to-read"
aliases: [Nineteen Eighty-Four]
description: the telescreen novel
created: 2024-05-06 07:08
updated: [2024-06-07]
status: completed
pinned: yes
project: "[[Reading list]]"
rating: 4.50
up: [[Novels]]
reviewer:
---
> [!quote] Winston
> It was a bright cold day. #london

See [[Brave New World#Soma|the other one]] and ![[cover.png]], not `#code` and not https://example.org/#anchor.

```sh
echo #no-tag
```
"""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_a_page_says_the_same_whichever_way_it_comes(shell: Shell, way: list[str]) -> None:
    write(shell, "book.md", OBSIDIAN)

    shell(*way)

    one = memories(shell)["1984"]
    assert one["tags"] == ["book", "to-read", "london"]
    assert (one["created_at"][:16], one["updated_at"][:10]) == ("2024-05-06T07:08", "2024-06-07")
    assert (one["category"], one["status"], one.get("pinned", False)) == ("general", "active", False)
    assert one["metadata"] == {
        "aliases": ["Nineteen Eighty-Four"],
        "description": "the telescreen novel",
        "created": "2024-05-06 07:08",
        "updated": ["2024-06-07"],
        "status": "completed",
        "pinned": "yes",
        "project": "[[Reading list]]",
        "rating": "4.50",
        "up": "[[Novels]]",
        "reviewer": None,
    }
    assert one["what"] == "the telescreen novel\nNineteen Eighty-Four"
    assert one["body"] == OBSIDIAN[OBSIDIAN.index("> [!quote]") :]
    for query in ("telescreen", "Nineteen", "completed", "Novels", "soma", "london"):
        assert found(shell, query) == ["1984"], query


def test_a_description_is_embedded_and_a_property_is_not() -> None:
    text = "---\ndescription: a telescreen\nstatus: completed\n---\nA walrus.\n"
    item = document(text, stem="one", file="one.md", project=None, clean=str)
    assert item is not None
    made = entry(item.draft, datetime.now(UTC))

    embedded = "\n".join(passages(excerpts(made.draft, made.chunks), 50))
    rows = chunk_rows(MemoryId(1), made)
    indexed = "\n".join("\n".join(passage(made, number, row)) for number, row in enumerate(rows))

    assert ("telescreen" in embedded, "completed" in embedded) == (True, False)
    assert ("telescreen" in indexed, "completed" in indexed) == (True, True)


def test_a_page_that_is_all_properties_is_kept(shell: Shell) -> None:
    write(shell, "a/Anna.md", "---\nrole: harbour master\n---\n")
    write(shell, "b/Anna.md", "---\nrole: diver\n---\n")
    write(shell, "empty.md", "\n")

    ran = shell("import", ".")

    assert ran.out == "found 3: 2 saved, 0 updated, 0 already there, 1 left out\n"
    assert "empty.md: there is nothing in it" in ran.err
    assert found(shell, "diver") == ["Anna"]
    assert shell("import", ".").out == "found 3: 0 saved, 0 updated, 2 already there, 1 left out\n"


NYGARD = "# 3. Use tides\n\nDate: 2016-02-12\n\n## Status\n\nAccepted\n\n## Context\n\nThe moon.\n"
MADR_2 = "# Use tides\n\n* Status: accepted\n* Deciders: Anna\n* Date: 2016-02-12\n\n## Context\n\nThe moon.\n"
MADR_4 = (
    "---\nstatus: accepted\ndate: 2016-02-12\ndecision-makers: Anna\n---\n\n# Use tides\n\n## Context\n\nThe moon.\n"
)
SOLUTION = (
    "---\ntitle: Use tides\ndate: 2016-02-12\nstatus: Accepted\nproblem_type: bug\n---\n\n## Problem\n\nThe moon.\n"
)
BOLD = "# Use tides\n\n**Status:** Accepted\n**Date:** February 12, 2016\n\n## Context\n\nThe moon.\n"


@pytest.mark.parametrize("text", [NYGARD, MADR_2, MADR_4, SOLUTION, BOLD])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way[0])
def test_a_decision_has_its_title_status_and_date(shell: Shell, way: list[str], text: str) -> None:
    write(shell, "docs/adr/0003-use-tides.md", text)

    shell(*way)

    (one,) = memories(shell).values()
    assert one["title"] in {"Use tides", "3. Use tides"}
    assert one["metadata"]["status"].lower() == "accepted"
    assert one["created_at"][:10] == "2016-02-12"
    hit = json.dumps(shell("search", "moon", "--mode", "keyword", "--json").json["hits"][0])
    assert "Context" in hit or "Problem" in hit


def test_two_files_of_one_text_that_say_more_are_two(shell: Shell) -> None:
    write(shell, "a.md", "---\ntitle: A\n---\nsame\n")
    write(shell, "b.md", "---\ntitle: B\n---\nsame\n")
    write(shell, "c.md", "---\ntitle: B\n---\nsame\n")

    assert shell("import", ".").out == "found 3: 3 saved, 0 updated, 0 already there, 0 left out\n"
    assert sorted(memories(shell)) == ["A", "B"]
    assert shell("watch", ".", "--once").err.endswith("found 3: 0 saved, 0 updated, 3 already there, 0 left out\n")


def test_two_notes_of_one_permalink_are_two(shell: Shell) -> None:
    for name in ("a", "b"):
        write(shell, f"{name}.md", f"---\ntitle: Note {name}\ntype: note\npermalink: same\n---\nOf {name}.\n")

    assert shell("import", ".").out == "found 2: 2 saved, 0 updated, 0 already there, 0 left out\n"
    assert shell("import", ".").out == "found 2: 0 saved, 0 updated, 2 already there, 0 left out\n"
    assert sorted(memories(shell)) == ["Note a", "Note b"]


# Links ------------------------------------------------------------------------


def test_a_link_to_a_note_leads_to_it_by_each_of_its_names(shell: Shell) -> None:
    write(
        shell,
        "tea.md",
        "---\ntitle: Tea Brewing\ntype: note\npermalink: drinks/tea-brewing\naliases: [Chai]\n---\n- [temp] 80C\n",
    )
    write(shell, "Plain Page.md", "Nothing is stated here.\n")
    links = ("Tea Brewing", "tea brewing", "drinks/tea-brewing", "tea-brewing", "chai", "tea", "Tea Brewing#Hot|so")
    body = "".join(f"- like {number} [[{name}]]\n" for number, name in enumerate(links))
    write(
        shell,
        "coffee.md",
        f"---\ntitle: Coffee\ntype: note\npermalink: drinks/coffee\n---\n{body}- as [[plain page]]\n- to [[Nowhere]]\n![[cup.png]]\n",
    )

    shell("import", ".")

    lines = [json.loads(line) for line in shell("export").out.splitlines()]
    named = {line["uid"]: line["title"] for line in lines if "title" in line}
    entities = {line["title"] for line in lines if line.get("kind") == "entity"}
    assert entities == {"Tea Brewing", "Coffee", "Nowhere"}
    related = {(named[line["target"]], line["type"]) for line in lines if line["schema"] == "memory.relation/1"}
    assert related == {*(("Tea Brewing", f"like {number}") for number in range(len(links))), ("Nowhere", "to")}
    about = {(named[line["entity"]], named[line["memory"]]) for line in lines if line["schema"] == "memory.attached/1"}
    assert about == {("Tea Brewing", "Tea Brewing"), ("Coffee", "Coffee"), ("Coffee", "Plain Page")}


# Whose a line is --------------------------------------------------------------


def test_a_change_of_the_memory_stands_in_our_line_and_one_of_the_page_holds(shell: Shell) -> None:
    write(shell, "page.md", "---\ntitle: Mine\nstatus: done\n---\nA walrus.\n")
    shell("mirror", ".")
    uid = memories(shell)["Mine"]["id"]

    shell("update", uid, "--title", "Theirs", "--tag", "new")
    shell("mirror", ".")
    (path,) = shell.folder.glob("*.md")
    text = path.read_text()
    assert text.startswith("---\ntitle: Mine\nstatus: done\nmemory_page: ")
    assert ('"title": "Theirs"' in text, '"tags": ["new"]' in text) == (True, True)

    path.write_text(text.replace("title: Mine", "title: Mine again").replace("status: done", "status: open"))
    shell("mirror", ".")
    one = memories(shell)["Mine again"]
    assert (one["id"], one["tags"], one["metadata"]) == (uid, ["new"], {"status": "open"})
    assert '"title"' not in next(iter(shell.folder.glob("*.md"))).read_text()


def test_a_page_that_loses_our_line_keeps_its_memory(shell: Shell) -> None:
    write(shell, "api/page.md", "---\nstatus: done\n---\nA walrus.\n")
    shell("mirror", ".")
    before = memories(shell)["page"]
    line = next(line for line in read(shell, "api/page.md").splitlines(keepends=True) if "memory_page" in line)

    write(shell, "api/page.md", read(shell, "api/page.md").replace(line, "").replace("walrus", "seal"))
    shell("mirror", ".")

    after = memories(shell)["page"]
    assert (after["id"], after["project"], after["created_at"]) == (before["id"], "api", before["created_at"])
    assert after["body"] == "A seal.\n"
    assert f'memory_page: {{"uid": "{before["uid"]}"' in read(shell, "api/page.md")


def test_a_page_travels_to_another_store_with_our_line(shell: Shell, tmp_path: Path) -> None:
    write(shell, "api/page.md", "---\nstatus: done\nuid: mine\n---\nA walrus.\n")
    shell("mirror", ".")
    other = Shell(tmp_path / "other", shell.folder, shell.settings)

    said = other("mirror", ".").out

    assert said == "saved api/page.md\n"
    gone = ("history", "access_count")
    here, there = (
        {key: value for key, value in memories(one)["page"].items() if key not in gone} for one in (shell, other)
    )
    assert here == there


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ('{\n"title": "T",\n"n": 1\n}\n', '{\n"memory_page": '),
        ("{}\n", '{\n"memory_page": '),
        ('+++\ntitle = "T"\n[extra]\na = 1\n+++\n', "+++\nmemory_page = "),
        ("", "---\nmemory_page: "),
        ("---\n---\n", "---\nmemory_page: "),
        ("\ufeff---\r\ntitle: T\r\n---\r\n", "\ufeff---\r\ntitle: T\r\nmemory_page: "),
    ],
)
def test_our_line_stands_in_each_kind_of_front_matter(shell: Shell, head: str, line: str) -> None:
    text = f"{head}A walrus.\n"
    (shell.folder / "page.md").write_bytes(text.encode())

    shell("mirror", ".")
    after = (shell.folder / "page.md").read_bytes().decode()
    again = shell("mirror", ".")

    assert after.startswith(line)
    assert after.endswith("A walrus.\n")
    assert again.err == "memory: found 1: 0 saved, 0 updated, 1 already there, 0 left out\n"
    (one,) = memories(shell).values()
    assert one["title"] == ("T" if "T" in head else "page")
    assert "memory_page" in values(split(after))
