"""
How long texts take that were made to take long: each case at 31,250, 125,000 and 500,000 characters.

    python bench/hostile.py               the table, under a minute
    python bench/hostile.py CASE ...      these cases only
    python bench/hostile.py --keep NAME   the run is kept in bench/runs/

A case is a text of n characters and what is done with it. What takes four times as long for four times the text is linear;
that it stays so is shown by counted work in the tests, these are the milliseconds. A case is not tried at the next size
once one took more than 20 seconds.
"""

from __future__ import annotations

import argparse
import atexit
import time
from dataclasses import replace
from functools import cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from memory import Config, Draft, Engine
from memory.redact import Redactor
from memory.redact.injection import orders
from memory.schema.kinds import Kind
from memory.schema.query import ACTIVE
from memory.store.sqlite import SqliteStore
from memory.text.chunk import chunk
from memory.text.display import escape_invisible
from memory.text.terms import parts, split, terms
from memory.text.tokens import tokens
from report import Figure, barred, keep, setting, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SIZES = (31_250, 125_000, 500_000)
PATIENCE = 20  # seconds
BAR = 6  # times as long for four times the text: linear, and what else the machine does
TOLD = "Texts made to take long. Milliseconds of one call, the best of two; `ratio` is to a quarter of the text."


class Case(NamedTuple):
    """
    Attributes:
        text: Of as many characters as are asked for.
        act: What is done with it.
    """

    name: str
    text: Callable[[int], str]
    act: Callable[[str], object]


def over_and_over(part: str) -> Callable[[int], str]:
    return lambda size: (part * (size // len(part) + 1))[:size]


def query(text: str) -> object:
    """A fiftieth of a text as a query, which has 10,000 characters at most, by keyword."""
    store = stored()
    found = [term for term in store.keywords.weigh(terms(text[: len(text) // 50])) if not term.cut]
    return store.keywords.by_keyword(found[:64], ACTIVE, 100)


@cache
def stored() -> SqliteStore:
    """5,000 memories `a_b_a_b_`."""
    folder = TemporaryDirectory(prefix="memory-hostile-")
    atexit.register(folder.cleanup)
    with Engine(SqliteStore(f"{folder.name}/memory.db"), keywords_only(), lasting=False) as engine:
        engine.save_all([draft(f"a_b_a_b_ {number}") for number in range(5_000)])
    return SqliteStore(f"{folder.name}/memory.db")


def short_query(text: str) -> object:
    """20 characters, asked of one memory that is so long: the words of a phrase stand in each chunk hundreds of times."""
    store = holding(text)
    return store.keywords.by_keyword(
        [term for term in store.keywords.weigh(terms("a_b_" * 5)) if not term.cut], ACTIVE, 100
    )


@cache
def holding(text: str) -> SqliteStore:
    folder = TemporaryDirectory(prefix="memory-hostile-")
    atexit.register(folder.cleanup)
    with Engine(SqliteStore(f"{folder.name}/memory.db"), keywords_only(), lasting=False) as engine:
        engine.save(draft(text))
    return SqliteStore(f"{folder.name}/memory.db")


def keywords_only() -> Config:
    return replace(Config(), embedding=replace(Config().embedding, provider="none"))


def draft(body: str) -> Draft:
    return Draft(kind=Kind.REPORT, body=body, session_id="s", session_iter=1, agent_id="a", task_code="t")


def saved(text: str) -> object:
    """A text as a memory, all but its vectors."""
    with TemporaryDirectory(prefix="memory-hostile-") as folder:
        store = SqliteStore(f"{folder}/memory.db")
        with Engine(store, keywords_only(), lasting=False) as engine:
            return engine.save(draft(text))


def redactor() -> Callable[[str], object]:
    return Redactor().text


CASES = (
    *(
        Case(f"redact: {part!r}", over_and_over(part), redactor())
        for part in (
            "secret=",
            "=secret",
            "=token",
            "password=",
            "password: a1)",
            "pw=x9!,",
            "token='",
            "://u:p@q@",
            "eyJhbGciOi.a.",
            "-----BEGIN PRIVATE KEY-----\nAAAA",
            "authorization: ",
            "machine a.b login c ",
        )
    ),
    *(
        Case(f"signs of instructions: {part!r}", over_and_over(part), orders)
        for part in ("ignore all your ", "human:\n", "send your ", "i g n o r e ", "curl you must ", "system: ")
    ),
    Case("what is not seen: a joiner", over_and_over("\u200d"), escape_invisible),
    Case("parts of a name: 'aB'", over_and_over("aB"), split),
    *(
        Case(f"chunks: {part!r}", over_and_over(part), chunk)
        for part in ("# a\n", "## b\n# a\n", "a\n===\n", "- # a\n", "a. ", "a", "入門")
    ),
    Case("tokens: 'a_B'", over_and_over("a_B"), tokens),
    Case("names of a text: 'aB '", over_and_over("aB "), parts),
    *(Case(f"a memory: {part!r}", over_and_over(part), saved) for part in ("# a\n", "## b\n# a\n", "aB_c ")),
    *(
        Case(f"a fiftieth as a query: {part!r}", over_and_over(part), query)
        for part in ("a_b_", "a_b ", '"a b a" ', "a b* ")
    ),
    Case("20 characters as a query: 'a_b_'", over_and_over("a_b_"), short_query),
)


def milliseconds(case: Case, size: int) -> float:
    text, taken = case.text(size), []
    for _ in range(2):
        begun = time.perf_counter()
        case.act(text)
        taken.append((time.perf_counter() - begun) * 1000)
    return min(taken)


def figures(cases: Iterable[Case], sizes: tuple[int, ...]) -> list[Figure]:
    found = []
    for case in cases:
        before = None
        for size in sizes:
            taken = milliseconds(case, size)
            ratio = taken / before if before else None
            figure = Figure(f"{case.name}, {size:,} characters", None, taken, taken, None, ratio)
            found.append(barred(figure, f"≤ {BAR} ×", met=ratio <= BAR or taken < 5) if ratio else figure)
            before = taken
            if taken > PATIENCE * 1000:
                break
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="How long texts take that were made to take long.")
    parser.add_argument("case", nargs="*", help="the beginning of a case's name")
    parser.add_argument("--quick", action="store_true", help="short texts: does the script work?")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/")
    given = parser.parse_args()
    cases = [case for case in CASES if not given.case or case.name.startswith(tuple(given.case))]
    if not cases:
        parser.error(f"no case begins with {', '.join(given.case)}; there are {', '.join(c.name for c in CASES)}")
    measured, facts = figures(cases, tuple(size // 100 for size in SIZES) if given.quick else SIZES), setting()
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(measured), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(measured, {}, facts, name=given.keep, told=TOLD).name}")


if __name__ == "__main__":
    main()
