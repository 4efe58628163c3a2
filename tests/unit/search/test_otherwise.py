"""What is looked for where no memory in scope holds a word of the question."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from memory import Config, Draft, Engine
from memory.schema.query import Mode, Query, Scope
from memory.search.corrections import _near_words
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WITHOUT_MODEL = replace(Config(), embedding=replace(Config().embedding, provider="none"))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine(SqliteStore(tmp_path / "m.db"), WITHOUT_MODEL, lasting=False) as engine:
        for what in (
            "runs on Node.js",
            "Datenbankverbindung getrennt",
            "the colour of it",
            "two vertices",
            "supervision",
        ):
            engine.save(Draft(title="note", what=what, project="p"))
        for what in ("nodejs", "verbindung", "color", "vertex"):
            engine.save(Draft(title="note", what=what, project="other"))
        yield engine


def asked(engine: Engine, text: str, **fields: object) -> tuple[list[str], list[str]]:
    query = Query(text, mode=Mode.KEYWORD, scope=Scope(projects=frozenset({"p"})), **fields)  # type: ignore[arg-type]
    answer = engine.search(query)
    return [hit.memory.what for hit in answer.hits], [notice.text for notice in answer.notices]


@pytest.mark.parametrize(
    ("text", "what", "other"),
    [
        ("nodejs", "runs on Node.js", "node js"),
        ("Verbindung", "Datenbankverbindung getrennt", "datenbankverbindung"),
        ("color", "the colour of it", "colour"),
        ("vertex", "two vertices", "vertices"),
    ],
)
def test_what_another_project_has_word_for_word_is_found_here_otherwise_and_said(engine, text, what, other) -> None:
    assert asked(engine, text) == ([what], [f'also showing results for "{other}"'])


@pytest.mark.parametrize("text", ['"nodejs"', "vision", "zzzzqqq", "ⵜⴰⵎⴰⵣⵉⵖⵜ"])
def test_quoted_words_endings_of_english_and_what_nobody_says_find_nothing(engine, text) -> None:
    assert asked(engine, text) == ([], [])


def test_where_a_word_is_found_no_other_is_looked_for(engine) -> None:
    assert asked(engine, "color supervision") == (["supervision"], [])


def test_who_asks_for_no_longer_words_gets_none_that_are_written_otherwise(engine) -> None:
    assert asked(engine, "nodejs", longer=False) == ([], [])


@pytest.mark.parametrize(
    ("word", "other"),
    [
        *(
            ("behaviour", "behavior"),
            ("behaviors", "behaviours"),
            ("organisation", "organization"),
            ("analyze", "analyse"),
        ),
        *(("centre", "center"), ("dialog", "dialogue"), ("licence", "license"), ("modelling", "modeling")),
        *(
            ("grey", "gray"),
            ("indices", "index"),
            ("appendix", "appendices"),
            ("datum", "data"),
            ("criteria", "criterion"),
        ),
    ],
)
def test_a_word_is_spelled_elsewhere_as(word, other) -> None:
    assert other in [term.text for term in _near_words(word, None)]
