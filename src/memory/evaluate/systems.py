"""The systems compared: ways to search, each a name for some settings, and their answers to the questions."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.engine import Engine
from memory.schema.errors import Invalid, did_you_mean
from memory.schema.query import ACTIVE, Mode, Query, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.config.settings import SearchSettings
    from memory.evaluate.judged import Question
    from memory.schema.answer import Answer
    from memory.schema.memory import Memory


class System(NamedTuple):
    """
    Attributes:
        changes: Search settings that differ from the user's, by name.
        dense: Whether it cannot answer without a model.
    """

    name: str
    mode: Mode
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
        return self.mode is not Mode.KEYWORD


KEYWORDS, HYBRID, COUNT, NO_CALL, TIERED = "keywords", "hybrid minmax", "count gate", "no call", "tiered"

SYSTEMS = (
    System(KEYWORDS, Mode.KEYWORD),
    System("vectors", Mode.VECTOR),
    # With the model's vector alone, so that the yardstick does not move with what a store has learned.
    System(HYBRID, Mode.HYBRID, {"merge": "minmax", "combined": "off"}),
    # the documented system, whatever the user has set
    System(COUNT, Mode.TIERED, {"profile": "documented", "min_fts_results": 3, "vector_weight": 0.7}),
    System(NO_CALL, Mode.TIERED, {"gate": "never"}),
    System(TIERED, Mode.TIERED),
)


def chosen(names: Sequence[str], systems: Sequence[System] = SYSTEMS) -> tuple[System, ...]:
    """
    The systems with these names, in the order of the table.

    Raises:
        Invalid: No name is given, or one does not exist; the error suggests the nearest.
    """
    known = [system.name for system in systems]
    if not names:
        raise Invalid("no system is named", hint=f"There are: {', '.join(known)}.")
    for one in names:
        if one not in known:
            raise Invalid(f"no system {one!r}", hint=did_you_mean(one, known))
    return tuple(system for system in systems if system.name in names)


# Asking them ---------------------------------------------------------------------

LIMIT = 10  # hits that the measures look at
CALL = "embed"  # the step of `memory.search.retrievers` that needs the model


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
    config = replace(engine.config, search=system.settings(engine.config.search))
    asked = Engine(engine.store, config, lasting=False)
    asked.vectors.embedders = embedders = engine.vectors.embedders

    def answer(question: Question) -> Answer:
        scope = ACTIVE if question.group is None else Scope(projects=frozenset({question.group}))
        return asked.search(Query(question.text, LIMIT, mode=system.mode, scope=scope))

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


def document_id(memory: Memory) -> str:
    """The id of the document from which a memory was made."""
    return str(memory.metadata["id"])
