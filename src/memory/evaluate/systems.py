"""The systems compared: ways to search, each a name for some settings, and their answers to the questions."""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from itertools import count
from tempfile import TemporaryDirectory
from time import perf_counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from memory.config import Config
from memory.engine import Engine
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, TITLE_LIMIT, WHAT_OF_BODY, Invalid, StoreError, did_you_mean, placed
from memory.schema.query import ACTIVE, EVERYTHING, Mode, Query, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from memory.config.settings import SearchSettings
    from memory.evaluate.judged import Judged, JudgedDocument, Question
    from memory.schema.answer import Answer
    from memory.schema.memory import Memory
    from memory.vectors import Embedder

    Progress: TypeAlias = Callable[[int, int], None]
    """Called with how much is done, and of how much."""

    Watch: TypeAlias = Callable[[str], AbstractContextManager[Progress]]
    """Makes a `Progress` for the work that a label names."""


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
        """The user's settings with the changes of this system, in the profile `measured`: theirs might undo them."""
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
CALL = "embed"  # the step of `memory.search.search` that needs the model


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
        return asked.search(Query(question.text, LIMIT, mode=system.mode, scope=scope_of(question)))

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


def scope_of(question: Question) -> Scope:
    """Where a question is asked: among the documents of its group."""
    return ACTIVE if question.group is None else Scope(projects=frozenset({question.group}))


def document_id(memory: Memory) -> str:
    """The id of the document from which a memory was made."""
    return str(memory.metadata["id"])


# The store of a set --------------------------------------------------------------


BATCH = 256  # documents in one transaction


def ticking(progress: Progress, total: int) -> Callable[[], None]:
    """A function to call after each of `total` steps."""
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
        kept = replace(config.store, url="")  # a file in this folder, never the server that has the memories
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
            drafts = [draft(document) for document in batch]
            try:
                engine.save_all(drafts)
            except Invalid:
                for document, made in zip(batch, drafts, strict=True):  # find the one to name in the error
                    with placed(document.place):
                        engine.save(made)
                raise
            progress(min(first + BATCH, total), total)


def draft(document: JudgedDocument) -> Draft:
    """The draft of a document. A text of more than `LINE_LIMIT` characters is the body, and its beginning `what`."""
    long = len(document.text) > LINE_LIMIT
    title = " ".join(document.title.split())[:TITLE_LIMIT]
    with placed(document.place):
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
    known = {document_id(one) for page in engine.documents.pages(EVERYTHING) for one in page}
    missing = next((document for document in one.documents if document.id not in known), None)
    if missing is not None and engine.documents.clean(missing.id) != missing.id:
        raise Invalid(f"{missing.place}: the id looks like a secret, which is never saved", hint="Give it another id.")
    if missing is not None or len(known) != len(one.documents):
        raise StoreError(f"{engine.config.place} does not hold the documents of {one.name}", hint="Remove its folder.")
