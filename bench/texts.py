"""What benches keep and ask: the same memories, questions and vectors in every run."""

from __future__ import annotations

import random
import re
import zlib
from pydoc_data.topics import topics
from typing import TYPE_CHECKING

import numpy as np

from memory import Draft, Kind
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

WORDS, SPAN = 57, 9  # of a memory; of a piece of the documentation that stays together
FORMS = (
    "how does the {} work with {} and {}?",
    "why did we choose {} for the {} of a {}",
    "what happens to the {} when its {} is {}?",
    "where do we keep the {} that each {} has in its {}",
)


def documentation() -> list[str]:
    """Its words."""
    return " ".join(re.sub(r"[*=~^+|`-]{2,}|::", " ", topics[name]) for name in sorted(topics)).split()


def pieces(words: Sequence[str], dice: random.Random, count: int) -> list[str]:
    """So many words, from as many places as it takes."""
    starts = [dice.randrange(len(words) - SPAN) for _ in range(-(-count // SPAN))]
    return [word for start in starts for word in words[start : start + SPAN]][:count]


def drafts(count: int) -> Iterator[Draft]:
    """The first so many of an endless row of notes, the same in every run."""
    words = documentation()
    dice = random.Random(7)
    for number in range(count):
        text = pieces(words, dice, WORDS)
        yield Draft(
            title=" ".join(text[:6])[:200],
            what=" ".join(text[6:]),
            tags=(f"tag{number % 50}",),
            project=f"project{number % 10}",
            category=("decision", "bug", "pattern", "learning", "context")[number % 5],
        )


def documents(count: int) -> Iterator[Draft]:
    """
    The first so many of an endless row of what agents keep in sessions, the same in every run: Markdown of 5 to 12
    sections of some 100 words each, a chunk a section. A third are reports, of 60 sessions with 5 iterations and 2 agents.
    """
    words = documentation()
    dice = random.Random(7)
    kinds = (
        Kind.REPORT,
        Kind.WORKING_MEMORY,
        Kind.KNOWLEDGE_BASE,
        Kind.REPORT,
        Kind.WORKING_MEMORY,
        Kind.SYSTEM_MEMORY,
    )

    def said(least: int, most: int) -> str:
        text = pieces(words, dice, dice.randint(least, most))
        return " ".join(re.sub(r"^(?:[#>*+-]+|\d+[.)])", "", word) or "and" for word in text)

    for number in range(count):
        place, kind = number // len(kinds), kinds[number % len(kinds)]
        sections = [
            f"{'#' * (1 + min(n, 1) + (n % 3 > 1))} {said(3, 5)}\n\n{said(50, 150)}\n"
            for n in range(dice.randint(5, 12))
        ]
        of_session = {
            "session_id": f"session{place % 60}",
            "session_iter": 1 + place // 60 % 5,
            "task_code": f"task{number % 20}",
        }
        yield Draft(
            kind=kind,
            title=said(6, 6)[:200],
            body="\n".join(sections),
            agent_id=f"agent{place // 300 % 2}",
            **of_session if kind is not Kind.KNOWLEDGE_BASE else {},
        )


def questions(kept: Sequence[Draft], *, seed: int) -> Iterator[str]:
    """Without end: in turn with words of one memory, which keywords answer, and of three, which they often do not."""
    dice = random.Random(seed)
    while True:
        for sources in (1, 3):
            texts = [f"{draft.title} {draft.what} {draft.body}" for draft in dice.sample(kept, sources)] * (
                3 // sources
            )
            words = [
                dice.choice([w for w in re.findall(r"\b[a-z]{4,}\b", text) if w not in STOP] or ["x"]) for text in texts
            ]
            yield dice.choice(FORMS).format(*words)


class Instant:
    """Unit vectors in 64 clusters, from the text's checksum, in microseconds."""

    provider, dimension, warm = "local", 384, True

    def __init__(self, model: str = "all-MiniLM-L6-v2") -> None:
        self.model = model
        dice = np.random.default_rng(1)
        self._centres = dice.standard_normal((64, self.dimension), dtype=np.float32)
        self._noise = dice.standard_normal((4096, self.dimension), dtype=np.float32)

    def windows(self, text: str) -> Sequence[str]:
        return (text,)

    def embed(self, texts: Sequence[str], role: str) -> np.ndarray:
        del role
        sums = np.array([zlib.crc32(text.encode()) for text in texts], dtype=np.uint32)
        vectors = self._centres[sums % 64] + self._noise[sums // 64 % 4096]
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
