"""Embedders that ask a `Provider`, made as the engine makes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memory.config import Config
from memory.config.settings import EmbeddingSettings
from memory.vectors.models import ModelProfile
from memory.vectors.providers import ModelSpec
from memory.vectors.registry import Embedders
from oracle.ram import RamStore

if TYPE_CHECKING:
    from provider import Provider

    from memory.store import Store

MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}


def settings(name: str, provider: Provider, **more: Any) -> EmbeddingSettings:
    """Settings that name a provider by one of the two protocols; patient, for the machine may be slow."""
    url = provider.url if name == "ollama" else f"{provider.url}/v1"
    usual = {"provider": name, "model": MODELS[name], "base_url": url, "timeout_seconds": 60.0, "query_share": 1.0}
    return EmbeddingSettings(**usual | {"fill_seconds": 600.0, "retries": 0} | more)


def servers(first: str, second: str) -> dict[str, str]:
    """Settings with a second server."""
    return {"base_url": f"{first}, {second}"}


def spec(profile: ModelProfile | None = None, *, dimension: int = 0, **more: Any) -> ModelSpec:
    """What a client asks a server for."""
    return ModelSpec(EmbeddingSettings(**more), "test", profile or ModelProfile(), dimension)


def embedders(name: str, provider: Provider, store: Store | None = None, **more: Any) -> Embedders:
    return Embedders(settings(name, provider, **more), store or RamStore(), key="sk-test")


def config(name: str, provider: Provider, **more: Any) -> Config:
    return replace(Config(), embedding=settings(name, provider, **more))
