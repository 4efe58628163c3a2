"""Status and doctor: how much is saved, the state of the vectors, problems, and their repair."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.engine.trash import OWED, lying
from memory.schema.answer import Notice
from memory.schema.errors import ConfigError, EmbedError, Error, SpaceMismatch, StoreDamaged, StoreReadOnly, midnight
from memory.schema.memory import Embedding
from memory.schema.moments import second
from memory.schema.step import EMBED, PROBE, purpose
from memory.store import UNAIDED, UNSEEN, Counts, Generation, State, Store, Waiting
from memory.vectors import FINGERPRINT_TEXT
from memory.vectors.local import INSTALL, looked, model_folder
from memory.vectors.words import opened, place, word_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memory.config import Config
    from memory.config.settings import EmbeddingSettings
    from memory.keep.entry import Sanitizer
    from memory.schema.memory import Memory, MemoryId
    from memory.schema.space import UsageEntry
    from memory.vectors.registry import Embedders

__all__ = ["UNAIDED", "Finding", "Status", "doctor", "embedding", "embeddings", "status"]
"""Includes what tools use of lower rooms."""

CUT = "Nothing is written to it. Restore it from a copy, or export what can be read with `memory export -o FILE`."

FAILURES = 5  # memories that are named because the model refused their text


class Status(NamedTuple):
    """
    The result of `Engine.status`: what is stored, the state of its vectors, and problems.

    Attributes:
        counts: Numbers of memories and chunks, memories by kind and by project, and the size in bytes.
        generations: The index versions, each with the number of chunks that have a vector in it.
        configured: Provider and model in the settings; empty if the model cannot be used.
        failures: Memories with a chunk that the model refused, most recent first.
        today: Embedding usage of today (UTC); see `Engine.ledger`.
        problems: What does not work, each with a hint how to repair it.
        terms: Number of term vectors in the active index version; 0 if none were learned yet.
        fit: How well the term vectors fit the model's, -1..1; None if not measured.
        waiting: Number of chunks not yet learned from.
        words: Number of the model's word vectors that learning starts from.
        signed: Number of vectors with a signature, a short code that speeds up large searches; 0 in small stores, which
            need none.
    """

    counts: Counts
    generations: tuple[tuple[Generation, int], ...]
    configured: str
    failures: tuple[tuple[Memory, Waiting], ...]
    today: tuple[UsageEntry, ...]
    problems: tuple[Notice, ...]
    terms: int = 0
    fit: float | None = None
    waiting: int = 0
    words: int = 0
    signed: int = 0


def status(store: Store, embedders: Embedders, settings: EmbeddingSettings) -> Status:
    """The status of a store. Changes nothing and asks no server."""
    generations = tuple((found, store.generations.size(found.id).chunks) for found in store.generations.every())
    counts = store.counts()
    problems: list[Notice] = []
    configured = ""
    if embedders.enabled:
        try:
            embedder = embedders.configured()
            configured = str(embedder.names)
            embedders.saving()  # raises if the stored vectors are of another model
        except (EmbedError, SpaceMismatch) as error:
            problems.append(Notice(str(error), error.hint))
    problems += (OWED,) if counts.unwiped else ()
    problems += [Notice(text, CUT) for text in store.check(quick=True)]
    problems += _halted(store, embedders)
    problems += _unfinished(generations, embedders, counts)
    if configured and not problems and counts.queued > counts.failed:
        text = f"{chunks(counts.queued)} without a vector yet"
        stays = "" if settings.fill == "lazy" else "a program that stays or "
        hint = f"`memory embed` does it now; else {stays}the next search that needs vectors goes on with them."
        problems.append(Notice(text, hint))
    if counts.failed:
        text = f"the model refused {chunks(counts.failed)}: {counts.last_error}"
        problems.append(Notice(text, "`memory embed` tries them again."))
    today = tuple(store.usage.lines(midnight(embedders.now()), daily=True))
    answering, fit = store.generations.answering()
    _, terms, waiting = store.term_vectors.progress(answering)
    own = (word_vectors(store.path, found) for found, _ in generations if found.id == answering)
    words = sum(found.count for found in own if found)
    failures = tuple(_failures(store))
    signed = sum(store.vectors.signed(found.id) for found, _ in generations if found.state is State.ACTIVE)
    return Status(counts, generations, configured, failures, today, tuple(problems), terms, fit, waiting, words, signed)


def _failures(store: Store) -> list[tuple[Memory, Waiting]]:
    """The memories with a chunk that the model refused, most recent first, each with the failure."""
    waiting = store.queue.waiting(limit=FAILURES)
    found = store.memories.by_id([one.memory for one in waiting]) if waiting else {}
    return [(found[one.memory], one) for one in waiting if one.memory in found]


def _halted(store: Store, embedders: Embedders) -> Iterator[Notice]:
    """Notices about servers whose circuit is open."""
    try:
        hosts = embedders.hosts() if embedders.enabled else ()
    except EmbedError:
        return  # reported already
    for circuit in map(store.usage.circuit, hosts):
        if circuit is not None and circuit.until > embedders.now():
            text = f"{circuit.host} is left alone until {second(circuit.until)}: {circuit.error}"
            yield Notice(text, "Searches go on by keyword. `memory doctor` asks it now.")


def _unfinished(
    generations: tuple[tuple[Generation, int], ...], embedders: Embedders, counts: Counts
) -> Iterator[Notice]:
    """A notice about a reindex that was interrupted or rolled back, if the settings name its model."""
    building = [(found, embedded) for found, embedded in generations if found.state is State.BUILDING]
    for found, embedded in building if embedders.enabled else ():
        try:
            if embedders.named([found]) is None:
                continue  # of a model that the settings no longer name, or rolled back
        except EmbedError:
            return  # reported already
        share = f"{embedded:,} of {chunks(counts.embeddable)}"
        text = f"vectors of {found.space} are begun, or were set aside by a rollback: {share}"
        yield Notice(text, "`memory reindex` finishes them; until then searches use the earlier ones.")


def chunks(number: int) -> str:
    """A number of chunks in words."""
    return f"{number:,} chunk{'s' * (number != 1)}"


def embedding(store: Store, embedders: Embedders, id: MemoryId) -> Embedding:
    """The state of a memory's embedding."""
    return embeddings(store, embedders, list(store.memories.by_id([id]).values())).get(id, Embedding("none"))


def embeddings(store: Store, embedders: Embedders, memories: Sequence[Memory]) -> dict[MemoryId, Embedding]:
    """The state of the embedding of several memories, by id."""
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


# Doctor -------------------------------------------------------------------------

ANEW = (
    "`memory export -o FILE` writes what can be read. Move the database away with its -wal and -shm files, then "
    "`memory import FILE`: the indexes are built again."
)

REBUILD = "`memory doctor --fix` rebuilds what is derived from the memories; `memory export` saves what can be read."

NAMED = 5  # memories with a secret that a finding names


class Finding(NamedTuple):
    """
    The result of one check of the doctor.

    Attributes:
        name: What was checked.
        well: Whether it is in order now.
        told: What was found, as a clause.
        hint: How to repair it; empty if nothing needs to be done.
        mended: Whether a problem was found and repaired.
    """

    name: str
    well: bool
    told: str
    hint: str = ""
    mended: bool = False


def doctor(
    store: Store, embedders: Embedders, config: Config, *, sanitizer: Sanitizer, fix: bool
) -> tuple[Finding, ...]:
    """
    Check everything; see `Maintenance.doctor`.

    Args:
        fix: Rebuild derived data, restrict access to the owner, retry servers whose circuit is open, embed the queue.
    """
    first = (
        *_looked("database", lambda: [_database(store, config, fix=fix)]),
        *_rights(config, fix=fix),
        *_looked("secrets", lambda: _secrets(store, sanitizer)),
        *_looked("trash", lambda: [Finding("trash", *lying(store, fix=fix))]),
    )
    before = (
        *first,
        *_looked("model", lambda: _model(embedders, config.embedding.provider)),
        *_looked("vectors", lambda: _vectors(store, embedders)),
        *_looked("words", lambda: _words(store)),
    )
    able = all(found.well for found in before if found.name in {"model", "vectors"})
    return (*before, *_looked("queue", lambda: _queue(store, embedders, config, fix=fix, able=able)))


def _looked(name: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """The findings of a check; if the database cannot be read, that is a finding, and other checks still run."""
    try:
        yield from look()
    except (StoreDamaged, StoreReadOnly) as error:
        yield Finding(name, False, str(error), error.hint)


def _database(store: Store, config: Config, *, fix: bool) -> Finding:
    if not config.begun:
        return Finding("database", True, f"nothing is saved yet; {config.place} will be created with the first memory")
    problems = list(store.check())
    if problems in ([], [UNSEEN]):
        return Finding("database", True, "; ".join([f"{config.place} is sound", *problems]))
    told = "; ".join(problems)
    if not fix:
        return Finding("database", False, told, REBUILD)
    try:
        store.repair()
    except StoreDamaged as error:
        return Finding("database", False, f"{told}; {error}", ANEW)
    left = list(store.check())
    if left:
        return Finding("database", False, "; ".join(left), ANEW)
    return Finding("database", True, f"rebuilt: {told}", mended=True)


def _rights(config: Config, *, fix: bool) -> Iterator[Finding]:
    """Whether only the owner may open the memories."""
    if os.name != "posix":
        return
    files = [] if config.store.url else [(Path(config.database), 0o600)]
    for path, mode in ((Path(config.folder), 0o700), *files):
        if not (path.exists() and path.stat().st_mode & 0o077):
            continue
        told, hint = f"others may open {path}", f"chmod {mode:o} {path}"
        if not fix:
            yield Finding("rights", False, told, f"`memory doctor --fix`, or {hint}")
            continue
        try:
            path.chmod(mode)
        except OSError as error:
            yield Finding("rights", False, f"{told}: {error.strerror}", hint)
        else:
            yield Finding("rights", True, f"only you may open {path} now", mended=True)


def _secrets(store: Store, sanitizer: Sanitizer) -> Iterator[Finding]:
    """
    Secrets that were saved before a rule recognised them. They are not removed here, so that their author learns of
    them.
    """
    from memory.store.export import every  # not needed for a memory's details

    try:  # unreadable parts are reported with the database
        found = [leak for whole in every(store, lambda _what: None) if (leak := sanitizer.leak(whole))]
    except ConfigError as error:
        yield Finding("secrets", False, str(error), error.hint)
        return
    if not found:
        yield Finding("secrets", True, "no memory contains text that looks like a secret")
    for leak in found[:NAMED]:
        yield Finding("secrets", False, leak.text, leak.hint)
    if len(found) > NAMED:
        more = f"and {len(found) - NAMED:,} more memories"
        yield Finding("secrets", False, more, "Delete these first, then look again.")


def _model(embedders: Embedders, provider: str) -> Iterator[Finding]:
    if not embedders.enabled:
        yield Finding("model", True, "none is configured: searches use keywords")
        return
    try:
        with purpose(PROBE):
            embedder = embedders.configured()
            width = embedder.embed([FINGERPRINT_TEXT], "passage").shape[1]
    except (EmbedError, SpaceMismatch) as error:
        where = f": it is not in {looked()}" if error.hint == INSTALL else ""
        yield Finding("model", False, f"{error}{where}", error.hint)
    else:
        where = f" at {embedder.host}" if embedder.host else ""
        if provider == "local":
            where = f" from {model_folder()}"
        yield Finding("model", True, f"{embedder.names} answers{where}, {width} dimensions")


def _vectors(store: Store, embedders: Embedders) -> Iterator[Finding]:
    total = store.counts().embeddable
    states = {
        State.ACTIVE: "in use",
        State.BUILDING: "begun or set aside; `memory reindex` continues if the settings name it",
        State.RETIRED: "for `memory reindex --rollback`",
    }
    for found in store.generations.every():
        told = f"{store.generations.size(found.id).chunks:,} of {chunks(total)} in {found.space}, {states[found.state]}"
        yield Finding("vectors", True, told)
    if not embedders.enabled:
        return
    try:
        embedders.saving()
    except SpaceMismatch as error:
        yield Finding("vectors", False, str(error), error.hint)
    except EmbedError:
        return  # reported with the model already


def _words(store: Store) -> Iterator[Finding]:
    """Files of word vectors that are damaged: a search reads a few rows and checks none."""
    for path in [place(store.path, found) for found in store.generations.every()]:
        if path is not None and path.exists() and not ((words := opened(path)) and words.sound):
            yield Finding("words", False, f"the word vectors in {path} are damaged", "`memory embed` makes them again.")


def _queue(store: Store, embedders: Embedders, config: Config, *, fix: bool, able: bool) -> Iterator[Finding]:
    waiting = store.queue.queued()
    without = f"{chunks(waiting)} without a vector"
    if not waiting or not embedders.enabled:
        yield Finding("queue", True, without if waiting else "nothing waits for a vector")
        return
    if not fix:
        hint = "`memory embed` embeds them." if able else "Mend what stands above first; then `memory embed`."
        yield Finding("queue", False, without, hint)
    else:
        # With this purpose, open circuits and failed texts are tried again, because a person is waiting.
        from memory.vectors.backfill import Backfill, drain

        try:
            backfill = Backfill(seconds=None, batch=config.embedding.batch_size, overlap=config.chunking.overlap)
            result = drain(store, embedders, backfill, of=EMBED)
        except Error as error:
            yield Finding("queue", False, f"{without}: {error}", error.hint)
        else:
            well = not result.left
            told = f"{chunks(result.embedded)} embedded" + ("" if well else f", {result.left:,} still without a vector")
            told = "; ".join([told, *map(str, result.held)])
            yield Finding("queue", well, told, "" if well else "See below, or `memory status`.", mended=well)
    for memory, failure in _failures(store):
        told = f"memory {memory.short_id}: {failure.failed:,} of its chunks failed, {failure.last_error}"
        yield Finding("queue", False, told, "Change its text, or the model.")
