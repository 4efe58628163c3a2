"""The store that a judged set is put into: its documents as memories, and everything that is derived from them."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

from memory.config.config import Config
from memory.engine import Engine
from memory.evaluate import judged
from memory.evaluate.systems import document_id
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, TITLE_LIMIT, WHAT_OF_BODY, Invalid, StoreError
from memory.schema.query import EVERYTHING, MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from memory.embed import Embedder
    from memory.evaluate.judged import Document, Judged
    from memory.schema.memory import Memory

    Progress: TypeAlias = Callable[[int, int], None]
    """Called with how much is done, and of how much."""

    Watch: TypeAlias = Callable[[str], AbstractContextManager[Progress]]
    """Makes a `Progress` for the work that a label names."""

BATCH = 256  # documents in one transaction


def ticking(progress: Progress, total: int) -> Callable[[], None]:
    """To call after each of so many pieces of work."""
    done = count(1)
    return lambda: progress(next(done), total)


@contextmanager
def opened(
    one: Judged, config: Config, cache: Path | None, *, embeds: bool, watch: Watch, embedder: Embedder | None = None
) -> Generator[Engine]:
    """
    An engine on a store of the set's documents, never on the user's own.

    Args:
        config: Only its model and search settings count.
        cache: Keeps stores between runs, each in a folder of its own; an interrupted one continues where it was. None
            builds the store in a temporary folder.
        embeds: Whether vectors are needed.
        embedder: Replaces the configured one.

    Raises:
        Invalid: A document cannot be saved, or an id looks like a secret.
        StoreError: The store cannot be made, or the one in the cache has other documents.
        EmbedError: The model cannot be used; what was embedded is kept.
    """
    name = f"{one.name}-{one.fingerprint}"
    with TemporaryDirectory(prefix="memory-eval-") if cache is None else nullcontext(cache / name) as home:
        embedding = replace(config.embedding, fill="lazy")  # `settle` embeds, in large batches and with progress
        kept = replace(config.store, url="")  # beside the others, never with the memories
        own = Config(home=str(home), store=kept, embedding=embedding, search=config.search)
        with Engine.open(own, embedder=embedder, lasting=False) as engine:
            _keep(engine, one, watch)
            _check(engine, one)
            if embeds:
                with watch(f"{one.name}: embedding") as progress:
                    settle(engine, progress)
                with watch(f"{one.name}: word vectors") as progress:
                    engine.vectors.make_words(progress)
            yield engine


def settle(engine: Engine, progress: Progress) -> None:
    """
    Make everything that is derived from the memories, so that no search has to wait for it.

    So a store is measured as it is after a while of rest. If vectors of another model are active,
    those of the configured one are added beside them.

    Raises:
        EmbedError: The model cannot be used; what was embedded is kept.
    """
    if engine.vectors.embedders.outdated():
        engine.vectors.reindex(progress, keep=True)
    else:
        engine.vectors.embed(progress)
        engine.vectors.learn(anew=True)


def _keep(engine: Engine, one: Judged, watch: Watch) -> None:
    """Save the documents that are not saved yet, in the order of their file."""
    total, known = len(one.documents), engine.maintenance.status().counts.memories
    if known >= total:
        return
    with watch(f"{one.name}: keeping") as progress:
        for first in range(known, total, BATCH):
            batch = one.documents[first : first + BATCH]
            drafts = [_draft(document) for document in batch]
            try:
                engine.save_all(drafts)
            except Invalid:
                for document, draft in zip(batch, drafts, strict=True):  # find the one to name in the error
                    with judged.placed(document.place):
                        engine.save(draft)
                raise
            progress(min(first + BATCH, total), total)


def _draft(document: Document) -> Draft:
    """The draft of a document. A text too long for a head becomes details, and its beginning the head."""
    long = len(document.text) > LINE_LIMIT
    title = " ".join(document.title.split())[:TITLE_LIMIT]
    with judged.placed(document.place):
        return Draft(
            title=title or "-",
            what=document.text[: WHAT_OF_BODY if long else LINE_LIMIT],
            body=document.text if long else "",
            project=document.group,
            metadata={"id": document.id},
        )


def _check(engine: Engine, one: Judged) -> None:
    """
    Check that the store has exactly the set's documents.

    Raises:
        Invalid: An id was taken for a secret.
        StoreError: The store in the cache has other documents.
    """
    known = {document_id(memory) for memory in _every(engine)}
    missing = next((document for document in one.documents if document.id not in known), None)
    if missing is not None and engine.documents.clean(missing.id) != missing.id:
        raise Invalid(f"{missing.place}: the id looks like a secret, which is never kept", hint="Give it another id.")
    if missing is not None or len(known) != len(one.documents):
        raise StoreError(f"{engine.config.place} does not hold the documents of {one.name}", hint="Remove its folder.")


def _every(engine: Engine) -> Generator[Memory]:
    after = None
    while page := engine.documents.recent(EVERYTHING, MOST, after=after):
        yield from page
        after = page[-1]
