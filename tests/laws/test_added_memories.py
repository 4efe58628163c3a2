"""How far the best result stands out is a matter of what was found, not of what else is in the store."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from memory import Config, Draft, Engine
from memory.evaluate import judged
from memory.store.sqlite import SqliteStore

NOTES = Path(__file__).parents[1] / "support/judged/agent_notes"
ADDED = 2_000
SYLLABLES = [a + b for a in "bdfgklmnprstvz" for b in "aeiou"]


def unlike(dice: Random) -> Draft:
    """A note of words that no language has."""
    words = ["".join(dice.choices(SYLLABLES, k=4)) + "q" for _ in range(12)]
    return Draft(title=" ".join(words[:2]), what=" ".join(words[2:]))


@pytest.mark.parametrize("group", ["ops", "meter"])
def test_memories_that_share_no_word_with_a_question_move_its_verdict_hardly(tmp_path: Path, group: str) -> None:
    one, dice = judged.read(NOTES), Random(7)
    asked = [question.text for question in one.questions if question.group == group]
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="none"))
    with Engine(SqliteStore(config.database), config, lasting=False) as engine:
        engine.save_all([Draft(title=note.title, what=note.text) for note in one.documents if note.group == group])
        before = [engine.search(text).verdict for text in asked]
        engine.save_all([unlike(dice) for _ in range(ADDED)])
        after = [engine.search(text).verdict for text in asked]

    pairs = [*zip(before, after, strict=True)]
    assert max(abs(one.mass - other.mass) for one, other in pairs) < 0.05
    assert max(abs(one.coverage - other.coverage) for one, other in pairs) < 0.05
    assert sum(one.enough is not other.enough for one, other in pairs) <= 0.02 * len(pairs)
