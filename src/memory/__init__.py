"""What agents should not forget, in one file, found again by keyword first and by meaning when that is not enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory.config import Config
    from memory.draft import Draft
    from memory.engine import Details, Engine
    from memory.errors import Error
    from memory.graph import EntityGraph
    from memory.kinds import Kind
    from memory.query import Answer, Granularity, Hit, Mode, Notice, Outcome, Query, Scope, Tier, Verdict
    from memory.record import Memory
    from memory.research import ResearchMemory
    from memory.save import Saved
    from memory.sessions import SessionMemory
    from memory.status import Status

__all__ = [
    "Answer",
    "Config",
    "Details",
    "Draft",
    "Engine",
    "EntityGraph",
    "Error",
    "Granularity",
    "Hit",
    "Kind",
    "Memory",
    "Mode",
    "Notice",
    "Outcome",
    "Query",
    "ResearchMemory",
    "Saved",
    "Scope",
    "SessionMemory",
    "Status",
    "Tier",
    "Verdict",
]

_HOMES = {
    "memory.config": ("Config",),
    "memory.engine": ("Details", "Engine"),
    "memory.status": ("Status",),
    "memory.errors": ("Error",),
    "memory.kinds": ("Kind",),
    "memory.query": ("Answer", "Granularity", "Hit", "Mode", "Notice", "Outcome", "Query", "Scope", "Tier", "Verdict"),
    "memory.draft": ("Draft",),
    "memory.record": ("Memory",),
    "memory.save": ("Saved",),
    "memory.sessions": ("SessionMemory",),
    "memory.research": ("ResearchMemory",),
    "memory.graph": ("EntityGraph",),
}


def __getattr__(name: str) -> Any:
    """The public names, imported at first use: a command that only searches does not load what saves."""
    import importlib

    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'memory' has no attribute {name!r}")
