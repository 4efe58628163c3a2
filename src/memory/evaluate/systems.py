"""The systems compared: ways to search, each a name for some settings, and their answers to the questions."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.engine import Engine
from memory.evaluate.measures import NOTHING_RIGHT, Measures, measures
from memory.schema.errors import Invalid, did_you_mean
from memory.schema.query import ACTIVE, Mode, Query, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.config.settings import SearchSettings
    from memory.evaluate.judged import Document, Question
    from memory.schema.answer import Answer
    from memory.schema.memory import Memory


class System(NamedTuple):
    """
    Attributes:
        mode: None searches the files, as grep would.
        changes: Search settings that differ from the user's, by name.
        dense: Whether it cannot answer without a model.
    """

    name: str
    mode: Mode | None
    changes: Mapping[str, Any] = MappingProxyType({})

    def settings(self, own: SearchSettings) -> SearchSettings:
        """The user's settings with the changes of this system, which no profile of theirs undoes."""
        return replace(own, **({"profile": "measured", **self.changes} if self.changes else {}))

    @property
    def dense(self) -> bool:
        return self.mode in (Mode.VECTOR, Mode.HYBRID)

    @property
    def embeds(self) -> bool:
        """Whether it may call a model, or use what one has made."""
        return self.mode not in (None, Mode.KEYWORD)


GREP, KEYWORDS, HYBRID, COUNT, NO_CALL, TIERED = (
    "grep",
    "keywords",
    "hybrid minmax",
    "count gate",
    "no call",
    "tiered",
)
FRONTIER = "frontier"
"""In place of a system's name: all efforts."""

SYSTEMS = (
    System(GREP, None),
    System(KEYWORDS, Mode.KEYWORD),
    System("vectors", Mode.VECTOR),
    # With the model's vector alone, so that the yardstick does not move with what a store has learned.
    System(HYBRID, Mode.HYBRID, {"merge": "minmax", "combined": "off"}),
    System("hybrid max", Mode.HYBRID, {"merge": "max", "combined": "off"}),
    System("hybrid rrf", Mode.HYBRID, {"merge": "rrf", "combined": "off"}),
    System("hybrid combined", Mode.HYBRID, {"merge": "minmax", "distilled": "auto", "combined": "auto"}),
    System(  # the documented system, whatever the user has set
        COUNT,
        Mode.TIERED,
        {
            "profile": "documented",
            "min_fts_results": 3,
            "keyword_weight": 0.3,
            "vector_weight": 0.7,
        },
    ),
    System(NO_CALL, Mode.TIERED, {"gate": "never"}),
    System(TIERED, Mode.TIERED),
)

EFFORTS = tuple(step / 10 for step in range(11))


def effort(value: float) -> System:
    """A point of the frontier."""
    return System(f"effort {value:.1f}", Mode.TIERED, {"gate": "auto", "effort": value})


def chosen(names: Sequence[str]) -> tuple[System, ...]:
    """
    The systems with these names, in the order of the table; "frontier" may be among them.

    Raises:
        Invalid: No name is given, or one does not exist; the error suggests the nearest.
    """
    known = [*(system.name for system in SYSTEMS), FRONTIER]
    if not names:
        raise Invalid("no system is named", hint=f"There are: {', '.join(known)}.")
    for one in names:
        if one not in known:
            raise Invalid(f"no system {one!r}", hint=did_you_mean(one, known))
    return tuple(system for system in SYSTEMS if system.name in names)


# Asking them ---------------------------------------------------------------------

LIMIT = 10  # hits that the measures look at
CALL = "embed"  # the step of `memory.search.retrievers` that needs the model
WORD = re.compile(r"\w+")


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


def answers(
    engine: Engine, system: System, questions: Sequence[Question], each: Callable[[], None]
) -> list[tuple[Answer, float]]:
    """
    A system's answers on an engine's store, each with its seconds.

    It shares the store and the loaded model with the other systems, so that none pays for loading them; but not the
    vectors of questions, so that each system makes those it needs.

    Args:
        each: Called after each question.
    """
    assert system.mode is not None  # noqa: S101  # the system without a mode is `grepped`
    mode, config = system.mode, replace(engine.config, search=system.settings(engine.config.search))
    asked = Engine(engine.store, config, lasting=False)
    asked.vectors.embedders = embedders = engine.vectors.embedders

    def answer(question: Question) -> Answer:
        scope = ACTIVE if question.group is None else Scope(projects=frozenset({question.group}))
        return asked.search(Query(question.text, LIMIT, mode=mode, scope=scope))

    embedders.forget_queries()
    for first in questions[:1]:
        answer(first)  # creates what is made at first use, which is not part of an answer's time
    embedders.forget_queries()
    found = []
    for question in questions:
        begun = perf_counter()
        found.append((answer(question), perf_counter() - begun))
        each()
    return found


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


def grepped(documents: Sequence[Document], questions: Sequence[Question], each: Callable[[], None]) -> list[Asked]:
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


def document_id(memory: Memory) -> str:
    """The id of the document from which a memory was made."""
    return str(memory.metadata["id"])
