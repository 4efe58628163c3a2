"""
What a session of Claude Code may have left worth keeping, and what of it waits for a person's review. Rules only, no model.

It reads no more than the last `MOST` bytes of a transcript, whatever is in it. Proposals stand in a file beside the database,
with the digests of what was reviewed. Not in a table: a proposal is no memory, and must not be found, counted or exported as
one. The file is replaced whole, so that what was dropped is no longer in it, and what a kill interrupts is as it was before.
"""

from __future__ import annotations

import io
import json
import os
from collections import deque
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from memory.carry.cues import REFUTED, TAKEN_BACK, cue, leads, promising, sentences, statement
from memory.carry.formats.claude_code import turns
from memory.carry.formats.conversation import ASSISTANT, USER, Turn
from memory.carry.formats.items import LeftOut
from memory.config.files import contents, folders, locked, opened, sweep, write_file
from memory.schema.errors import Ambiguous, Invalid, NotFound, StoreError, explained
from memory.text.terms import STOP

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

MOST = 16 << 20
"""Bytes of a transcript that are read: the last ones. Most of a long session is what tools answered."""

SAID = 500_000
"""Characters of messages with a word of a cue that are looked at: the last ones. That takes a second at most."""

TURN = 100_000
"""Characters of a message that is read; a longer one is a file that somebody pasted."""

OPENING = 80
"""Characters of a message that tell whether it refutes or takes back what was said before."""

PROPOSED = 20
"""How much of one session is proposed at most, what people said first: a list that nobody reads is worth nothing."""

SAME = 0.8
"""Two sentences of a session say the same if this share of the words of the shorter is in the other."""


class Proposal(NamedTuple):
    """
    Attributes:
        sort: One of `memory.carry.cues`.
        role: Who said it, see `memory.carry.formats.conversation`.
        why: The sentence after it, where that gives the reason.
        line: Of the transcript, from 1; None if its beginning was not read.
        time: ISO 8601; empty if the transcript does not say.
    """

    sort: str
    what: str
    why: str
    role: str
    line: int | None
    time: str


def proposals(path: Path, clean: Callable[[str], str]) -> list[Proposal]:
    """
    What a transcript has that may be worth keeping, in its order, at most `PROPOSED`.

    Args:
        clean: Takes secrets out of a message. What it refuses is not looked at.

    Raises:
        OSError: It cannot be read.
    """
    data, whole = _end(path)
    said = (one for one in turns(io.BytesIO(data), path.name) if not isinstance(one, LeftOut))
    found = [one for some in [*_of(_last(said), clean)] for one in some]
    best = _distinct(found)
    return best if whole else [one._replace(line=None) for one in best]


def _end(path: Path) -> tuple[bytes, bool]:
    """The last bytes of a file, from the beginning of a line, and whether that is all of it."""
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size <= MOST:
            return file.read(MOST), True
        file.seek(size - MOST)
        return file.read(MOST).partition(b"\n")[2], False


def _last(said: Iterable[Turn]) -> deque[Turn]:
    """The last messages; of those without a word of a cue only the beginning, which may refute or take back."""
    kept: deque[Turn] = deque()
    size = 0
    for turn in said:
        if turn.role not in (USER, ASSISTANT) or len(turn.text) > TURN:
            continue
        kept.append(turn if promising(turn.text) else turn._replace(text=turn.text.lstrip()[:OPENING]))
        size += len(kept[-1].text)
        while size > SAID:
            size -= len(kept.popleft().text)
    return kept


def _of(said: Iterable[Turn], clean: Callable[[str], str]) -> Iterator[list[Proposal]]:
    """What each message proposes. What a person refutes or takes back later is not proposed."""
    former: dict[str, list[Proposal]] = {USER: [], ASSISTANT: []}
    before = ""
    for turn in said:
        if turn.role == USER:
            opening = turn.text.lstrip()[:OPENING].lower().replace("\u2019", "'")
            if REFUTED.match(opening):
                former[ASSISTANT].clear()
            if TAKEN_BACK.match(opening):
                former[USER].clear()
        if turn.role != before:
            former[turn.role] = []
            yield former[turn.role]
        former[turn.role] += _found(turn, clean, answers=before == ASSISTANT)
        before = turn.role


def _found(turn: Turn, clean: Callable[[str], str], *, answers: bool) -> list[Proposal]:
    person = turn.role == USER
    if not promising(turn.text):
        return []
    try:
        said = sentences(clean(turn.text), typed=person)
    except Invalid:  # a mark of something secret that is not closed
        return []
    found: list[Proposal] = []
    for at, one in enumerate(said):
        if person and TAKEN_BACK.match(one.plain):
            found.clear()
        led = at == 1 and leads(said[0])
        if (sort := cue(one, person=person, answers=answers and (at == 0 or led), led=led)) is not None:
            after = said[at + 1].text if at + 1 < len(said) else ""
            why = (
                after if after.lower().startswith(("because ", "that's because ", "otherwise ", "the reason ")) else ""
            )
            found.append(
                Proposal(sort, statement(one), why, turn.role, turn.place, turn.time.isoformat() if turn.time else "")
            )
    return found


def _distinct(found: list[Proposal]) -> list[Proposal]:
    """Of what says the same, what a person said, else the first; what people said is chosen before all else."""
    kept: dict[int, frozenset[str]] = {}
    for at in sorted(range(len(found)), key=lambda at: (found[at].role != USER, at)):
        words = _words(found[at].what)
        if not any(len(words & others) >= SAME * min(len(words), len(others)) for others in kept.values()):
            kept[at] = words
        if len(kept) == PROPOSED:
            break
    return [found[at] for at in sorted(kept)]


def _words(text: str) -> frozenset[str]:
    found = (word.strip(".,;:!?()*`\"'").lower() for word in text.split())
    return frozenset(word for word in found if word and word not in STOP)


def digest(text: str, project: str | None) -> str:
    """What tells one proposal from another, in all sessions of a project: 32 hexadecimal digits. Signs and case do not."""
    plain = " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())
    return sha256(f"{project or ''}\0{plain}".encode("utf-8", "surrogatepass")).hexdigest()[:32]


# What waits -----------------------------------------------------------------------

SCHEMA = "memory.review/1"
LIMIT = 16 << 20  # bytes; what may stand in it at most is a tenth of that

WAITING = 200
"""Proposals that wait at most: the oldest make room, because a list that nobody reads is worth nothing."""

SETTLED = 10_000
"""Digests of reviewed proposals that are kept, the latest."""

SHOWN = 8
"""Characters of an id that are shown, and are usually enough to name it."""


class Proposed(NamedTuple):
    """
    A proposal that waits.

    Attributes:
        id: `digest` of what was proposed, also after an edit.
        sort, what, why, role, line, time: See `Proposal`.
        file: The transcript.
        session: As its agent calls it; empty if unknown.
        project: None if it belongs to none.
    """

    id: str
    sort: str
    what: str
    why: str
    role: str
    file: str
    line: int | None
    time: str
    session: str
    project: str | None


class Review:
    """The file of one database. Made with the first proposal; only its owner may read it."""

    def __init__(self, database: str) -> None:
        self.path = f"{database}-review"

    def waiting(self) -> list[Proposed]:
        """
        What waits, oldest first.

        Raises:
            StoreError: The file cannot be read.
        """
        return self._read()[0]

    def one(self, reference: str) -> Proposed:
        """
        What an id, or its beginning, names.

        Raises:
            NotFound, Ambiguous: Nothing that waits, or several.
        """
        found = [one for one in self.waiting() if reference and one.id.startswith(reference.strip().lower())]
        if not found:
            raise NotFound(
                f"nothing with the id {reference!r} waits for review", hint="`memory review list` shows ids."
            )
        if len(found) > 1:
            raise Ambiguous(reference, [one.id for one in found])
        return found[0]

    def unknown(self, ids: Sequence[str]) -> set[str]:
        """Of some ids those that neither wait nor were reviewed."""
        waiting, settled = self._read()
        return {*ids}.difference(settled, (one.id for one in waiting))

    def add(self, several: Sequence[Proposed]) -> list[Proposed]:
        """Let proposals wait; which of them are new."""
        added: list[Proposed] = []

        def change(waiting: list[Proposed], settled: list[str]) -> None:
            known = {*settled, *(one.id for one in waiting)}
            added.extend(one for one in {one.id: one for one in several}.values() if one.id not in known)
            waiting += added
            settled += [one.id for one in waiting[:-WAITING]]
            del waiting[:-WAITING]

        if several:
            self._change(change)
        return added

    def settle(self, id: str) -> None:
        """It was kept or dropped: only its digest stays, so that it is not proposed again."""

        def change(waiting: list[Proposed], settled: list[str]) -> None:
            waiting[:] = [one for one in waiting if one.id != id]
            settled.append(id)

        self._change(change)

    def replace(self, changed: Proposed) -> None:
        """Let it say something else, or belong to another project; it waits as before."""

        def change(waiting: list[Proposed], _settled: list[str]) -> None:
            waiting[:] = [changed if one.id == changed.id else one for one in waiting]

        self._change(change)

    def _change(self, change: Callable[[list[Proposed], list[str]], None]) -> None:
        with self._alone():
            waiting, settled = self._read()
            change(waiting, settled)
            values = {"schema": SCHEMA, "waiting": waiting, "settled": [*dict.fromkeys(settled)][-SETTLED:]}
            write_file(self.path, json.dumps(values).encode(), private=True)

    @contextmanager
    def _alone(self) -> Generator[None]:
        folder = Path(self.path).parent
        with explained(StoreError, f"cannot write {self.path}"), folders(folder, private=True), locked(str(folder)):
            sweep(folder)  # what was dropped is not in what a kill left, either
            yield

    def _read(self) -> tuple[list[Proposed], list[str]]:
        with explained(StoreError, f"cannot read {self.path}"):
            if not Path(self.path).exists():
                return [], []
            content = contents(self.path, LIMIT)
        try:
            found = json.loads(content)
            lists = {SCHEMA: found}[found["schema"]]
            return [Proposed(*one) for one in lists["waiting"]], [str(one) for one in lists["settled"]]
        except (ValueError, LookupError, TypeError) as error:
            hint = "Move it away: what waits in it is lost, memories are not."
            raise StoreError(f"{self.path} is damaged, or of another version", hint=hint) from error
