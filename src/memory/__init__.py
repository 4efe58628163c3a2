"""
Memory for AI agents in one file, searched by keyword first and by meaning when keywords are not enough.

    >>> from memory import Draft, Engine
    >>> with Engine.open() as engine:
    ...     saved = engine.save(Draft(title="WAL", what="Readers never block the writer", project="db"))
    ...     answer = engine.search("do readers block")
    ...     answer.hits[0].memory.title, answer.outcome
    ...     engine.context("tune the database", tokens=1500).text

- Open a memory: `Engine`, `AsyncEngine`; settings: `Config`.
- Save: a `Draft` of a `Kind` becomes a `Memory`; `Saved` says what happened.
- Search: text or a `Query` (`Mode`, `Granularity`, `Scope`) returns an `Answer` with `Hit`s and its `Tier`, `Verdict`,
  `Outcome` and `Notice`s.
- Read and maintain: `Details`, `Status`.
- Values under your own keys: `KeyedStore`, `Put`, `KeyedItem`.
- Tool sets as methods: `SessionMemory`, `ResearchMemory`, `EntityGraph`.
- Embedding models: `set_embedding_provider`, `EmbeddingProvider`, `SentenceTransformerProvider`.
- Vectors and statistics under names that other programs use: `VectorStore`, `SQLiteVectorStore`,
  `VectorContextSearch`, `hybrid_relevance`, `SearchStats`, `search_stats`, `log_timing`.
- Errors: subclasses of `Error`, each with a `hint`.

Times are datetimes in UTC; text is str without NUL. The names in `__all__` are public; docs/library.md shows how to use
them. Every other module and name is internal and may change in any version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema import __version__ as __version__

if TYPE_CHECKING:
    from memory.config import Config as Config
    from memory.engine import Engine as Engine
    from memory.engine.asynchronous import AsyncEngine as AsyncEngine
    from memory.engine.keyed import KeyedItem as KeyedItem, KeyedStore as KeyedStore, Put as Put
    from memory.engine.status import Status as Status
    from memory.schema.answer import (
        Answer as Answer,
        Hit as Hit,
        Notice as Notice,
        Outcome as Outcome,
        Tier as Tier,
        Verdict as Verdict,
    )
    from memory.schema.draft import Draft as Draft, Saved as Saved
    from memory.schema.errors import (
        Ambiguous as Ambiguous,
        ConfigError as ConfigError,
        DimensionMismatch as DimensionMismatch,
        EmbedError as EmbedError,
        Error as Error,
        Garbled as Garbled,
        Invalid as Invalid,
        NotFound as NotFound,
        OverBudget as OverBudget,
        Raised as Raised,
        Refused as Refused,
        SpaceMismatch as SpaceMismatch,
        StoreBusy as StoreBusy,
        StoreDamaged as StoreDamaged,
        StoreError as StoreError,
        StoreFull as StoreFull,
        StoreReadOnly as StoreReadOnly,
        StoreTooNew as StoreTooNew,
        StoreTooOld as StoreTooOld,
        TooLong as TooLong,
        Unembedded as Unembedded,
        Unfit as Unfit,
        Unreachable as Unreachable,
    )
    from memory.schema.kinds import Kind as Kind
    from memory.schema.memory import Details as Details, Memory as Memory
    from memory.schema.query import Granularity as Granularity, Mode as Mode, Query as Query, Scope as Scope
    from memory.tools.graph import EntityGraph as EntityGraph
    from memory.tools.graph.vectors import (
        SQLiteVectorStore as SQLiteVectorStore,
        VectorContextSearch as VectorContextSearch,
        VectorStore as VectorStore,
        hybrid_relevance as hybrid_relevance,
    )
    from memory.tools.research import ResearchMemory as ResearchMemory
    from memory.tools.sessions import (
        SearchStats as SearchStats,
        SessionMemory as SessionMemory,
        log_timing as log_timing,
        search_stats as search_stats,
    )
    from memory.vectors.adapter import (
        EmbeddingProvider as EmbeddingProvider,
        SentenceTransformerProvider as SentenceTransformerProvider,
        set_embedding_provider as set_embedding_provider,
    )

_HOMES = {
    "memory.config": "Config",
    "memory.engine": "Engine",
    "memory.engine.asynchronous": "AsyncEngine",
    "memory.engine.keyed": "KeyedItem KeyedStore Put",
    "memory.vectors.adapter": "EmbeddingProvider SentenceTransformerProvider set_embedding_provider",
    "memory.engine.status": "Status",
    "memory.tools.graph": "EntityGraph",
    "memory.tools.graph.vectors": "SQLiteVectorStore VectorContextSearch VectorStore hybrid_relevance",
    "memory.tools.research": "ResearchMemory",
    "memory.tools.sessions": "SearchStats SessionMemory log_timing search_stats",
    "memory.schema.answer": "Answer Hit Notice Outcome Tier Verdict",
    "memory.schema.draft": "Draft Saved",
    "memory.schema.errors": (
        "Ambiguous ConfigError DimensionMismatch EmbedError Error Garbled Invalid NotFound OverBudget Raised "
        "Refused SpaceMismatch StoreBusy StoreDamaged StoreError StoreFull StoreReadOnly StoreTooNew StoreTooOld "
        "TooLong Unembedded Unfit Unreachable"
    ),
    "memory.schema.kinds": "Kind",
    "memory.schema.memory": "Details Memory",
    "memory.schema.query": "Granularity Mode Query Scope",
}
"""What is public of each module."""

_PLACES = {name: module for module, names in _HOMES.items() for name in names.split()}

__all__ = sorted(_PLACES)  # noqa: PLE0605  # so that no name is listed a third time; type checkers read the imports


def __getattr__(name: str) -> Any:
    """The public names, imported at first use: a command that only searches does not load what saves."""
    import importlib

    if name not in _PLACES:
        raise AttributeError(f"module 'memory' has no attribute {name!r}")
    return getattr(importlib.import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    """What is public, and nothing else: no module that was imported, no constant of Python's."""
    return __all__
