"""Templates, and how values look in them. All text is escaped; what cannot be seen is shown as its code."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import escape

from memory.operations.render.text import HOW, counted, duration
from memory.schema.answer import Tier
from memory.schema.memory import INSTRUCTIONS, UID_PREFIX, Memory
from memory.schema.moments import clock, day, minute
from memory.text.display import escape_controls
from memory.web.once import Numbered

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGES = (("/", "Find", "g f"), ("/review", "Review", "g r"), ("/see", "See", "g s"), ("/care", "Look after", "g l"))
"""What the head of every page leads to: the address, its name, and its keys."""

CARE = (
    ("/care", "State"),
    ("/care/settings", "Settings"),
    ("/care/agents", "Agents"),
    ("/care/trash", "Trash"),
    ("/care/ledger", "Ledger"),
)
"""The pages of Look after, each with its name."""

SEE = (
    ("/see", "Map"),
    ("/see/graph", "Graph"),
    ("/see/sessions", "Sessions"),
    ("/see/runs", "Runs"),
    ("/see/use", "Use"),
)
"""The pages of See."""

AGES = ((60, "s"), (60, "min"), (24, "h"), (31, "d"))
"""How many of a unit there are before the next."""

TITLE = 90  # characters of a text in place of a title


def environment() -> Environment:
    """What renders a template. A name that is not given is an error, and nothing is ever markup but templates."""
    made = Environment(
        loader=PackageLoader("memory.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_final,
        extensions=[Numbered],
    )
    made.globals |= {"pages": PAGES, "care": CARE, "see": SEE}
    made.filters |= {
        "verbatim": escape,
        "ago": ago,
        "minute": minute,
        "day": day,
        "clock": clock,
        "moment": datetime.fromisoformat,
        "with": lambda address, **values: f"{address}?{urlencode(values)}",
        "number": number,
        "share": lambda value: f"{value:.0%}",
        "duration": duration,
        "title": title,
        "short": lambda uid: uid[:UID_PREFIX],
        "marks": marks,
        "counted": counted,
        "how": lambda tier: HOW[Tier(tier)],
    }
    return made


def _final(value: object) -> object:
    """A text with what cannot be seen made visible: a control character could hide or turn what follows."""
    if type(value) is str:
        return escape_controls(value)
    return "" if value is None else value


def number(value: int) -> str:
    return f"{value:,}"


def ago(moment: datetime) -> str:
    """How long ago, in one unit; a date where it is more than a month."""
    size = max((datetime.now(UTC) - moment).total_seconds(), 0.0)
    for most, unit in AGES:
        if size < most:
            return f"{size:.0f} {unit} ago"
        size /= most
    return day(moment)


def title(memory: Memory) -> str:
    """What a memory is called: where it has no title, what it says, on one line."""
    said = " ".join((memory.title or memory.what).split()) or str(memory.kind)
    return said if len(said) <= TITLE or memory.title else f"{said[: TITLE - 1]}…"


def marks(memory: Memory) -> Sequence[tuple[str, str]]:
    """What a reader should know of a memory before reading it, each with the class of its look."""
    found = [("pinned", "pinned")] if memory.pinned else []
    found += [("superseded", "old")] if memory.status == "superseded" else []
    return found + ([("looks like orders to an agent", "warn")] if INSTRUCTIONS in memory.flags else [])
