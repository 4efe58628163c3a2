"""
Whether a small store denies what it knows, and tells strangers that it knows nothing.

    python bench/small.py                          the notes alone, about a minute
    python bench/small.py FOLDER [--sizes 30,300]  the thirty notes also among documents of a judged set, up to each size
    python bench/small.py FOLDER --keep NAME       the run is kept in bench/runs/NAME

First thirty short notes of developers and thirty strangers, then the notes of two sets of projects, each project in a store
of its own and all in one, with strangers of three kinds. These are judged sets in `tests/support/judged`: what was asked
in other words was written before the rule was, and before any answer was looked at. Every question is asked as an agent
asks (`memory_search`, 5 hits), again without the model, and as the task of `memory_context` without recent memories.
"""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import add
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from memory import Config, Draft, Engine, Mode, Query
from memory.evaluate.judged import questions, read
from memory.schema.answer import Outcome
from report import setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.evaluate.judged import JudgedDocument, Question

RUNS = Path(__file__).parent / "runs"
JUDGED = Path(__file__).parents[1] / "tests" / "support" / "judged"
LIMIT = 5
EVERYDAY, KINDS = "s", ("far", "near", "half")
"""How the ids of the thirty strangers begin, and those of each kind of the others."""

MEASURED = (
    "memories | vectors | asked | right note in the first 5 | of these told nothing_relevant | kept by memory_context "
    "| told nothing_relevant without the model |"
)
HEAD = f"| {MEASURED} strangers told |"
HEAD_OF_PROJECTS = f"| notes | {MEASURED} " + " | ".join(f"{kind} strangers told" for kind in KINDS) + " |"


class Row(NamedTuple):
    """
    Attributes:
        found: Questions whose right note is among the first five; `denied` of these are told `nothing_relevant`.
        kept: Questions whose right note is in the context.
        unasked: Questions that are told `nothing_relevant` where no model may be asked, whether it was found or not.
        told: Strangers' questions that are told `nothing_relevant`, by kind, of so many `strangers`.
    """

    memories: int
    vectors: int
    asked: int
    found: int
    denied: int
    kept: int
    unasked: int
    told: Counter[str]
    strangers: Counter[str]

    def line(self, kinds: Sequence[str]) -> str:
        told = [f"{self.told[kind]} of {self.strangers[kind]}" for kind in kinds]
        return " | ".join([*(f"{number:,}" for number in self[:-2]), *told]) + " |"


def draft(document: JudgedDocument) -> Draft:
    return Draft(title=document.title[:200] or "-", what=document.text[:10_000], metadata={"id": document.id})


def kind(stranger: Question) -> str:
    """The letters that its id begins with."""
    return stranger.id.rstrip("-0123456789")


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
    answers = [(kind(one), engine.search(Query(one.text, LIMIT))) for one in strangers]
    told = Counter(name for name, answer in answers if answer.outcome is Outcome.NOTHING_RELEVANT)
    status = engine.maintenance.status()
    vectors = sum(filled for _, filled in status.generations)
    return Row(
        status.counts.memories, vectors, len(own), found, denied, kept, unasked, told, Counter(map(kind, strangers))
    )


@contextmanager
def store(documents: Sequence[JudgedDocument]) -> Iterator[Engine]:
    """A store of these documents alone, all of them embedded."""
    with TemporaryDirectory(prefix="memory-small-") as home:
        config = replace(Config(), home=home, embedding=replace(Config().embedding, fill="lazy"))
        with Engine.open(config, lasting=False) as engine:
            for document in documents:
                engine.save(draft(document))  # as an agent does: of what is saved together none is newer
            engine.vectors.embed()
            yield engine


def thirty(folder: Path | None, sizes: Sequence[int]) -> list[Row]:
    """The notes of developers, among as many documents of the folder as make each size."""
    notes = read(JUDGED / "developer_notes")
    strangers = questions(JUDGED / "strangers")
    fillers = [] if folder is None else list(read(folder).documents)
    Random(1).shuffle(fillers)
    measurements = []
    with store(notes.documents) as engine:
        for size in sizes:
            more = size - engine.maintenance.status().counts.memories
            engine.save_all([draft(fillers.pop()) for _ in range(more)])
            engine.vectors.embed()
            measurements.append(measured(engine, notes.questions, strangers))
    return measurements


def projects(name: str, strangers: Sequence[Question]) -> dict[str, Row]:
    """The notes of each project of a set alone, the sum of these rows, and the notes of all projects in one store."""
    notes = read(JUDGED / name)
    rows = {}
    for group in dict.fromkeys(document.group for document in notes.documents):
        with store([document for document in notes.documents if document.group == group]) as engine:
            own = [question for question in notes.questions if question.group == group]
            rows[str(group)] = measured(engine, own, [one for one in strangers if one.group in {group, None}])
    rows["sum"] = Row._make(reduce(add, column) for column in zip(*rows.values(), strict=True))
    with store(notes.documents) as engine:
        rows["all in one"] = measured(engine, notes.questions, strangers)
    return rows


def tables(found: Sequence[Row], sets: Sequence[dict[str, Row]]) -> str:
    rule = "| " + "---: | " * 8
    lines = [f"| {row.line([EVERYDAY])}" for row in found]
    text = [HEAD, rule.strip(), *lines]
    for by_project in sets:
        more = [f"| {name} | {row.line(KINDS)}" for name, row in by_project.items()]
        text += ["", HEAD_OF_PROJECTS, f"| --- {rule}---: | ---: |", *more]
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether a small store denies what it knows.")
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--sizes", default="30", help="memories, with commas, from 30 on")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/NAME")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    short = projects("short_notes", questions(JUDGED / "more_strangers"))
    agents = projects("agent_notes", questions(JUDGED / "agent_strangers"))
    text = tables(thirty(given.folder, sizes), [short, agents])
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
