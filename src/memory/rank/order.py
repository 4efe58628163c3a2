"""What time does to a ranking: a correction comes before what it corrects, and newer memories may weigh more."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from memory.schema.answer import Ranking, Scored
    from memory.schema.memory import MemoryId


def corrected(ranking: Ranking, successors: Mapping[MemoryId, MemoryId]) -> Ranking:
    """
    A ranking in which every memory comes after its successor, if both are ranked.

    The successor's best chunk moves right before the memory, with at least its score; nothing else moves.

    Args:
        successors: For each superseded memory, the one that replaced it.
    """
    best: dict[MemoryId, Scored] = {}
    for scored in ranking:
        best.setdefault(scored.memory, scored)
    done: set[MemoryId] = set()
    found: list[Scored] = []
    for scored in ranking:
        if scored.memory in done:
            if scored is not best[scored.memory]:
                found.append(scored)
            continue
        for memory in _line(scored.memory, successors):
            if memory in best and memory not in done:
                done.add(memory)
                found.append(best[memory]._replace(score=max(best[memory].score, scored.score)))
    return tuple(found)


def _line(memory: MemoryId, successors: Mapping[MemoryId, MemoryId]) -> list[MemoryId]:
    """A memory and its successors, newest first."""
    line = [memory]
    while (later := successors.get(line[-1])) is not None and later not in line:
        line.append(later)
    return line[::-1]


def aged(ranking: Ranking, changed: Mapping[MemoryId, datetime], moment: datetime, half_life: float) -> Ranking:
    """
    A ranking in which newer memories weigh more: score · (1 + 0.5^(age / half life)) / 2.

    Age never takes more than half. A negative score, which a cosine may be, drops by the same amount.

    Args:
        changed: When each memory was last changed; a memory that is missing here counts as new.
        half_life: Days, above 0.
    """

    def weighed(scored: Scored) -> Scored:
        days = max(0.0, (moment - changed.get(scored.memory, moment)).total_seconds() / 86_400)
        return scored._replace(score=scored.score - abs(scored.score) * (1 - 0.5 ** (days / half_life)) / 2)

    return tuple(sorted(map(weighed, ranking), key=lambda scored: (-scored.score, scored.chunk)))
