"""`search.effort: auto`: how far a search goes by what a call of the model takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from doubles import Watched

from memory import Config, Draft, Engine, Tier
from memory.config import load
from memory.schema.errors import ConfigError
from memory.schema.query import CallPrice
from memory.search.gate import EFFORTS, GateOptions
from memory.store.sqlite import SqliteStore
from memory.vectors.local import model_folder

if TYPE_CHECKING:
    from pathlib import Path

SPARSE = "unheard utterances of nobody"


def opened(home: Path, *, lasting: bool = False, embedder: Watched | None = None, **embedding: object) -> Engine:
    settings = replace(Config().search, effort="auto")
    config = replace(Config(), home=str(home), search=settings, embedding=replace(Config().embedding, **embedding))
    engine = Engine(SqliteStore(config.database), config, embedder=embedder, lasting=lasting)
    engine.save(Draft(title="write-ahead log", what="Readers never block the writer"))
    return engine


def test_what_takes_more_is_done_less() -> None:
    assert EFFORTS.keys() == {*CallPrice}
    assert [*EFFORTS.values()] == sorted(EFFORTS.values(), reverse=True)
    assert EFFORTS[CallPrice.LOADING] == EFFORTS[CallPrice.SERVER] == GateOptions().effort


def test_a_process_that_ends_with_the_search_loads_no_model() -> None:
    once, lasting = (GateOptions(effort=None, lasting=stays).priced(CallPrice.LOADING) for stays in (False, True))

    assert once.never_hybrid
    assert not lasting.never_hybrid
    assert not GateOptions(effort=None, lasting=False).priced(CallPrice.LOADED).never_hybrid


@pytest.mark.parametrize(
    ("embedding", "price"),
    [
        ({"provider": "ollama"}, CallPrice.SERVER),
        ({"provider": "ollama", "base_url": "http://10.0.0.7:11434"}, CallPrice.AWAY),
        ({"provider": "ollama", "base_url": "http://127.0.0.1:1, http://10.0.0.7:11434"}, CallPrice.AWAY),
        ({"provider": "openai"}, CallPrice.AWAY),
        ({"provider": "openai", "base_url": "http://localhost:8000/v1"}, CallPrice.SERVER),
        ({"provider": "openai", "base_url": "no url"}, CallPrice.AWAY),
        ({"provider": "sentence-transformers"}, CallPrice.LOADING),
        ({"provider": "local"}, CallPrice.LOADING),
    ],
    ids=str,
)
def test_what_a_call_takes_is_known_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedding: dict[str, str], price: CallPrice
) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)

    with opened(tmp_path, **{"fill": "lazy"} | embedding) as engine:
        assert engine.vectors.embedders.call_price is price


def test_a_second_server_counts_only_where_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")

    with opened(tmp_path, provider="openai", fill="lazy") as engine:
        assert engine.vectors.embedders.call_price is CallPrice.SERVER


def test_the_verdict_says_how_much_effort_and_why(tmp_path: Path) -> None:
    watched = Watched()
    with opened(tmp_path, embedder=watched) as engine:
        answer = engine.search(f"log {SPARSE}")

    assert (answer.tier, watched.queries) == (Tier.HYBRID, [f"log {SPARSE}"])
    assert answer.verdict.why.endswith(" (effort 0.6: the model is loaded in this process)")


def test_a_number_is_not_explained(tmp_path: Path) -> None:
    with opened(tmp_path, embedder=Watched()) as engine:
        engine._gate_options = GateOptions(effort=0.6)
        assert "effort" not in engine.search(f"log {SPARSE}").verdict.why


@pytest.mark.skipif(model_folder() is None, reason="the local model is not installed")
def test_the_local_model_is_loaded_by_who_stays_and_counts_as_loaded_from_then_on(tmp_path: Path) -> None:
    with opened(tmp_path, lasting=False, fill="lazy") as engine:
        once = engine.search(f"log {SPARSE}")
    with opened(tmp_path, lasting=True, fill="lazy") as engine:
        first, second = engine.search(f"log {SPARSE}"), engine.search(f"writer {SPARSE}")

    assert once.tier is not Tier.HYBRID
    assert once.verdict.why.endswith("(effort 0: the model is not loaded yet)")
    assert (first.tier, second.tier) == (Tier.HYBRID, Tier.HYBRID)
    assert first.verdict.why.endswith("(effort 0.5: the model is not loaded yet)")
    assert second.verdict.why.endswith("(effort 0.6: the model is loaded in this process)")


def test_without_a_model_nothing_is_weighed_up(tmp_path: Path) -> None:
    with opened(tmp_path, provider="none") as engine:
        assert "effort" not in engine.search(f"log {SPARSE}").verdict.why


@pytest.mark.parametrize("wrong", ["sometimes", "1.5", "-0.1", "true", "nan"])
def test_what_is_neither_auto_nor_a_share_is_refused(tmp_path: Path, wrong: str) -> None:
    with pytest.raises(ConfigError, match=rf"expected auto or a number from 0 to 1, not '{wrong}'"):
        load(flags={"home": str(tmp_path), "search.effort": wrong})


def test_auto_is_a_setting(tmp_path: Path) -> None:
    assert load(flags={"home": str(tmp_path), "search.effort": "auto"}).search.effort == "auto"
    assert load(flags={"home": str(tmp_path), "search.effort": "0.7"}).search.effort == 0.7
