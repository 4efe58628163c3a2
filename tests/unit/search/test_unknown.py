"""A question of which neither the index nor the model knows a word is told so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from memory import Config, Draft, Engine
from memory.schema.answer import Outcome, Tier
from memory.schema.query import Mode, Query
from memory.store.sqlite import SqliteStore
from memory.vectors.local import model_folder
from memory.vectors.local.wordpiece import tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.skipif(model_folder() is None, reason="the local model is not installed")

TOLD = "neither the index nor the model knows a word of the query"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder: Path = tmp_path_factory.mktemp("unknown")
    config = replace(Config(), home=str(folder), embedding=replace(Config().embedding, provider="local"))
    with Engine(SqliteStore(folder / "m.db"), config) as engine:
        for what in ("tokens expire after an hour", "the queue is slow", "backups run at night", "der Dienst ist aus"):
            engine.save(Draft(title="note", what=what))
        engine.embed()
        yield engine


@pytest.mark.parametrize("mode", [Mode.TIERED, Mode.HYBRID, Mode.VECTOR])
@pytest.mark.parametrize("text", ["zzzzqqq", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "🦤", "zzzzqqq qqzx"])
def test_it_is_told_and_not_answered_with_neighbours(engine: Engine, text: str, mode: Mode) -> None:
    answer = engine.search(Query(text, mode=mode))

    assert answer.hits == ()
    assert TOLD in [notice.text for notice in answer.notices]
    assert (answer.tier, answer.outcome) == (Tier.KEYWORD, Outcome.NOTHING_RELEVANT)
    assert answer.verdict is not None
    assert answer.verdict.why == TOLD


@pytest.mark.parametrize("text", ["credentials lifetime", "Dienst", "kubernetes", "zzzzqqq queue", "authentification"])
def test_what_one_of_both_knows_a_word_of_is_answered(engine: Engine, text: str) -> None:
    answer = engine.search(Query(text, mode=Mode.HYBRID))

    assert answer.hits
    assert TOLD not in [notice.text for notice in answer.notices]


def test_a_model_knows_words_and_parts_of_three_letters() -> None:
    folder = model_folder()
    assert folder is not None
    pieces = tokenizer(folder)

    assert [text for text in ("go", "kubernetes", "Müller", "a.b") if not pieces.knows(text)] == []
    assert [text for text in ("zzzzqqq", "", "?!", "ⵜⴰⵎⴰⵣⵉⵖⵜ", "z" * 200) if pieces.knows(text)] == []
