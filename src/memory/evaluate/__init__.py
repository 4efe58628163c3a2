"""
How good the answers are, and how often they cost a call of the model, measured on sets of judged questions.

A set is a folder (`memory.evaluate.judged`); its documents become memories of a store of their own (`opened`); its
questions are asked to every system of a table through the engine (`memory.evaluate.systems`); what comes back is
weighed and added up (`memory.evaluate.measures`).
"""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from memory.config.config import Config
from memory.engine import Engine
from memory.evaluate import judged
from memory.evaluate.measures import OfSet, Summary, Unanswerable, line, outcomes, summaries
from memory.evaluate.systems import (
    EFFORTS,
    FRONTIER,
    HYBRID,
    SYSTEMS,
    TIERED,
    Asked,
    System,
    answers,
    chosen,
    document_id,
    effort,
    grepped,
    searched,
)
from memory.schema.answer import Notice
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, TITLE_LIMIT, WHAT_OF_BODY, Invalid, StoreError
from memory.schema.query import EVERYTHING, MOST

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from pathlib import Path

    from memory.evaluate.judged import Document, Judged, Question
    from memory.schema.memory import Memory

    Progress: TypeAlias = Callable[[int, int], None]
    """Called with how much is done, and of how much."""

    Watch: TypeAlias = Callable[[str], AbstractContextManager[Progress]]
    """Makes a `Progress` for the work that a label names."""

__all__ = ["Evaluation", "Plan", "evaluate", "opened", "settle"]

BATCH = 256  # documents in one transaction
OF_OTHERS = 200
"""How many questions of each other set are put to a set, unless one is named for that."""


@dataclass(frozen=True, slots=True)
class Plan:
    """
    What to measure.

    Attributes:
        config: Only its embedding and search settings count.
        cache: Where stores are kept between runs; None keeps none.
        most: The most questions of a set, always the same ones; None asks all.
        systems: Names of systems, possibly with "frontier"; None takes all that this configuration can run.
        frontier: Whether to measure efforts at all.
        against: The folder of a set whose questions no other set can answer; None takes some of every other set.
    """

    config: Config
    cache: Path | None = None
    most: int | None = None
    systems: tuple[str, ...] | None = None
    frontier: bool = True
    against: Path | None = None


class Evaluation(NamedTuple):
    """
    Attributes:
        summary: Over all sets.
        frontier: The same for each effort.
        most: See `Plan`.
    """

    sets: tuple[OfSet, ...]
    summary: tuple[Summary, ...]
    frontier: tuple[Summary, ...]
    most: int | None
    notices: tuple[Notice, ...] = ()


def evaluate(folders: Sequence[Path], plan: Plan, watch: Watch) -> Evaluation:
    """
    Measure all systems on all sets.

    Args:
        folders: Folders of judged sets, or folders that contain such folders.
        watch: Makes the progress callback for each piece of work.

    Raises:
        Invalid: A set has errors, or there is no such system.
        EmbedError: The model cannot be used.
        StoreError: A store cannot be made.
    """
    notices: tuple[Notice, ...] = ()
    if plan.systems is not None:
        names = plan.systems
    elif plan.config.embedding.provider == "none":
        names = tuple(system.name for system in SYSTEMS if not system.dense)
        notices = (
            Notice("no model is configured: only systems that need none were measured", "Set `embedding.provider`."),
        )
    else:
        names = (*(system.name for system in SYSTEMS), FRONTIER)
    systems = chosen(names)
    efforts = [effort(value) for value in EFFORTS if plan.frontier and FRONTIER in names]
    sets = [judged.read(folder) for folder in judged.folders(folders)]
    others = _others(sets, plan) if any(system.name == TIERED for system in systems) else [{} for _ in sets]
    found = [
        _of_set(one, systems, efforts, foreign, plan=plan, watch=watch)
        for one, foreign in zip(sets, others, strict=True)
    ]
    return Evaluation(
        tuple(found),
        summaries([one.lines for one in found]),
        summaries([one.frontier for one in found]),
        plan.most,
        notices,
    )


def _others(sets: Sequence[Judged], plan: Plan) -> list[dict[str, Sequence[Question]]]:
    """For each set, the questions that its documents do not answer, by the name of the set they are from."""
    if plan.against is None:
        most = min(OF_OTHERS, plan.most or OF_OTHERS)
        return [
            {other.name: judged.sample(other.questions, most) for other in sets if other is not one} for one in sets
        ]
    place, name = plan.against.resolve(), judged.name(plan.against)
    if not (questions := judged.questions(plan.against)):
        raise Invalid(f"{name} has no questions to ask", hint="Its queries.jsonl is empty.")
    foreign = {name: judged.sample(questions, plan.most)}
    return [foreign if one.folder.resolve() != place else {} for one in sets]


def _of_set(
    one: Judged,
    systems: Sequence[System],
    efforts: Sequence[System],
    others: Mapping[str, Sequence[Question]],
    *,
    plan: Plan,
    watch: Watch,
) -> OfSet:
    every = [*systems, *efforts]
    questions = judged.sample(one.questions, plan.most)
    embeds = plan.config.embedding.provider != "none" and any(system.embeds for system in every)
    with opened(one, plan.config, plan.cache, embeds=embeds, watch=watch) as engine:
        with watch(f"{one.name}: asking") as progress:
            done, total = count(1), len(questions) * len(every) + sum(map(len, others.values()))
            each = partial(_told, progress, done, total)
            asked = {system.name: _asked(engine, one, system, questions, each) for system in every}
            unanswerable = tuple(_unanswerable(engine, one, name, foreign, each) for name, foreign in others.items())
        status = engine.maintenance.status()
    hybrid = asked.get(HYBRID)
    return OfSet(
        name=one.name,
        documents=len(one.documents),
        questions=len(questions),
        judged=len(one.questions),
        skipped=one.skipped,
        unknown=one.unknown,
        waiting=status.counts.queued if embeds else 0,
        model=status.configured if embeds else "",
        lines=tuple(line(system.name, asked[system.name], hybrid) for system in systems),
        frontier=tuple(line(system.name, asked[system.name], hybrid) for system in efforts),
        unanswerable=unanswerable,
    )


def _told(progress: Progress, done: Iterator[int], total: int) -> None:
    progress(next(done), total)


def _asked(
    engine: Engine, one: Judged, system: System, questions: Sequence[Question], each: Callable[[], None]
) -> list[Asked]:
    if system.mode is None:
        return grepped(one.documents, questions, each)
    return searched(engine, system, questions, each)


def _unanswerable(
    engine: Engine, one: Judged, name: str, foreign: Sequence[Question], each: Callable[[], None]
) -> Unanswerable:
    (tiered,) = chosen([TIERED])
    found = answers(engine, tiered, judged.grouped(foreign, one.documents), each)
    return Unanswerable(name, len(found), outcomes([str(answer.outcome) for answer, _ in found]))


# The store of a set --------------------------------------------------------------


@contextmanager
def opened(one: Judged, config: Config, cache: Path | None, *, embeds: bool, watch: Watch) -> Generator[Engine]:
    """
    An engine on a store of the set's documents, never on the user's own.

    Args:
        config: Only its model and search settings count.
        cache: Keeps stores between runs, each in a folder of its own; an interrupted one continues where it was. None
            builds the store in a temporary folder.
        embeds: Whether vectors are needed.

    Raises:
        Invalid: A document cannot be saved, or an id looks like a secret.
        StoreError: The store cannot be made, or the one in the cache has other documents.
        EmbedError: The model cannot be used; what was embedded is kept.
    """
    name = f"{one.name}-{one.fingerprint}"
    with TemporaryDirectory(prefix="memory-eval-") if cache is None else nullcontext(cache / name) as home:
        embedding = replace(config.embedding, fill="lazy")  # `settle` embeds, in large batches and with progress
        own = Config(home=str(home), store=config.store, embedding=embedding, search=config.search)
        with Engine.open(own, lasting=False) as engine:
            _keep(engine, one, watch)
            _check(engine, one)
            if embeds:
                with watch(f"{one.name}: embedding") as progress:
                    settle(engine, progress)
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
        raise StoreError(
            f"{engine.config.database} does not hold the documents of {one.name}", hint="Remove its folder."
        )


def _every(engine: Engine) -> Generator[Memory]:
    after = None
    while page := engine.documents.recent(EVERYTHING, MOST, after=after):
        yield from page
        after = page[-1]
