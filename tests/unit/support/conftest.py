"""The official clients of what the provider of the tests stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ollama import Client
    from openai import OpenAI
    from provider import Provider


@pytest.fixture
def local(provider: Provider) -> Iterator[Client]:
    client = pytest.importorskip("ollama").Client(provider.url, timeout=60)
    yield client
    client.close()


@pytest.fixture
def remote(provider: Provider) -> Iterator[OpenAI]:
    client = pytest.importorskip("openai").OpenAI
    with client(api_key="sk-test", base_url=f"{provider.url}/v1", max_retries=0, timeout=60) as opened:
        yield opened
