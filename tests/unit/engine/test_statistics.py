"""What searches took: added up, remembered, shown."""

from __future__ import annotations

import logging
import re
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

import click
import pytest
from entries import at, search
from hypothesis import given, strategies as st

from memory import Config, Draft, Engine
from memory.config import EmbeddingSettings, SearchSettings
from memory.engine import maintenance
from memory.engine.statistics import EDGES, bins, percentile, statistics
from memory.schema.answer import Tier
from memory.schema.errors import StoreError
from memory.schema.kinds import Kind
from memory.schema.query import ACTIVE, EVERYTHING, Granularity, Query, Scope
from memory.store.sqlite import SqliteStore
from memory.tools.render import care_text, text
from oracle.ram import RamStore

if TYPE_CHECKING:
    from pathlib import Path

TIMES = st.floats(0, 1e6, allow_nan=False)


# Adding up --------------------------------------------------------------------


@given(st.lists(TIMES, min_size=1, max_size=300), st.integers(1, 100))
def test_a_percentile_is_the_least_value_that_so_many_do_not_exceed(values, percent):
    found = percentile(values, percent)

    def share(limit):
        return Fraction(sum(value <= limit for value in values), len(values))

    assert found in values
    assert share(found) >= Fraction(percent, 100)
    assert all(share(value) < Fraction(percent, 100) for value in values if value < found)


@given(st.lists(TIMES, max_size=100))
def test_every_time_is_in_one_bin(values):
    found = bins(values)

    assert sum(one.searches for one in found) == len(values)
    assert len(found) % 5 == 0
    assert all(one.high == after.low for one, after in pairwise(found))
    inside = [value for value in values if EDGES[0] <= value < EDGES[-1]]
    for one in found[1:-1]:
        assert one.searches == sum(one.low <= value < one.high for value in inside)


def test_bins_are_those_of_the_decades_there_are():
    assert [(one.low, one.searches) for one in bins([0.001, 0.0099, 0.01, 0.01]) if one.searches] == [
        (EDGES[5], 1),
        (EDGES[9], 1),
        (EDGES[10], 2),
    ]
    assert (bins([0.0])[0].low, bins([1e9])[-1].high) == (0.0001, 100)
    assert bins([]) == ()


def test_searches_are_added_up_by_tier_and_type():
    fine = "search_fine_report"
    found = statistics(
        [
            search(1, seconds=0.25),
            search(2, seconds=2.0, results=4),
            search(0, seconds=2.5, type=fine, tier="hybrid", results=0),
            search(3, seconds=0.5, type="search_a", results=1),
        ],
        2.0,
    )

    assert (found.searches, found.since, found.p50, found.p95) == (4, at(0), 0.5, 2.5)
    assert (found.slow, found.slow_share, found.slow_seconds) == (1, 0.25, 2.0)
    assert found.tiers == (("keyword", 3, 0.75), ("hybrid", 1, 0.25))
    assert found.types == (
        ("search_coarse_all", 2, 0.25, 2.0, 0.0, 3.5),
        ("search_a", 1, 0.5, 0.5, 0.0, 1.0),
        (fine, 1, 2.5, 2.5, 1.0, 0.0),
    )


def test_of_no_searches_there_is_nothing():
    assert statistics([], 2.0) == (0, None, 0.0, 0.0, 0, 0.0, 2.0, (), (), ())
    assert care_text.statistics(statistics([], 2.0), 80) == ""


# Remembering ------------------------------------------------------------------


def test_a_type_is_named_as_the_seed_names_it():
    kinds = frozenset({Kind.REPORT, Kind.NOTE})

    assert Scope(kinds=frozenset({Kind.REPORT})).remembered(Granularity.FINE)[0] == "search_fine_report"
    assert Scope(kinds=kinds).remembered(Granularity.COARSE)[0] == "search_coarse_note+report"
    assert ACTIVE.remembered(Granularity.MEDIUM)[0] == "search_medium_all"


def test_filters_are_remembered_by_their_names():
    assert ACTIVE.remembered(Granularity.FINE)[1] == ()
    assert EVERYTHING.remembered(Granularity.FINE)[1] == ("statuses",)
    assert Scope(projects=frozenset({"secret"}), since=at(0)).remembered(Granularity.FINE)[1] == ("projects", "since")


@pytest.fixture
def engine(tmp_path: Path):
    made = Config(
        home=str(tmp_path),
        embedding=EmbeddingSettings(provider="hashed", model="hashed-64"),
        search=SearchSettings(slow_seconds=3600),
    )
    with Engine.open(made) as engine:
        engine.save(Draft(title="Postgres pool", what="raised to 40"))
        yield engine


def test_every_search_is_remembered(engine):
    engine.search("postgres")
    engine.search(Query("zebra", granularity=Granularity.FINE, scope=Scope(projects=frozenset({"shop"}))))
    engine.context("postgres")

    found = maintenance.entered_searches(engine.store.path, None)
    assert [(one.type, one.tier, one.limit, one.results, one.filters) for one in found[:2]] == [
        ("search_coarse_all", "keyword", 5, 1, ()),
        ("search_fine_all", "keyword", 5, 0, ("projects",)),
    ]
    assert len(found) == 3
    assert all(0 < one.seconds < 60 for one in found)
    assert engine.search_statistics().searches == 3


def test_days_are_those_of_utc_and_today_counts(tmp_path, engine):
    now = at(36 * 3600 + 5)
    with Engine(SqliteStore(tmp_path / "memory.db"), engine.config, now=lambda: now) as late:
        for seconds in (-1, 3600, 24 * 3600 - 1, 24 * 3600, 36 * 3600):
            maintenance.enter_search(late.store.path, search(seconds))

        counted = [late.search_statistics(days).searches for days in (1, 2, 3, 10**9, None)]

    assert counted == [2, 4, 5, 5, 5]


def test_a_slow_search_is_a_warning_without_its_text(engine, caplog):
    caplog.set_level(logging.INFO, "memory")
    engine.search("postgres")
    assert not caplog.records

    impatient = Config(home=engine.config.home, search=SearchSettings(slow_seconds=0))
    Engine(engine.store, impatient, lasting=False).search("postgres")

    (record,) = caplog.records
    assert (record.name, record.levelname) == ("memory", "WARNING")
    said = record.getMessage()
    assert re.match(
        r"slow search: search_coarse_all took \d+\.\d{3} s, tier keyword, 1 results; the slowest step was ", said
    )
    assert "postgres" not in said


def test_a_search_that_cannot_be_remembered_is_answered(engine, tmp_path, caplog):
    caplog.set_level(logging.INFO, "memory")
    (tmp_path / "memory.db-searches").mkdir()

    assert engine.search("postgres").hits

    (record,) = caplog.records
    assert record.levelname == "INFO"
    assert "not counted" in record.getMessage()
    with pytest.raises(StoreError, match="cannot read"):
        engine.search_statistics()


# The file ---------------------------------------------------------------------


def test_the_file_is_its_owners(tmp_path):
    maintenance.enter_search(str(tmp_path / "memory.db"), search())

    assert stat.S_IMODE((tmp_path / "memory.db-searches").stat().st_mode) == 0o600


def test_nothing_is_written_into_the_database(tmp_path):
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        store.counts()
    before = path.read_bytes()
    maintenance.enter_search(str(path), search())

    assert path.read_bytes() == before


def test_a_search_is_remembered_as_it_was(tmp_path):
    database = str(tmp_path / "memory.db")
    assert maintenance.entered_searches(database, None) == []
    first = search(0.000001, seconds=0.1 + 0.2, filters=("projects", "since"))
    second = search(1, type="search_fine_report+note", tier="hybrid", seconds=0.0, limit=10_000, results=0)

    for one in (first, second):
        maintenance.enter_search(database, one)

    assert maintenance.entered_searches(database, None) == [first, second]


def test_searches_come_oldest_first(tmp_path):
    database = str(tmp_path / "memory.db")
    for moment in (5, 2, 9):
        maintenance.enter_search(database, search(moment))

    assert maintenance.entered_searches(database, None) == [search(2), search(5), search(9)]
    assert maintenance.entered_searches(database, at(5)) == [search(5), search(9)]
    assert maintenance.entered_searches(database, at(9.000001)) == []


def test_old_searches_go(tmp_path):
    database, most = str(tmp_path / "memory.db"), maintenance.SEARCHES
    for number in range(most + 3000):
        maintenance.enter_search(database, search(number))
        if number in (most + 99, most + 2999):
            found = [one.moment for one in maintenance.entered_searches(database, None)]
            assert most // 4 < len(found) <= most
            assert found == [at(earlier) for earlier in range(number + 1)][-len(found) :]


def test_searches_are_remembered_from_any_thread(tmp_path):
    database = str(tmp_path / "memory.db")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: maintenance.enter_search(database, search(number)), range(400)))

    assert maintenance.entered_searches(database, None) == [search(number) for number in range(400)]


def test_a_store_without_a_file_counts_no_searches():
    with Engine(RamStore(), Config(embedding=EmbeddingSettings(provider="none")), lasting=False) as engine:
        engine.search("postgres")

        assert engine.search_statistics().searches == 0


def test_the_file_has_two_halves_and_no_more(tmp_path, monkeypatch):
    monkeypatch.setattr(maintenance, "HALF", 1000)
    database = str(tmp_path / "memory.db")
    for number in range(200):
        maintenance.enter_search(database, search(number))
        found = [one.moment for one in maintenance.entered_searches(database, None)]
        assert found == [at(earlier) for earlier in range(number + 1)][-len(found) :]
        assert len(found) > min(number, 10)

    sizes = {file.name: file.stat().st_size for file in tmp_path.iterdir()}
    assert set(sizes) == {"memory.db-searches", "memory.db-searches-old"}
    assert max(sizes.values()) < 1100


def test_a_half_that_another_process_moved_is_not_moved_again(tmp_path, monkeypatch):
    database, path = str(tmp_path / "memory.db"), tmp_path / "memory.db-searches"
    maintenance.enter_search(database, search(1))
    real = maintenance.os.fstat

    def moved(file):
        path.rename(f"{path}-old")
        path.write_bytes(b"")
        return real(file)

    monkeypatch.setattr(maintenance, "HALF", 1)
    monkeypatch.setattr(maintenance.os, "fstat", moved)
    maintenance.enter_search(database, search(2))

    assert list(maintenance.entered_searches(database, None)) == [search(1), search(2)]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\t\t\t\t\t\t",
        "2026-01-01T00:00:00.000000Z\tsearch_coarse_all\tkeyword\t0.01",
        "2026-01-01T00:00:00.000000\tsearch_coarse_all\tkeyword\t0.01\t5\t5\t",
        "2026-01-01T00:00:00.000000Z\tsearch_coarse_all\tkeyword\tnan\t5\t5\t",
        "2026-01-01T00:00:00.000000Z\tsearch_coarse_all\tkeyword\tinf\t5\t5\t",
        "2026-01-01T00:00:00.000000Z\tsearch_coarse_all\tkeyword\t-1\t5\t5\t",
        "2026-01-01T00:00:00.000000Z\tsearch_coarse_all\tkeyword\t0.01\t5\tfive\t",
        "2026-01-01T00:00:00.000000Z\tsearch_coarse_all\tkeyword\t0.01\t5\t5\t\t",
        "\xff\xfe\0",
    ],
)
def test_a_line_that_was_cut_short_is_left_out(tmp_path, line):
    database, path = str(tmp_path / "memory.db"), tmp_path / "memory.db-searches"
    maintenance.enter_search(database, search(1))
    with path.open("ab") as file:
        file.write(line.encode("latin-1") + b"\n")
    maintenance.enter_search(database, search(2))

    assert list(maintenance.entered_searches(database, None)) == [search(1), search(2)]


# Showing ----------------------------------------------------------------------

SHOWN = """\
9 searches since 2026-01-01 00:00
median 4.0 ms, p95 250 ms
1 slow (11.1%): over 0.2 s

tiers
keyword   88.9%  8  ███████████████████████████████████▌
hybrid    11.1%  1  ████▌

times
4 ┤         ███
  │         ███   ▄▄▄
  │         ███   ███
  │         ███   ███
  │      ▄▄▄███   ███               ▄▄▄
  │      ██████   ███               ███
0 └┬──────────────┬──────────────┬──────────────
   1 ms           10 ms          100 ms

looked for  count  median     p95   slow  avg hits
memories        9  4.0 ms  250 ms  11.1%       3.0"""


def test_what_a_person_sees():
    taken = (0.003, 0.004, 0.004, 0.004, 0.004, 0.012, 0.012, 0.012, 0.25)
    found = [search(seconds=one, tier="hybrid" if one > 0.2 else "keyword") for one in taken]

    assert click.unstyle(care_text.statistics(statistics(found, 0.2), 80)) == SHOWN


@given(
    st.lists(
        st.builds(
            search,
            st.integers(0, 10**6),
            type=st.sampled_from(["search_coarse_all", "search_" + "long+" * 30, "search_\x1b[2J\x07"]),
            tier=st.sampled_from([*map(str, Tier), "another\x07_tier_with_a_name"]),
            seconds=st.one_of(st.floats(0, 9999), st.sampled_from([*EDGES, 0.0995, 0.9995, 99.95])),
            results=st.integers(0, 10_000),
        ),
        min_size=1,
        max_size=60,
    ),
    st.integers(text.NARROWEST, 200),
    st.integers(1, 166),
)
def test_it_fits_into_any_width(found, width, times):
    shown = click.unstyle(care_text.statistics(statistics(found * times, 2.0), width))

    lines = shown.splitlines()
    assert max(map(len, lines)) <= width
    assert lines == [line.rstrip() for line in lines]
    assert "\x07" not in shown
    filled = [line for line in lines[lines.index("times") :] if "█" in line or "▁" in line]
    assert filled, "the highest bin is full"
