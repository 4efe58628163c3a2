"""
Whether the newer of two notes that contradict each other comes first, and is named when it is saved.

    .venv/bin/python bench/pairs.py [FILE ...] [--model local|none] [--among]

Each file has pairs in columns: older, newer, question. All older notes are saved, then all newer ones, in one store; then each
question is asked, five hits, as an agent asks and by keyword alone. Of `different.tsv` both notes of a pair are saved; none
replaces the other. With `--among` those are in the store of the questions too.
The rules were made with every other pair: both halves are shown.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from memory import Config, Draft, Engine, Mode, Query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Memory

JUDGED = Path(__file__).parents[1] / "tests" / "support" / "judged" / "contradictions"
LIMIT = 5


def rows(file: Path) -> list[list[str]]:
    return [line.split("\t") for line in file.read_text(encoding="utf-8").splitlines()[1:] if line]


def opened(folder: str, model: str) -> Engine:
    config = Config(home=Path(folder))
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
            told = engine.similar(new) or engine.outdated(new)
            found.append(told is not None and told.id == old.id)
        return found


def line(what: str, found: Sequence[bool]) -> str:
    return f"| {what} | {sum(found)} of {len(found)} | {sum(found[::2])} | {sum(found[1::2])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--model", choices=("local", "none"), default="local")
    parser.add_argument("--among", action="store_true")
    wanted = parser.parse_args()
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
