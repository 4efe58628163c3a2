"""
Syncing a folder of pages with memories: a change on one side since the last look is made on the other.

Also missing counterparts: pages that were removed, and memories that are in the trash although their pages exist.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING

from memory.carry import SAVED, UPDATED, Outcomes
from memory.carry.formats.items import OTHER, left_out
from memory.carry.mirror_folder import Agreed, Elsewhere, Folder, version as version_of
from memory.carry.pages import (
    FLAGS,
    LINKS,
    SAID,
    SUPERSEDED,
    Page,
    derived_uid,
    differ,
    file_name,
    merged,
    rendered,
    usual_path,
)
from memory.config.walk import Missing, withheld as withheld_files
from memory.engine.mirror_links import listed
from memory.engine.mirror_sides import CONFLICT, ONE_OF_A_KIND, MirrorAction, PageFile, Sides, Trouble
from memory.keep.jsonl import MemoryLine, parsed as line_of
from memory.schema.answer import Notice
from memory.schema.draft import SHARED
from memory.schema.errors import Ambiguous, Invalid, NotFound, iso, printable
from memory.schema.kinds import GENERAL, RULES, Kind
from memory.text.markdown import title

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from pathlib import Path

    from memory.config.walk import Own
    from memory.engine.documents import Documents
    from memory.engine.graph import Entities
    from memory.engine.trash import Trash
    from memory.schema.memory import Json, Memory
    from memory.store import Store

BECAME = {"saved": SAVED, "restored": SAVED, "updated": UPDATED, CONFLICT: UPDATED}
"""The outcome for a page, by what was done."""

BATCH = 100  # pages saved in one transaction


class Mirror:
    """
    Syncs a folder of Markdown pages with memories, in both directions; `memory.engine.Engine.mirror` makes one.

        >>> for result in engine.mirror(Path("notes"), project="my-app").look():
        ...     print(result)

    Each look compares the whole folder and all memories with their last agreed state, because file events can be missed
    and a git merge changes many files at once. The uid in its front matter ties a page to its memory.

    Attributes:
        again: Whether another look is needed soon, e.g. because another program wrote in between.
        force: Whether the next look takes all missing pages for deleted.
        waiting: Whether pages are missing that were not taken for deleted.
        outcomes: The result for each file in the folder, by its path.
    """

    def __init__(
        self,
        folder: Path,
        store: Store,
        documents: Documents,
        graph: Entities,
        trash: Trash,
        *,
        project: str | None,
        now: Callable[[], datetime],
        own: Own,
    ) -> None:
        """
        Args:
            project: Only memories and pages of this project; None takes all.
            own: The files of the store, which are no pages.
        """
        self.folder, self.project = Folder(folder, store.path, store.highest, own), project
        self.store, self.documents, self.graph, self.trash, self.now = store, documents, graph, trash, now
        self._missing: set[str] = set()
        self.again = self.force = self.waiting = False
        self.outcomes = Outcomes()
        self._written: set[str] = set()  # pages written by this object, so not found in the folder

    def look(
        self, progress: Callable[[int, int], None] = lambda _done, _total: None
    ) -> Iterator[MirrorAction | Trouble]:
        """
        Sync once: make the changes of either side on the other.

        Args:
            progress: Called with the number of finished pages and the total.

        Returns:
            What was done, and pages that could not be synced, while it goes on: nothing happens before the iteration.

        Raises:
            NotFound: The folder no longer exists. Nothing was changed.
            Invalid: The folder cannot be used, is not the folder of the last look, or has none of its pages any more.
                Nothing was changed.
        """
        self.again = False
        with self.folder.alone():
            look = _Look(
                self.folder, self.project, self.store, self.documents, self.graph, trash=self.trash, now=self.now
            )
            troubles = list(look.read(force=self.force))
            paths = self._found(look)
            yield from self._noted(troubles, paths)
            self._missing, former = missing(look), self._missing
            if not self.force:
                yield from withheld(look, self._missing)
            self.waiting = bool(look.held & self._missing)
            yield from self._noted(back(look), paths)
            yield from self._noted(look.saved(progress), paths)
            new = bool(self._missing - former)  # as while git removes one after the other
            self.again, self.force = look.again or new, self.force and new
            uids = sorted(look.uids)
            for number, uid in enumerate(uids, start=1):
                try:
                    yield from self._noted(look.step(uid, gone=not new), paths, uid)
                except (Elsewhere, NotFound):  # changed just now by an editor or another command
                    self.again = True
                except Invalid as error:
                    yield from self._noted([Trouble(look.places.paths.get(uid, ""), error)], paths, uid)
                progress(number, len(uids))
            for uid, path in paths.items():
                self.outcomes.move(path, look.places.paths.get(uid, path))

    def _found(self, look: _Look) -> dict[str, str]:
        """Count the files in the folder; returns the paths of its pages, by uid."""
        walked = look.walked
        left = [*walked.left.items(), *((name, OTHER) for name in walked.others)]
        rules = {*walked.others, *look.passed}
        lost = [left_out(name, why, ruled=name in rules) for name, why in (*left, *look.passed.items())]
        self.outcomes.found(walked.files.keys() - self._written - look.passed.keys(), lost)
        return {uid: one.path for uid, one in look.found.items() if one.path}

    def _noted(
        self, done: Iterable[MirrorAction | Trouble], paths: Mapping[str, str], uid: str = ""
    ) -> Iterator[MirrorAction | Trouble]:
        """Record the outcome of each page; a page that is left out again for the same reason is reported once."""
        for one in done:
            if isinstance(one, MirrorAction):
                path = paths.get(uid or one.uid, "")
                if one.done == "written" and not path:
                    self._written.add(one.path)
                elif one.done in BECAME:
                    self.outcomes.note(path, BECAME[one.done])
            elif (path := paths.get(uid, one.path)) in self.outcomes:
                self.outcomes.note(path, left_out(path, one.error))
                yield one._replace(found=True)
                continue
            yield one


class _Look(Sides):
    """One look: the changes that it makes on either side."""

    # Saved ---------------------------------------------------------------

    def saved(self, progress: Callable[[int, int], None]) -> Iterator[MirrorAction | Trouble]:
        """Save the pages without a memory, in batches; then add their links, once all pages are saved."""
        lines: list[tuple[str, MemoryLine]] = []
        for uid, one in self.found.items():
            if uid in self.memories or uid in self.held or (one.page is None and uid in self.agreed):
                continue
            try:
                page = one.page or self.parsed(self.folder.read(one.path)[0], one.path, uid)
                self.found[uid] = one._replace(page=page)
                lines.append((uid, self._line(page, one.path)))
            except Invalid as error:
                yield self._held(uid, error)
        done = 0
        while batch := lines[done : done + BATCH]:
            done += len(batch)
            yield from self._restored(batch)
            progress(done, len(lines))
        yield from self._connect([uid for uid, _ in lines if uid in self.fresh])

    def _held(self, uid: str, error: Invalid) -> Trouble:
        self.held.add(uid)
        return Trouble(self.found[uid].path, error)

    def _restored(self, batch: Sequence[tuple[str, MemoryLine]]) -> Iterator[MirrorAction | Trouble]:
        try:
            found = self.documents.restore([line for _, line in batch])
        except Invalid as error:
            if len(batch) == 1:
                yield self._held(batch[0][0], error)
                return
            for one in batch:  # to find the faulty one
                yield from self._restored([one])
            return
        for (uid, _), saved in zip(batch, found, strict=True):
            memory = saved.memory
            if memory.uid != uid:
                yield self._held(uid, Invalid(f"{memory.short_id} is the same {memory.kind}", hint=ONE_OF_A_KIND))
                continue
            if saved.known:  # saved just now by another process
                self.held.add(uid)
                self.again = True
                continue
            self.know(memory)
            self.fresh.add(uid)
            why = () if uid not in self.agreed else (Notice("it was deleted for good, but its page has changed since"),)
            path = self.found[uid].path
            if not path or any(self.documents.clean(part) != part for part in path.split("/")):  # a secret in its name
                path = self.places.allotted(usual_path(memory), uid)
            self.places.place(uid, path)
            yield MirrorAction("saved", path, uid, memory.title, (*why, *saved.notices))

    def _line(self, page: Page, path: str) -> MemoryLine:
        facts = {name: value for name, value in page.facts.items() if name not in LINKS}
        moment = iso(self.now())
        folder, _, stem = path.rpartition("/")
        usual: dict[str, Json] = {
            "kind": str(Kind.KNOWLEDGE_BASE),
            "created_at": moment,
            "updated_at": moment,
        }
        if "kind" not in facts:
            usual |= {
                "title": title(self.documents.clean(page.body)) or stem.rpartition(".")[0],
                "category": GENERAL,
                "source": "mirror",
            }
        if "kind" not in facts or page.uid in self.lineless:
            usual["project"] = self.project or self._project_of(folder)
        values = {name: value for name, value in (usual | facts).items() if value is not None}
        made = line_of(json.dumps(values | {"body": page.body}), place=printable(path))
        assert isinstance(made, MemoryLine)  # noqa: S101  # there is no `schema` in it
        return made

    def _project_of(self, folder: str) -> str | None:
        """The project whose pages are in a folder; the folder's name if no project has it."""
        first = folder.partition("/")[0]
        return self._projects.get(first, None if first == SUPERSEDED else first or None)

    @cached_property
    def _projects(self) -> dict[str, str]:
        """The projects that existed before this look, by the names of their folders."""
        return {file_name(name, ""): name for name in {one.project for one in self.everyone.values()} if name}

    def _connect(self, uids: Sequence[str]) -> Iterator[Trouble]:
        for uid in uids:
            page = self.found[uid].page
            if page is None or not any(name in page.facts for name in LINKS):
                continue
            try:
                self.places.point(self.memories[uid], page, self.places.targets(page.facts), {})
            except Invalid as error:
                yield self._held(uid, error)
        if uids:
            self.places.read_edges()
            ids = [self.memories[uid].id for uid in uids]
            for memory in self.store.memories.by_id(ids).values():
                self.know(memory)

    # Compared ------------------------------------------------------------

    def step(self, uid: str, *, gone: bool) -> Iterator[MirrorAction]:
        """
        Sync one page and its memory.

        Args:
            gone: Whether a missing page was already missing at the last look.

        Raises:
            Elsewhere, NotFound: One of them was changed just now.
            Invalid: The page's content cannot be saved, or the page cannot be written.
        """
        memory, found, agreed = self.memories.get(uid), self.found.get(uid), self.agreed.get(uid)
        if uid in self.held:
            return
        if memory is None:
            yield from self._without_memory(uid, found)
        elif found is None:
            yield from self._without_page(memory, agreed, gone=gone)
        elif found.page is not None and uid not in self.fresh:
            yield from self._both(memory, found, found.page, agreed)
        elif (
            uid in self.fresh
            or agreed is None
            or differ(self.marks(memory, agreed), agreed.marks)
            or self.places.paths[uid] != found.path
        ):
            yield from self.put(memory, found)
        else:
            place = self.walked.folders.get(found.path.rpartition("/")[0], agreed.place)
            self.agreed[uid] = agreed._replace(path=found.path, stamp=found.stamp, place=place, doubted=False)

    def _without_memory(self, uid: str, found: PageFile | None) -> Iterator[MirrorAction]:
        if found is None and unseen(self, uid):
            return  # its page may still exist, and is removed once its folder is back
        self.agreed.pop(uid, None)
        if found is not None and found.page is None:
            self.folder.remove(found.path, found.stamp)
            why = (Notice("the commits of this folder still have its text"),) if self.folder.committed else ()
            yield MirrorAction("removed", found.path, uid, "", why)

    def _without_page(self, memory: Memory, agreed: Agreed | None, *, gone: bool) -> Iterator[MirrorAction]:
        why: tuple[Notice, ...] = ()
        if agreed is not None:
            if not differ(self.marks(memory, agreed), agreed.marks):
                if gone and self.folder.stamp(agreed.path) is None:  # it is still missing
                    self.trash.delete(memory.uid)
                    del self.agreed[memory.uid]
                    yield MirrorAction("deleted", agreed.path, memory.uid, memory.title)
                return
            why = (Notice("its page was removed, but the memory has changed since"),)
        yield from self.put(memory, None, why)

    def _both(self, memory: Memory, found: PageFile, page: Page, agreed: Agreed | None) -> Iterator[MirrorAction]:
        """Sync a changed page with its memory, which may have changed too."""
        former = None if agreed is None else agreed.marks
        mine = self.like(self.page(memory), page, found.path)._replace(foreign=page.foreign)
        if not page.facts.keys() - {"uid"}:  # without front matter, only the body counts
            page = page._replace(facts=mine.facts)
        elif memory.uid in self.lineless:  # only our line was removed: the facts have not changed
            page = page._replace(
                facts={**mine.facts, **{name: page.facts[name] for name in SAID if name in page.facts}}
            )
        wanted, lost = mine, []
        for version, began in ((page, former), (found.other, None)):  # a git conflict: both versions changed
            if version is not None:
                wanted, whole = merged(began, wanted, version)
                lost += [] if whole else [version]
        if changed := differ(wanted.marks(), mine.marks()):
            memory, notices = self._applied(memory, mine, wanted)
            yield MirrorAction("updated", self.places.paths[memory.uid], memory.uid, memory.title, notices)
        for version in lost:
            yield self._kept_beside(memory, version)
        final = self.like(self.page(memory), wanted, self.places.paths[memory.uid])
        if memory.uid in self.unnamed or final.marks() != page.marks():
            done = list(self.put(memory, found._replace(page=final)))
            yield from () if changed else done
        else:
            self.agree(memory, final, found.stamp, found.digest)

    def _applied(self, memory: Memory, mine: Page, wanted: Page) -> tuple[Memory, tuple[Notice, ...]]:
        names = [name for name in SHARED if name not in LINKS and name != "parent_id"]
        changes: dict[str, Json | tuple[Json, ...]] = {
            name: tuple(value) if isinstance(value := wanted.facts.get(name), list) else value
            for name in names
            if wanted.facts.get(name) != mine.facts.get(name)
        }
        changes |= {name: bool(changes[name]) for name in FLAGS if name in changes}
        if wanted.body != mine.body:
            changes["body"] = wanted.body
        points = any(wanted.facts.get(name) != mine.facts.get(name) for name in (*LINKS, "status", "pinned"))
        now, former = (self.places.targets(page.facts if points else {}) for page in (wanted, mine))
        notices: tuple[Notice, ...] = ()
        if changes:
            notices = self.documents.update(memory.uid, **changes).notices
        memory = self.documents.get(memory.uid)
        if points:
            self.places.point(memory, wanted, now, former)
            self.places.read_edges(memory)
            memory = self.documents.get(memory.uid)
        if wanted.facts.get("created_at") != mine.facts.get("created_at"):
            notices = (*notices, Notice("created_at cannot be edited"))
        self.know(memory)
        return memory, notices

    def _kept_beside(self, memory: Memory, version: Page) -> MirrorAction:
        """Save the other version of a memory that both sides changed as a memory of its own, with a page."""
        tags = [*listed(version.facts.get("tags")), CONFLICT]
        known = version.facts.get("metadata")
        metadata = {**(known if isinstance(known, dict) else {}), CONFLICT: memory.uid}
        facts = {
            **version.facts,
            "uid": derived_uid(memory.uid, rendered(version)),
            "tags": list(dict.fromkeys(tags)),
            "metadata": metadata,
        }
        left, body = {"status", "pinned", *LINKS}, version.body
        if RULES[memory.kind].one:  # there may be only one of its kind, so this becomes a document
            usual = f"{memory.kind} {memory.short_id}"
            facts |= {"kind": str(Kind.KNOWLEDGE_BASE), "category": GENERAL, "title": facts.get("title") or usual}
            left |= set(RULES[Kind.KNOWLEDGE_BASE].forbidden)
            body = body if body.strip() else usual
        page = version._replace(facts={name: value for name, value in facts.items() if name not in left}, body=body)
        saved = self.documents.restore([self._line(page, self.places.paths[memory.uid])])[0].memory
        path = self.places.allotted(f"{usual_path(saved)} ({CONFLICT})", saved.uid)
        if saved.uid not in self.found and saved.uid not in self.agreed:  # else an earlier look saved it
            self.know(saved)
            self.places.place(saved.uid, path)
            beside = PageFile("", [], "", page)
            for _ in self.put(saved, beside):
                pass
        notice = Notice("it was changed on both sides: both versions stay", "`memory mirror --conflicts` shows them.")
        return MirrorAction(CONFLICT, self.places.paths[saved.uid], saved.uid, saved.title, (notice,))


# Missing counterparts -----------------------------------------------------------

AT_ONCE = 100  # memories restored in one transaction


def missing(look: Sides) -> set[str]:
    """The uids of memories whose pages are no longer in the folder."""
    return (look.agreed.keys() & look.memories.keys()) - look.found.keys() - look.held - look.elsewhere


def withheld(look: Sides, lost: set[str]) -> Iterator[Trouble]:
    """Keep memories whose pages are missing for a doubtful reason, e.g. an unmounted folder; see `memory.config.walk`."""
    by_path = {look.agreed[uid].path: uid for uid in lost}
    files = [Missing(one.path, one.place, one.doubted) for one in (look.agreed[uid] for uid in lost)]
    total, root = len((look.agreed.keys() & look.memories.keys()) - look.elsewhere), str(look.folder.path)
    for one in withheld_files(files, total, look.walked, root, f"memory mirror {printable(root)} --force"):
        yield Trouble(one.folder or printable(root), one.why)
        for uid in (by_path[path] for path in one.paths):
            look.held.add(uid)
            look.agreed[uid] = look.agreed[uid]._replace(doubted=look.agreed[uid].doubted or not one.folder)


def unseen(look: Sides, uid: str) -> bool:
    """Whether the folder of a page cannot be read, or is not the same folder as before."""
    agreed = look.agreed.get(uid)
    return agreed is not None and agreed.place not in (None, look.walked.folders.get(agreed.path.rpartition("/")[0]))


def back(look: Sides) -> Iterator[MirrorAction | Trouble]:
    """Restore memories from the trash whose pages exist, with their history, relations and links."""
    there = {uid for uid, one in look.found.items() if uid not in look.memories and one.page is not None}
    uids = [one.uid for one in look.trash.rows() if one.uid in there] if there else []  # last deleted first:
    uids = list(dict.fromkeys(uids))  # targets of links were deleted later, or still exist
    for first in range(0, len(uids), AT_ONCE):
        yield from _restored(look, uids[first : first + AT_ONCE])
    if uids:
        look.places.read_edges()
        look.again = True  # targets of other pages' links may exist again


def _restored(look: Sides, uids: Sequence[str]) -> Iterator[MirrorAction | Trouble]:
    try:
        found, _ = look.trash.restore(uids)
    except (Invalid, NotFound, Ambiguous) as error:
        if len(uids) > 1:
            for uid in uids:  # to find the faulty one
                yield from _restored(look, [uid])
        elif isinstance(error, Invalid):
            look.held.add(uids[0])
            yield Trouble(look.found[uids[0]].path, error)
        return
    for memory in found:
        yield _known(look, memory)


def _known(look: Sides, memory: Memory) -> MirrorAction:
    """Compare the page with the memory as it was deleted, so that later changes of the page count as edits."""
    uid, one = memory.uid, look.found[memory.uid]
    changed = uid in look.agreed
    look.know(memory)
    if not changed:
        marks = look.page(memory).marks()
        look.agreed[uid] = Agreed(one.path, "", one.stamp, one.digest, version_of(memory), marks, memory.id)
    why = (Notice("it was deleted, but its page has changed since"),) if changed else ()
    return MirrorAction("restored", one.path, uid, memory.title, why)
