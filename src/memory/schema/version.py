"""Which version this is; apart from `memory/__init__.py`, which a stranger's package of that name may have overwritten."""

from __future__ import annotations

__version__ = "0.2.0"
