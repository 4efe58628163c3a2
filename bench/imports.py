"""
How fast an import stores, and how fast it embeds what it stored.

    python bench/imports.py [--files 1000] [--embedded 60]       about a minute
    python bench/imports.py --keep NAME                          the run is kept in bench/runs/NAME

Each row is a process of its own, as a person runs it: CPU seconds of `memory import`, the start included, and the most
memory that it held. The texts are words by chance, 360 a file; `--embedded` of the files are embedded with the local
model too. A conversation has four turns of 60 words, an entity two observations.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from report import setting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RUNS = Path(__file__).parent / "runs"
WORDS = (
    "pool retry cache index lock queue shard trace token header deploy branch merge build test replica leader".split()
)
HEAD = "| what | files | memories | CPU s | a second | peak MB |\n|---|---:|---:|---:|---:|---:|"
CHILD = (
    "import json, resource, subprocess, sys\n"
    "subprocess.run(sys.argv[1:], check=True, stdout=2)\n"
    "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    "print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))\n"
)


def words(chance: random.Random, count: int) -> str:
    return " ".join(chance.choices(WORDS, k=count))


def markdown(folder: Path, count: int, chance: random.Random) -> int:
    for number in range(count):
        front = f"---\ntitle: Note {number}\ntags: [a, b{number % 7}]\ndate: 2025-01-{number % 28 + 1:02d}\n---\n"
        text = "\n\n".join(words(chance, 60) for _ in range(6))
        (folder / f"n{number}.md").write_text(f"{front}# Heading {number}\n\n{text}\n")
    return count


def transcripts(folder: Path, count: int, chance: random.Random) -> int:
    for number in range(count):
        lines = [
            {
                "type": role,
                "sessionId": f"s{number}",
                "cwd": "/home/keeper/harbour",
                "timestamp": "2026-01-01T00:00:00Z",
                "message": {"role": role, "content": words(chance, 60)},
            }
            for role in ("user", "assistant") * 2
        ]
        (folder / f"s{number}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return count


def chatgpt(folder: Path, count: int, chance: random.Random) -> int:
    found = []
    for number in range(count):
        mapping, parent = {}, None
        for turn, role in enumerate(("user", "assistant") * 2):
            content = {"content_type": "text", "parts": [words(chance, 60)]}
            message = {"author": {"role": role}, "create_time": 1.7e9 + turn, "content": content}
            mapping[str(turn)] = {"message": message, "parent": parent}
            parent = str(turn)
        found.append({"id": f"c{number}", "title": f"Chat {number}", "mapping": mapping, "current_node": parent})
    (folder / "conversations.json").write_text(json.dumps(found))
    return 1


def graph(folder: Path, count: int, chance: random.Random) -> int:
    with (folder / "memory.jsonl").open("w") as file:
        for number in range(count):
            facts = [words(chance, 8) for _ in range(2)]
            row = {"type": "entity", "name": f"e{number}", "entityType": "t", "observations": facts}
            file.write(json.dumps(row) + "\n")
        for number in range(1, count):
            row = {"type": "relation", "from": f"e{number}", "to": f"e{number // 2}", "relationType": "is below"}
            file.write(json.dumps(row) + "\n")
    return 1


MAKERS: dict[str, Callable[[Path, int, random.Random], int]] = {
    "Markdown with front matter": markdown,
    "Claude Code transcripts": transcripts,
    "conversations of a ChatGPT export": chatgpt,
    "entities and as many relations": graph,
}


def measured(folder: Path, home: Path, *, model: bool) -> tuple[float, float]:
    """CPU seconds and peak megabytes of one import."""
    variables = os.environ | {"MEMORY_HOME": str(home), "MEMORY_EMBEDDING_WORDS": "never"}
    variables |= {"MEMORY_EMBEDDING_PROVIDER": "local"} if model else {"MEMORY_EMBEDDING_FILL": "lazy"}
    command = [sys.executable, "-c", CHILD, sys.executable, "-m", "memory", "import", str(folder)]
    ran = subprocess.run(command, env=variables, check=True, capture_output=True)
    seconds, megabytes = json.loads(ran.stdout)
    return seconds, megabytes


def rows(files: int, embedded: int) -> Iterator[str]:
    for what, make in MAKERS.items():
        with TemporaryDirectory() as place:
            folder, home = Path(place, "files"), Path(place, "home")
            folder.mkdir()
            made = make(folder, files, random.Random(1))
            for name in (what, f"{what}, again"):
                seconds, megabytes = measured(folder, home, model=False)
                yield f"| {name} | {made:,} | {files:,} | {seconds:.2f} | {files / seconds:,.0f} | {megabytes:.0f} |"
    with TemporaryDirectory() as place:
        folder = Path(place, "files")
        folder.mkdir()
        markdown(folder, embedded, random.Random(1))
        seconds, megabytes = measured(folder, Path(place, "home"), model=True)
        rate = embedded / seconds
        yield f"| Markdown, embedded too | {embedded:,} | {embedded:,} | {seconds:.2f} | {rate:,.1f} | {megabytes:.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--embedded", type=int, default=60)
    parser.add_argument("--keep", metavar="NAME")
    given = parser.parse_args()
    lines = [HEAD]
    print(HEAD)
    for row in rows(given.files, given.embedded):
        print(row, flush=True)
        lines.append(row)
    if given.keep:
        (RUNS / given.keep).mkdir(parents=True)
        about = [f"- {name}: {value}" for name, value in setting().items()]
        text = "\n".join([f"# {given.keep}", "", *about, "", *lines, ""])
        (RUNS / given.keep / "README.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
