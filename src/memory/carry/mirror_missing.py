"""What one side of a mirror lacks: pages that are missing, and memories that lie in the trash while their pages are there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.carry.mirror_folder import Agreed, version
from memory.carry.mirror_sides import MirrorAction, Sides, Trouble
from memory.config.walk import Missing, withheld as withheld_files
from memory.schema.answer import Notice
from memory.schema.errors import Ambiguous, Invalid, NotFound, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.schema.memory import Memory

AT_ONCE = 100  # memories that come back in one transaction


def missing(look: Sides) -> set[str]:
    """The uids of memories whose pages are not in the folder any more."""
    return (look.agreed.keys() & look.memories.keys()) - look.found.keys() - look.held - look.elsewhere


def withheld(look: Sides, lost: set[str]) -> Iterator[Trouble]:
    """Hold the memories whose pages are missing where that is not believed, see `memory.config.walk`."""
    by_path = {look.agreed[uid].path: uid for uid in lost}
    files = [Missing(one.path, one.place, one.doubted) for one in (look.agreed[uid] for uid in lost)]
    total, root = len((look.agreed.keys() & look.memories.keys()) - look.elsewhere), str(look.folder.path)
    for one in withheld_files(files, total, look.walked, root, f"memory mirror {printable(root)} --force"):
        yield Trouble(one.folder or printable(root), one.why)
        for uid in (by_path[path] for path in one.paths):
            look.held.add(uid)
            look.agreed[uid] = look.agreed[uid]._replace(doubted=look.agreed[uid].doubted or not one.folder)


def unseen(look: Sides, uid: str) -> bool:
    """Whether the folder of a page cannot be seen, or is another one than before."""
    agreed = look.agreed.get(uid)
    return agreed is not None and agreed.place not in (None, look.walked.folders.get(agreed.path.rpartition("/")[0]))


def back(look: Sides) -> Iterator[MirrorAction | Trouble]:
    """Bring back from the trash the memories whose pages are there, with their history, relations and links."""
    there = {uid for uid, one in look.found.items() if uid not in look.memories and one.page is not None}
    uids = [one.uid for one in look.trash.rows() if one.uid in there] if there else []  # the last deleted first:
    uids = list(dict.fromkeys(uids))  # what one points to was deleted after it, or is there still
    for first in range(0, len(uids), AT_ONCE):
        yield from _restored(look, uids[first : first + AT_ONCE])
    if uids:
        look.places.read_edges()
        look.again = True  # what others point to may be there again


def _restored(look: Sides, uids: Sequence[str]) -> Iterator[MirrorAction | Trouble]:
    try:
        found, _ = look.trash.restore(uids)
    except (Invalid, NotFound, Ambiguous) as error:
        if len(uids) > 1:
            for uid in uids:  # to find which it is
                yield from _restored(look, [uid])
        elif isinstance(error, Invalid):
            look.held.add(uids[0])
            yield Trouble(look.found[uids[0]].path, error)
        return
    for memory in found:
        yield _known(look, memory)


def _known(look: Sides, memory: Memory) -> MirrorAction:
    """Compare the page with the memory as it was deleted, so that what the page says since is an edit."""
    uid, one = memory.uid, look.found[memory.uid]
    changed = uid in look.agreed
    look.know(memory)
    if not changed:
        marks = look.page(memory).marks()
        look.agreed[uid] = Agreed(one.path, "", one.stamp, one.digest, version(memory), marks, memory.id)
    why = (Notice("it was deleted, but its page has changed since"),) if changed else ()
    return MirrorAction("restored", one.path, uid, memory.title, why)
