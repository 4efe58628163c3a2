"""Doctor: checks everything, asks the model, and repairs what can be repaired."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.embed import FINGERPRINT_TEXT
from memory.embed.usage import EMBED, PROBE, purpose
from memory.engine.status import chunks
from memory.schema.errors import ConfigError, EmbedError, Error, SpaceMismatch, StoreDamaged, StoreReadOnly
from memory.store import UNSEEN, State
from memory.write.backfill import Backfill, drain
from memory.write.export import every

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.config.config import Config
    from memory.embed.registry import Embedders
    from memory.store import Store
    from memory.write.entry import Sanitizer

ANEW = (
    "`memory export -o FILE` writes what can be read. Move the database away with its -wal and -shm files, then "
    "`memory import FILE`: what is derived is made anew."
)

NAMED = 5  # memories with a secret that are named


class Finding(NamedTuple):
    """
    Attributes:
        name: What was checked.
        well: Whether it is all right now.
        told: What was found.
        hint: What would repair it; empty if nothing needs to be done.
        mended: It was not all right and has been repaired.
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
    Args:
        fix: Rebuild derived data, restrict access to the owner, ask servers that were left alone, embed the
            queue.
    """
    first = (
        *_looked("database", lambda: [_database(store, config, fix=fix)]),
        *_rights(config, fix=fix),
        *_looked("secrets", lambda: _secrets(store, sanitizer)),
    )
    before = (
        *first,
        *_looked("model", lambda: _model(embedders)),
        *_looked("vectors", lambda: _vectors(store, embedders)),
    )
    able = all(found.well for found in before if found.name in {"model", "vectors"})
    return (*before, *_looked("queue", lambda: _queue(store, embedders, config, fix=fix, able=able)))


def _looked(name: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Findings until the database becomes unreadable, then that as a finding; other checks still run."""
    try:
        yield from look()
    except (StoreDamaged, StoreReadOnly) as error:
        yield Finding(name, False, str(error), error.hint)


def _database(store: Store, config: Config, *, fix: bool) -> Finding:
    problems = list(store.check())
    if problems in ([], [UNSEEN]):
        return Finding("database", True, "; ".join([f"{config.database} is sound", *problems]))
    told = "; ".join(problems)
    if not fix:
        hint = (
            "`memory doctor --fix` rebuilds what is derived from the memories; `memory export` saves what can be read."
        )
        return Finding("database", False, told, hint)
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
    for path, mode in ((Path(config.folder), 0o700), (Path(config.database), 0o600)):
        if not path.stat().st_mode & 0o077:
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
    """Secrets saved before a rule knew them. Nothing is removed here: whoever wrote them should learn of the leak."""
    found: dict[int, str] = {}
    try:
        for whole in every(store, lambda _what: None):  # unreadable parts are reported with the database
            if names := sanitizer.secrets(whole):
                found[whole.memory.id] = names[0]
    except ConfigError as error:
        yield Finding("secrets", False, str(error), error.hint)
        return
    if not found:
        yield Finding("secrets", True, "no memory holds what looks like one")
    for id, name in list(found.items())[:NAMED]:
        hint = f"If it is one, change it where it counts, then `memory delete {id}`."
        yield Finding("secrets", False, f"memory {id} holds what looks like a secret: {name}", hint)
    if len(found) > NAMED:
        yield Finding(
            "secrets", False, f"and {len(found) - NAMED:,} more memories", "Delete these first, then look again."
        )


def _model(embedders: Embedders) -> Iterator[Finding]:
    if not embedders.enabled:
        yield Finding("model", True, "none is configured: searches go by keyword")
        return
    try:
        with purpose(PROBE):
            embedder = embedders.configured()
            width = embedder.embed([FINGERPRINT_TEXT], "passage").shape[1]
    except (EmbedError, SpaceMismatch) as error:
        yield Finding("model", False, str(error), error.hint)
    else:
        where = f" at {embedder.host}" if embedder.host else ""
        yield Finding("model", True, f"{embedder.names} answers{where}, {width} dimensions")


def _vectors(store: Store, embedders: Embedders) -> Iterator[Finding]:
    total = store.counts().embeddable
    states = {
        State.ACTIVE: "is what answers",
        State.BUILDING: "is begun or set aside; `memory reindex` goes on with it if the settings name it",
        State.RETIRED: "is kept for a rollback",
    }
    for found in store.generations.every():
        told = f"{store.generations.size(found.id).chunks:,} of {chunks(total)} in {found.space}, which {states[found.state]}"
        yield Finding("vectors", True, told)
    if not embedders.enabled:
        return
    try:
        embedders.saving()
    except SpaceMismatch as error:
        yield Finding("vectors", False, str(error), error.hint)
    except EmbedError:
        return  # reported with the model already


def _queue(store: Store, embedders: Embedders, config: Config, *, fix: bool, able: bool) -> Iterator[Finding]:
    waiting = store.queue.queued()
    if not waiting or not embedders.enabled:
        yield Finding(
            "queue", True, "nothing waits for a vector" if not waiting else f"{chunks(waiting)} without a vector"
        )
        return
    if not fix:
        hint = "`memory embed` embeds them." if able else "Mend what stands above first; then `memory embed`."
        yield Finding("queue", False, f"{chunks(waiting)} without a vector", hint)
    else:
        try:
            backfill = Backfill(seconds=None, batch=config.embedding.batch_size, overlap=config.chunking.overlap)
            result = drain(store, embedders, backfill, of=EMBED)
        except Error as error:
            yield Finding("queue", False, f"{chunks(waiting)} without a vector: {error}", error.hint)
        else:
            well = not result.left
            told = f"{chunks(result.embedded)} embedded" + ("" if well else f", {result.left:,} still without a vector")
            told = "; ".join([told, *map(str, result.held)])
            yield Finding("queue", well, told, "" if well else "See below, or `memory status`.", mended=well)
    for failure in store.queue.waiting(limit=5):
        told = f"memory {failure.memory}: {failure.failed:,} of its chunks failed, {failure.last_error}"
        yield Finding("queue", False, told, "Change its text, or the model.")
