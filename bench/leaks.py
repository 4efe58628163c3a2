"""
How many secrets pass that an adversary writes, and how many lines of ordinary text are changed.

    python bench/leaks.py                 what the redactor misses, 2,000 of each form, some minutes
    python bench/leaks.py --draws 500     fewer, or more
    python bench/leaks.py --ways 5        five of each form by every way in, in every field; what is in the files then
    python bench/leaks.py --texts FOLDER  what is taken for a secret in the `*/corpus.jsonl` of a folder, and in this
                                          repository; each is printed, to be looked at
    python bench/leaks.py --keep NAME     the run is kept in bench/runs/

More than one of them at once is one run. The forms are those of `tests/support/secret_forms.py`, drawn by chance. Those of one word after the name of a secret have
the bars of `BARS`, all others none of 500; of ordinary text, one change in 10,000 lines.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from report import aligned, keep, setting

sys.path.pop(0)  # this folder: its mcp.py is not the SDK
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from secret_forms import BARS, FORMS, NAMED, PAIRS
from secret_ways import FIELDS, WAYS, left
from secrets_made import SHAPES, Made, made, runs

from memory.redact import Redactor
from memory.redact.rules import MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

TOLD = (
    "Secrets by chance in the forms that an adversary writes, and ordinary text: what is missed, and what is changed."
)
ROOT = Path(__file__).parents[1]
REDACTOR = Redactor()
NONE = 1 / 500
"""The bar of forms of which none may be missed: fewer than one of 500."""

SELDOM = 1 / 10_000
"""The most changes of ordinary text, in a line."""

FULL = ("tests/support/secret", "tests/unit/redact/", "tests/laws/test_redact", "bench/runs/")
"""Files of the repository that are left out: forms of secrets, and figures."""

MEANT = "hunter qXvTbKpw q7Xv9TbKpw Zq7xKp3mWv walnut k9X2vQ7m ghp_ sk- sk_ AKIA 50%off 0123456789abcdef".split()
"""What tests and examples of the repository write as a secret on purpose contains one of these."""

_MARKER = re.compile(r"\[redacted:([\w:-]+)\]")
_TAG = re.compile(r"(?i)</?redacted\s*>")


@dataclass(frozen=True, slots=True)
class Row:
    """
    Attributes:
        count: How many of `size` were missed, or changed.
        bar: The share that may be; None for a part of what has one.
    """

    what: str
    count: int
    size: int
    bar: float | None

    @property
    def met(self) -> bool:
        if self.bar is None:
            return True
        return self.count < self.bar * self.size if self.bar == NONE else self.count <= self.bar * self.size


class Changed(NamedTuple):
    place: str
    rule: str
    value: str


def drawn(form: str, draws: int, seed: int) -> list[Made]:
    dice = random.Random(f"{form} {seed}")
    return [made(f"any {form}", dice) for _ in range(draws)]


def shaped(shape: str) -> str:
    """The form of a shape, without the name of its rule."""
    return shape.partition(" ")[2].strip()


def missed(form: str, draws: int, seed: int) -> list[str]:
    several = [(one, REDACTOR.text(one.text).text) for one in drawn(form, draws, seed)]
    return [one.text for one, text in several if any(run in text for run in runs(one.secret))]


def rates(draws: int, seed: int) -> Iterator[Row]:
    for size, bar in BARS.items():
        counts = {form: len(missed(form.replace("{}", f"{{r{size}}}"), draws, seed)) for form in NAMED}
        worst = max(counts, key=lambda form: counts[form])
        what = f"{size} letters and digits after the name of a secret"
        yield Row(f"{what}: {len(NAMED)} forms", sum(counts.values()), draws * len(NAMED), bar)
        yield Row(f"{what}: the worst, `{worst}`", counts[worst], draws, bar)
    counts = {form: len(missed(form, draws, seed)) for form in PAIRS}
    yield Row(
        f"two short words with a dot between: {len(PAIRS)} forms", sum(counts.values()), draws * len(PAIRS), BARS[10]
    )
    forms = dict.fromkeys((*FORMS, *map(shaped, SHAPES)))
    passed = {form: found for form in forms if (found := missed(form, draws, seed))}
    for form, texts in passed.items():
        print(f"{len(texts)} of {draws} missed: {form!r}, such as {texts[0]!r}")
        yield Row(f"`{form}`", len(texts), draws, NONE)
    yield Row(f"each of {len(forms) - len(passed):,} other forms", 0, draws, NONE)


def ways(draws: int, seed: int) -> Iterator[Row]:
    shapes = [shaped(shape) for shape in SHAPES if "{pem:" not in shape and "{cut:" not in shape]
    named = [form.replace("{}", "x9{r10}") for form in NAMED]
    several = [one for form in (*shapes, *named, *PAIRS, *FORMS) for one in drawn(form, draws, seed)]
    for way, put in WAYS.items():
        for field in FIELDS:
            with tempfile.TemporaryDirectory(prefix="memory-bench-") as root:
                put(Path(root) / "home", field, [one.text for one in several])
                passed = left(Path(root) / "home", several)
            print(f"{way}, {field}: {len(passed)} of {len(several):,} in the files", *map(repr, passed[:3]))
            yield Row(f"in the files after {way}, in {field}", len(passed), len(several), 0)


def changes(place: str, text: str) -> Iterator[Changed]:
    """What is taken for a secret in a text."""
    first, *found = _MARKER.split(REDACTOR.text(text).text)
    at = len(first)
    for rule, after in zip(found[::2], found[1::2], strict=True):
        end = text.find(after, at) if after else len(text)
        if not text.startswith(MARK, at):  # the text has this marker itself
            yield Changed(f"{place}:{text.count(chr(10), 0, at) + 1}", rule, text[at:end])
        at = end + len(after)


def corpora(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Of each corpus the name, and the place and the text of each document."""
    for file in sorted(folder.glob("*/corpus.jsonl")):
        for row in map(json.loads, file.read_text("utf-8").splitlines()):
            yield file.parent.name, f"{file.parent.name}/{row['id']}", row["text"]


def own() -> Iterator[tuple[str, str, str]]:
    """The texts of this repository: what it says, what it does, and its tests."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True).stdout
    for name in listed.rstrip("\0").split("\0"):
        data = (ROOT / name).read_bytes()
        if not name.startswith(FULL) and b"\0" not in data:
            part = name.partition("/")[0] if name.startswith(("src/", "tests/")) else "pages, benches and scripts"
            yield part, name, _TAG.sub("<>", data.decode(errors="replace"))


def ordinary(
    of: str, texts: Iterable[tuple[str, str, str]], found: list[Changed], meant: Sequence[str] = ()
) -> Iterator[Row]:
    lines, counts = Counter[str](), Counter[str]()
    for what, place, text in texts:
        lines[what] += text.count("\n") + 1
        for one in changes(place, text):
            if any(part in one.value for part in meant):
                continue
            print(f"{one.place} {one.rule}: {one.value!r}")
            found.append(one)
            counts[what] += 1
    for what, size in lines.items():
        yield Row(f"lines of {of}: {what}", counts[what], size, None)
    if lines:
        yield Row(f"lines of {of}", counts.total(), lines.total(), SELDOM)


def shown(rows: Sequence[Row]) -> str:
    head = ("what", "missed or changed", "of", "share", "bar", "")
    cells = [
        (
            row.what,
            f"{row.count:,}",
            f"{row.size:,}",
            f"{row.count / row.size:.3%}",
            *(("", "") if row.bar is None else (f"{row.bar:.2%}", "met" if row.met else "NOT met")),
        )
        for row in rows
    ]
    return aligned([head, ("---",) * len(head), *cells])


def main() -> None:
    parser = argparse.ArgumentParser(description="How many secrets pass that an adversary writes.")
    parser.add_argument("--draws", type=int, help="of each form; 2,000 if nothing else is asked for")
    parser.add_argument("--ways", type=int, metavar="DRAWS", help="of each form, by every way in, in every field")
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="ordinary text: corpora, and this repository")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/")
    given = parser.parse_args()
    found: list[Changed] = []
    draws = given.draws or (0 if given.ways or given.texts else 2_000)
    rows = [*rates(draws, given.seed)] if draws else []
    rows += ways(given.ways, given.seed) if given.ways else ()
    rows += ordinary("the corpora", corpora(given.texts), found) if given.texts else ()
    rows += ordinary("this repository", own(), found, MEANT) if given.texts else ()
    print(shown(rows), "met" if all(row.met for row in rows) else "NOT met", sep="\n\n")
    if given.keep:
        raw = {"changed": [(one.place, one.rule) for one in found]}
        facts = setting(given.texts)
        print(f"\nkept in bench/runs/{keep(rows, raw, facts, name=given.keep, told=TOLD, shown=shown).name}")


if __name__ == "__main__":
    main()
