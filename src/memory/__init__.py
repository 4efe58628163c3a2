"""
What agents should not forget, in one file, found again by keyword first and by meaning when that is not enough.

Public is what `__all__` lists here, and what docs/library.md shows of it; every other module and name is internal and
may change on any day.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory.config.config import Config
    from memory.engine import Engine
    from memory.engine.adapter import EmbeddingProvider, SentenceTransformerProvider, set_embedding_provider
    from memory.engine.status import Status
    from memory.operations.graph import (
        EntityGraph,
        SQLiteVectorStore,
        VectorContextSearch,
        VectorStore,
        hybrid_relevance,
    )
    from memory.operations.research import ResearchMemory
    from memory.operations.sessions import SearchStats, SessionMemory, log_timing, search_stats
    from memory.schema.answer import Answer, Hit, Notice, Outcome, Tier, Verdict
    from memory.schema.document import Details
    from memory.schema.draft import Draft, Saved
    from memory.schema.errors import (
        Ambiguous,
        ConfigError,
        DimensionMismatch,
        EmbedError,
        Error,
        Garbled,
        Invalid,
        NotFound,
        OverBudget,
        Raised,
        Refused,
        SpaceMismatch,
        StoreBusy,
        StoreDamaged,
        StoreError,
        StoreFull,
        StoreReadOnly,
        StoreTooNew,
        TooLong,
        Unembedded,
        Unfit,
        Unreachable,
    )
    from memory.schema.kinds import Kind
    from memory.schema.memory import Memory
    from memory.schema.query import Granularity, Mode, Query, Scope

__all__ = [
    "Ambiguous",
    "Answer",
    "Config",
    "ConfigError",
    "Details",
    "DimensionMismatch",
    "Draft",
    "EmbedError",
    "EmbeddingProvider",
    "Engine",
    "EntityGraph",
    "Error",
    "Garbled",
    "Granularity",
    "Hit",
    "Invalid",
    "Kind",
    "Memory",
    "Mode",
    "NotFound",
    "Notice",
    "Outcome",
    "OverBudget",
    "Query",
    "Raised",
    "Refused",
    "ResearchMemory",
    "SQLiteVectorStore",
    "Saved",
    "Scope",
    "SearchStats",
    "SentenceTransformerProvider",
    "SessionMemory",
    "SpaceMismatch",
    "Status",
    "StoreBusy",
    "StoreDamaged",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "Tier",
    "TooLong",
    "Unembedded",
    "Unfit",
    "Unreachable",
    "VectorContextSearch",
    "VectorStore",
    "Verdict",
    "hybrid_relevance",
    "log_timing",
    "search_stats",
    "set_embedding_provider",
]

_HOMES = {
    "memory.config.config": ("Config",),
    "memory.engine": ("Engine",),
    "memory.engine.adapter": ("EmbeddingProvider", "SentenceTransformerProvider", "set_embedding_provider"),
    "memory.engine.status": ("Status",),
    "memory.operations.graph": (
        "EntityGraph",
        "SQLiteVectorStore",
        "VectorContextSearch",
        "VectorStore",
        "hybrid_relevance",
    ),
    "memory.operations.research": ("ResearchMemory",),
    "memory.operations.sessions": ("SearchStats", "SessionMemory", "log_timing", "search_stats"),
    "memory.schema.answer": ("Answer", "Hit", "Notice", "Outcome", "Tier", "Verdict"),
    "memory.schema.draft": ("Draft", "Saved"),
    "memory.schema.errors": (
        "Ambiguous",
        "ConfigError",
        "DimensionMismatch",
        "EmbedError",
        "Error",
        "Garbled",
        "Invalid",
        "NotFound",
        "OverBudget",
        "Raised",
        "Refused",
        "SpaceMismatch",
        "StoreBusy",
        "StoreDamaged",
        "StoreError",
        "StoreFull",
        "StoreReadOnly",
        "StoreTooNew",
        "TooLong",
        "Unembedded",
        "Unfit",
        "Unreachable",
    ),
    "memory.schema.kinds": ("Kind",),
    "memory.schema.memory": ("Memory",),
    "memory.schema.query": ("Granularity", "Mode", "Query", "Scope"),
    "memory.schema.document": ("Details",),
}


def __getattr__(name: str) -> Any:
    """The public names, imported at first use: a command that only searches does not load what saves."""
    import importlib

    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'memory' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is public, and nothing else: no module that was imported, no constant of Python's."""
    return list(__all__)
