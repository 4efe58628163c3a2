"""
Importing: from files to memories. Everything is stored first, in batches of one transaction each, and embedded
afterwards. If an import is interrupted, stored batches remain, and the same import continues.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from memory.carry import SAVED, THERE, UPDATED, Outcomes, Sum
from memory.carry.formats import MARKDOWN, Belongs, Format
from memory.carry.formats.finding import FoundFile, found, left, spooled
from memory.carry.formats.formats import by_name, items
from memory.carry.formats.items import (
    BLANK,
    OTHER,
    About,
    Aside,
    ImportTarget,
    Item,
    LeftOut,
    NamedRelation,
    Read,
    left_out,
    line,
    timed,
    told,
    uid_of,
)
from memory.carry.formats.notes import folded, named_pages
from memory.engine.markdown import beside, former, keep
from memory.keep.entry import Sanitizer
from memory.keep.rules import join
from memory.schema.draft import MOMENTS, Draft, Saved, content_hash
from memory.schema.errors import Invalid, NotFound, kept_before
from memory.schema.kinds import Kind
from memory.store import Attached, Edge, Links, Relation
from memory.text.markdown import listed, observations

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from memory.engine import Engine
    from memory.schema.answer import Notice
    from memory.schema.memory import Memory, MemoryId

__all__ = [
    "BLANK",
    "MARKDOWN",
    "OTHER",
    "SAVED",
    "THERE",
    "UPDATED",
    "Aside",
    "Belongs",
    "Format",
    "FoundFile",
    "ImportTarget",
    "Imported",
    "Importer",
    "Item",
    "LeftOut",
    "Outcomes",
    "Sum",
    "by_name",
    "cleaner",
    "found",
    "left",
    "left_out",
    "reads",
    "spooled",
    "survey",
    "told",
]
"""Includes what tools use of the formats."""

T = TypeVar("T")

BATCH = 100
"""The most memories of one transaction."""

BATCH_CHARACTERS = 400_000
"""A batch is stored once its bodies have more characters: other writers wait for its transaction."""

WAITING = 100_000
"""The most relations and links that wait to be added, because their ends may be in a later file."""

TOLD = 50
"""About the most notices."""

NAMED = 100_000
"""The most omitted files or parts that are named, because each name takes memory."""

FILE_KINDS = frozenset({Kind.KNOWLEDGE_BASE})


class Imported(NamedTuple):
    """
    The result of an import: what happened to each memory that was found, and the number of new relations and links
    (`joined`).

    A relation or link counts as found only if it is left out.
    """

    sum: Sum
    notices: tuple[Notice, ...] = ()
    joined: int = 0


def survey(found: Iterable[FoundFile | LeftOut]) -> tuple[Counter[Format], int]:
    """The number of files of each format, and of files that cannot be read."""
    formats: Counter[Format] = Counter()
    unread = 0
    for one in found:
        if isinstance(one, LeftOut):
            unread += one.why != OTHER
        elif one.format is not None:
            formats[one.format] += 1
    return formats, unread


def reads(found: Iterable[FoundFile | LeftOut], target: ImportTarget, begun: Callable[[], None]) -> Iterator[Read]:
    """
    Read the content of files, one memory, relation or omission at a time.

    Args:
        begun: Called with each file before it is read.
    """
    for one in found:
        if isinstance(one, LeftOut):
            yield one
        elif one.format is not None:
            begun()
            yield from items(one.format, one.source, target)


def cleaner(folder: str) -> Callable[[str], str]:
    """A function that removes secrets from a text by the rules of a folder; see `memory.keep.entry.Sanitizer.text`."""
    return Sanitizer(folder, {}).text


class Importer:
    """Stores what was read. An object is one import, inside `Maintenance.importing`."""

    def __init__(
        self, engine: Engine, project: str | None, progress: Callable[[int], None] = lambda _stored: None
    ) -> None:
        """
        Args:
            progress: Called after each batch with `stored`.
        """
        self._engine, self._project, self._progress = engine, project, progress
        self._clean = lru_cache(10_000)(engine.documents.clean)  # most names occur in several relations
        self._files: dict[str, Memory] | None = None
        self._seen: set[str] = set()
        self._batch: list[Item] = []
        self._later: list[NamedRelation | About] = []
        self._links: list[Links] = []
        self._counts: Counter[str] = Counter()
        self._notices: dict[Notice, None] = {}
        self._left: list[LeftOut] = []
        self._asides: Counter[tuple[str, str]] = Counter()

    @property
    def stored(self) -> int:
        """Number of memories that are new or changed so far."""
        return self._counts[SAVED] + self._counts[UPDATED]

    def take(self, found: Iterable[Read]) -> Imported:
        """Store everything that was read; returns the result of the import."""
        stays = "{:,} memories were imported before that and stay. Repeat the import to continue."
        with kept_before(lambda: stays.format(self.stored)), self._engine.maintenance.importing():
            for one in found:
                match one:
                    case Item():
                        self._add(one)
                    case LeftOut():
                        self._counts["found"] += 1
                        self._leave(one)
                    case Aside():
                        self._asides[one.program, one.what] += one.number
                    case NamedRelation() | About():
                        self._wait(one)
            self._join()
            self._engine.maintenance.link(self._links)
        counts = self._counts
        left = sorted(self._left, key=lambda one: one.ruled)
        became = Sum(counts["found"], counts[SAVED], counts[UPDATED], counts[THERE], tuple(left), counts["unnamed"])
        return Imported(became, (*self._notices, *told(self._asides)), counts["joined"])

    def _leave(self, one: LeftOut) -> None:
        if len(self._left) < NAMED:
            self._left.append(one)
        else:
            self._counts["unnamed"] += 1

    def _fail(self, item: Item, error: Invalid | NotFound) -> None:
        files = item.draft.related_files if item.draft.kind in FILE_KINDS else ()
        self._leave(left_out(files[0] if files else self._clean(item.draft.title), error))

    def _part(self, one: NamedRelation | About, why: object) -> None:
        """Leave out a relation or link, with a reason. Only omitted ones are counted."""
        self._counts["found"] += 1
        self._leave(left_out(f"{one[0]} → {one[1]}", why))

    # Memories ------------------------------------------------------------------

    def _add(self, item: Item) -> None:
        item = item._replace(draft=timed(item))
        self._counts["found"] += 1
        if item.draft.kind in FILE_KINDS:
            self._seen.add(item.draft.related_files[0])
        if item.draft.kind in FILE_KINDS and (old := self._of_file(item.draft)) is not None:
            try:
                saved, changed = keep(self._engine, item, old, self._seen.__contains__)
            except Invalid as error:
                self._fail(item, error)
            else:
                self._count(UPDATED if changed else THERE, saved.notices)
            return
        self._batch.append(item)
        if len(self._batch) >= BATCH or sum(len(one.draft.body) for one in self._batch) > BATCH_CHARACTERS:
            self._flush()

    def _of_file(self, draft: Draft) -> Memory | None:
        if self._files is None:
            self._files = former(self._engine, self._project)
        return self._files.get(draft.related_files[0])

    def _flush(self) -> None:
        batch, self._batch = self._batch, []
        self._each(batch, self._store, self._fail)
        self._progress(self.stored)

    def _each(
        self, several: list[T], do: Callable[[list[T]], None], fail: Callable[[T, Invalid | NotFound], None]
    ) -> None:
        """
        Do something for several at once, all or none. If that fails, do it one by one, so that only the faulty one is
        lost.
        """
        if not several:
            return
        try:
            do(several)
        except (Invalid, NotFound) as error:
            if len(several) == 1:
                fail(several[0], error)
                return
            for one in several:
                self._each([one], do, fail)

    def _store(self, batch: list[Item]) -> None:
        moment = self._engine.now()
        lines = [line(item, moment) for item in batch]
        for item, made, saved in zip(batch, lines, self._engine.maintenance.restore(lines), strict=True):
            if made.links is not None:
                self._links.append(made.links)
            try:
                self._count(*self._brought(item, saved))
            except (Invalid, NotFound) as error:  # one that is already stored does not make the batch run again
                self._fail(item, error)

    def _brought(self, item: Item, saved: Saved) -> tuple[str, tuple[Notice, ...]]:
        """The outcome for a memory that was stored or already known, and notices about it."""
        if not saved.known:
            return SAVED, saved.notices
        if (other := beside(self._engine, item, saved, self._seen.__contains__)) is not None:
            return SAVED, other.notices
        if item.draft.kind is Kind.ENTITY:
            return UPDATED if grown(self._engine, item.draft, saved) else THERE, ()
        return self._renewed(item, saved.memory)

    def _renewed(self, item: Item, old: Memory) -> tuple[str, tuple[Notice, ...]]:
        """Update a memory if its source has changed since it was imported."""
        newer = item.updated is not None and item.updated > old.updated_at
        if not newer or old.uid != item.uid or old.content_hash == content_hash(item.draft):
            return THERE, ()
        fields = ("title", "what", "why", "impact", "body", "category", "metadata")
        more = tuple(tag for tag in item.draft.tags if tag not in old.tags)
        changed = {name: getattr(item.draft, name) for name in fields} | {"tags": (*old.tags, *more)}
        changed |= {name: moment for name in MOMENTS if (moment := getattr(item.draft, name)) is not None}
        again = self._engine.documents.update(old.id, **changed)
        return THERE if again.known else UPDATED, again.notices

    def _count(self, what: str, notices: tuple[Notice, ...]) -> None:
        self._counts[what] += 1
        if what != THERE and len(self._notices) < TOLD:
            self._notices.update(dict.fromkeys(notices))

    # Relations and links ---------------------------------------------------------

    def _join(self) -> None:
        """
        Add the relations and links that were read. A missing end that the source describes is created; a relation
        without an end for another reason is skipped.
        """
        self._flush()
        waiting, self._later = self._later, []
        if any(isinstance(one, NamedRelation) and one.makes for one in waiting):
            waiting = self._led(waiting)
        names = {name: None for one in waiting if isinstance(one, NamedRelation) and one.makes for name in one[:2]}
        known = self._engine.store.graph.named(list(names)) if names else {}
        for name in names:
            if name not in known:
                draft = Draft(kind=Kind.ENTITY, title=name, body=listed(()), source="basic-memory")
                self._add(Item(draft, uid_of("basic-memory", "entity", name)))
        self._flush()
        for start in range(0, len(waiting), BATCH):
            self._join_page(waiting[start : start + BATCH])

    def _led(self, waiting: list[NamedRelation | About]) -> list[NamedRelation | About]:
        """Resolve links to documents that exist here: each then points to the document's entity if it has one."""
        places = named_pages(former(self._engine, self._project).values())
        wanted = {
            one: places.get(folded(one.target)) for one in waiting if isinstance(one, NamedRelation) and one.makes
        }
        titles = [memory.title for memory in wanted.values() if memory is not None]
        entities = self._engine.store.graph.named(titles)

        def led(one: NamedRelation | About) -> NamedRelation | About:
            memory = wanted.get(one) if isinstance(one, NamedRelation) else None
            if memory is None or not isinstance(one, NamedRelation):
                return one
            return one._replace(target=memory.title) if memory.title in entities else About(one.source, memory.uid)

        return [led(one) for one in waiting]

    def _join_page(self, page: list[NamedRelation | About]) -> None:
        names = [name for one in page for name in (one[:2] if isinstance(one, NamedRelation) else one[:1])]
        ids = self._engine.store.graph.named(names)
        edges: list[tuple[NamedRelation | About, Edge]] = []
        for one in page:
            ends = self._ends(one, ids)
            if ends is None:
                self._part(one, "one of them is not there")
            elif isinstance(one, NamedRelation):
                edges.append((one, Relation(*ends, one.type, self._engine.now())))
            else:
                edges.append((one, Attached(*ends, self._engine.now())))
        self._each(edges, self._add_edges, lambda pair, error: self._part(pair[0], error))

    def _add_edges(self, edges: list[tuple[NamedRelation | About, Edge]]) -> None:
        self._counts["joined"] += sum(join(self._engine.store, [edge for _, edge in edges]))

    def _ends(self, one: NamedRelation | About, ids: Mapping[str, MemoryId]) -> tuple[MemoryId, MemoryId] | None:
        first = ids.get(one[0])
        if isinstance(one, NamedRelation):
            second = ids.get(one.target)
        else:
            second = next((id for id, _ in self._engine.store.memories.resolve(one.uid)), None)
        return None if first is None or second is None else (first, second)

    def _wait(self, one: NamedRelation | About) -> None:
        try:
            self._later.append(self._cleaned(one))
        except Invalid as error:
            self._part(one, error)
        if len(self._later) >= WAITING:
            self._join()

    def _cleaned(self, one: NamedRelation | About) -> NamedRelation | About:
        """A relation or link whose names have no secrets, like the names of stored entities."""
        clean = self._clean
        if isinstance(one, NamedRelation):
            return one._replace(source=clean(one.source), target=clean(one.target), type=clean(one.type))
        return one._replace(entity=clean(one.entity))


def grown(engine: Engine, draft: Draft, saved: Saved) -> bool:
    """
    Add what a file says about an entity that already exists under its name; returns whether anything was new. If the
    entity becomes keyword-only, that happens first, because no model may receive the new text.
    """
    if not saved.known or draft.kind is not Kind.ENTITY:
        return False
    if draft.keyword_only and not saved.memory.keyword_only:
        engine.documents.update(saved.memory.id, keyword_only=True)
    if saved.memory.content_hash == content_hash(draft):
        return False
    return not engine.graph.observe(saved.memory.id, observations(draft.body)).saved.known
