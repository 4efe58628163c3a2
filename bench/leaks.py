"""
How many secrets pass that an adversary writes: every form of `tests/support/secret_forms.py`, drawn by chance.

    python bench/leaks.py                 what the redactor misses, 2,000 of each form, some minutes
    python bench/leaks.py --draws 500     fewer, or more
    python bench/leaks.py --ways 5        five of each form by every way in, in every field; what is in the files then

The forms of one word after the name of a secret have the bars of `BARS`, all others none of 500.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.pop(0)  # this folder: its mcp.py is not the SDK
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from secret_forms import BARS, FORMS, NAMED, PAIRS
from secret_ways import FIELDS, WAYS, left
from secrets_made import SHAPES, Made, made, runs

from memory.redact import Redactor

REDACTOR = Redactor()


def drawn(form: str, draws: int, seed: int) -> list[Made]:
    dice = random.Random(f"{form} {seed}")
    return [made(f"any {form}", dice) for _ in range(draws)]


def missed(form: str, draws: int, seed: int) -> list[str]:
    return [
        one.text
        for one in drawn(form, draws, seed)
        if any(run in REDACTOR.text(one.text).text for run in runs(one.secret))
    ]


def rates(draws: int, seed: int) -> bool:
    met = True
    for size, bar in BARS.items():
        shares = {form: len(missed(form.replace("{}", f"{{r{size}}}"), draws, seed)) / draws for form in NAMED}
        worst = max(shares, key=lambda form: shares[form])
        met &= shares[worst] <= bar
        print(
            f"{size:2} letters and digits: {sum(shares.values()) / len(shares):.2%} missed of {len(shares)} forms; "
            f"at most {shares[worst]:.2%} (bar {bar:.1%}): {worst}"
        )
    for form in PAIRS:
        share = len(missed(form, draws, seed)) / draws
        met &= share <= BARS[10]
        print(f"{share:.2%} missed (bar {BARS[10]:.1%}): {form}")
    for form in FORMS:
        if passed := missed(form, draws, seed):
            met &= len(passed) < draws / 500
            print(f"{len(passed)} of {draws} missed: {form!r}, such as {passed[0]!r}")
    return met


def ways(draws: int, seed: int) -> bool:
    shapes = [shape.partition(" ")[2].strip() for shape in SHAPES if "{pem:" not in shape and "{cut:" not in shape]
    named = [form.replace("{}", "x9{r10}") for form in NAMED]
    several = [one for form in (*shapes, *named, *PAIRS, *FORMS) for one in drawn(form, draws, seed)]
    met = True
    for way, put in WAYS.items():
        for field in FIELDS:
            with tempfile.TemporaryDirectory(prefix="memory-bench-") as root:
                put(Path(root) / "home", field, [one.text for one in several])
                passed = left(Path(root) / "home", several)
            met &= not passed
            print(f"{way}, {field}: {len(passed)} of {len(several)} in the files", *map(repr, passed[:3]))
    return met


def main() -> None:
    parser = argparse.ArgumentParser(description="How many secrets pass that an adversary writes.")
    parser.add_argument("--draws", type=int, default=2_000, help="of each form")
    parser.add_argument("--ways", type=int, metavar="DRAWS", help="of each form, by every way in, in every field")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    met = ways(given.ways, given.seed) if given.ways else rates(given.draws, given.seed)
    print("met" if met else "NOT met")


if __name__ == "__main__":
    main()
