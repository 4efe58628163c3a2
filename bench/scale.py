"""
How long a search takes as the store grows, quiet and while another process saves ten times a second, beside tantivy,
usearch and EchoVault's way.

    make bench-scale                                   10,000, 100,000 and a million: some 30 minutes, 12 GB of disk
    python bench/scale.py --sizes 10000 --keep NAME    the run and its picture are kept in bench/runs/

Notes are recombined texts of the standard library's documentation; vectors are sums of three real ones, so nothing here
speaks of quality. Each side is a process of its own. They take turns, some questions each, and times of the processor
stand beside those of the clock. Peers that are not installed are left out, and named.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from statistics import quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Any

from report import aligned, keep, setting
from scale_picture import curves
from scale_texts import PROJECTS, REAL, SOURCES, prepare, questions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SERVE = "import sys; from scale_sides import main; main(*sys.argv[1:])"
SIZES = (10_000, 100_000, 1_000_000)
PEERS = {"EchoVault's way": ("keyword", "tiered", "hybrid"), "tantivy": ("keyword",), "usearch": ("vector",)}
OURS = ("keyword", "distilled", "tiered", "hybrid", "vector")
MOST_FOR_PEER = {"usearch": 200_000}
"""A graph of a million vectors takes half an hour to make."""

BLOCK = 25  # questions of a turn
WARM = 10  # questions before those that count
SAVING = 15.0  # seconds of searches while another process saves
RATE = 10.0  # saves a second
DOCUMENTS = 6_000  # of 8 sections or so
FILTERS = {f"one of {PROJECTS:,} projects": {"projects": ["p7"]}, f"one of {SOURCES:,} sources": {"sources": ["s7"]}}

TOLD = (
    "CPU and clock of searches by the size of the store, sides in turns; an embedder that takes no time stands for the "
    "model. Megabytes: the most in RAM with mapped files, and what is of no file."
)


@dataclass(frozen=True, slots=True)
class Line:
    """
    A row of the table.

    Attributes:
        cpu, clock: Milliseconds: half, 95 % and 99 % of the searches took no longer.
        bar: Of the CPU that half of them take.
    """

    what: str
    size: int
    cpu: tuple[float, float, float]
    clock: tuple[float, float, float]
    note: str = ""
    bar: str = ""
    met: bool | None = None


BARS = {
    ("memory keyword", 10_000): 1.5,
    ("memory keyword", 100_000): 2.0,
    ("memory keyword", 1_000_000): 6.0,
    ("memory hybrid", 10_000): 3.5,
    ("memory hybrid", 100_000): 6.0,
    ("memory hybrid", 1_000_000): 28.0,
}
"""Milliseconds of the processor, p50."""


class Process:
    """A side at work; see scale_sides.py."""

    def __init__(self, name: str, texts: Path, folder: Path) -> None:
        self.name = name
        side = "memory" if name == "saving" else name
        self._running = subprocess.Popen(
            [sys.executable, "-c", SERVE, side, str(texts), str(folder)],
            env={name: value for name, value in os.environ.items() if not name.startswith(("MEMORY_", "PYTHON"))}
            | {"PYTHONPATH": str(Path(__file__).parent)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, do: str, **given: Any) -> None:
        assert self._running.stdin is not None
        self._running.stdin.write(json.dumps({"do": do, **given}) + "\n")
        self._running.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self._running.stdout is not None
        if not (line := self._running.stdout.readline()):
            sys.exit(f"scale: {self.name} ended with {self._running.wait()}; what it said is above")
        found: dict[str, Any] = json.loads(line)
        return found

    def call(self, do: str, **given: Any) -> dict[str, Any]:
        self.send(do, **given)
        return self.answer()

    def close(self) -> None:
        assert self._running.stdin is not None
        self._running.stdin.close()
        self._running.wait()


@contextmanager
def process(name: str, texts: Path, folder: Path) -> Iterator[Process]:
    made = Process(name, texts, folder)
    try:
        yield made
    finally:
        made.close()


def line(what: str, size: int, taken: Sequence[dict[str, Any]], note: str = "") -> Line:
    cpu, clock = (parts([one[name] for one in taken]) for name in ("cpu", "wall"))
    most = BARS.get((what, size))
    return Line(
        what, size, cpu, clock, note, "" if most is None else f"≤ {most:g}", None if most is None else cpu[0] <= most
    )


def parts(times: Sequence[float]) -> tuple[float, float, float]:
    """Half, 95 % and 99 % of them are no longer."""
    cuts = quantiles(times, n=100, method="inclusive") if len(times) > 1 else [times[0]] * 99
    return cuts[49], cuts[94], cuts[98]


# A size ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Store:
    """Everything of one size."""

    size: int
    texts: Path
    folder: Path
    asked: Sequence[str]

    def sides(self) -> list[str]:
        return ["memory", *(name for name in there() if self.size <= MOST_FOR_PEER.get(name, self.size))]

    def place(self, side: str) -> Path:
        return self.folder / side.split("'", maxsplit=1)[0]

    def process(self, side: str) -> Any:
        return process(side, self.texts, self.place("memory" if side == "saving" else side))


def there() -> list[str]:
    """The peers that can be asked."""
    needed = {"EchoVault's way": "sqlite_vec"}
    return [name for name in PEERS if find_spec(needed.get(name, name)) is not None]


def measured(store: Store, raw: dict[str, Any]) -> Iterator[Line]:
    notes = {}
    for side in store.sides():
        store.place("memory").mkdir(parents=True, exist_ok=True)
        with store.process(side) as working:
            built = working.call("build", count=store.size)
        size = sum(file.stat().st_size for file in store.place(side).rglob("*") if file.is_file()) / 1e6
        notes[side] = f"{store.size / built['seconds']:,.0f}/s made, {size:,.0f} MB of disk"
        notes[side] += "".join(f", {name} {built[name]:,.0f}" for name in built if name != "seconds")
        progress(f"{store.size:,}: {side}: {notes[side]}")
    yield from quiet(store, raw, notes)
    yield from filtered(store, raw)
    yield from beginning(store, raw)
    yield from while_saving(store, raw)


def quiet(store: Store, raw: dict[str, Any], notes: dict[str, str]) -> Iterator[Line]:
    """All ways of all sides in turns."""
    working = {side: Process(side, store.texts, store.place(side)) for side in store.sides()}
    ways = [(side, way) for side in working for way in (OURS if side == "memory" else PEERS[side])]
    taken = turns({f"{side} {way}": (working[side], {"way": way}) for side, way in ways}, store.asked)
    few = store.asked[: 30 if store.size > 200_000 else None]
    exact = turns({"exact": (working["memory"], {"way": "exact"})}, few)["exact"]
    raw[f"quiet {store.size}"] = _kept(taken)
    near = [
        len({*a["found"]} & {*b["found"]}) / max(1, len(b["found"]))
        for a, b in zip(taken["memory vector"], exact, strict=False)
    ]
    for side, one in working.items():
        if side != "memory":  # which has held every vector for the exact answers; see `while_saving`
            notes[side] += memory(one)
        one.close()
    for (side, _), name in zip(ways, taken, strict=True):
        note = notes.pop(side, "")
        if name == "memory vector":
            note = f"of the exact first ten {sum(near) / len(near):.3f}"
        yield line(name, store.size, taken[name], note)


def turns(sides: dict[str, tuple[Process, dict[str, Any]]], asked: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    """
    Of each side what it answers to each question. Sides take turns after a block of questions, whose first ones do not
    count, so that none finds the processor's caches, or an index's last question, as another one left them.
    """
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in sides}
    names = list(sides)
    for number, first in enumerate(range(0, len(asked), BLOCK)):
        block, turn = asked[first : first + BLOCK], number % len(names)
        for name in names[turn:] + names[:turn]:
            working, given = sides[name]
            for text in block[-WARM:]:
                working.call("ask", text=text, **given)
            taken[name] += [working.call("ask", text=text, **given) for text in block]
    return taken


def filtered(store: Store, raw: dict[str, Any]) -> Iterator[Line]:
    with store.process("memory") as working:
        sides = {
            f"memory {way}, {name}": (working, {"way": way} | filters)
            for name, filters in FILTERS.items()
            for way in ("keyword", "hybrid")
        }
        taken = turns(sides, store.asked)
    raw[f"filtered {store.size}"] = _kept(taken)
    yield from (line(name, store.size, answers) for name, answers in taken.items())


def beginning(store: Store, raw: dict[str, Any]) -> Iterator[Line]:
    """The first four searches of new processes."""
    taken = []
    for first in range(3):
        asked = store.asked[first * 4 % len(store.asked) :][:4]
        with store.process("memory") as working:
            taken.append([working.call("ask", way="hybrid", text=text) for text in asked])
    raw[f"first {store.size}"] = [[one["wall"] for one in four] for four in taken]
    for number, answers in enumerate(zip(*taken, strict=True)):
        yield line(f"memory hybrid, search {number + 1} of a process", store.size, answers)


def while_saving(store: Store, raw: dict[str, Any]) -> Iterator[Line]:
    """Searches while another process saves, and as many after it in the same process."""
    with store.process("memory") as working, store.process("saving") as saving:
        for text in store.asked[:WARM]:
            working.call("ask", way="hybrid", text=text)
        saving.send("save", seconds=SAVING, rate=RATE, first=store.size)
        begun = perf_counter()
        busy: list[dict[str, Any]] = []
        while perf_counter() < begun + SAVING:
            busy.append(working.call("ask", way="hybrid", text=store.asked[len(busy) % len(store.asked)]))
        saved = saving.answer()["saved"]
        after = [
            working.call("ask", way="hybrid", text=store.asked[number % len(store.asked)])
            for number in range(min(len(busy), 3 * len(store.asked)))
        ]
        held = memory(working)
    raw[f"saving {store.size}"] = _kept({"busy": busy, "after": after}) | {"saves": saved}
    quietly = line("", store.size, after).clock[1]
    ratio = line("", store.size, busy).clock[1] / quietly
    note = (
        f"{len(saved)} saves, p50 {parts(saved)[0]:.1f} ms; p95 {ratio:.1f} × that of the same process after it{held}"
    )
    yield line("memory hybrid, ten saves a second beside it", store.size, busy, note)


def memory(side: Process) -> str:
    return "".join(f", {name} {size:,.0f} MB" for name, size in side.call("memory").items())


def sections(texts: Path, folder: Path, asked: Sequence[str], count: int, raw: dict[str, Any]) -> Iterator[Line]:
    (folder / "sections").mkdir()
    with process("sections", texts, folder / "sections") as working:
        chunks = working.call("build", count=count)["chunks"]
        taken = turns({"sections": (working, {"way": "sections"})}, asked)
    raw["sections"] = _kept(taken)
    yield line(f"memory hybrid, sections of {count:,} documents", chunks, taken["sections"])


def _kept(taken: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    return {name: {kind: [one[kind] for one in answers] for kind in ("cpu", "wall")} for name, answers in taken.items()}


# What is said ------------------------------------------------------------------


def table(lines: Sequence[Line]) -> str:
    head = ("what", "memories", "CPU ms p50", "p95", "p99", "clock ms p50", "p95", "p99", "bar", "", "")
    rows = [head, ("---",) * len(head)]
    for one in lines:
        met = "" if one.met is None else "met" if one.met else "NOT met"
        times = [f"{value:.2f}" if value < 100 else f"{value:,.0f}" for value in (*one.cpu, *one.clock)]
        rows.append((one.what, f"{one.size:,}", *times, one.bar, met, one.note))
    return aligned(rows)


def progress(said: str) -> None:
    print(f"scale: {said}", file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="How long a search takes as the store grows.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N", help="memories of each store")
    parser.add_argument(
        "--questions", type=int, default=200, metavar="N", help="of each size; a third of it at a million"
    )
    parser.add_argument("--quick", action="store_true", help="500 memories, few questions: does the script work?")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/")
    given = parser.parse_args()
    if min(given.sizes) < 100:
        parser.error("a store of fewer than 100 memories says nothing of growth")
    if given.quick:
        given.sizes, given.questions = [500], 8
    return given


def main() -> None:
    # As Ctrl-C does, so that the folder goes.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    given = arguments()
    for name in PEERS.keys() - {*there()}:
        progress(f"{name} is left out: it is not installed (python -m pip install {name})")
    lines: list[Line] = []
    raw: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="memory-scale-") as root:
        texts = Path(root, "texts")
        texts.mkdir()
        prepare(texts, most=100 if given.quick else REAL)
        progress("texts and vectors are made")
        for size in given.sizes:
            count = given.questions if size <= 200_000 else given.questions // 3
            store = Store(size, texts, Path(root, str(size)), questions(texts, count, seed=3))
            lines += measured(store, raw)
            shutil.rmtree(store.folder)
        asked = questions(texts, given.questions, seed=4)
        lines += sections(texts, Path(root), asked, 20 if given.quick else DOCUMENTS, raw)
    print(table(lines))
    if given.keep:
        folder = keep(lines, raw, setting(), name=given.keep, told=TOLD, shown=table)
        (folder / "latency.svg").write_text(curves(lines), "utf-8")
        progress(f"kept in bench/runs/{folder.name}")


if __name__ == "__main__":
    main()
