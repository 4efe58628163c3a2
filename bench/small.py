"""
Whether a small store denies what it knows: thirty short notes, asked in other words, and questions of strangers.

    python bench/small.py                          the notes alone, some seconds
    python bench/small.py FOLDER [--sizes 30,300]  with documents of a judged set beside them, as far as each size
    python bench/small.py FOLDER --keep NAME       the run is kept in bench/runs/NAME

The notes and questions are a judged set, `tests/support/judged/developer_notes`, written before the rule was; no answer
was looked at while they were. Those of strangers are in `tests/support/judged/strangers`. Every question is asked as an
agent asks (`memory_search`, 5 hits), again without the model, and as the task of `memory_context` without recent
memories.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from memory import Config, Draft, Engine, Mode, Query
from memory.evaluate.judged import questions, read
from memory.schema.answer import Outcome
from report import setting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.evaluate.judged import Document, Question

RUNS = Path(__file__).parent / "runs"
JUDGED = Path(__file__).parents[1] / "tests" / "support" / "judged"
LIMIT = 5
HEAD = (
    "| memories | vectors | asked | right note in the first 5 | of these told nothing_relevant | kept by memory_context "
    "| told nothing_relevant without the model | strangers told |"
)


class Row(NamedTuple):
    """
    Attributes:
        found: Questions whose right note is among the first five; `denied` of these are told `nothing_relevant`.
        kept: Questions whose right note is in the context.
        unasked: Questions that are told `nothing_relevant` where no model may be asked, whether it was found or not.
        told: Strangers' questions that are told `nothing_relevant`.
    """

    memories: int
    vectors: int
    asked: int
    found: int
    denied: int
    kept: int
    unasked: int
    told: int


def draft(document: Document) -> Draft:
    return Draft(title=document.title[:200] or "-", what=document.text[:10_000], metadata={"id": document.id})


def measured(engine: Engine, own: Sequence[Question], strangers: Sequence[Question]) -> Row:
    found = denied = kept = unasked = 0
    for question in own:
        answer = engine.search(Query(question.text, LIMIT))
        right = any(hit.memory.metadata["id"] in question.relevant for hit in answer.hits)
        found += right
        denied += right and answer.outcome is Outcome.NOTHING_RELEVANT
        context = engine.context(question.text, limit=LIMIT, topup_recent=False)
        kept += any(memory.metadata["id"] in question.relevant for memory in context.memories)
        words = engine.search(Query(question.text, LIMIT, mode=Mode.KEYWORD))
        unasked += words.outcome is Outcome.NOTHING_RELEVANT
    answers = [engine.search(Query(question.text, LIMIT)) for question in strangers]
    told = sum(answer.outcome is Outcome.NOTHING_RELEVANT for answer in answers)
    status = engine.maintenance.status()
    vectors = sum(filled for _, filled in status.generations)
    return Row(status.counts.memories, vectors, len(own), found, denied, kept, unasked, told)


def rows(folder: Path | None, sizes: Sequence[int]) -> list[Row]:
    notes = read(JUDGED / "developer_notes")
    strangers = questions(JUDGED / "strangers")
    fillers = [] if folder is None else list(read(folder).documents)
    Random(1).shuffle(fillers)
    measurements = []
    with TemporaryDirectory(prefix="memory-small-") as home:
        config = replace(Config(), home=home, embedding=replace(Config().embedding, fill="lazy"))
        with Engine.open(config, lasting=False) as engine:
            engine.save_all([draft(document) for document in notes.documents])
            for size in sizes:
                more = size - engine.maintenance.status().counts.memories
                engine.save_all([draft(fillers.pop()) for _ in range(more)])
                engine.vectors.embed()
                measurements.append(measured(engine, notes.questions, strangers))
    return measurements


def table(found: Sequence[Row], strangers: int) -> str:
    rule = "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    lines = [
        "| " + " | ".join(f"{number:,}" for number in row[:-1]) + f" | {row.told} of {strangers} |" for row in found
    ]
    return "\n".join([HEAD, rule, *lines])


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether a small store denies what it knows.")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sizes", default="30", help="memories, with commas, from 30 on")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/NAME")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    text = table(rows(given.folder, sizes), len(questions(JUDGED / "strangers")))
    print(text)
    if given.keep:
        beside = f" {given.folder.name} --sizes {given.sizes}" if given.folder else ""
        facts = setting() | {"command": f"python bench/small.py{beside}"}
        folder = RUNS / given.keep
        folder.mkdir(parents=True, exist_ok=True)
        head = [f"# {folder.name}", "", *(f"- {name}: {fact}" for name, fact in facts.items()), "", text, ""]
        (folder / "README.md").write_text("\n".join(head), "utf-8")


if __name__ == "__main__":
    main()
