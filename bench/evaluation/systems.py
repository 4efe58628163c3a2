"""The systems compared: ways to search, each a name for some settings, and their answers to the questions."""

from __future__ import annotations

import re
from collections import defaultdict
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from memory.evaluate import Measures, measures
from memory.evaluate.systems import CALL, HYBRID, LIMIT, SYSTEMS as USUAL, System, answers, document_id
from memory.schema.query import Mode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.engine import Engine
    from memory.evaluate.judged import JudgedDocument, Question


GREP = "grep"
FRONTIER = "frontier"
"""In place of a system's name: all efforts."""

_AFTER_HYBRID = 1 + [system.name for system in USUAL].index(HYBRID)
SYSTEMS = (
    System(GREP, None),  # searches the files: see `grepped`
    *USUAL[:_AFTER_HYBRID],
    System("hybrid max", Mode.HYBRID, {"merge": "max", "combined": "off"}),
    System("hybrid rrf", Mode.HYBRID, {"merge": "rrf", "combined": "off"}),
    System("hybrid combined", Mode.HYBRID, {"merge": "minmax", "distilled": "auto", "combined": "auto"}),
    *USUAL[_AFTER_HYBRID:],
)
"""Those of `memory eval`, and more."""

EFFORTS = tuple(step / 10 for step in range(11))


def effort(value: float) -> System:
    """A point of the frontier."""
    return System(f"effort {value:.1f}", Mode.TIERED, {"gate": "auto", "effort": value})


# Asking them ---------------------------------------------------------------------

WORD = re.compile(r"\w+")
NOTHING_RIGHT = Measures(0.0, 0.0, 0.0, 0.0, 0.0)


class Asked(NamedTuple):
    """
    One question, as one system answered it.

    Attributes:
        seconds: Of the whole call.
        called: Whether the model was needed for the question's vector.
        tier, outcome: Empty if no engine answered.
        relevance, similarity: Of the first hit; None if there is no hit, or it has no such number.
    """

    measures: Measures[float]
    seconds: float
    called: bool = False
    tier: str = ""
    outcome: str = ""
    relevance: float | None = None
    similarity: float | None = None


def searched(engine: Engine, system: System, questions: Sequence[Question], each: Callable[[], None]) -> list[Asked]:
    """
    Ask an engine with a system's settings.

    Args:
        questions: One that no document answers has measures of 0.
        each: Called after each question.

    Raises:
        EmbedError: The system needs a model, and it cannot be used.
    """
    found = []
    for question, (answer, seconds) in zip(questions, answers(engine, system, questions, each), strict=True):
        ranking = [document_id(hit.memory) for hit in answer.hits]
        worth = measures(ranking, question.relevant) if question.relevant else NOTHING_RIGHT
        called = any(step.name == CALL for step in answer.steps)
        told = (answer.hits[0].relevance, answer.hits[0].similarity) if answer.hits else ()
        found.append(Asked(worth, seconds, called, str(answer.tier), str(answer.outcome), *told))
    return found


def grepped(
    documents: Sequence[JudgedDocument], questions: Sequence[Question], each: Callable[[], None]
) -> list[Asked]:
    """
    The baseline: documents ordered by how many different words of the question occur in their title and text, ignoring
    case, also inside other words; ties in the order of the file.
    """
    texts: defaultdict[str | None, list[tuple[str, str]]] = defaultdict(list)
    for document in documents:
        text = f"{document.title}\n{document.text}".lower()
        for group in {None, document.group}:
            texts[group].append((document.id, text))
    found = []
    for question in questions:
        begun = perf_counter()
        ranking = _grep(texts[question.group], question.text)
        seconds = perf_counter() - begun
        found.append(Asked(measures(ranking, question.relevant), seconds))
        each()
    return found


def _grep(texts: Sequence[tuple[str, str]], asked: str) -> list[str]:
    words = set(WORD.findall(asked.lower()))
    counted = [(sum(word in text for word in words), id) for id, text in texts]
    held = [(count, id) for count, id in counted if count]
    return [id for _, id in sorted(held, key=lambda one: -one[0])[:LIMIT]]


def grouped(foreign: Sequence[Question], documents: Sequence[JudgedDocument]) -> list[Question]:
    """
    Questions of another set for these documents, which none of them answers, whatever the ids of both sets are. If the
    documents have groups, the questions go round them.
    """
    groups = list(dict.fromkeys(document.group for document in documents))
    return [
        question._replace(group=groups[number % len(groups)], relevant=MappingProxyType({}))
        for number, question in enumerate(foreign)
    ]
