"""What left the machine, and what stayed on it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memory.engine.status import Status
from memory.schema.space import UsageEntry
from memory.store import Counts
from memory.tools.render import care_text

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("host", "stays"),
    [
        ("", True),
        ("http://127.0.0.1:11434", True),
        ("http://127.0.1.1", True),
        ("http://localhost:1234/v1", True),
        ("http://[::1]:8000", True),
        ("https://api.openai.com/v1", False),
        ("http://localhost.example:80", False),
        ("http://gpu-box:11434", False),
        ("http://example/127.0.0.1", False),
    ],
)
def test_a_loopback_address_is_this_machine(host: str, stays: bool) -> None:
    assert UsageEntry(NOW, "openai", "m", "save", host).stays is stays


def test_status_counts_only_what_left_the_machine() -> None:
    counts = Counts(
        **{name: () if name in ("kinds", "projects") else "" if name == "last_error" else 0 for name in Counts._fields}
    )
    calls = [
        UsageEntry(NOW, "hashed", "m", "save", "", tokens=22, cost=1.0),
        UsageEntry(NOW, "ollama", "m", "save", "http://127.0.0.1:11434", tokens=22),
    ]
    out = UsageEntry(NOW, "openai", "m", "save", "https://api.openai.com/v1", tokens=7, cost=0.5)

    assert "sent today" not in care_text.status(Status(counts, (), "", (), tuple(calls), ()), "db")
    assert "sent today: 1 request, 7 tokens, $0.5000" in care_text.status(
        Status(counts, (), "", (), (*calls, out), ()), "db"
    )
