"""
How precise the rules are that propose memories from a session: twenty transcripts of our own, each with its misses.

    python bench/capture.py            the table of docs/decisions/import-and-mirror.md
    python bench/capture.py --each     every proposal too, right or wrong, and what was missed

The transcripts are tests/support/captured. The rules were tuned on the first ten; the others are by the same hand, so that
strangers' sessions will do worse.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from captured_made import TUNED, Captured, Counted, agrees, captured, counted, proposed, summed


def told(one: Captured) -> None:
    """Print what is proposed of a transcript, right or wrong, and what is missed."""
    made = proposed(one)
    print(one.name)
    for found in made:
        good = any(agrees(found.what, worth) for worth in one.worth)
        print(f"  {'right' if good else 'WRONG'}  {found.sort:10} {found.role:9} {found.what}")
    for worth in one.worth:
        if not any(agrees(found.what, worth) for found in made):
            print(f"  missed {'':20} {' '.join(worth.split())}")


def row(name: str, counts: Counted) -> str:
    precision, recall = counts.right / (counts.proposed or 1), counts.found / (counts.worth or 1)
    shares = f"{precision:.0%} | {counts.found} of {counts.worth} | {recall:.0%}"
    return f"| {name} | {counts.right} of {counts.proposed} | {shares} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--each", action="store_true", help="every proposal too")
    several = captured()
    if parser.parse_args().each:
        for one in several:
            told(one)
    counts = [counted(one) for one in several]
    print("| transcripts | right of what is proposed | precision | proposed of what is worth keeping | recall |")
    print("|---|---|---|---|---|")
    print(row("tuned on", summed(counts[:TUNED])))
    print(row("held back", summed(counts[TUNED:])))
    print(row("all", summed(counts)))


if __name__ == "__main__":
    main()
