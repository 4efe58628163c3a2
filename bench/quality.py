"""
How good the answers are, and how often they call the model: `memory eval` on judged question sets, as a run to keep.

    .venv/bin/python bench/quality.py FOLDER [SET ...] [--cache FOLDER] [--most N] [--systems NAMES] [--against FOLDER]
        [--sizes N,...] [--calibration] [--leave-one-out] [--keep NAME]

FOLDER holds one folder a set (docs/benchmarks.md). The first run embeds every passage with the configured model, which takes
the local one minutes; `--cache` keeps the databases. Settings are those of `memory`: MEMORY_SEARCH_EFFORT=0.3 and the like
measure others than the defaults, and the run says so.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from evaluation import Evaluation, Plan, evaluate
from evaluation.leave_one_out import CALLS
from evaluation.picture import calibration, frontier
from evaluation.report import data as as_data, text as as_text
from evaluation.sizes import parsed
from memory.cli.options import progress
from memory.config import load, value
from report import setting

if TYPE_CHECKING:
    from memory.config import Config

RUNS = Path(__file__).parent / "runs"
COUNTED = ("embedding.", "search.")  # sections of settings that an evaluation looks at
PLACES = ("_url", "_env")  # settings that name a machine, which is nobody's business


def facts(given: argparse.Namespace, config: Config, seconds: float) -> dict[str, str]:
    """Without the places of this machine."""
    command = ["python bench/quality.py FOLDER", *given.sets]
    if given.most:
        command.append(f"--most {given.most}")
    if given.systems:
        command.append(f'--systems "{given.systems}"')
    if given.sizes:
        command.append(f"--sizes {given.sizes}")
    if given.calibration:
        command.append("--calibration")
    if given.leave_one_out:
        command.append("--leave-one-out")
    keys = [key for key in sorted(config.origins) if key.startswith(COUNTED) and not key.endswith(PLACES)]
    changed = [f"{key} = {value(config, key)}" for key in keys]
    return setting() | {
        "command": " ".join(command),
        "settings": ", ".join(changed) or "defaults",
        "took": f"{seconds:,.0f} s",
    }


def keep(folder: Path, found: Evaluation, said: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"# {folder.name}", "", *(f"- {name}: {fact}" for name, fact in said.items()), ""]
    if found.frontier:
        (folder / "frontier.svg").write_text(frontier(found), "utf-8")
        lines += ["![Quality of the answers against calls of the model](frontier.svg)", ""]
    if any(one.calibration for one in found.sets):
        (folder / "calibration.svg").write_text(calibration(found), "utf-8")
        lines += ["![Share of right answers by what the answer says](calibration.svg)", ""]
    (folder / "README.md").write_text("\n".join([*lines, as_text(found), ""]), "utf-8")
    rounded = json.loads(json.dumps(as_data(found)), parse_float=lambda text: round(float(text), 5))
    document = {"setting": said, "results": rounded}
    (folder / "results.json").write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description="Quality and calls of every way to search, on judged sets.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--cache", type=Path, help="where databases stay from one run to the next")
    parser.add_argument("--most", type=int, help="questions of one set; all by default")
    parser.add_argument("--systems", help="only these, with commas; frontier is one of them")
    parser.add_argument("--against", type=Path, help="a set whose questions have no answer in the others")
    parser.add_argument("--sizes", help="also stores of so many memories, with commas")
    parser.add_argument("--calibration", action="store_true", help="also how often an answer is right, by what it says")
    parser.add_argument("--leave-one-out", action="store_true", help="also what an effort chosen on other sets does")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/NAME")
    given = parser.parse_args()
    config = load()
    systems = None if given.systems is None else tuple(name.strip() for name in given.systems.split(","))
    folders = [given.folder / name for name in given.sets] or [given.folder]
    begun = perf_counter()
    plan = Plan(
        config,
        given.cache,
        given.most,
        systems,
        against=given.against,
        sizes=parsed(given.sizes) if given.sizes else None,
        calibration=given.calibration,
        budget=CALLS if given.leave_one_out else None,
    )
    found = evaluate(folders, plan, progress)
    print(as_text(found))
    if given.keep:
        keep(RUNS / given.keep, found, facts(given, config, perf_counter() - begun))


if __name__ == "__main__":
    main()
