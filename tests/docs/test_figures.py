"""
Figures in the pages: bytes, counts and shares, not times. Each comes from a kept run, or is measured here, and the test of
it is red once the page is off by more than a fifth.

`FIGURES` says how each is known, `TABLES` which tables of a page stand in which run, `GIVEN` what is nobody's measurement.
A figure that is in none of them is refused: it belongs to a run or a test, or is left out.
"""

from __future__ import annotations

import importlib.util
import json
import random
import re
import sys
import tempfile
import threading
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from memory import Draft, Engine
from memory.engine.maintenance import SEARCHES
from memory.store.sqlite import posting_file, signatures
from memory.text.terms import STOP
from memory.text.tokens import tokens
from memory.tools.operation import chosen
from memory.vectors.baseline import ANSWERS, STRANGERS
from memory.vectors.local import MINILM
from memory.vectors.term_vectors.learn import MOST_TERMS
from memory.vectors.words import Coded, listed, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    Row = Mapping[str, str]

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "bench/runs"
DRIFT = 0.2
MADE = {"docs/cli.md", "docs/mcp.md", "docs/configuration.md"}  # by scripts/reference.py, as another test says
PAGES = sorted({"README.md", *(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))} - MADE)
FENCE = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
MEASURED = re.compile(r"\d[\d,.]*(?: to \d[\d,.]*)? ?(?:%|[KMG]i?B\b|bytes\b)(?! a second)")


class Figure(NamedTuple):
    """
    Attributes:
        sentence: An expression for the words around the numbers, of which each is a group.
        known: What the numbers are.
    """

    page: str
    sentence: str
    known: Callable[[], Sequence[float]]


class Table(NamedTuple):
    """
    A table of a page that is taken from one of a run, digit by digit.

    Attributes:
        heads: All of the page's, the first of which names the rows.
    """

    page: str
    heads: tuple[str, ...]
    run: str


def line(text: str) -> str:
    return " ".join(text.split())


def said(page: str) -> str:
    """A page in one line, without blocks of code and without the tables that `TABLES` names."""
    text = FENCE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    for table in TABLES:
        if table.page == page:
            head = re.escape(f"| {' | '.join(table.heads)} |")
            text = re.sub(rf"^{head}\n(?:\|.*\n)+", "", text, flags=re.MULTILINE)
    return line(text)


def number(written: str) -> float:
    return float(written.replace(",", "").rstrip("."))


# Kept runs ---------------------------------------------------------------------------


@cache
def run(name: str) -> dict[str, Any]:
    """A run of `bench/quality.py`."""
    return json.loads((RUNS / name / "results.json").read_text(encoding="utf-8"))["results"]


@cache
def latest() -> str:
    """The latest run of `bench/quality.py` in which `tiered` is compared over several sets."""
    for folder in sorted(RUNS.iterdir(), reverse=True):
        if (folder / "results.json").is_file():
            summary = run(folder.name).get("summary") or ()
            if any(one["system"] == "tiered" and one["relative"] for one in summary):
                return folder.name
    raise AssertionError("there is none")


def summed(name: str, system: str) -> dict[str, float]:
    """In percent: calls, what all sets are worth of hybrid, and the worst of them."""
    (one,) = (one for one in run(name)["summary"] if one["system"] == system)
    return {key: 100 * (one[key] or 0) for key in ("calls", "relative", "worst")}


def effort(name: str, value: float) -> dict[str, float]:
    """The same at an effort."""
    (one,) = (one for one in run(name)["frontier"] if one["system"] == f"effort {value}")
    return {key: 100 * one[key] for key in ("calls", "relative", "worst")}


def of_set(name: str, judged: str, system: str) -> dict[str, Any]:
    (one,) = (one for one in run(name)["sets"] if one["name"] == judged)
    return next(line for line in one["lines"] if line["system"] == system)


def ndcg(name: str, judged: str, system: str) -> float:
    return of_set(name, judged, system)["quality"]["ndcg10"]["mean"]


def better(system: str) -> list[float]:
    """By how many percent a system is better than the count gate, set by set."""
    sets = ("cosqa_dev", "cranfield", "locomo", "scifact_train")
    return [100 * (ndcg(FIRST, one, system) / ndcg(FIRST, one, "count gate") - 1) for one in sets]


def nothing_relevant(outcomes: Sequence[Mapping[str, Any]]) -> float:
    return next(100 * one["share"] for one in outcomes if one["name"] == "nothing_relevant")


def told(name: str, *sets: str) -> list[float]:
    """Of other sets' questions the percentage that is told to have no answer."""
    by_set = {one["name"]: one["unanswerable"] for one in run(name)["sets"]}
    return [mean(nothing_relevant(other["outcomes"]) for other in by_set[judged]) for judged in sets]


def denied(name: str, *sets: str) -> list[float]:
    """Of its own questions the percentage that is told so wrongly."""
    return [nothing_relevant(of_set(name, judged, "tiered")["outcomes"]) for judged in sets]


def worth(name: str, *sets: str) -> list[float]:
    """In percent of hybrid, and of calls, set by set."""
    lines = [of_set(name, judged, "tiered") for judged in sets]
    return [100 * part for line in lines for part in (line["relative"], line["calls"]["mean"])]


FIRST, NOW, BEFORE = "2026-11-22-quality", "2026-11-23-quality-2", "2026-11-22-distilled-first"
OUTCOMES, SMALL = "2026-11-22-outcomes", "2026-11-29-small-2"
COSQA, CRANFIELD, LOCOMO, SCIFACT = SETS = ("cosqa_dev", "cranfield", "locomo", "scifact_train")


def calls(name: str) -> list[float]:
    """The share of calls of each set, 0..1."""
    return [of_set(name, one["name"], "tiered")["calls"]["mean"] for one in run(name)["sets"]]


@cache
def real() -> list[dict[str, Any]]:
    """The latest run of `bench/real.py`."""
    folder = max(folder for folder in RUNS.iterdir() if re.fullmatch(r"[\d-]+-real(-\d+)?", folder.name))
    return json.loads((folder / "raw.json").read_text(encoding="utf-8"))["figures"]


def of_real(system: str, what: str) -> float:
    """Of the three sets in one store, in percent."""
    (one,) = (one for one in real() if one["what"] == f"all: {system}")
    return 100 * one[what]


def tables(page: Path) -> Iterator[list[Row]]:
    """The tables of a page, each row by the heads."""
    for block in re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8") + "\n", re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield [dict(zip(head, row, strict=True)) for row in rows]


def rows_of(page: Path, heads: Sequence[str], *, alone: bool = False) -> list[list[str]]:
    """
    Of the first table with these heads, what stands under them.

    Args:
        alone: It has no others.
    """
    for rows in tables(page):
        if rows and (set(heads) == rows[0].keys() if alone else set(heads) <= rows[0].keys()):
            return [[row[head] for head in heads] for row in rows]
    raise AssertionError(f"{page} has no table of {heads}")


def in_small(first: str, *heads: str) -> list[float]:
    """Cells of the row of short notes that begins so, "3 of 75" as two numbers."""
    for rows in tables(RUNS / SMALL / "README.md"):
        for row in rows:
            if next(iter(row.values())) == first and set(heads) <= row.keys():
                return [number(part) for head in heads for part in row[head].split(" of ")]
    raise AssertionError(first)


# What is measured here ------------------------------------------------------------------


def script(path: str) -> Any:
    """A program that is no module of the package."""
    place = ROOT / path
    spec = importlib.util.spec_from_file_location(f"bench_{place.stem}", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(place.parent))
    sys.modules[spec.name] = module  # its dataclasses look for it there
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(place.parent))
    return module


@cache
def reference() -> Any:
    return script("scripts/reference.py")


@cache
def size() -> Any:
    return script("bench/size.py")


@cache
def bytes_of_findings() -> tuple[float, float, float]:
    """Of a store with the default model's width: KB when it is empty and for a finding, and characters of a finding."""
    empty, first, _ = size().findings(384, 1)
    with tempfile.TemporaryDirectory() as home, size().opened(home, 384) as engine:
        characters = size().research(engine, 0, calls=0)
    return empty.whole / 1000, first.each / 1000, characters / size().FINDINGS


def kept_bytes() -> list[float]:
    """KB for a finding in the mean over 600, by the kept run."""
    rows = rows_of(RUNS / "2026-11-28-size/README.md", ("what", "numbers of a vector", "bytes a finding"))
    return [number(each) / 1000 for what, width, each in rows if (what, width) == ("600 findings", "384")]


class Large(NamedTuple):
    """
    Bytes of what a store of 500 notes of documentation comes to, with 384 dimensions.

    Attributes:
        term: A row of its term vectors, with 128 axes.
        posting: What the file of postings has for a chunk.
        signature: What that of signatures has for a vector.
        behind: The largest share of passages that the last 200 saves, each by itself, left to be learned from, in percent.
    """

    term: float
    posting: float
    signature: float
    behind: float


@cache
def large() -> Large:
    dice = random.Random(1)
    texts = script("bench/texts.py")
    words = texts.documentation()

    def note(number: int) -> Draft:
        return Draft(title=f"note {number}", what=" ".join(texts.pieces(words, dice, 40)))

    with tempfile.TemporaryDirectory() as home, size().opened(home, 384) as engine:
        engine.save_all([note(number) for number in range(500)])
        engine.vectors.embed()
        engine.vectors.learn(anew=True)
        behind = 0.0
        for number in range(500, 700):
            engine.save(note(number))
            for thread in threading.enumerate():
                if thread.name == "memory-fill":  # learns, once the save is done
                    thread.join(60)
            ((waiting, known),) = asked(
                engine, "select (select count(*) from lexicon_lessons), (select count(*) from chunks)"
            )
            behind = max(behind, 100 * waiting / known)
        ((term, axes),) = asked(
            engine,
            """select (select sum(pgsize) from dbstat where name = 'lexicon_terms') * 1.0 / count(*), avg(length(code))
               from lexicon_terms""",
        )
        assert axes == 128
        ((chunks,),) = asked(engine, "select count(*) from chunks")
        assert posting_file.build(engine.store._db)
        (postings,) = Path(home).glob("memory.db-postings-*")
        sections = signatures._sections(1000, 384).values()
        return Large(term, postings.stat().st_size / chunks, sum(one.size for one in sections) / 1000, behind)


def asked(engine: Engine, statement: str) -> list[tuple[Any, ...]]:
    return engine.store._db.connection.execute(statement).fetchall()


def words() -> tuple[float, float]:
    """Word vectors of 384 dimensions: how many, and the megabytes of their file."""
    import numpy as np

    code = Coded(1.0, np.zeros(384, np.int8))
    return len(listed()), len(packed({stem.encode(): code for stem in listed()}, len(listed()), 0)) / 1e6


def leaked(*which: str) -> list[float]:
    """Of the rows of the kept run whose names begin so, the shares that were missed, in percent."""
    rows = rows_of(RUNS / "2026-11-28-secrets/README.md", ("what", "share"))
    return [next(number(share.rstrip("%")) for what, share in rows if what.startswith(one)) for one in which]


def image(*which: str) -> list[float]:
    """Megabytes of the rows of the run that begin so."""
    rows = rows_of(RUNS / "2026-11-30-image/README.md", ("what", "MB"))
    return [next(number(size) for what, size in rows if what.startswith(one)) for one in which]


def toolsets(*names: str) -> list[float]:
    return [reference().cost(name) for name in names]


def installed(*extras: str) -> tuple[int, float]:
    """The packages that come with ours, itself among them, and their megabytes."""
    found: dict[tuple[str, tuple[str, ...]], Distribution] = {}
    wanted = [("tiermem", extras)]
    while wanted:
        name, asked = one = wanted.pop()
        if one not in found:
            found[one] = distribution(name)
            needs = map(Requirement, found[one].requires or ())
            wanted += [
                (canonicalize_name(need.name), tuple(need.extras))
                for need in needs
                if need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in ("", *asked))
            ]
    packages = {name: package for (name, _), package in found.items()}
    places = (Path(package.locate_file(file)) for package in packages.values() for file in package.files or ())
    return len(packages), sum(
        place.stat().st_size for place in places if place.is_file() and place.suffix != ".pyc"
    ) / 1e6


def commands() -> int:
    from memory.cli import COMMANDS

    return len(COMMANDS)


def in_benchmarks(sentence: str, known: Callable[[], Sequence[float]]) -> Figure:
    return Figure("docs/benchmarks.md", sentence, known)


FIGURES = (
    Figure(
        "docs/redaction.md",
        r"the flag of a command \| ([\d.]+) % \(.*?at most, after `mdp:`, ([\d.]+) % .*?twelve characters \| ([\d.]+) %; "
        r"at most ([\d.]+) %.*?ogHc`\) \| ([\d.]+) %",
        lambda: leaked(
            "8 ",
            "8 letters and digits after the name of a secret: the worst, `mdp",
            "12 ",
            "12 letters and digits after the name of a secret: the worst",
            "two short words",
        ),
    ),
    Figure("README.md", r"The model is ([\d,.]+) MB", lambda: [MINILM.download / 1e6]),
    Figure("docs/setup.md", r"the model, ([\d,.]+) MB, into", lambda: [MINILM.download / 1e6]),
    Figure("docs/embedding.md", r"the default model, ([\d,.]+) MB,", lambda: [MINILM.download / 1e6]),
    Figure(
        "README.md",
        r"benchmarks (\d+) % of the questions never reach the model \((\d+) to (\d+) % by set\), with no loss of quality on "
        r"average \(worst set: (\d+) %\). With three of these sets in one store it is (\d+) %",
        lambda: [
            100 - summed(latest(), "tiered")["calls"],
            *(100 - 100 * edge(calls(latest())) for edge in (max, min)),
            summed(latest(), "tiered")["worst"],
            100 - of_real("memory tiered", "compared"),
        ],
    ),
    Figure("README.md", r"some (\d+) commands", lambda: [commands()]),
    Figure("README.md", r"share a task, with (\d+) tools", lambda: [len(chosen(["sessions"]))]),
    Figure("docs/sessions.md", r"and (\d+) tools save and find", lambda: [len(chosen(["sessions"]))]),
    Figure(
        "README.md",
        r"six tools take about ([\d,]+) tokens, those for sessions ([\d,]+), for research ([\d,]+) and for the "
        r"graph ([\d,]+)",
        lambda: toolsets("core", "sessions", "research", "graph"),
    ),
    Figure("docs/benchmarks.md", r"of `all` \| ([\d,]+) tokens; ([\d,]+) \|", lambda: toolsets("core", "all")),
    Figure(
        "docs/setup.md",
        r"(\d+) packages and (\d+) MB, most of it numpy; with `\[mcp\]` (\d+) packages and (\d+) MB",
        lambda: [*installed(), *installed("mcp")],
    ),
    Figure(
        "docs/setup.md",
        r"Without its base the image has (\d+) MB; until its first answer by meaning, the server had at most (\d+) MB in RAM",
        lambda: image("the image without its base", "memory, an answer in mode hybrid"),
    ),
    Figure(
        "docs/embedding.md",
        r"(\d+) short texts of ours, about ([\d,]+) tokens",
        lambda: [len(STRANGERS) + len(ANSWERS), tokens("\n".join((*STRANGERS, *ANSWERS.values())))],
    ),
    Figure("docs/library.md", r"the server's (\d+) tools", lambda: [len(chosen(["sessions"]))]),
    Figure("docs/ranking.md", r"About (\d+) words that only say", lambda: [len(STOP)]),
    Figure("docs/ranking.md", r"takes (\d+) bytes with its numbers", lambda: [large().term]),
    Figure("docs/storage.md", r"(\d+) bytes a term with 128 axes", lambda: [large().term]),
    Figure("docs/ranking.md", r"at most one passage in 32, (\d+) %, is not learned from", lambda: [large().behind]),
    Figure("docs/ranking.md", r"at most ([\d,]+) terms", lambda: [MOST_TERMS]),
    Figure("docs/ranking.md", r"the mean of ([\d,]+) common words", lambda: words()[:1]),
    Figure("docs/embedding.md", r"a public list of ([\d,]+) words", lambda: words()[:1]),
    Figure(
        "docs/storage.md",
        r"what a model makes of ([\d,]+) common words, [^:]*: ([\d,.]+) MB with 384 dimensions",
        words,
    ),
    Figure(
        "docs/ranking.md",
        r"\*baseline questions\*: (\d+) questions [^.]* answers to (\d+) of them",
        lambda: [len(STRANGERS), len(ANSWERS)],
    ),
    Figure("docs/storage.md", r"each vector, (\d+) bytes with 384 dimensions", lambda: [large().signature]),
    Figure("docs/storage.md", r"leaves; some (\d+) bytes a chunk of 40 words", lambda: [large().posting]),
    Figure("docs/storage.md", r"at most the last ([\d,]+) searches", lambda: [SEARCHES]),
    in_benchmarks(
        r"By set `tiered` reaches ([\d.]+) % of hybrid \(CoSQA, (\d+) % of calls\), ([\d.]+) % \(Cranfield, (\d+) %\), "
        r"([\d.]+) % \(LoCoMo, (\d+) %\) and ([\d.]+) % \(SciFact, (\d+) %\)",
        lambda: worth(NOW, *SETS),
    ),
    *(
        in_benchmarks(rf"\| {row} \| [\d.]+ \| [\d.]+ \| [\d.]+ \| (\.\d+) \|", known)
        for row, known in (
            ("keyword", lambda: [of_real("memory keyword", "ndcg") / 100]),
            ("tiered[^|]*", lambda: [of_real("memory tiered", "ndcg") / 100]),
            ("EchoVault's way, tiered", lambda: [of_real("EchoVault's way tiered", "ndcg") / 100]),
            ("EchoVault's way, hybrid", lambda: [of_real("EchoVault's way hybrid", "ndcg") / 100]),
        )
    ),
    in_benchmarks(r"it is asked for (\d+) %", lambda: [of_real("memory tiered", "compared")]),
    in_benchmarks(
        r"have ([\d.]+) and ([\d.]+) %",
        lambda: [summed(name, "tiered")["worst"] for name in (NOW, "2026-11-23-quality")],
    ),
    in_benchmarks(
        r"the highest with at most 35 % of calls, the fourth set reaches ([\d.]+) % at (\d+) % of calls on average, and "
        r"([\d.]+) % at worst",
        lambda: [100 * run(NOW)["leave_one_out"][key] for key in ("relative", "calls", "worst")],
    ),
    in_benchmarks(
        r"`tiered` recognised ([\d.]+), ([\d.]+), ([\d.]+) and ([\d.]+) % [^.]*, and wrongly denied an answer to "
        r"([\d.]+), ([\d.]+), ([\d.]+) and ([\d.]+) %",
        lambda: [*told(NOW, *SETS), *denied(NOW, *SETS)],
    ),
    in_benchmarks(
        r"reached ([\d.]+) %, worst ([\d.]+) %, at (\d+) % of calls, and recognised ([\d.]+), ([\d.]+), ([\d.]+) and "
        r"([\d.]+) %",
        lambda: [
            *(summed(BEFORE, "tiered")[key] for key in ("relative", "worst", "calls")),
            *told(BEFORE, *SETS),
        ],
    ),
    in_benchmarks(
        r"With (\d+) % of the calls [^:]*: ([\d.]+) % of always hybrid's [^.]*\. No set is below (\d+) %",
        lambda: [summed(FIRST, "tiered")[key] for key in ("calls", "relative", "worst")],
    ),
    in_benchmarks(
        r"the quality is still (\d+) % on average, [^;]*; on code it is (\d+) %",
        lambda: [summed(FIRST, "no call")[key] for key in ("relative", "worst")],
    ),
    in_benchmarks(
        r"never calls the model and reaches (\d+) %. The tiered engine is (\d+) % better on CoSQA, (\d+) % on "
        r"Cranfield, (\d+) % on LoCoMo and (\d+) % on SciFact; always asking the model brings (\d+), (\d+), (\d+) "
        r"and (\d+) %",
        lambda: [summed(FIRST, "count gate")["relative"], *better("tiered"), *better("hybrid minmax")],
    ),
    in_benchmarks(
        r"(\d+) on average\. Of the questions that do have an answer, 0.0 to ([\d.]+) of 100[^:]* "
        r"By set: CoSQA ([\d.]+), LoCoMo ([\d.]+), Cranfield ([\d.]+), SciFact ([\d.]+)",
        lambda: [
            mean(told(OUTCOMES, *SETS)),
            max(denied(OUTCOMES, *SETS)),
            *told(OUTCOMES, COSQA, LOCOMO, CRANFIELD, SCIFACT),
        ],
    ),
    in_benchmarks(
        r"`search.effort` 0.3 calls the model for (\d+) questions of 100 at (\d+) %, 0.7 for (\d+) at nearly (\d+) %",
        lambda: [effort(FIRST, value)[key] for value in (0.3, 0.7) for key in ("calls", "relative")],
    ),
    in_benchmarks(
        r"CoSQA ([\d.]+) % with the model, ([\d.]+) % without. Vectors alone are better there \((\.\d+)\) than any "
        r"merge \((\.\d+)\)",
        lambda: [
            summed(FIRST, "tiered")["worst"],
            summed(FIRST, "no call")["worst"],
            ndcg(FIRST, COSQA, "vectors"),
            max(ndcg(FIRST, COSQA, f"hybrid {merge}") for merge in ("minmax", "max", "rrf")),
        ],
    ),
    in_benchmarks(
        r"the five stores denied (\d+) of (\d+) right notes and recognised (\d+) of (\d+) `far`, (\d+) of (\d+) `near` "
        r"and (\d+) of (\d+) `half`",
        lambda: [
            *in_small("sum", "of these told nothing_relevant", "right note in the first 5"),
            *in_small("sum", *(f"{sort} strangers told" for sort in ("far", "near", "half"))),
        ],
    ),
    in_benchmarks(
        r"the store for all denied (\d+) of (\d+), and recognised (\d+) of (\d+), (\d+) of (\d+) and (\d+) of (\d+)",
        lambda: [
            *in_small("all in one", "of these told nothing_relevant", "right note in the first 5"),
            *in_small("all in one", *(f"{sort} strangers told" for sort in ("far", "near", "half"))),
        ],
    ),
)

SIZES = (
    Figure("docs/storage.md", r"\*\*how large it is\*\*: ([\d,.]+) KB empty", lambda: bytes_of_findings()[:1]),
    Figure(
        "docs/storage.md",
        r"([\d,.]+) KB for each of the first 75 findings of (\d+) characters with the default model",
        lambda: bytes_of_findings()[1:],
    ),
    Figure("docs/storage.md", r"and ([\d,.]+) KB in the mean over 600", kept_bytes),
)

TABLES = (
    Table(
        "docs/benchmarks.md",
        ("system", "nDCG@10", "Recall@5", "Recall@10", "MRR@10", "hit@5", "of hybrid", "worst set", "calls"),
        FIRST,
    ),
    Table("docs/benchmarks.md", ("effort", "mean calls", "mean of hybrid", "worst set"), FIRST),
    Table("docs/benchmarks.md", ("system", "nDCG@10", "of hybrid", "worst set", "calls"), NOW),
    Table(
        "docs/benchmarks.md",
        (
            "memories",
            "keywords, of hybrid",
            "no call, of hybrid",
            "tiered, of hybrid",
            "calls",
            "denied",
            "strangers told",
        ),
        "2026-11-23-small-stores",
    ),
    Table("docs/benchmarks.md", ("set", "memories", "of hybrid", "calls"), "2026-11-29-small-scopes"),
)

GIVEN = (
    ("docs/embedding.md", "700 MB to several GB", "how much other programs are"),
    ("docs/embedding.md", "64 bytes a number and 1 MB", "a limit"),
    ("docs/importing.md", "32 MB and a million values", "a limit"),
    ("docs/postgres.md", "4 bytes a number and 2 more, so 600 MB for 200,000 of 384", "what pgvector takes"),
    ("docs/postgres.md", "default of 128 MB", "the server's own"),
    ("docs/postgres.md", "to 2 GB at most", "a limit"),
    ("docs/redaction.md", r"\| (?:2|0\.5) % \|", "targets"),
    ("docs/setup.md", "about 150 MB to download", "how much other programs are"),
    ("docs/setup.md", "last 16 MB of a transcript", "a limit"),
    ("docs/storage.md", "above 1 GB that is refused", "a limit"),
    ("docs/storage.md", "At 400,000 bytes the file", "a limit"),
    ("docs/benchmarks.md", "the highest with at most 35 % of calls", "a limit"),
    ("docs/benchmarks.md", "with at most 35 % of calls there", "a limit"),
    (
        "docs/benchmarks.md",
        r"95 % (?:bootstrap )?intervals|\(95 %: \d+\)",
        "says what is counted",
    ),
)
"""A page, an expression, and why its figures are nobody's measurement."""


def off(written: float, known: float) -> float:
    """How far apart two numbers are, as a share of the larger."""
    return abs(written - known) / max(abs(written), abs(known), 1e-9)


def wrong(figure: Figure) -> list[tuple[float, float]]:
    """The numbers of a page that are off, each with what is known."""
    found = re.search(figure.sentence, line((ROOT / figure.page).read_text(encoding="utf-8")))
    assert found is not None, f"{figure.page} no longer says so"
    pairs = list(zip(map(number, found.groups()), figure.known(), strict=True))
    return [(written, known) for written, known in pairs if off(written, known) > DRIFT]


@pytest.mark.parametrize("figure", [*FIGURES, *SIZES], ids=lambda one: f"{one.page}: {one.sentence[:40]}")
def test_a_figure_is_what_is_known(figure: Figure) -> None:
    assert wrong(figure) == []


@pytest.mark.parametrize("table", TABLES, ids=lambda one: f"{one.page}: {', '.join(one.heads)}")
def test_a_table_stands_in_its_run(table: Table) -> None:
    kept = rows_of(RUNS / table.run / "README.md", table.heads)

    assert [row for row in rows_of(ROOT / table.page, table.heads, alone=True) if row not in kept] == []


@pytest.mark.parametrize("page", PAGES)
def test_no_figure_stands_without_what_it_comes_from(page: str) -> None:
    text = said(page)
    given = [sentence for place, sentence, _ in GIVEN if place == page]
    assert [sentence for sentence in given if not re.search(sentence, text)] == []
    for sentence in [*(one.sentence for one in (*FIGURES, *SIZES) if one.page == page), *given]:
        text = re.sub(sentence, "", text)

    assert [text[max(0, match.start() - 60) : match.end()] for match in MEASURED.finditer(text)] == []


@pytest.mark.parametrize(
    ("written", "known", "drifted"), [(100, 119, False), (100, 126, True), (100, 79, True), (0, 0, False)]
)
def test_a_fifth_is_too_much(written: float, known: float, drifted: bool) -> None:
    assert (off(written, known) > DRIFT) == drifted
