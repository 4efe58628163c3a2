"""
Whether small neighbouring sections should share a chunk: Markdown asked for what it says, by chunk, with the local model.

    python bench/packing.py FOLDER [FOLDER ...] [--most 15] [--keep NAME]

Of each folder the Markdown files of 3 to 60 KB are taken, `--most` at random. Each chunk is kept as a memory of its own, with the path of
its headings as title. "packed n" joins neighbouring chunks below the same first two headings while they have at most n
tokens together. Two sorts of questions: six words of a sentence, in their order, and the last two headings of a section.
An answer is found if the place that was asked for is in what the hits show, as far as a number of tokens: larger chunks show more of
it in fewer places, so both are charged alike. Questions share their words with the text: nobody paraphrased them.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from memory import Config, Draft, Engine, Mode, Query
from memory.text.chunk import chunk
from memory.text.terms import STOP
from memory.vectors.local.embedder import LocalEmbedder
from report import setting

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from memory.schema.memory import Chunk

RUNS = Path(__file__).parent / "runs"
PACKED = (0, 250, 400)  # tokens; 0 leaves the chunks as they are
BUDGETS = (500, 1000, 2000)
WORDS = 6
LEAST, MOST = 3_000, 60_000  # characters of a file
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
WORD = re.compile(r"[A-Za-z][\w-]+")


class Part(NamedTuple):
    """A slice of a file that is found as one."""

    file: int
    start: int
    stop: int
    title: str
    tokens: int


class Asked(NamedTuple):
    """A question, and the place in a file that answers it."""

    text: str
    file: int
    place: int


def packed(chunks: Sequence[Chunk], most: int) -> Iterator[Sequence[Chunk]]:
    """Neighbours below the same first two headings, as many as have at most so many tokens; each alone if that is 0."""
    group: list[Chunk] = []
    for one in chunks:
        joins = group and one.section and one.section == group[-1].section
        if group and not (joins and sum(part.token_count for part in group) + one.token_count <= most):
            yield group
            group = []
        group.append(one)
    if group:
        yield group


def parts(files: Sequence[str], chunks: Sequence[Sequence[Chunk]], most: int) -> list[Part]:
    found = []
    for number in range(len(files)):
        for group in packed(chunks[number], most):
            title = " > ".join(header.lstrip("# ") for header in group[0].header_path)[:200] or "-"
            size = sum(part.token_count for part in group)
            found.append(Part(number, group[0].start, group[-1].stop, title, size))
    return found


def of_sentences(files: Sequence[str], chunks: Sequence[Sequence[Chunk]], dice: Random) -> Iterator[Asked]:
    for number, text in enumerate(files):
        for one in chunks[number]:
            start = one.start
            for sentence in SENTENCE.split(text[one.start : one.stop]):
                place = text.find(sentence, start, one.stop)
                words = [word for word in WORD.findall(sentence) if word.lower() not in STOP]
                if place >= 0 and len(words) >= 2 * WORDS and "#" not in sentence:
                    chosen = sorted(dice.sample(range(len(words)), WORDS))
                    yield Asked(" ".join(words[n] for n in chosen), number, place)
                start = max(place, start)


def of_headings(chunks: Sequence[Sequence[Chunk]]) -> Iterator[Asked]:
    for number, several in enumerate(chunks):
        for one in several:
            if len(one.header_path) > 1 and one.type == "section":
                yield Asked(" ".join(header.lstrip("# ") for header in one.header_path[-2:]), number, one.start)


def asked(files: Sequence[str], chunks: Sequence[Sequence[Chunk]], most: int) -> Mapping[str, Sequence[Asked]]:
    dice = Random(1)
    sorts = {"sentences": list(of_sentences(files, chunks, dice)), "headings": list(of_headings(chunks))}
    return {name: dice.sample(every, min(most, len(every))) for name, every in sorts.items() if every}


def shares(engine: Engine, found: Sequence[Part], questions: Sequence[Asked], mode: Mode) -> list[float]:
    """Of the questions, those whose place is in the first hits of at most so many tokens; and in the first hit."""
    hits_of = [0] * (len(BUDGETS) + 1)
    for question in questions:
        shown = 0
        for rank, hit in enumerate(engine.search(Query(question.text, 20, mode=mode)).hits):
            part = found[int(str(hit.memory.metadata["part"]))]
            shown += part.tokens
            if part.file == question.file and part.start <= question.place < part.stop:
                hits_of[0] += not rank
                for n, budget in enumerate(BUDGETS, 1):
                    hits_of[n] += shown <= budget
                break
    return [count / len(questions) for count in hits_of]


def rows(folder: Path, most: int, most_questions: int) -> Iterator[str]:
    paths = [path for path in sorted(folder.rglob("*.md")) if LEAST <= path.stat().st_size <= MOST]
    files = [path.read_text("utf-8", errors="replace") for path in Random(1).sample(paths, min(most, len(paths)))]
    count = LocalEmbedder().tokens
    chunks = [chunk(text, count=count) for text in files]
    questions = asked(files, chunks, most_questions)
    for size in PACKED:
        found = parts(files, chunks, size)
        with TemporaryDirectory(prefix="memory-packing-") as home:
            config = replace(Config(), home=home, embedding=replace(Config().embedding, fill="lazy"))
            with Engine.open(config, lasting=False) as engine:
                drafts = [
                    Draft(title=part.title, what=files[part.file][part.start : part.stop], metadata={"part": str(n)})
                    for n, part in enumerate(found)
                ]
                engine.save_all(drafts)
                engine.vectors.embed()
                for name, several in questions.items():
                    for mode in (Mode.TIERED, Mode.HYBRID):
                        numbers = " | ".join(f"{share:.1%}" for share in shares(engine, found, several, mode))
                        middle = sorted(part.tokens for part in found)[len(found) // 2]
                        how = f"packed {size}" if size else "as it is"
                        yield f"| {folder.name} | {how} | {len(found):,} | {middle} | {name} {len(several)} | {mode} | {numbers} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Whether small neighbouring sections should share a chunk.")
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--most", type=int, default=15, help="files of a folder")
    parser.add_argument("--questions", type=int, default=150, help="of each sort and folder, at most")
    parser.add_argument("--keep", metavar="NAME", help="write the run to bench/runs/NAME")
    given = parser.parse_args()
    budgets = " | ".join(f"in {budget:,} tokens" for budget in BUDGETS)
    lines = [
        f"| folder | chunks | how many | median tokens | questions | mode | first | {budgets} |",
        "|" + " --- |" * 10,
    ]
    print("\n".join(lines), flush=True)
    for folder in given.folders:
        for line in rows(folder, given.most, given.questions):
            print(line, flush=True)
            lines.append(line)
    if given.keep:
        names = " ".join(folder.name for folder in given.folders)
        facts = setting() | {"command": f"python bench/packing.py {names} --most {given.most}"}
        place = RUNS / given.keep
        place.mkdir(parents=True, exist_ok=True)
        head = [f"# {place.name}", "", *(f"- {name}: {fact}" for name, fact in facts.items()), "", *lines, ""]
        (place / "README.md").write_text("\n".join(head), "utf-8")


if __name__ == "__main__":
    main()
