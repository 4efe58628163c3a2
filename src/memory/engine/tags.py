"""The tags of memories: counted and renamed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memory.engine.documents import UPDATES, Documents
from memory.schema.draft import composed, tag_key
from memory.schema.errors import NAME_LIMIT, Invalid, NotFound, StoreBusy, check_text, clipped_repr, did_you_mean
from memory.schema.query import ACTIVE, EVERYTHING, MOST, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.engine.vectors import Vectors
    from memory.schema.answer import Notice
    from memory.schema.document import Details
    from memory.store import Store


class Renamed(NamedTuple):
    """
    Attributes:
        tag: The new name, as it is kept.
        memories: How many had the old one.
        notices: What went wrong on the way, and what was noticed.
    """

    tag: str
    memories: int
    notices: tuple[Notice, ...] = ()


class Tags:
    """`memory.engine.Engine.tags` is one."""

    def __init__(self, store: Store, *, documents: Documents, vectors: Vectors) -> None:
        self._store, self._documents, self._vectors = store, documents, vectors

    def counted(self, scope: Scope = ACTIVE) -> Sequence[tuple[str, int]]:
        """Each tag in scope and how many memories have it: most first, ties by name."""
        return self._store.memories.tags(scope)

    def rename(self, old: str, new: str) -> Renamed:
        """
        Rename a tag wherever it is and however it is spelled, superseded memories included, in one transaction. Their histories
        keep the old one.

        A memory that has both keeps one of them. Blanks around the new name go, and secrets in it, as in a save.

        Raises:
            NotFound: No memory has it.
            Invalid: The new name is blank or too long, or is the old one.
            StoreBusy: Others kept changing such memories.
        """
        check_text("a tag", new, NAME_LIMIT)
        old, new = composed(old.strip()), composed(new.strip())
        if not new or new == old:
            raise Invalid(f"{clipped_repr(new)} is no new name for the tag {clipped_repr(old)}")
        for _ in range(UPDATES):
            found = [*self._having(old)]
            if not found:
                known = [tag for tag, _ in self.counted(EVERYTHING)]
                hint = did_you_mean(old, known, "`memory tags` lists the tags.")
                raise NotFound(f"no memory has the tag {clipped_repr(old)}", hint=hint)
            saved = self._documents.writer().update_all(
                [
                    (one, {"tags": tuple(new if tag_key(tag) == tag_key(old) else tag for tag in one.memory.tags)})
                    for one in found
                ]
            )
            if saved is not None:
                self._vectors.saved([one.memory.id for one in saved])
                notices = dict.fromkeys(said for one in saved for said in one.notices)
                return Renamed(self._documents.clean(new), len(saved), tuple(notices))
        raise StoreBusy(f"memories with the tag {clipped_repr(old)} are changed all the time", hint="Try again.")

    def _having(self, tag: str) -> Iterator[Details]:
        scope, last = EVERYTHING._replace(tags=frozenset({tag})), None
        while page := self._store.memories.page(scope, MOST, after=last):
            last = page[-1]
            yield from filter(None, (self._store.memories.details(memory.id) for memory in page))
