"""Commands and a server that sends a byte now and then, without end: each ends, and says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from command import Shell

from faults import Drip
from memory.config.settings import EmbeddingSettings

if TYPE_CHECKING:
    from pathlib import Path

    from provider import Provider

NOW_AND_THEN = 0.05  # seconds
MOST = "1"  # seconds for a request: as many as a search spends on tries and between them in all, so it makes one


@pytest.fixture
def shell(tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Shell:
    (tmp_path / "work").mkdir()
    settings = {"PROVIDER": "ollama", "MODEL": "nomic-embed-text", "BASE_URL": provider.url}
    settings |= {"TIMEOUT_SECONDS": MOST, "FILL": "lazy"}
    monkeypatch.setattr(EmbeddingSettings, "query_share", 1.0)
    monkeypatch.setattr(EmbeddingSettings, "retries", 1)
    named = {f"MEMORY_EMBEDDING_{name}": value for name, value in settings.items()}
    return Shell(tmp_path / "home", tmp_path / "work", named)


@pytest.mark.parametrize("headers", [False, True], ids=["body", "headers"])
def test_a_search_ends_with_what_keywords_found(shell: Shell, provider: Provider, headers: bool) -> None:
    shell("save", "zebra", "--what", "striped")
    provider.always(Drip(NOW_AND_THEN, headers=headers))

    answer = shell("search", "penguins or a zebra on the ice", "--json").json

    assert [hit["title"] for hit in answer["hits"]] == ["zebra"]
    assert any("within 1 s" in notice["text"] for notice in answer["notices"])
    assert len([seen for seen in provider.seen if seen.path == "/api/embed"]) == 1, "waited for once"


@pytest.mark.parametrize("headers", [False, True], ids=["body", "headers"])
def test_embedding_ends_and_loses_nothing(shell: Shell, provider: Provider, headers: bool) -> None:
    shell("save", "zebra", "--what", "striped")
    provider.always(Drip(NOW_AND_THEN, headers=headers))

    assert "within 1 s" in shell("embed", code=1).err
    provider.always(None)
    assert "1 chunk" in shell("embed").out


def test_a_save_does_not_wait_for_it(shell: Shell, provider: Provider) -> None:
    provider.always(Drip(NOW_AND_THEN))

    shell("save", "zebra", "--what", "striped")

    assert "zebra" in shell("search", "zebra", "--mode", "keyword").out
