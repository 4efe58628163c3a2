"""Days are those of the person who reads: of TZ, or of the machine. What programs read says its offset."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pytest
from agent import ERAS, Agent
from command import Shell

from memory.schema.errors import Invalid
from memory.schema.moments import span

if TYPE_CHECKING:
    from pathlib import Path

EVENING = "2025-11-28T03:30:00.000000Z"  # of the 27th in Los Angeles, the 28th at nine in Kolkata


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    made = Shell(tmp_path / "home", folder)
    line = {"uid": f"{1:032x}", "title": "Evening", "what": "w", "created_at": EVENING, "updated_at": EVENING}
    made("import", "-", stdin=json.dumps(line))
    return made


def at(shell: Shell, zone: str) -> Shell:
    return replace(shell, settings={"TZ": zone})


@pytest.mark.parametrize(("zone", "day"), [("America/Los_Angeles", "2025-11-27"), ("Asia/Kolkata", "2025-11-28")])
def test_the_day_that_is_shown_is_the_day_that_is_found(shell: Shell, zone: str, day: str) -> None:
    there = at(shell, zone)

    for words in (
        ("list",),
        ("list", "--since", day, "--until", day),
        ("search", "evening", "--since", day, "--until", day),
    ):
        assert f" {day}  " in there.process(*words).out
    for words in (("--until", "2025-11-26"), ("--since", "2025-11-29"), ("--until", f"{day}T08:00")):
        assert there.process("list", *words).out == ""
    assert there.process("list", "--json").json["memories"][0]["created_at"] == EVENING


def test_what_was_deleted_is_shown_in_local_time(shell: Shell) -> None:
    shell("delete", "1")
    deleted = datetime.fromisoformat(shell("trash", "--json").json["memories"][0]["deleted_at"])

    local = deleted.astimezone(ZoneInfo("Asia/Kolkata"))
    assert f"{local:%Y-%m-%d %H:%M}" in at(shell, "Asia/Kolkata").process("trash").out


@pytest.fixture
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):
    import time

    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "day", "first", "end"),
    [
        ("Asia/Kolkata", "2026-03-01", "2026-02-28 18:30", "2026-03-01 18:30"),
        ("Asia/Kathmandu", "2026-03-01", "2026-02-28 18:15", "2026-03-01 18:15"),
        ("America/Los_Angeles", "2026-03-08", "2026-03-08 08:00", "2026-03-09 07:00"),  # a day of 23 hours
        ("America/Los_Angeles", "2026-11-01", "2026-11-01 07:00", "2026-11-02 08:00"),  # of 25
        ("America/Havana", "2026-03-08", "2026-03-08 05:00", "2026-03-09 04:00"),  # it has no midnight
        ("America/Havana", "2026-11-01", "2026-11-01 04:00", "2026-11-02 05:00"),  # it has two
        ("Pacific/Kiritimati", "2026-01-01", "2025-12-31 10:00", "2026-01-01 10:00"),
    ],
    indirect=["zone"],
)
def test_a_day_begins_and_ends_at_local_midnight(zone: None, day: str, first: str, end: str) -> None:
    assert span(day, day) == tuple(datetime.fromisoformat(one).replace(tzinfo=UTC) for one in (first, end))


@pytest.mark.parametrize("zone", ["Asia/Kolkata"], indirect=True)
def test_a_time_is_local_unless_it_has_an_offset(zone: None) -> None:
    for text in ("2026-03-01T10:30", "2026-03-01 05:00Z", "2026-03-01T04:00-01:00"):
        assert span(text, None).since == datetime(2026, 3, 1, 5, tzinfo=UTC)
    assert span(None, "2026-03-01T10:30").until == datetime(2026, 3, 1, 5, 0, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("since", "until"), [("2026-03-02", "2026-03-01"), ("7d", "8d"), ("soon", None), (None, "2026-13-01")]
)
def test_what_is_no_time_is_refused_by_name(since: str | None, until: str | None) -> None:
    with pytest.raises(Invalid) as refused:
        span(since, until)

    assert repr(until or since) in str(refused.value)
    assert refused.value.hint


def test_the_first_and_the_last_day_there_is_are_bounds(shell: Shell) -> None:
    assert "Evening" in shell("list", "--since", "0001-01-02", "--until", "9999-12-31").out


@pytest.mark.parametrize("era", ERAS)
def test_an_agent_narrows_to_days_of_its_machine(shell: Shell, era: str) -> None:
    with Agent(at(shell, "America/Los_Angeles"), era) as agent:
        found = {
            words: [hit["title"] for hit in agent.call("memory_search", query="evening", **dict([words]))["hits"]]
            for words in (
                ("since", "2025-11-27"),
                ("since", "2025-11-28"),
                ("until", "2025-11-27"),
                ("until", "2025-11-26"),
            )
        }
        whole = agent.call("memory_search", query="evening", since="2025-11-27", until="2025-11-27", limit="5")
        wrong = agent.refused("memory_search", query="evening", until="soon")

    assert [*found.values()] == [["Evening"], [], ["Evening"], []]
    assert whole["hits"][0]["created_at"] == EVENING
    assert "'soon' is neither a date nor an age" in wrong


def test_a_search_as_of_a_day_shows_what_was_said_at_its_end(shell: Shell) -> None:
    former = {
        "title": "Queue",
        "what": "redis",
        "created_at": "2025-03-01T12:00:00Z",
        "updated_at": "2025-03-01T12:00:00Z",
    }
    former |= {"uid": f"{2:032x}"}
    line = former | {"what": "rabbit", "updated_at": EVENING, "history": [former | {"replaced_at": EVENING}]}
    shell("import", "-", stdin=json.dumps(line))

    def said(zone: str, moment: str) -> tuple[str, str]:
        found = at(shell, zone).process("search", "queue", "--as-of", moment, "--json").json
        [hit] = found["hits"] or [{"what": ""}]
        return hit["what"], found["notices"][-1]["text"]

    how = "1 memory as it was, ranked by keyword alone"
    assert said("Asia/Kolkata", "2025-11-27") == ("redis", f"as of 2025-11-27: {how}")
    assert said("Asia/Kolkata", "2025-11-28")[0] == said("America/Los_Angeles", "2025-11-27")[0] == "rabbit"
    assert said("UTC", "2025-11-28T03:29")[0] == "redis"
    assert said("UTC", "2025-02-28") == ("", "as of 2025-02-28: 0 memories as they were, ranked by keyword alone")
    shell("delete", f"{2:032x}")
    ran = at(shell, "UTC").process("search", "queue", "--as-of", "2025-03-01")
    assert "Queue  note" in ran.out
    assert "    redis" in ran.out
    assert f"memory: as of 2025-03-01: {how}" in ran.err
    shell("trash", "empty", f"{2:032x}", "--yes")
    ran = at(shell, "UTC").process("search", "queue", "--as-of", "2025-03-01")
    assert ran.out == ""
    assert "0 memories as they were" in ran.err
    refused = shell("search", "queue", "--as-of", "soon", code=2)
    assert "'soon' is neither a date nor an age" in refused.err
