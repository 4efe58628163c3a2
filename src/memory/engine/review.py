"""What a person should review: near-duplicates, memories that look like orders, memories that had secrets, and proposals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.cues import CAUSE, CORRECTION, DECISION, RULE
from memory.carry.formats.conversation import CLAUDE_CODE, USER
from memory.carry.formats.items import one_line
from memory.carry.review import SHOWN, Proposed, Review, digest, proposals
from memory.keep.entry import Sanitizer
from memory.schema.errors import StoreError, explained
from memory.schema.kinds import PREFERENCE
from memory.schema.memory import INSTRUCTIONS, Memory, MemoryId, Standing
from memory.schema.query import EVERYTHING, MOST
from memory.schema.step import step
from memory.search.twins import Twins, twins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from memory.config import Config
    from memory.engine import Engine
    from memory.schema.draft import Draft, Saved
    from memory.schema.space import Vectors


__all__ = ["CAUSE", "CORRECTION", "DECISION", "RULE", "SHOWN", "USER", "Proposed", "Review"]

TEXTS = ("title", "what", "why", "impact")
_MARK = re.compile(r"\[redacted(?::([\w-]+))?\]")


class Taken(NamedTuple):
    """
    A memory from which secrets were removed.

    Attributes:
        places: Each field with markers, and the rules that made them; "" stands for `<redacted>` tags.
    """

    memory: MemoryId
    places: tuple[tuple[str, tuple[str, ...]], ...]


class Inspected(NamedTuple):
    """
    The result of `inspect`.

    Attributes:
        memories: Number of memories checked.
        pairs: Near-duplicates among active memories, most alike first; then pairs of an older note and a newer one that
            outdates it.
        orders: Memories that look like orders to an agent, last changed first.
        secrets: Memories that had secrets, last changed first.
    """

    memories: int
    pairs: Sequence[Twins]
    orders: Sequence[MemoryId]
    secrets: Sequence[Taken]


def inspect(engine: Engine, progress: Callable[[int, int], None] = lambda _done, _total: None) -> Inspected:
    """Check all memories; superseded ones only for orders and secrets. 100,000 take well below a minute."""
    memories: list[Memory] = []
    secrets: list[Taken] = []
    for page in _pages(engine):
        memories += page
        bodies = engine.store.memories.bodies([memory.id for memory in page])
        secrets += [one for memory in page if (one := _taken(memory, bodies.get(memory.id, ""))).places]
    orders = [memory.id for memory in memories if INSTRUCTIONS in memory.flags]
    alive = [memory for memory in memories if memory.status is Standing.ACTIVE]
    pairs = twins(alive, *_vectors(engine), progress)
    both = {(pair.one, pair.other) for pair in pairs}
    pairs += [Twins(*pair, None) for pair in engine.renewed(alive) if tuple(sorted(pair[:2])) not in both]
    return Inspected(len(memories), pairs, orders, secrets)


def _pages(engine: Engine) -> Iterator[Sequence[Memory]]:
    last = None
    while page := engine.store.memories.page(EVERYTHING, MOST, after=last):
        last = page[-1]
        yield page


def _taken(memory: Memory, body: str) -> Taken:
    texts = {name: getattr(memory, name) for name in TEXTS} | {"details": body}
    marks = ((name, tuple(dict.fromkeys(_MARK.findall(text)))) for name, text in texts.items() if "[redacted" in text)
    return Taken(memory.id, tuple((name, rules) for name, rules in marks if rules))


def _vectors(engine: Engine) -> tuple[list[MemoryId], Vectors | None]:
    """The memories with vectors in the active index version, lowest id first, and these vectors."""
    if (generation := engine.store.generations.active()) is None:
        return [], None
    import numpy as np

    ids: list[MemoryId] = []
    blocks = []
    while (found := engine.store.vectors.heads(generation.id, ids[-1] if ids else MemoryId(0), MOST))[0]:
        ids += found[0]
        blocks.append(found[1])
    return ids, np.concatenate(blocks) if blocks else None


# What a person does about near-duplicates ---------------------------------------------------


def _pair(one: Memory, other: Memory) -> str:
    return digest(" ".join(sorted((one.uid, other.uid))), None)


def apart(engine: Engine, pairs: Sequence[tuple[Memory, Memory]]) -> set[int]:
    """The indices of the pairs for which a person chose to keep both."""
    ids = [_pair(*pair) for pair in pairs]
    unknown = Review(engine.config.database).unknown(ids)
    return {place for place, id in enumerate(ids) if id not in unknown}


def alive(engine: Engine, pairs: Sequence[Twins]) -> list[tuple[Twins, Memory, Memory]]:
    """The pairs whose memories are both active, without those for which a person chose to keep both."""
    known = engine.store.memories.by_id([id for pair in pairs for id in (pair.one, pair.other)])
    there = [(pair, known[pair.one], known[pair.other]) for pair in pairs if pair.one in known and pair.other in known]
    both = [row for row in there if row[1].status is row[2].status is Standing.ACTIVE]
    kept = apart(engine, [row[1:] for row in both])
    return [row for place, row in enumerate(both) if place not in kept]


def keep_both(engine: Engine, one: str, other: str) -> None:
    """
    Keep both memories of a pair, and never propose the pair again. The choice is stored beside the database.

    Raises:
        NotFound, Ambiguous: A reference matches no memory, or several.
    """
    Review(engine.config.database).settle(_pair(engine.documents.get(one), engine.documents.get(other)))


def supersede(engine: Engine, old: str, new: str) -> Saved:
    """
    Supersede a memory by another one.

    Raises:
        NotFound, Ambiguous: A reference matches no memory, or several.
        Invalid: The old one is already superseded, or is an entity.
    """
    with step("supersede"):
        return _take_place(engine, old, new)


def merge(engine: Engine, old: str, new: str, changes: dict[str, object]) -> Saved:
    """
    Merge two memories as one step: change the new one, and supersede the old one by it.

    Args:
        changes: Fields of the new memory with their merged values.

    Raises:
        NotFound, Ambiguous, Invalid: As for `supersede`, or a value is not valid.
    """
    engine.documents.get(old)
    with step("merge"):
        if changes:
            engine.documents.update(new, **changes)
        return _take_place(engine, old, new)


def _take_place(engine: Engine, old: str, new: str) -> Saved:
    from memory.schema.draft import SHARED, Draft

    found = engine.documents.details(new, count=False)
    said = {name: getattr(found.memory, name) for name in SHARED}  # it is known, so only the link is written
    return engine.save(Draft(**said, body=found.body), supersedes=old)


# Proposals from sessions ---------------------------------------------------------


CATEGORIES = {DECISION: "decision", RULE: PREFERENCE, CORRECTION: "learning", CAUSE: "bug"}
"""The category of a note, by the kind of statement it comes from."""

TITLE = 80  # characters
SESSION = 200  # characters; longer names of sessions are ignored


def propose(config: Config, transcript: Path, *, session: str, project: str | None) -> list[Proposed]:
    """
    Queue proposals from a session's transcript for review; returns the new ones.

    Leaves out what is queued, was reviewed, or is already saved. Makes no database; the first proposal makes the file
    of the queue.

    Raises:
        StoreError: The transcript, the database or the queue cannot be read or written.
        ConfigError: A rule of `.memoryignore` cannot be used. Nothing is proposed.
    """
    sanitizer = Sanitizer(config.folder, {})
    with explained(StoreError, "the transcript of the session cannot be read"):
        found = proposals(transcript, sanitizer.text)
    named = sanitizer.text(session) if len(session) <= SESSION else ""
    several = [
        Proposed(digest(one.what, project), *one[:4], str(transcript), one.line, one.time, named, project)
        for one in found
    ]
    review = Review(config.database)
    unknown = review.unknown([one.id for one in several])
    new = [one for one in several if one.id in unknown]
    return review.add(_unkept(config, new))


def _unkept(config: Config, several: list[Proposed]) -> list[Proposed]:
    """The proposals that no memory contains yet."""
    if not several or not config.begun:
        return several
    from memory.engine import Engine
    from memory.search.similar import said_already

    with Engine.open(config, lasting=False) as engine:
        return [one for one in several if said_already(engine.store, one.what, one.project) is None]


def edited(config: Config, id: str, *, what: str | None, why: str | None, project: str | None) -> Proposed:
    """
    Change the text of a proposal, or its project; it stays in the queue. None leaves a value as it is, and "" removes
    the project.

    Raises:
        NotFound, Ambiguous: The id matches no proposal, or several.
        Invalid, ConfigError: See `memory.keep.entry.Sanitizer.text`.
    """
    queue, clean = Review(config.database), Sanitizer(config.folder, {}).text
    one = queue.one(id)
    changed = one._replace(
        what=one.what if what is None else clean(what).strip(),
        why=one.why if why is None else clean(why).strip(),
        project=one.project if project is None else project or None,
    )
    queue.replace(changed)
    return changed


def keep(engine: Engine, review: Review, one: Proposed) -> Saved:
    """Save a proposal as a note. If this is killed in between, the proposal stays in the queue and is not saved twice."""
    saved = engine.save(draft(one))
    review.settle(one.id)
    return saved


def draft(one: Proposed) -> Draft:
    """The note that a proposal becomes, with its place in the transcript."""
    from memory.schema.draft import Draft

    place = {"transcript": one.file, "line": one.line, "time": one.time, "role": one.role}
    return Draft(
        title=one_line(one.what, TITLE),
        what=one.what,
        why=one.why,
        category=CATEGORIES.get(one.sort),
        project=one.project,
        source=CLAUDE_CODE,
        session_id=one.session or None,
        metadata={name: value for name, value in place.items() if value},
    )
