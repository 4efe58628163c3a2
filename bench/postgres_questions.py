"""Real questions of judged sets among their passages, with names, digits and hyphens: a part of `postgres.py`."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING

from memory import Mode, Query
from postgres_judged import draft
from postgres_server import Processor
from report import Figure, barred, p95

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory import Draft, Engine
    from memory.evaluate.judged import Judged

STEP, HYBRID = 200, 150
"""Milliseconds that any step of a question may take, and that 99 % of hybrid searches stay below."""


def passages(sets: Sequence[Judged], size: int) -> list[Draft]:
    """So many of the passages of all sets, in turns in one of ten projects."""
    every = [document for one in sets for document in one.documents if document.text.strip()]
    some = Random(1).sample(every, min(size, len(every)))
    return [replace(draft(document), project=f"project{number % 10}") for number, document in enumerate(some)]


def questions(sets: Sequence[Judged], count: int) -> list[str]:
    """So many of the questions of all sets."""
    every = [question.text for one in sets for question in one.questions]
    return Random(2).sample(every, min(count, len(every)))


def steps(own: Engine, url: str, texts: Sequence[str], size: int, when: str) -> list[Figure]:
    """How long the longest step of each question takes, and a hybrid search as a whole."""
    own.search(Query("a connection, and what is read once", mode=Mode.HYBRID))
    processor = Processor(url)
    longest, whole, used = list[float](), list[float](), list[float]()
    for text in texts:
        before, begun = sum(processor.seconds()), perf_counter()
        answer = own.search(Query(text, mode=Mode.HYBRID))
        whole.append(1000 * (perf_counter() - begun))
        used.append(1000 * (sum(processor.seconds()) - before))
        longest.append(1000 * max(step.seconds for step in answer.steps))
    p99, of_processors = (quantiles(own, n=100, method="inclusive")[-1] for own in (whole, used))
    note = f"p99 {p99:.0f}; processor, client and server: {median(used):.0f}, p99 {of_processors:.0f}"
    found = Figure(f"hybrid search, the sets' own questions, {when}", size, median(whole), p95(whole), note=note)
    return [
        barred(found, f"p99 ≤ {HYBRID} ms", met=p99 <= HYBRID),
        _each(f"the longest step of each, {when}", longest, size),
    ]


def _each(what: str, longest: Sequence[float], size: int) -> Figure:
    found = Figure(
        what, size, median(longest), p95(longest), note=f"{len(longest)} questions, at most {max(longest):.0f}"
    )
    return barred(found, f"≤ {STEP} ms each", met=max(longest) <= STEP)
