"""From a transcript to what waits for review, and from there to a memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import StoreError, explained
from memory.schema.kinds import PREFERENCE
from memory.text.cues import CAUSE, CORRECTION, DECISION, RULE
from memory.write.capture import digest, proposals
from memory.write.entry import Sanitizer
from memory.write.importers.claude_code import PROGRAM
from memory.write.importers.items import one_line
from memory.write.review import Review, Waiting

if TYPE_CHECKING:
    from pathlib import Path

    from memory.config.config import Config
    from memory.engine import Engine
    from memory.schema.draft import Draft, Saved

CATEGORIES = {DECISION: "decision", RULE: PREFERENCE, CORRECTION: "learning", CAUSE: "bug"}
"""What a note is about, by what was said."""

TITLE = 80  # characters
SESSION = 200  # characters: a longer name of a session is none


def propose(config: Config, transcript: Path, *, session: str, project: str | None) -> list[Waiting]:
    """
    Let wait what a session may have left worth keeping, unless it waits, was reviewed, or is kept; what is new.

    Makes no database. The file that waits is made with the first proposal.

    Raises:
        StoreError: The transcript, the database or what waits cannot be read or written.
        ConfigError: A rule of `.memoryignore` cannot be used. Then nothing is proposed.
    """
    sanitizer = Sanitizer(config.folder, {})
    with explained(StoreError, "the transcript of the session cannot be read"):
        found = proposals(transcript, sanitizer.text)
    named = sanitizer.text(session) if len(session) <= SESSION else ""
    several = [
        Waiting(digest(one.what, project), *one[:4], str(transcript), one.line, one.time, named, project)
        for one in found
    ]
    review = Review(config.database)
    unknown = review.unknown([one.id for one in several])
    new = [one for one in several if one.id in unknown]
    return review.add(_unkept(config, new))


def _unkept(config: Config, several: list[Waiting]) -> list[Waiting]:
    """Those that no memory says already."""
    if not several or not config.begun:
        return several
    from memory.engine import Engine
    from memory.search.similar import said_already

    with Engine.open(config, lasting=False) as engine:
        return [one for one in several if said_already(engine.store, one.what, one.project) is None]


def keep(engine: Engine, review: Review, one: Waiting) -> Saved:
    """Save it as a note. Should this be killed in between, it still waits, and is not saved twice."""
    saved = engine.save(draft(one))
    review.settle(one.id)
    return saved


def draft(one: Waiting) -> Draft:
    """The note that a proposal becomes, with its place in the transcript."""
    from memory.schema.draft import Draft

    place = {"transcript": one.file, "line": one.line, "time": one.time, "role": one.role}
    return Draft(
        title=one_line(one.what, TITLE),
        what=one.what,
        why=one.why,
        category=CATEGORIES.get(one.sort),
        project=one.project,
        source=PROGRAM,
        session_id=one.session or None,
        metadata={name: value for name, value in place.items() if value},
    )
