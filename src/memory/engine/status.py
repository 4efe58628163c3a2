"""Status: how much is saved, which vectors there are, what is wrong and how to repair it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Notice
from memory.schema.document import Embedding
from memory.schema.errors import EmbedError, SpaceMismatch
from memory.schema.limits import midnight
from memory.store import State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.config.settings import EmbeddingSettings
    from memory.embed.registry import Embedders
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.usage import Call
    from memory.store import Counts, Generation, Store, Waiting

FAILURES = 5  # memories named whose text the model did not take


class Status(NamedTuple):
    """
    Attributes:
        generations: Each with the number of chunks that have a vector in it.
        configured: Provider and model in the settings; empty if the model cannot be used.
        terms: How many terms have a vector in the active generation; 0 if nothing was learned yet.
        fit: How well the term vectors fit, -1..1; see `memory.search.term_vectors.learn`.
        failures: Memories with a chunk that the model did not take, most recent first.
        today: What was spent today (UTC), line by line; see `Usage.lines`.
        problems: What keeps the engine from working fully, and how to repair it.
    """

    counts: Counts
    generations: tuple[tuple[Generation, int], ...]
    configured: str
    failures: tuple[Waiting, ...]
    today: tuple[Call, ...]
    problems: tuple[Notice, ...]
    terms: int = 0
    fit: float | None = None


def status(store: Store, embedders: Embedders, settings: EmbeddingSettings, *, moment: datetime) -> Status:
    """Look at everything. Nothing is changed, and no server is asked."""
    sizes = [(found, store.generations.size(found.id)) for found in store.generations.every()]
    generations = tuple((found, size.chunks) for found, size in sizes)
    counts = store.counts()
    problems: list[Notice] = []
    configured = ""
    if embedders.enabled:
        try:
            embedder = embedders.configured()
            configured = str(embedder.names)
            embedders.saving()
        except (EmbedError, SpaceMismatch) as error:
            problems.append(Notice(str(error), error.hint))
    problems += _cut(counts.missing)
    problems += _halted(store, embedders, moment)
    problems += _unfinished(generations, embedders, counts)
    if configured and not problems and counts.queued > counts.failed:
        later = "" if settings.fill == "eager" else " The next search that needs vectors goes on with them."
        problems.append(Notice(f"{chunks(counts.queued)} without a vector yet", f"Run `memory embed`.{later}"))
    if counts.failed:
        problems.append(
            Notice(
                f"the model did not take {chunks(counts.failed)}: {counts.last_error}",
                "`memory embed` tries them again.",
            )
        )
    today = tuple(store.usage.lines(midnight(moment), daily=True))
    answering, fit = store.term_vectors.answering()
    terms = sum(size.terms for found, size in sizes if found.id == answering)
    failures = tuple(store.queue.waiting(limit=FAILURES))
    return Status(counts, generations, configured, failures, today, tuple(problems), terms, fit)


def _cut(missing: int) -> list[Notice]:
    if not missing:
        return []
    hint = "Nothing is written to it. Restore it from a copy, or export what can be read with `memory export -o FILE`."
    return [Notice(f"the database is cut: its last {missing:,} bytes are missing", hint)]


def _halted(store: Store, embedders: Embedders, moment: datetime) -> list[Notice]:
    """Notices about servers that are left alone at the moment."""
    try:
        hosts = embedders.hosts() if embedders.enabled else ()
    except EmbedError:
        return []  # reported already
    circuits = [
        circuit for circuit in map(store.usage.circuit, hosts) if circuit is not None and circuit.until > moment
    ]
    return [
        Notice(
            f"{circuit.host} is left alone until {circuit.until:%Y-%m-%d %H:%M:%S} UTC: {circuit.error}",
            "Searches go on by keyword. `memory doctor` asks it now.",
        )
        for circuit in circuits
    ]


def _unfinished(generations: tuple[tuple[Generation, int], ...], embedders: Embedders, counts: Counts) -> list[Notice]:
    """A notice about a reindex that was interrupted or rolled back, if the settings name its model."""
    building = next(((found, embedded) for found, embedded in generations if found.state is State.BUILDING), None)
    if building is None or not embedders.enabled:
        return []
    found, embedded = building
    try:
        wanted = embedders.named([found]) is not None
    except EmbedError:
        return []  # reported already
    if not wanted:
        return []  # begun for a model that the settings no longer name, or rolled back
    said = f"vectors of {found.space} are begun, or were set aside by a rollback: {embedded:,} of {chunks(counts.embeddable)}"
    return [Notice(said, "`memory reindex` goes on with them; until then the former ones answer.")]


def chunks(number: int) -> str:
    """A number of chunks in words."""
    return f"{number:,} chunk{'s' * (number != 1)}"


def embedding(store: Store, embedders: Embedders, id: MemoryId) -> Embedding:
    """See `Embedding`."""
    return embeddings(store, embedders, list(store.memories.by_id([id]).values())).get(id, Embedding("none"))


def embeddings(store: Store, embedders: Embedders, memories: Sequence[Memory]) -> dict[MemoryId, Embedding]:
    """The same for several memories, by id."""
    if not embedders.enabled:
        return {memory.id: Embedding("none") for memory in memories}
    try:
        usual = Embedding("outdated" if embedders.outdated() else "generated")
    except EmbedError as error:
        usual = Embedding("generated", error=str(error))
    waiting = {one.memory: one for one in store.queue.waiting([memory.id for memory in memories])}
    return {memory.id: _embedding(memory, waiting.get(memory.id), usual) for memory in memories}


def _embedding(memory: Memory, waiting: Waiting | None, usual: Embedding) -> Embedding:
    if memory.keyword_only:
        return Embedding("excluded")
    if waiting is None:
        return usual
    return Embedding("failed" if waiting.failed else "pending", waiting.chunks, waiting.last_error)
