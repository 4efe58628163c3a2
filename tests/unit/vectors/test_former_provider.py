"""During a reindex, the former model answers only if that sends no text to a server that was not named for its provider."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from asking import config
from provider import WIDTHS, Provider

from memory import Config, Draft, Engine, Mode, Query
from memory.schema.errors import Refused
from memory.schema.space import Space
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from memory.config.settings import EmbeddingSettings

QUERY = "how many links does the pool hold"


def begun(home: Path, former: EmbeddingSettings, now: EmbeddingSettings) -> Engine:
    """An engine with vectors of one model, after a reindex to another has begun."""
    usual = replace(Config(), home=str(home), search=replace(Config().search, effort=1.0, distilled="off"))
    with Engine.open(replace(usual, embedding=former), key="sk-test", lasting=False) as engine:  # nobody embeds beside
        engine.save(Draft(title="Pool", what="The pool holds 40 links"))
        engine.vectors.embed()
    store = SqliteStore(usual.database)
    engine = Engine(store, replace(usual, embedding=now), key="sk-test", lasting=False)
    embedder = engine.vectors.embedders.configured()
    store.generations.begin(Space(*embedder.names, embedder.dimension), engine.now())
    return engine


@pytest.mark.parametrize("now", ["hashed", "ollama"])
def test_a_server_of_another_provider_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, now: str) -> None:
    with Provider() as private, Provider() as other:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{other.url}/v1")
        mine = config("openai", private, fill="eager").embedding
        to = (
            config("ollama", other).embedding if now == "ollama" else replace(mine, provider=now, model="", base_url="")
        )
        with begun(tmp_path, mine, to) as engine:
            before = len(private.seen), len(other.seen)

            answer = engine.search(QUERY)
            with pytest.raises(Refused, match="server of openai, which the settings no longer name"):
                engine.search(Query(QUERY, mode=Mode.VECTOR))

            assert (len(private.seen), len(other.seen)) == before
    assert answer.hits
    assert "without the model: the vectors are from a server of openai" in " ".join(n.text for n in answer.notices)


def test_another_model_of_the_same_provider_is_asked_where_that_listens(tmp_path: Path) -> None:
    with Provider(WIDTHS | {"another": 48}) as private:
        mine = config("openai", private, fill="eager").embedding
        with begun(tmp_path, mine, replace(mine, model="another")) as engine:
            assert engine.search(Query(QUERY, mode=Mode.VECTOR)).hits


def test_a_model_of_this_process_answers_while_a_server_takes_its_place(tmp_path: Path) -> None:
    with Provider() as private:
        mine = config("openai", private).embedding
        hashed = replace(mine, provider="hashed", model="", base_url="", fill="eager")
        with begun(tmp_path, hashed, mine) as engine:
            assert engine.search(Query(QUERY, mode=Mode.VECTOR)).hits
