"""Both sides of a mirror, pages and memories, and which page belongs to which memory."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.formats.items import BLANK
from memory.carry.mirror_folder import Agreed, Folder, Stamp, stamp_of, version
from memory.carry.pages import (
    LINKS,
    OWN,
    UID,
    Page,
    derived_uid,
    dressed,
    facts_of,
    folded,
    mark,
    marks_of,
    parsed,
    rendered,
    renewed,
    torn,
    usual_path,
    versions,
)
from memory.config.walk import Walked, place
from memory.engine.mirror_links import Places
from memory.schema.errors import WHAT_OF_BODY, Error, Invalid, NotFound, clipped_repr, iso, printable
from memory.schema.item import key_of, namespace_of
from memory.schema.kinds import BY_KEY, RULES, Kind
from memory.schema.memory import Memory, Standing
from memory.schema.query import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.carry.pages import Marks
    from memory.engine.documents import Documents
    from memory.engine.graph import Entities
    from memory.engine.trash import Trash
    from memory.schema.answer import Notice
    from memory.store import Store


UID_BYTES = re.compile(rb"[0-9a-f]{32}")

UNDATED = ("status", "pinned", *LINKS)
"""Facts of a memory that can change without a new `updated_at`."""

CONFLICT = "conflict"
"""The tag of a memory that is the other version of a memory changed on both sides."""


OF_ANOTHER = "it is of another project"

ONE_OF_A_KIND = "Put into that one what this page says, and delete the page."


class MirrorAction(NamedTuple):
    """
    A change that a sync has made.

    Attributes:
        done: In the folder: "written", "moved", "removed". In the store: "saved", "updated", "deleted", "restored",
            "conflict".
        path: The page's path.
    """

    done: str
    path: str
    uid: str
    title: str
    notices: tuple[Notice, ...] = ()


class Trouble(NamedTuple):
    """
    A page that was not synced, and why. Both sides stay as they are.

    Attributes:
        found: Whether it is a file in the folder, which counts as found.
    """

    path: str
    error: Error
    found: bool = False


class PageFile(NamedTuple):
    """
    A page in the folder.

    Attributes:
        path: The file's path; empty if it is not written yet.
        page: Its content; None if it has not changed since both sides last agreed.
        other: The other version, if a git merge left two in the file.
    """

    path: str
    stamp: Stamp
    digest: str
    page: Page | None
    other: Page | None = None


def every(documents: Documents) -> Iterator[Memory]:
    return chain.from_iterable(documents.pages(EVERYTHING))


def conflicts(documents: Documents) -> Sequence[tuple[Memory, Memory | None]]:
    """The other versions of memories that both sides changed, each with its memory, or None if that was deleted."""
    memories = {one.uid: one for one in every(documents)}
    found = [one for one in memories.values() if CONFLICT in one.tags and one.status is Standing.ACTIVE]
    return [(one, memories.get(str(one.metadata.get(CONFLICT, "")))) for one in found]


class Sides:
    """
    Both sides at the time of one look, and which page belongs to which memory.

    Attributes:
        walked: The files in the folder.
        found: The pages among them, by uid.
        everyone: All memories, by uid.
        memories: Those that are synced: of the project, or with a page of it.
        elsewhere: The agreed states of other projects.
        places: The paths of pages, existing or not yet written.
        held: Unreadable memories, which stay as they are on both sides.
        fresh: Memories that this look has saved; their pages are written from them.
        unnamed: Pages without a uid, with the uid of another page, or with outdated facts.
        passed: Files that are not read, with the reason; nothing is wrong with them.
        lineless: Memories whose pages other programs wrote and which do not have our line yet, or no longer.
        again: Whether another program wrote in between.
    """

    def __init__(
        self,
        folder: Folder,
        project: str | None,
        store: Store,
        documents: Documents,
        graph: Entities,
        *,
        trash: Trash,
        now: Callable[[], datetime],
    ) -> None:
        self.folder, self.project, self.store = folder, project, store
        self.documents, self.graph, self.trash, self.now = documents, graph, trash, now
        self.agreed = folder.agreed
        with store.snapshot():  # else a memory changed meanwhile would be on no page of the list
            self.everyone = {one.uid: one for one in every(documents)}
        folder.compare(self.everyone.values())
        self.elsewhere = {uid for uid in self.agreed if not (self._was_ours(uid) or self._is_ours(uid))}
        mine = self.agreed.keys() - self.elsewhere
        self.memories = {uid: one for uid, one in self.everyone.items() if uid in mine or self._is_ours(uid)}
        self.walked = Walked({}, {}, {}, [])
        self.found: dict[str, PageFile] = {}
        self.held: set[str] = set()
        self.unnamed: set[str] = set()
        self.lineless: set[str] = set()
        self.fresh: set[str] = set()
        self.passed: dict[str, str] = {}
        self.again = False
        self.places = Places(folder.path, store, graph, self.everyone, now=now)
        self._only = {key: one for one in self.everyone.values() if (key := _only(one.kind, one._asdict()))}

    @property
    def uids(self) -> set[str]:
        return (self.memories.keys() | self.found.keys() | self.agreed.keys()) - self.elsewhere

    def know(self, memory: Memory) -> None:
        """Take a memory's current state."""
        self.memories[memory.uid] = self.everyone[memory.uid] = memory

    def _is_ours(self, uid: str) -> bool:
        if self.project is None:
            return True
        memory = self.everyone.get(uid)
        return memory is not None and self.documents.project(memory.project or "") == self.project

    def _was_ours(self, uid: str) -> bool:
        return self.project is None or self.agreed[uid].marks.get("project") == mark(self.project)

    # Read ----------------------------------------------------------------

    def read(self, *, force: bool) -> Iterator[Trouble]:
        """
        Read changed pages, and match pages with memories and memories with paths.

        Args:
            force: Accept that all pages are missing.

        Raises:
            Invalid: All pages are missing, and `force` is not set.
        """
        self.walked = self.folder.walked()
        files, left = self.walked.files, self.walked.left
        by_path = {one.path: uid for uid, one in self.agreed.items()}
        for name, why in sorted(left.items()):
            yield Trouble(name, Invalid(why))
            self.held.update(
                uid for path, uid in by_path.items() if path == name or (name.endswith("/") and path.startswith(name))
            )
        for name in sorted(files, key=lambda name: (name not in by_path, name)):  # originals before copies
            try:
                self._take(name, stamp_of(files[name]), by_path.get(name))
            except Invalid as error:
                yield Trouble(name, error)
                self.held.update({by_path[name]} if name in by_path else self._named_in(name))
        if not files and len(self.agreed) > 1 and not force:
            raise Invalid(
                f"none of the {len(self.agreed):,} pages is in {printable(str(self.folder.path))} any more",
                hint="Is the disk mounted? If all memories are to be deleted, add --force.",
            )
        for uid, one in self.found.items():
            if one.path:
                self.places.take(one.path, uid)
        for name in (*files, *left):
            self.places.take(name)
        self._find_paths()
        self.places.read_edges()

    def _named_in(self, name: str) -> set[str]:
        """The memories without a page to which an unreadable page may belong."""
        there = {uid.decode() for uid in UID_BYTES.findall(self.folder.beginning(name))}
        return (self.agreed.keys() - self.found.keys()) & there

    def _take(self, name: str, stamp: Stamp, uid: str | None) -> None:
        agreed = self.agreed.get(uid or "")
        if agreed is not None and agreed.stamp == stamp:
            return self._unchanged(str(uid), PageFile(name, stamp, agreed.digest, None))
        text, digest = self.folder.read(name)
        if agreed is not None and agreed.digest == digest:
            return self._unchanged(str(uid), PageFile(name, stamp, digest, None))
        if not text.strip("\ufeff \t\r\n"):  # an editor creates a file empty
            if uid is None:
                self.passed[name] = BLANK
                return None
            raise Invalid("it is empty", hint="Delete the file if its memory is to go.")
        both = [self.parsed(one, name, uid) for one in (versions(text) if self._left_by_git(text) else [text])]
        for number, one in enumerate(both):
            page = self._only_one(one if one.uid else self._named(one, uid or derived_uid(name, text)))
            if agreed is not None and page.uid == uid and page != (newer := renewed(page, agreed.marks)):
                page = newer
                self.unnamed.add(page.uid)  # our line is outdated
            if not UID.fullmatch(page.uid):
                raise Invalid(f"uid {clipped_repr(page.uid)} is not 32 hexadecimal digits", hint="Remove it.")
            if not self._concerns(page):
                self.passed[name] = OF_ANOTHER
            else:
                self._hold(PageFile("" if number else name, stamp, digest, page), torn=len(both) > 1)
        if len(both) > 1:  # to remove the marks of git
            self.unnamed.update(uid for uid, one in self.found.items() if one.path == name)
        return None

    def parsed(self, text: str, path: str, uid: str | None = None) -> Page:
        """
        Parse the text of a file as a page.

        Args:
            uid: The memory whose page was at this path.

        Raises:
            Invalid: The text cannot be parsed.
        """
        ours = uid is not None and uid in self.agreed and f"{OWN}title" not in self.agreed[uid].marks
        return parsed(
            text,
            _stem(path),
            clean=self.documents.clean,
            known=lambda own: own in self.everyone or own in self.agreed,
            ours=ours,
        )

    def _unchanged(self, uid: str, found: PageFile) -> None:
        if uid in self.elsewhere:
            self.passed[found.path] = OF_ANOTHER
        else:
            self.found[uid] = found

    def _left_by_git(self, text: str) -> bool:
        """Whether a page has conflict marks of git, unless its memory is about such marks."""
        if not (torn(text) and self.folder.committed):
            return False
        known = [self.everyone[uid].id for uid in {*UID.findall(text)} if uid in self.everyone]
        if not known:
            return self.folder.merging
        return not any(map(torn, self.store.memories.bodies(known).values()))

    def _concerns(self, page: Page) -> bool:
        """Whether a page or its memory belongs to the synced project."""
        usual = self.project if page.uid in self.lineless or "kind" not in page.facts else None
        ours = self.project is None or page.facts.get("project", usual) == self.project
        if ours and page.uid in self.everyone:
            self.memories.setdefault(page.uid, self.everyone[page.uid])
            self.elsewhere.discard(page.uid)
        return ours or page.uid in self.memories

    def _only_one(self, page: Page) -> Page:
        """Assign a page to the existing memory if there can be only one with its facts, such as an entity's name."""
        known = self._only.get(_only(page.facts.get("kind"), page.facts))
        if known is None or page.uid in self.everyone:
            return page
        # The page keeps the uid of another machine: else each machine would replace it with its own, for ever.
        return page._replace(facts={**page.facts, "uid": known.uid, "created_at": iso(known.created_at)})

    def _hold(self, new: PageFile, *, torn: bool) -> None:
        """Record a page that was read, or one of two versions that git left in a file, with its memory."""
        page = new.page or Page({}, "")
        there, known = self.found.get(page.uid), self.agreed.get(page.uid)
        if there is None:
            same = known is not None and known.marks == page.marks() and page.uid not in self.unnamed and not torn
            self.found[page.uid] = new._replace(page=None if same else page)
        elif not new.path or not there.path:  # one is a version that a merge left in another page's file
            first, second = (there, new) if there.path else (new, there)
            whole = first.page or self.parsed(self.folder.read(first.path)[0], first.path, page.uid)
            self.found[page.uid] = first._replace(page=whole, other=second.page)
        elif _only(page.facts.get("kind"), page.facts):
            raise Invalid(f"{there.path} is of the same {page.facts['kind']}", hint=ONE_OF_A_KIND)
        else:  # a copy
            copy = page._replace(facts={**page.facts, "uid": derived_uid(new.path, new.digest)})
            self.unnamed.add(copy.uid)
            self.found[copy.uid] = new._replace(page=copy)

    def _named(self, page: Page, uid: str) -> Page:
        """Assign a page without a uid."""
        self.unnamed.add(uid)
        if page.front is not None:
            self.lineless.add(uid)
        if uid in self.memories and uid not in self.agreed:  # saved by an interrupted look
            self.fresh.add(uid)
        return page._replace(facts={**page.facts, "uid": uid})

    def _find_paths(self) -> None:
        places = self.places
        for uid, former in self.agreed.items():
            places.place(uid, former.path)
        for uid, one in self.found.items():
            if one.path:
                places.place(uid, one.path)
        for uid, memory in sorted(self.memories.items(), key=lambda pair: pair[1].id):
            found, agreed = self.found.get(uid), self.agreed.get(uid)
            there, usual = found.path if found else "", usual_path(memory)
            stays = there and (agreed is None or agreed.path != there or agreed.usual in ("", usual))
            if not stays and uid not in self.held:
                places.place(uid, places.allotted(usual, uid))

    # Written -------------------------------------------------------------

    def put(self, memory: Memory, found: PageFile | None, why: tuple[Notice, ...] = ()) -> Iterator[MirrorAction]:
        """Write the page of a memory, replacing the existing one; a page that only moves is not rewritten."""
        path, page = self.places.paths[memory.uid], self.page(memory)
        stamp, done = None, "written"
        if found is not None:
            there = found.page or self.parsed(self.folder.read(found.path)[0], found.path, memory.uid)
            page = self.like(page, there, path)
        if found is not None and found.path:
            stamp = found.stamp
            if path != found.path:
                stamp, done = self.folder.move(found.path, path, found.stamp), "moved"
        written = self.folder.write(path, rendered(page), stamp)
        self.agree(memory, page, *written)
        if memory.uid not in self.fresh:
            yield MirrorAction(done, path, memory.uid, memory.title, why)

    def like(self, page: Page, there: Page, path: str) -> Page:
        """The page of a memory, with everything that other programs wrote into the existing page."""
        return dressed(page, there, _stem(path), self.documents.clean)

    def agree(self, memory: Memory, page: Page, stamp: Stamp, digest: str) -> None:
        path, usual = self.places.paths[memory.uid], usual_path(memory)
        own = folded(path).startswith((f"{folded(usual)}.md", f"{folded(usual)} ("))
        marks = page.marks()
        there = place((self.folder.path / path).parent)
        agreed = Agreed(path, usual if own else "", stamp, digest, version(memory), marks, memory.id, there)
        self.agreed[memory.uid] = agreed

    def page(self, memory: Memory) -> Page:
        """
        The page of a memory.

        Raises:
            NotFound: The memory was deleted just now.
        """
        body = self.store.memories.bodies([memory.id]).get(memory.id)
        if body is None:
            raise NotFound(f"no memory {memory.short_id}")
        facts = facts_of(memory, self.places.links(memory))
        if memory.kind is not Kind.NOTE and memory.what == body[:WHAT_OF_BODY]:
            facts.pop("what", None)  # derived from the beginning of the body
        return Page(facts, body)

    def marks(self, memory: Memory, agreed: Agreed) -> Marks:
        """The `Page.marks` of a memory's page; reads its body only if its content has changed."""
        if version(memory) != agreed.version:
            return self.page(memory).marks()
        facts = facts_of(memory, self.places.links(memory), UNDATED)
        return {name: value for name, value in agreed.marks.items() if name not in UNDATED} | marks_of(facts)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _only(name: object, facts: Mapping[str, object]) -> tuple[object, ...]:
    """What identifies the one memory of its kind; empty if there may be several."""
    kind = str(name)
    one = RULES[Kind(kind)].one if kind in RULES else ()
    if one == BY_KEY and isinstance(known := facts.get("metadata"), dict):
        return (kind, namespace_of(known), key_of(known))
    return (kind, *(str(facts.get(fact) or "").strip() for fact in one)) if one else ()
