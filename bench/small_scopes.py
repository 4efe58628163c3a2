"""
Whether a project of few notes is answered as well as by always asking the model: scopes of 6, 12 and 40 memories, cut from
judged sets.

    .venv/bin/python bench/small_scopes.py FOLDER [SET ...] [--cache FOLDER] [--most N] [--sizes 6,12,40] [--keep NAME]

A scope is cut for one question: at most three documents that answer it, the best graded first, and around them what is hard
to tell from these: in turn the next that keywords and the next that vectors find in the whole set, within the question's
group. A smaller scope is the beginning of a larger one. Each is a store of its own, at rest: embedded, learned from, with
the word list that every store has after a while.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import defaultdict
from dataclasses import replace
from itertools import chain, zip_longest
from pathlib import Path
from random import Random
from statistics import fmean
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from evaluation.sizes import Remembering
from memory.cli.options import progress
from memory.config import load
from memory.engine import Engine
from memory.evaluate import judged, ndcg
from memory.evaluate.systems import CALL, HYBRID, TIERED, answers, chosen, document_id, draft, opened, scope_of, settle
from memory.schema.query import Mode, Query
from report import setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.evaluate.judged import Judged, JudgedDocument, Question
    from memory.vectors import Embedder

RUNS = Path(__file__).parent / "runs"
ANSWERS = 3  # documents of a scope that answer its question, at most


class Scoped(NamedTuple):
    """One question in one scope: nDCG@10 of each system, and whether the tiered one called the model."""

    size: int
    worth: dict[str, float]
    called: bool


def cut(engine: Engine, one: Judged, question: Question, most: int) -> list[JudgedDocument]:
    """The documents of the largest scope of a question; its beginnings are the smaller ones."""
    by_id = {document.id: document for document in one.documents}
    queries = [Query(question.text, 100, mode=mode, scope=scope_of(question)) for mode in (Mode.KEYWORD, Mode.VECTOR)]
    rankings = [[document_id(hit.memory) for hit in engine.search(query).hits] for query in queries]
    right = sorted(question.relevant, key=lambda name: (-question.relevant[name], name))[:ANSWERS]
    hard = [
        id for id in dict.fromkeys(chain(*zip_longest(*rankings))) if id is not None and id not in question.relevant
    ]
    return [by_id[id] for id in [*right, *hard][:most]]


def asked(
    documents: Sequence[JudgedDocument],
    question: Question,
    sizes: Sequence[int],
    embedder: Embedder,
    words: Sequence[Path],
) -> Iterator[Scoped]:
    """What each system answers in the scopes of a question."""
    with TemporaryDirectory(prefix="memory-scope-") as home:
        for file in words:
            shutil.copy(file, home)
        config = replace(load(), home=home)
        dice, begin = Random(question.id), 0
        with Engine.open(config, embedder=embedder, lasting=False) as engine:
            for size in sizes:
                further = [*documents[begin:size]]
                dice.shuffle(further)  # what was saved first is no sign of an answer
                for document in further:
                    engine.save(draft(document))  # as an agent does: of what is saved together none is newer
                begin = size
                settle(engine, lambda *_: None)
                yield _scoped(engine, question, size)


def _scoped(engine: Engine, question: Question, size: int) -> Scoped:
    given = {one.name: answers(engine, one, [question], lambda: None)[0][0] for one in chosen((HYBRID, TIERED))}
    worth = {
        name: ndcg([document_id(hit.memory) for hit in answer.hits], question.relevant, 10)
        for name, answer in given.items()
    }
    return Scoped(size, worth, any(step.name == CALL for step in given[TIERED].steps))


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Tiered search in scopes of few memories, beside always asking the model."
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--cache", type=Path, help="where the databases of whole sets stay from one run to the next")
    parser.add_argument("--most", type=int, default=100, help="questions of one set; 100 by default")
    parser.add_argument("--sizes", default="6,12,40", help="memories of a scope, with commas, ascending")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/NAME")
    given = parser.parse_args()
    sizes = [int(size) for size in given.sizes.split(",")]
    config, begun = load(), perf_counter()
    rows: dict[tuple[str, int], list[Scoped]] = defaultdict(list)
    for folder in judged.folders([given.folder / name for name in given.sets] or [given.folder]):
        one = judged.read(folder)
        with opened(one, config, given.cache, embeds=True, watch=progress) as engine:
            embedder = Remembering(engine)
            words = [*Path(engine.config.home).glob("words-*")]
            for question in judged.sample(one.questions, given.most):
                documents = cut(engine, one, question, sizes[-1])
                for scoped in asked(documents, question, sizes, embedder, words):
                    rows[one.name, scoped.size].append(scoped)
        print(f"small_scopes: {one.name} is done", file=sys.stderr, flush=True)
    print(table(rows))
    if given.keep:
        keep(given, rows, perf_counter() - begun)


def keep(given: argparse.Namespace, rows: dict[tuple[str, int], list[Scoped]], seconds: float) -> None:
    command = ["python bench/small_scopes.py FOLDER", *given.sets, f"--most {given.most}", f"--sizes {given.sizes}"]
    said = setting() | {"command": " ".join(command), "took": f"{seconds:,.0f} s"}
    lines = [f"# {given.keep}", "", *(f"- {name}: {fact}" for name, fact in said.items()), "", table(rows), ""]
    folder = RUNS / given.keep
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text("\n".join(lines), "utf-8")


def table(rows: dict[tuple[str, int], list[Scoped]]) -> str:
    lines = ["| set | memories | questions | hybrid | tiered | of hybrid | calls |", "| --- " + "| ---: " * 6 + "|"]
    shares: dict[int, list[float]] = defaultdict(list)
    calls: dict[int, list[float]] = defaultdict(list)
    for (name, size), scoped in rows.items():
        hybrid, tiered = (fmean(one.worth[system] for one in scoped) for system in (HYBRID, TIERED))
        called = fmean(one.called for one in scoped)
        shares[size].append(tiered / hybrid)
        calls[size].append(called)
        lines.append(
            f"| {name} | {size} | {len(scoped)} | {hybrid:.3f} | {tiered:.3f} | {tiered / hybrid:.3f} | {called:.0%} |"
        )
    for size, share in shares.items():
        mean = f"{fmean(share):.3f}, worst {min(share):.3f}"
        lines += [f"| mean | {size} | | | | {mean} | {fmean(calls[size]):.0%} |"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
