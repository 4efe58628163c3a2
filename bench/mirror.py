"""
What keeping a folder in step costs, and how long a change takes to the other side.

    python bench/mirror.py [--pages 10000] [--keep NAME]

The seconds are of processes on this machine, with whatever else it did; the pages are notes of 40 words.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import setting

RUNS = Path(__file__).parent / "runs"
COMMAND = Path(sys.executable).with_name("memory")
WORDS = [
    f"{a}{b}{c}" for a in ("ba", "do", "ki", "lu", "me") for b in ("ran", "tol", "vex", "zin") for c in ("", "a", "o")
]


def run(home: Path, *arguments: str) -> tuple[float, float]:
    """Seconds of the clock, and of the processor."""
    env = dict(os.environ) | {"MEMORY_HOME": str(home), "MEMORY_EMBEDDING_PROVIDER": "none"}
    begun, used = time.perf_counter(), os.times()
    subprocess.run([COMMAND, *arguments], env=env, check=True, capture_output=True)
    after = os.times()
    processor = after.children_user + after.children_system - used.children_user - used.children_system
    return time.perf_counter() - begun, processor


def page(number: int, dice: random.Random) -> str:
    return f"# Page {number}\n\n{' '.join(dice.choices(WORDS, k=40))}\n"


def watched(home: Path, folder: Path, tries: int) -> list[float]:
    """Seconds from a change of a file to its being found by a search."""
    env = dict(os.environ) | {"MEMORY_HOME": str(home), "MEMORY_EMBEDDING_PROVIDER": "none"}
    watching = subprocess.Popen(
        [COMMAND, "mirror", folder, "--watch"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    took = []
    try:
        while b"watching" not in watching.stderr.readline():
            pass
        for number in range(tries):
            path = folder / f"p{number % 10}" / f"{number}.md"
            begun = time.perf_counter()
            path.write_text(path.read_text() + f"found{number}\n")
            watching.stdout.readline()
            took.append(time.perf_counter() - begun)
            found = subprocess.run(
                [COMMAND, "search", f"found{number}", "--json"], env=env, capture_output=True, check=True
            )
            assert json.loads(found.stdout)["hits"]
    finally:
        watching.terminate()
        watching.wait()
    return sorted(took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--keep", metavar="NAME")
    asked = parser.parse_args()
    dice = random.Random(0)
    rows = []
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folder = root / "pages"
        for number in range(asked.pages):
            path = folder / f"p{number % 10}" / f"{number}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(page(number, dice))
        rows.append(
            (f"{asked.pages:,} new files become memories, s (processor s)", run(root / "home", "mirror", str(folder)))
        )
        rows.append(("a look at which nothing has changed", run(root / "home", "mirror", str(folder))))
        rows.append(("all pages written into an empty folder", run(root / "home", "mirror", str(root / "other"))))
        took = watched(root / "home", folder, 9)
        rows.append(("from an edit to its being in the memory: median, most", (took[len(took) // 2], took[-1])))
    text = "\n".join(f"{label:<70} {first:>8.2f} {second:>8.2f}" for label, (first, second) in rows)
    print(text)
    if asked.keep:
        facts = setting() | {"command": f"python bench/mirror.py --pages {asked.pages}"}
        folder = RUNS / asked.keep
        folder.mkdir(parents=True, exist_ok=True)
        head = [
            f"# {folder.name}",
            "",
            *(f"- {name}: {fact}" for name, fact in facts.items()),
            "",
            "```",
            text,
            "```",
            "",
        ]
        (folder / "README.md").write_text("\n".join(head), "utf-8")


if __name__ == "__main__":
    main()
