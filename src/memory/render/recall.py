"""What is recalled as an agent reads it: fenced as data, with who said it, when and where, and enough to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.context import in_short
from memory.limits import WHAT_OF_BODY
from memory.render.text import counted, notice
from memory.text.fence import fenced

if TYPE_CHECKING:
    from memory.context import Context
    from memory.engine import Details
    from memory.query import Answer, Hit, Notice
    from memory.save import Saved

PASSAGE = 700
"""Characters of a hit's passage: a chunk of usual length, cut where it is longer."""


def answer(found: Answer, *, elsewhere: str) -> str:
    """
    Args:
        elsewhere: What to say if nothing was found.
    """
    why = f": {found.verdict.why}" if found.verdict else ""
    head = f"{counted(len(found.hits), 'memory', 'memories')} found (tier {found.tier}{why})."
    body = "".join(f"{rank}. {_hit(hit)}" for rank, hit in enumerate(found.hits, start=1))
    return "\n".join([head, fenced(body) if found.hits else elsewhere, *notices(found.notices)]).rstrip() + "\n"


def _hit(hit: Hit) -> str:
    said = in_short(hit.memory).removeprefix("- ")
    if hit.chunk.start == hit.chunk.stop or _says_no_more(hit):
        return said
    place = " > ".join(header.lstrip("# ") for header in hit.chunk.header_path)
    text = " ".join(hit.text.split())
    shown = text if len(text) <= PASSAGE else f"{text[:PASSAGE].rstrip()}…"
    return f"{said}  Passage{f' ({place})' if place else ''}: {shown}\n"


def _says_no_more(hit: Hit) -> bool:
    """Whether the passage is the beginning of the body that stands there as `what` already."""
    return hit.memory.kind != "note" and len(hit.text) <= WHAT_OF_BODY and hit.text.strip() in hit.memory.what


def context(found: Context, *, project: str | None, empty: str) -> str:
    """
    Args:
        project: The project it is of; None is all of them.
        empty: What to say if nothing is there.
    """
    lines = [found.text.rstrip() or empty]
    if found.more:
        where = f" of {project}" if project else ""
        some = "further " if found.memories else ""
        lines.append(f"{found.more:,} {some}{'memory' if found.more == 1 else 'memories'}{where}: search for them.")
    return "\n".join([*lines, *notices(found.notices)]) + "\n"


def details(found: Details, *, start: int, length: int) -> str:
    """A memory with a part of its body, `length` characters from `start`."""
    memory = found.memory
    lines = [in_short(memory._replace(body_size=0)).removeprefix("- ")]
    if memory.status == "superseded":
        lines.append(f"It no longer holds: superseded by {memory.superseded_by}.\n")
    if memory.related_files:
        lines.append(f"Files: {', '.join(memory.related_files)}\n")
    if part := found.body[start : start + length]:
        lines.append(f"\n{part}\n")
    text = fenced("".join(lines))
    if rest := max(0, len(found.body) - start - length):
        text += f"{rest:,} more characters from start={start + length}.\n"
    if found.history:
        text += f"It was corrected {counted(len(found.history), 'time')}.\n"
    return text + "".join(f"{line}\n" for line in notices(found.notices))


def saved(result: Saved) -> str:
    memory = result.memory
    done = "Already kept, nothing was written" if result.known else "Kept"
    where = f" in project {memory.project}" if memory.project else " in no project"
    return "\n".join([f"{done}: `{memory.uid[:8]}`{where}.", *notices(result.notices)]) + "\n"


def notices(found: tuple[Notice, ...]) -> list[str]:
    return [f"Note: {notice(one)}" for one in found]
