"""How good the answers are in smaller stores, and how often a right one is denied there: stores drawn from a judged set."""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from evaluation.measures import Line, line
from evaluation.systems import Asked, grouped, searched
from memory.evaluate.judged import SEED, Judged, JudgedDocument, Question
from memory.evaluate.systems import HYBRID, KEYWORDS, NO_CALL, TIERED, System, chosen, opened, ticking
from memory.schema.answer import Outcome
from memory.schema.errors import Invalid, clipped_repr
from memory.schema.memory import ChunkId
from memory.text.tokens import passage
from memory.vectors.term_vectors import word_vectors
from memory.vectors.words import listed

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from memory.config import Config
    from memory.engine import Engine
    from memory.evaluate.systems import Progress, Watch
    from memory.schema.space import Vectors
    from memory.vectors import Role

SIZES = (10, 25, 50, 100, 200, 400, 1_000)
"""The usual sizes, in memories."""

ALL = "all"
"""In place of a size: the whole set, which is measured in any case."""

ASKED, AGAIN, STORES = 200, 4, 40
"""
How many questions are put to the stores of one size, over all of them, and about as many of strangers: at most so many
times as many as the set has, since the same question again says less each time. So many stores are drawn as that takes,
and at most this many.
"""

PAGE = 1_000  # passages read at once


class OfSize(NamedTuple):
    """
    The figures of one size, over all its stores.

    Attributes:
        documents: In each store.
        stores: How many were drawn; 1 for the whole set.
        questions: How many were asked, over all stores.
        lines: Of those of `compared` that the configuration can run.
        found: Questions with an answering document among the ten hits of `tiered`; `denied` of them were told
            `nothing_relevant`.
        strangers: Questions of other sets that `tiered` was asked; `told` of them were told `nothing_relevant`.
    """

    documents: int
    stores: int
    questions: int
    lines: tuple[Line, ...]
    found: int
    denied: int
    strangers: int
    told: int


class Sample(NamedTuple):
    """What one store answered: its own questions by the name of the system, those of strangers by `tiered`."""

    asked: Mapping[str, Sequence[Asked]]
    strangers: Sequence[Asked]


class Draw(NamedTuple):
    """One store: its documents in the order of the set, and what is asked of it. All questions are answered in it."""

    documents: tuple[JudgedDocument, ...]
    questions: tuple[Question, ...]
    strangers: tuple[Question, ...]


def parsed(text: str) -> tuple[int, ...]:
    """
    Sizes without `ALL`, smallest first, from a text such as "25, 100, all".

    Raises:
        Invalid: One is no number of memories.
    """
    names = {name.strip() for name in text.split(",")}
    for name in sorted(names - {ALL}):
        if not re.fullmatch("[1-9][0-9]{0,8}", name):
            hint = f"Sizes are numbers of memories with commas between them, or {ALL}: 10,100,{ALL}."
            raise Invalid(f"no size {clipped_repr(name)}", hint=hint)
    return tuple(sorted(map(int, names - {ALL})))


def compared(config: Config) -> tuple[System, ...]:
    """The systems measured at each size, without those that need a model if none is configured."""
    systems = chosen([KEYWORDS, HYBRID, NO_CALL, TIERED])
    return tuple(system for system in systems if not (system.dense and config.embedding.provider == "none"))


def by_size(
    engine: Engine,
    one: Judged,
    questions: Sequence[Question],
    strangers: Sequence[Question],
    *,
    sizes: Sequence[int],
    whole: Sample,
    watch: Watch,
) -> Iterator[OfSize]:
    """
    The figures of each size below that of the set, if any question can be asked of such a store; last of the whole set.

    Each store is one of its own, with its own statistics and term vectors. Its passages are not embedded again.

    Args:
        engine: On a store of the whole set, with all its vectors.
        questions: Of the set, from which those asked are drawn.
        strangers: Questions that the set does not answer.
        whole: What the whole set answered.
    """
    model = Remembering(engine) if engine.vectors.embedders.enabled else None
    for size in sizes:
        if size >= len(one.documents):
            continue
        draws = _draws(one, questions, strangers, size)
        with watch(f"{one.name}: {size:,} memories") as progress:
            samples = list(_samples(draws, one, engine.config, model, progress))
        if samples:
            yield _row(size, samples)
    asked = {system.name: whole.asked[system.name] for system in compared(engine.config)}
    yield _row(len(one.documents), [whole._replace(asked=asked)])


def _row(documents: int, samples: Sequence[Sample]) -> OfSize:
    """
    Args:
        samples: At least one, each with `tiered`.
    """
    asked = {name: [answer for sample in samples for answer in sample.asked[name]] for name in samples[0].asked}
    strangers = [answer for sample in samples for answer in sample.strangers]
    found = [answer for answer in asked[TIERED] if answer.measures.mrr10]
    lines = tuple(line(name, answers, asked.get(HYBRID)) for name, answers in asked.items())
    counts = (len(found), _denied(found), len(strangers), _denied(strangers))
    return OfSize(documents, len(samples), len(asked[TIERED]), lines, *counts)


def _denied(answers: Sequence[Asked]) -> int:
    return sum(answer.outcome == Outcome.NOTHING_RELEVANT for answer in answers)


# Drawing ---------------------------------------------------------------------------


def _draws(one: Judged, questions: Sequence[Question], strangers: Sequence[Question], size: int) -> list[Draw]:
    """Stores with at least one question each, with strangers for each."""
    random = Random(f"{SEED}, {size}")  # no secret
    draws: list[Draw] = []
    left = wanted = min(ASKED, AGAIN * len(questions))
    for _ in range(STORES):
        found = draw(one, questions, size, random)
        if asked := found.questions[:left]:
            draws.append(found._replace(questions=asked))
            left -= len(asked)
    each = min(len(strangers), -(-wanted // len(draws))) if draws else 0
    foreign = [tuple(grouped(random.sample(strangers, each), found.documents)) for found in draws]
    return [found._replace(strangers=own) for found, own in zip(draws, foreign, strict=True)]


def draw(one: Judged, questions: Sequence[Question], size: int, random: Random) -> Draw:
    """
    A store of so many documents, and all questions whose answering documents are in it, in random order.

    It is of as few groups as hold so many, since a user with few memories has few projects. Up to half of it, or more
    if the first question needs more, is what answers questions; the rest is any other documents.
    """
    pool = _pool(one.documents, size, random)
    ids = {document.id for document in pool}
    able = [question for question in questions if question.relevant.keys() <= ids and len(question.relevant) <= size]
    random.shuffle(able)
    held: set[str] = set()
    for question in able:
        more = held | question.relevant.keys()
        if not held or len(more) <= size // 2:
            held = more
    held |= set(random.sample([document.id for document in pool if document.id not in held], size - len(held)))
    asked = tuple(question for question in able if question.relevant.keys() <= held)
    return Draw(tuple(document for document in one.documents if document.id in held), asked, ())


def _pool(documents: Sequence[JudgedDocument], size: int, random: Random) -> list[JudgedDocument]:
    """The documents of groups picked at random, until there are enough."""
    groups: defaultdict[str | None, list[JudgedDocument]] = defaultdict(list)
    for document in documents:
        groups[document.group].append(document)
    pool: list[JudgedDocument] = []
    for group in random.sample(list(groups), len(groups)):
        if len(pool) < size:
            pool += groups[group]
    return pool


# Asking ----------------------------------------------------------------------------


def _samples(
    draws: Sequence[Draw], one: Judged, config: Config, model: Remembering | None, progress: Progress
) -> Iterator[Sample]:
    systems = compared(config)
    (tiered,) = chosen([TIERED])
    each = ticking(progress, sum(len(found.questions) * len(systems) + len(found.strangers) for found in draws))
    for found in draws:
        small = one._replace(documents=found.documents)
        with opened(small, config, None, embeds=model is not None, watch=_unwatched, embedder=model) as engine:
            asked = {system.name: searched(engine, system, found.questions, each) for system in systems}
            yield Sample(asked, searched(engine, tiered, found.strangers, each))


@contextmanager
def _unwatched(_label: str) -> Generator[Progress]:
    """For work that is part of other work with a progress bar."""
    yield lambda _done, _total: None


class Remembering:
    """
    The model of a store as an embedder for smaller stores: no text is embedded twice, and no passage that the store has a
    vector of. What is embedded all the same, such as strangers, is in the usage log of that store.

    Attributes:
        tokens: See `memory.vectors.Embedder`.
    """

    def __init__(self, engine: Engine) -> None:
        """
        Args:
            engine: On a store with vectors of the configured model.
        """
        embedders = engine.vectors.embedders
        generation, self._model = embedders.answering()
        self.provider, self.model = self._model.provider, self._model.model
        self.passage_prefix, self.tokens = self._model.passage_prefix, embedders.counter
        self._vectors: dict[tuple[Role, str], Vectors] = {}
        overlap, after = engine.config.chunking.overlap, ChunkId(0)
        while page := engine.store.term_vectors.pending(generation.id, PAGE, after=after, learned=None):
            for excerpt, vectors in page:
                windows = self._model.windows(passage(excerpt, overlap))
                if len(windows) == len(vectors):  # otherwise it was cut by another rule, and is embedded again
                    self._vectors |= {("passage", text): row for text, row in zip(windows, vectors, strict=True)}
            after = page[-1][0].id
        if words := word_vectors(engine.store, generation.id):
            names = listed()
            self._vectors |= {("passage", names[stem.decode()]): row.vector for stem, row in words.rows().items()}

    @property
    def dimension(self) -> int:
        return self._model.dimension

    @property
    def warm(self) -> bool:
        return self._model.warm

    def windows(self, text: str) -> Sequence[str]:
        return self._model.windows(text)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """See `memory.vectors.Embedder.embed`."""
        import numpy as np

        unknown = [text for text in dict.fromkeys(texts) if (role, text) not in self._vectors]
        if unknown:
            vectors = self._model.embed(unknown, role)
            self._vectors |= {(role, text): row for text, row in zip(unknown, vectors, strict=True)}
        rows = [self._vectors[role, text] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), self.dimension)
