"""What a bench measured: a figure beside its bar, the table, and the run that is kept."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from textwrap import fill
from typing import TYPE_CHECKING, Any

import apsw
import numpy as np

from memory import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Figure:
    """
    One line of the table.

    Attributes:
        typical, worst: Milliseconds; p50 and p95, or minimum and median of whole processes; None for a rate.
        beside: What the ratio is to.
        met: None where there is no bar.
    """

    what: str
    size: int | None
    typical: float | None = None
    worst: float | None = None
    rate: float | None = None
    ratio: float | None = None
    beside: str = ""
    bar: str = ""
    met: bool | None = None
    note: str = ""


def p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1] if len(values) > 1 else values[0]


def figure(what: str, size: int | None, taken: Sequence[float], beside: Mapping[str, Sequence[float]]) -> Figure:
    """Of calls: p50 and p95, with the ratios of medians to what stands beside."""
    ratios = [median(taken) / median(other) for other in beside.values()]
    note = ", ".join(
        f"{name} {median(other):.2f} / {p95(other):.2f}" + (f" ({ratio:.2f} ×)" if number else "")
        for number, ((name, other), ratio) in enumerate(zip(beside.items(), ratios, strict=True))
    )
    return Figure(
        what, size, median(taken), p95(taken), None, ratios[0] if ratios else None, next(iter(beside), ""), note=note
    )


def barred(found: Figure, bar: str, *, met: bool) -> Figure:
    return replace(found, bar=bar, met=met)


def table(figures: Sequence[Figure]) -> str:
    def number(value: float | None, unit: str = "") -> str:
        return "" if value is None else f"{value:,.0f}{unit}" if value >= 1000 else f"{value:.2f}{unit}"

    head = (
        "what",
        "memories",
        "p50 ms (start: min)",
        "p95 ms (start: median)",
        "a second",
        "ratio",
        "to",
        "bar",
        "",
        "",
    )
    rows = [head, ("---",) * len(head)]
    for f in figures:
        size = "" if f.size is None else f"{f.size:,}"
        met = "" if f.met is None else "met" if f.met else "NOT met"
        shown = (number(f.typical), number(f.worst), number(f.rate), number(f.ratio, " ×"))
        rows.append((f.what, size, *shown, f.beside, f.bar, met, f.note))
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown; of the rows the first is the head, the second its rule."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in rows)


def setting(*folders: Path | None) -> dict[str, str]:
    """
    What the figures hold for; neither the host's name nor its paths.

    Args:
        folders: What the command was given: where they are is nobody's business.
    """
    command = " ".join([f"python bench/{Path(sys.argv[0]).name}", *sys.argv[1:]])
    for folder in filter(None, folders):
        command = command.replace(str(folder), "FOLDER")
    info = Path("/proc/cpuinfo")
    model = re.search(r"model name\s*: (.*)", info.read_text()) if info.exists() else None
    pages = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0
    git = ["git", "-C", str(Path(__file__).parent)]
    commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run([*git, "status", "--porcelain", ":/src"], capture_output=True, text=True, check=False)
    return {
        "command": command,
        "commit": (commit.stdout.strip() or "none") + (", src changed since" if changed.stdout.strip() else ""),
        "python": platform.python_version(),
        "memory": __version__,
        "sqlite": f"{apsw.sqlite_lib_version()} (apsw {apsw.apsw_version()})",
        "sqlite-vec": version("sqlite-vec"),
        "numpy": np.__version__,
        "machine": f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, {pages / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
    }


TOLD = (
    "Except in whole processes, an embedder that answers at once stands for the model: the times are the engine's own."
)


def keep(
    figures: Sequence[Any],
    raw: Mapping[str, object],
    facts: Mapping[str, str],
    *,
    name: str = "speed",
    told: str = TOLD,
    shown: Callable[[Sequence[Any]], str] = table,
) -> Path:
    """
    Write a run to bench/runs.

    Args:
        figures: Dataclasses of which `shown` makes a table.
    """
    folder = Path(__file__).parent / "runs" / f"{datetime.now(UTC):%Y-%m-%d}-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [
        f"# {name.capitalize()}",
        "",
        fill(told, 116),
        "",
        *(f"- {name}: {fact}" for name, fact in facts.items()),
        "",
        shown(figures),
        "",
    ]
    (folder / "README.md").write_text("\n".join(lines), "utf-8")
    rounded = json.loads(json.dumps(raw), parse_float=lambda text: round(float(text), 3))
    document = {"setting": facts, "figures": [asdict(found) for found in figures], "milliseconds": rounded}
    (folder / "raw.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")
    return folder
