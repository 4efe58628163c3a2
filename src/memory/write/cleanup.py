"""Removing memories that are too old."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, StoreError
from memory.schema.kinds import RULES, kind
from memory.schema.query import EVERYTHING
from memory.store import Aged

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from memory.store import Store

AT_ONCE = 200  # memories removed in one transaction; others can write in between

SHORT_LIVED = frozenset(
    name for name, rule in RULES.items() if rule.family == "session" and "session_id" in rule.required
)
"""The kinds that `cleanup` removes unless told otherwise."""


def cleanup(store: Store, days: int, kinds: Iterable[str], *, moment: datetime, dry_run: bool) -> Aged:
    """See `Engine.cleanup`."""
    if isinstance(days, bool) or not isinstance(days, int) or not 0 <= days <= 36_500:
        raise Invalid(f"days are 0..36,500, a whole number, not {days!r}")
    scope = EVERYTHING._replace(kinds=frozenset(map(kind, kinds)) or SHORT_LIVED)
    before = moment - timedelta(days=days)
    if dry_run:
        return store.sessions.aged(scope, before)
    gone = Aged(0, 0)
    try:
        while (some := store.sessions.forget(scope, before, AT_ONCE)).memories:
            gone = Aged(gone.memories + some.memories, gone.chunks + some.chunks)
    except StoreError as error:
        if not gone.memories:
            raise
        done = f"{gone.memories:,} memories with {gone.chunks:,} chunks were removed before; the same call goes on."
        raise type(error)(str(error), hint=done) from error
    return gone
