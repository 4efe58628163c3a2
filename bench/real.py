"""
How long a tiered search of a real question takes in a store of 10,000 real passages, and how good its answer is, beside
EchoVault's way.

    python bench/real.py FOLDER …                   judged sets (docs/benchmarks.md): some 6 minutes, most of them the model's
    python bench/real.py FOLDER … --keep NAME       the run is kept in bench/runs/

The passages of all sets without groups are one store; of the largest set as many are left out as are too many, but none that
answers a question. The model embeds passages and questions before; a vector then takes no time, as in bench/scale.py. Both
sides are processes of their own that take turns.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import TYPE_CHECKING, Any

from memory.evaluate import ndcg
from memory.evaluate.judged import folders, read
from report import aligned, keep, setting
from scale import Process, parts, progress, turns
from scale_texts import Real, write

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.evaluate.judged import Judged, JudgedDocument, Question

SIZE = 10_000
MOST = 1.2
"""Times EchoVault's time: what is asked for."""

SIDES = {"memory": ("keyword", "distilled", "tiered", "hybrid"), "EchoVault's way": ("keyword", "tiered", "hybrid")}
TOLD = (
    "Searches of real questions in one store of passages of judged sets, sides in turns, and how good their first ten are; "
    "the model's vectors are known before. A ratio is that of tiered searches to EchoVault's tiered ones."
)


@dataclass(frozen=True, slots=True)
class Line:
    """
    A row of the table.

    Attributes:
        clock: Milliseconds: half, 95 % and 99 % of the searches took no longer.
        ndcg: Of the first ten, 0..1.
        compared: Share of the searches that compared the model's vector of the question, 0..1.
        ratio: Of p50 to that of EchoVault's tiered search.
    """

    what: str
    asked: int
    clock: tuple[float, float, float]
    mean: float
    ndcg: float
    compared: float
    ratio: float | None = None


def passages(sets: Sequence[Judged], size: int) -> list[JudgedDocument]:
    """So many of all sets, with all that answer a question."""
    *smaller, largest = sorted(sets, key=lambda one: len(one.documents))
    kept = [document for one in smaller for document in one.documents if document.text.strip()]
    needed = {id for question in largest.questions for id in question.relevant}
    rest = [document for document in largest.documents if document.id not in needed and document.text.strip()]
    kept += [document for document in largest.documents if document.id in needed]
    return kept + Random(1).sample(rest, max(0, min(len(rest), size - len(kept))))


def judged(sets: Sequence[Judged], documents: Sequence[JudgedDocument], most: int) -> dict[str, list[Question]]:
    """Of each set so many questions, with the numbers of the notes that answer them in place of ids."""
    numbers = {id(document): str(number) for number, document in enumerate(documents, start=1)}
    found = {}
    for one in sets:
        own = {document.id: numbers[id(document)] for document in one.documents if id(document) in numbers}
        asked = Random(2).sample(one.questions, min(most, len(one.questions)))
        found[one.name] = [
            question._replace(relevant=relevant)
            for question in asked
            if (relevant := {own[id]: grade for id, grade in question.relevant.items() if id in own})
        ]
    return found


def lines(asked: Mapping[str, Sequence[Question]], taken: Mapping[str, list[dict[str, Any]]]) -> list[Line]:
    """Of each set, and of all."""
    found, first = [], 0
    for name, questions in [*asked.items(), ("all", [one for own in asked.values() for one in own])]:
        rows = slice(first, first + len(questions)) if name != "all" else slice(None)
        first += len(questions)
        beside = parts([one["wall"] for one in taken["EchoVault's way tiered"][rows]])[0]
        for side, answers in taken.items():
            own = answers[rows]
            clock = parts([one["wall"] for one in own])
            good = fmean(
                ndcg([str(id) for id in one["found"]], question.relevant, 10)
                for one, question in zip(own, questions, strict=True)
            )
            compared = fmean(one["compared"] for one in own)
            ratio = clock[0] / beside if side == "memory tiered" else None
            mean = fmean(one["wall"] for one in own)
            found.append(Line(f"{name}: {side}", len(own), clock, mean, good, compared, ratio))
    return found


def table(rows: Sequence[Line]) -> str:
    head = (
        "what",
        "questions",
        "ms p50",
        "p95",
        "p99",
        "mean",
        "nDCG@10",
        "asked the model",
        "× EchoVault's tiered",
    )
    shown = [
        (
            one.what,
            f"{one.asked:,}",
            *(f"{value:.2f}" for value in (*one.clock, one.mean)),
            f"{one.ndcg:.3f}",
            f"{one.compared:.0%}",
            "" if one.ratio is None else f"{one.ratio:.2f} ({'met' if one.ratio <= MOST else 'NOT met'}, ≤ {MOST})",
        )
        for one in rows
    ]
    return aligned([head, ("---",) * len(head), *shown])


def measured(
    root: Path, texts: Path, sets: Sequence[Judged], size: int, most: int
) -> tuple[list[Line], dict[str, Any]]:
    documents = passages(sets, size)
    asked = judged(sets, documents, most)
    every = [question.text for own in asked.values() for question in own]
    write(texts, documents, every)
    progress(f"{len(documents):,} passages and {len(every):,} questions are embedded")
    working = {}
    for side in SIDES:
        folder = root / side[:6]
        folder.mkdir()
        made = Process(side, texts, folder)
        progress(f"{side}: {made.call('build', count=len(documents))}")
        made.close()
        working[side] = Process(side, texts, folder)
    mixed = Random(3).sample(range(len(every)), len(every))  # so that a turn has questions of all sets
    ways = {f"{side} {way}": (one, {"way": way}) for side, one in working.items() for way in SIDES[side]}
    taken = turns(ways, [every[place] for place in mixed])
    for one in working.values():
        one.close()
    back = sorted(range(len(mixed)), key=mixed.__getitem__)
    ordered = {name: [answers[place] for place in back] for name, answers in taken.items()}
    return lines(asked, ordered), {name: [one["wall"] for one in own] for name, own in ordered.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Tiered searches of real questions beside EchoVault's way.")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="judged sets, or folders of them")
    parser.add_argument("--size", type=int, default=SIZE, metavar="N", help="passages of the store")
    parser.add_argument("--questions", type=int, default=100, metavar="N", help="of each set, at most")
    parser.add_argument("--texts", type=Path, metavar="FOLDER", help="keep vectors there, and take them from there")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/")
    given = parser.parse_args()
    sets = [one for folder in folders(given.folders) if (one := read(folder)).documents[0].group is None]
    if not sets:
        parser.error("all of these sets have groups")
    with tempfile.TemporaryDirectory(prefix="memory-real-") as root:
        texts = given.texts or Path(root, "texts")
        texts.mkdir(exist_ok=True)
        rows, raw = measured(Path(root), texts, sets, given.size, given.questions)
    print(table(rows))
    if given.keep:
        facts = setting(*given.folders, given.texts) | {
            "model": Real.model,
            "sets": json.dumps({one.name: len(one.documents) for one in sets}),
        }
        folder = keep(rows, raw, facts, name=given.keep, told=TOLD, shown=table)
        progress(f"kept in bench/runs/{folder.name}")


if __name__ == "__main__":
    main()
