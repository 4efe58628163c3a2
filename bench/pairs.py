"""
Whether the newer of two notes that contradict each other comes first, and is named when it is saved.

    .venv/bin/python bench/pairs.py [FILE ...] [--model local|none] [--among]
    .venv/bin/python bench/pairs.py --sets FOLDER ... [--keep NAME]     what is newer where nothing is

Each file has pairs in columns: older, newer, question. All older notes are saved, then all newer ones, in one store; then each
question is asked, five hits, as an agent asks and by keyword alone. Of `different.tsv` both notes of a pair are saved; none
replaces the other. With `--among` those are in the store of the questions too.
The rules were made with every other pair: both halves are shown.

Of each judged set the first 700 documents are kept, one by one, as an agent does, and all at once, so that none is newer than
another: how many answers name a newer one, and what that does to the reciprocal rank of the first right one of five.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memory import Config, Draft, Engine, Mode, Query
from memory.evaluate.judged import read
from memory.evaluate.systems import draft
from report import keep, setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Memory

JUDGED = Path(__file__).parents[1] / "tests" / "support" / "judged" / "contradictions"
LIMIT = 5
MOST = 700  # documents of a set
TOLD = "Answers that name a newer note, in sets where none is newer, and what that does to the first right one of five."
HEADS = "| set | questions | answers with a newer one | reciprocal rank, saved one by one | saved at once |"


def rows(file: Path) -> list[list[str]]:
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:] if line]


def opened(folder: str, model: str) -> Engine:
    config = Config(home=folder)
    return Engine.open(replace(config, embedding=replace(config.embedding, provider=model)))


def saved(engine: Engine, text: str) -> Memory:
    return engine.save(Draft(title=text[:200])).memory


def asked(
    pairs: Sequence[Sequence[str]], others: Sequence[Sequence[str]], model: str
) -> dict[str, list[tuple[bool, bool]]]:
    """For each way to ask, and each pair: whether the newer one comes before the older one, and whether it is the first."""
    with TemporaryDirectory() as folder, opened(folder, model) as engine:
        for text in (text for pair in others for text in pair):
            saved(engine, text)
        older = [saved(engine, pair[0]).id for pair in pairs]
        newer = [saved(engine, pair[1]).id for pair in pairs]
        found: dict[str, list[tuple[bool, bool]]] = {}
        for mode in (Mode.TIERED, Mode.KEYWORD):
            for old, new, (_, _, question) in zip(older, newer, pairs, strict=True):
                hits = [hit.memory.id for hit in engine.search(Query(question, LIMIT, mode=mode)).hits]
                before = new in hits and (old not in hits or hits.index(new) < hits.index(old))
                found.setdefault(str(mode), []).append((before, hits[:1] == [new]))
        return found


def named(pairs: Sequence[Sequence[str]], model: str) -> list[bool]:
    """For each pair, saved one after the other: whether the first is named when the second is saved."""
    with TemporaryDirectory() as folder, opened(folder, model) as engine:
        found = []
        for one, other, *_ in pairs:
            old, new = saved(engine, one), saved(engine, other)
            told = engine.replaceable(new)
            found.append(told is not None and told.id == old.id)
        return found


@dataclass(frozen=True, slots=True)
class Unrelated:
    """A set whose documents are no versions of each other; see the page's text."""

    name: str
    questions: int
    told: int
    one_by_one: float
    at_once: float


def unrelated(folder: Path, model: str) -> Unrelated:
    judged = read(folder)
    drafts = {document.id: draft(document) for document in judged.documents[:MOST]}
    told, ranks = 0, []
    for each in (True, False):
        with TemporaryDirectory() as place, opened(place, model) as engine:
            kept = [engine.save(one) for one in drafts.values()] if each else engine.save_all([*drafts.values()])
            engine.vectors.embed()
            names = dict(zip((one.memory.id for one in kept), drafts, strict=True))
            asked = [question for question in judged.questions if not drafts.keys().isdisjoint(question.relevant)]
            total = 0.0
            for question in asked:
                hits = engine.search(Query(question.text, LIMIT)).hits
                told += each and any(hit.newer_than for hit in hits)
                right = (place for place, hit in enumerate(hits, 1) if names[hit.memory.id] in question.relevant)
                total += 1 / next(right, float("inf"))
            ranks.append(total / len(asked))
    return Unrelated(judged.name, len(asked), told, *ranks)


def table(rows: Sequence[Unrelated]) -> str:
    lines = [
        f"| {one.name} | {one.questions} | {one.told} | {one.one_by_one:.3f} | {one.at_once:.3f} |" for one in rows
    ]
    return "\n".join([HEADS, "|---|---:|---:|---:|---:|", *lines])


def line(what: str, found: Sequence[bool]) -> str:
    return f"| {what} | {sum(found)} of {len(found)} | {sum(found[::2])} | {sum(found[1::2])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--model", choices=("local", "none"), default="local")
    parser.add_argument("--among", action="store_true")
    parser.add_argument("--sets", nargs="+", type=Path, metavar="FOLDER", default=[])
    parser.add_argument("--keep", metavar="NAME")
    wanted = parser.parse_args()
    if wanted.sets:
        found = [unrelated(folder, wanted.model) for folder in wanted.sets]
        print(table(found))
        if wanted.keep:
            keep(found, {}, setting(*wanted.sets), name=wanted.keep, told=TOLD, shown=table)
        return
    different = rows(JUDGED / "different.tsv")
    pairs = [pair for file in wanted.files or [JUDGED / "pairs.tsv"] for pair in rows(file)]
    print("| what | pairs | odd | even |\n|---|---:|---:|---:|")
    for mode, found in asked(pairs, different if wanted.among else [], wanted.model).items():
        print(line(f"the newer one before the older one, {mode}", [before for before, _ in found]))
        print(line(f"the newer one first of all, {mode}", [first for _, first in found]))
    print(line("named at save", named(pairs, wanted.model)))
    print(line("named at save, of different things", named(different, wanted.model)))


if __name__ == "__main__":
    main()
