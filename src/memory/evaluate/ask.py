"""Asking: every question to one system, with what it was worth, how long it took and what it needed."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

from memory.engine import Engine
from memory.evaluate.build import name
from memory.evaluate.measures import Measures, measures
from memory.schema.query import ACTIVE, Query, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memory.evaluate.judged import Document, Question
    from memory.evaluate.systems import System
    from memory.schema.answer import Answer

LIMIT = 10  # hits: what the measures look at
CALL = "embed"  # the step of `memory.search.retrievers` that needs the question's vector from the model
WORD = re.compile(r"\w+")


class Asked(NamedTuple):
    """
    One question, as one system answered it.

    Attributes:
        seconds: Of the whole call.
        called: Whether the model was needed for the question's vector.
        tier, outcome: Empty where no engine answered.
    """

    measures: Measures
    seconds: float
    called: bool = False
    tier: str = ""
    outcome: str = ""


class Searching:
    """
    A system on an engine's store.

    The store and the loaded model are shared with the other systems, so that none pays for loading them; the vectors of
    questions are not, so that each system makes those it needs.
    """

    def __init__(self, engine: Engine, system: System) -> None:
        assert system.mode is not None  # noqa: S101  # that one is `grepped`
        self._mode = system.mode
        config = replace(engine.config, search=system.settings(engine.config.search))
        self._engine = Engine(engine.store, config, lasting=False)
        self._engine.vectors.embedders = engine.vectors.embedders

    def answers(self, questions: Sequence[Question], each: Callable[[], None]) -> list[tuple[Answer, float]]:
        """The answers, with the seconds they took."""
        self._forget()
        self._answer(questions[0])  # what is made at first use is no part of an answer's time
        self._forget()
        found = []
        for question in questions:
            begun = perf_counter()
            answer = self._answer(question)
            found.append((answer, perf_counter() - begun))
            each()
        return found

    def _answer(self, question: Question) -> Answer:
        scope = ACTIVE if question.group is None else Scope(projects=frozenset({question.group}))
        return self._engine.search(Query(question.text, LIMIT, mode=self._mode, scope=scope))

    def _forget(self) -> None:
        self._engine.vectors.embedders.forget_queries()


def searched(engine: Engine, system: System, questions: Sequence[Question], each: Callable[[], None]) -> list[Asked]:
    """
    Ask an engine with a system's settings.

    Args:
        each: Called after each question.

    Raises:
        EmbedError: The system needs a model, and it cannot be used.
    """
    found = []
    for question, (answer, seconds) in zip(questions, Searching(engine, system).answers(questions, each), strict=True):
        worth = measures([name(hit.memory) for hit in answer.hits], question.relevant)
        called = any(step.name == CALL for step in answer.steps)
        found.append(Asked(worth, seconds, called, str(answer.tier), str(answer.outcome)))
    return found


def grepped(documents: Sequence[Document], questions: Sequence[Question], each: Callable[[], None]) -> list[Asked]:
    """
    The baseline: documents ordered by how many different words of the question their title and text hold as a part of
    theirs, whatever the case; of equally many, the first of the file.
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
