"""What the pages share, and one request of one of them."""

from __future__ import annotations

import re
from collections import deque
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import escape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from memory.config.project import current
from memory.schema import __version__
from memory.schema.answer import Tier
from memory.schema.errors import Ambiguous, Error, Invalid, NotFound
from memory.schema.memory import INSTRUCTIONS, UID_PREFIX, Memory
from memory.schema.moments import bounds, clock, day, minute
from memory.schema.step import step
from memory.text.display import escape_controls
from memory.tools.arguments import filled
from memory.tools.operation import Call, unheard
from memory.tools.render.text import HOW, counted, duration
from memory.web.work import Numbered, Once, Tasks, declared

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memory.config import Flags
    from memory.engine import Engine
    from memory.engine.keeper import Keeper
    from memory.tools.operation import Command, Given, Progress, Shown


_MEMORY = re.compile(r"/memory/([^/?#]+)")


class Told(NamedTuple):
    """
    What the next page says on top.

    Attributes:
        undoable: The key of the step that it can be taken back as; empty if it cannot.
    """

    text: str
    hint: str = ""
    wrong: bool = False
    undoable: str = ""


class Site:
    """
    What all pages share.

    Attributes:
        flags: What was named before the command that opened it.
        told: What waits to be said.
        steps: The keys of steps that a form may have done last.
        tasks: What runs in the background.
        once: Forms that were sent.
    """

    def __init__(self, keeper: Keeper, flags: Flags) -> None:
        self.keeper, self.flags = keeper, flags
        self.told: deque[Told] = deque(maxlen=20)
        self.tasks, self.once = Tasks(), Once()
        self.kept: dict[str, Any] = {}
        self.steps: Sequence[str] = ()

    @cached_property
    def templates(self) -> Any:
        return environment()

    def run(self, path: str, fields: Mapping[str, Sequence[str]], progress: Progress = unheard) -> Shown:
        """
        Run a command by its name with the fields of a form.

        Raises:
            Invalid: There is no such command, or not for a page; a field is missing, unknown or not what it takes.
            Error: Of the command.
        """
        return self.run_all(path, [fields], progress)[0]

    def run_all(
        self, path: str, several: Sequence[Mapping[str, Sequence[str]]], progress: Progress = unheard
    ) -> list[Shown]:
        """
        Run a command several times, as one step. What came before an error is done, and can be taken back.

        Raises:
            Invalid, Error: As of `run`. If a field is wrong nothing is done.
        """
        command = declared(path)
        arguments = [filled(command, fields) for fields in several]
        with self.keeper.engine() as engine, step(path) as self.steps:
            return [self.ran(command, one, engine, progress) for one in arguments]

    def ran(self, command: Command, arguments: Given, engine: Engine, progress: Progress = unheard) -> Shown:
        """What a command does. Nobody is asked anything: who sends a form has been."""
        return command.run(Call(lambda: engine, progress, current, as_json=True, flags=self.flags), arguments)


class Visit:
    """
    One request of a page.

    Attributes:
        path: What the address names: {"id": "6225d224"} of "/memory/{id}".
        query: What is asked in the address; of each name all values.
        form: What was sent; names that begin with "_" are the page's own.
        part: Whether the page asks for a part of itself.
    """

    def __init__(
        self,
        site: Site,
        address: str,
        path: Mapping[str, Any],
        query: Mapping[str, list[str]],
        form: Mapping[str, list[str]],
        *,
        part: bool = False,
    ) -> None:
        self.site, self.address, self.path, self.query, self.form, self.part = site, address, path, query, form, part

    @property
    def engine(self) -> AbstractContextManager[Engine]:
        """The engine, for as long as this is entered."""
        return self.site.keeper.engine()

    def asked(self, name: str, usual: str = "") -> str:
        """One value of the address, without blanks around it."""
        return (self.query.get(name) or [usual])[-1].strip()

    def sent(self, name: str, usual: str = "") -> str:
        """One value of the form."""
        return (self.form.get(name) or [usual])[-1]

    def page(self, template: str, status: int = 200, **values: Any) -> Response:
        """
        A page, or a part of one, made of a template in `templates`.

        Args:
            values: What the template names. What is said on top, and where we are, it has already.
        """
        told = () if self.part else tuple(self._heard())
        shared = {"visit": self, "told": told, "version": __version__}
        text = self.site.templates.get_template(template).render({**shared, **values})
        return HTMLResponse(text, status)

    def _heard(self) -> list[Told]:
        found = [*self.site.told]
        self.site.told.clear()
        return found

    def rows(self, path: str, **fields: Sequence[str]) -> dict[str, Any]:
        """What a command prints as JSON."""
        return self.site.run(path, fields).data or {}

    def say(self, text: str, hint: str = "", *, wrong: bool = False, undoable: bool = False) -> None:
        """Say something on top of the next page, and offer to take back what the form did, if that can be."""
        with self.engine as engine:
            did = [key for key in self.site.steps if undoable and engine.store.steps.recent(1, key=key)]
        self.site.told.append(Told(text, hint, wrong, did[-1] if did else ""))

    def next(self, usual: str = "/") -> str:
        """
        The address where the form wants to go.

        Raises:
            Invalid: It is not of this page.
        """
        wanted = self.sent("_next") or usual
        if not wanted.startswith("/") or wanted.startswith("//") or "\\" in wanted or not wanted.isprintable():
            raise Invalid("a form can only lead back to this page")
        return wanted

    def back(self, usual: str = "/") -> Response:
        """To where the form wants to go, by GET."""
        return RedirectResponse(self.there(self.next(usual)), 303)

    def there(self, address: str) -> str:
        """The address; if it is of a memory that is no more, as after its save was taken back, that of Find."""
        if (named := _MEMORY.match(address)) is None:
            return address
        with self.engine as engine:
            try:
                engine.documents.get(unquote(named[1]))
            except (NotFound, Ambiguous):
                return "/"
        return address

    def done(self, work: Callable[[], Any], *, usual: str = "/") -> Response:
        """Do something that a form asks for, say what went wrong, and go back."""
        try:
            work()
        except Error as error:
            self.say(f"{error}", error.hint, wrong=True)
        return self.back(usual)

    def link(self, place: str | None = None, **changes: Any) -> str:
        """
        The address of this page with other values in it.

        Args:
            changes: By name; None removes the name, a list gives it several values.
        """
        wanted: dict[str, Any] = {**self.query} | changes
        pairs = [
            (name, text)
            for name, value in wanted.items()
            for text in (value if isinstance(value, (list, tuple)) else (value,))
            if text not in (None, "")
        ]
        asked = urlencode(pairs)
        where = self.address if place is None else place
        return f"{where}?{asked}" if asked else where


def whole(text: str, wrong: str, least: int, most: int, hint: str = "") -> int:
    """
    A whole number of an address or a form.

    Raises:
        Invalid: It is none from `least` to `most`: it is `wrong`.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most):
        raise Invalid(f"{text[:20]!r} is {wrong}", hint=hint)
    return int(text)


# How values look in templates ---------------------------------------------------

PAGES = (("/", "Find", "g f"), ("/review", "Review", "g r"), ("/see", "Explore", "g e"), ("/care", "Maintain", "g m"))
"""What the head of every page leads to: the address, its name, and its keys."""

CARE = (
    ("/care", "State"),
    ("/care/settings", "Settings"),
    ("/care/agents", "Agents"),
    ("/care/trash", "Trash"),
    ("/care/ledger", "Ledger"),
)
"""The pages of Maintain, each with its name."""

SEE = (
    ("/see", "Map"),
    ("/see/graph", "Graph"),
    ("/see/sessions", "Sessions"),
    ("/see/runs", "Runs"),
    ("/see/use", "Usage"),
)
"""The pages of Explore."""

AGES = ((60, "s"), (60, "min"), (24, "h"), (31, "d"))
"""How many of a unit there are before the next."""

_SIGNS = re.compile(
    r"^\s*[-:|][-:| ]{2,}$|^\s*(?:#{1,6}\s+|>\s?|[-*+]\s+(?:\[[ xX]\]\s+)?|\d{1,3}[.)]\s+|\|)|```[\w-]*|`|\*\*|!?\[([^\]\n]*)\]\([^)\n]*\)",
    re.MULTILINE,
)
"""Of Markdown: headings, quotes, lists, rules, code, strong text, and links, of which the words stay."""

TITLE = 90  # characters of a text in place of a title


def environment() -> Environment:
    """What renders a template; all text is escaped. A name that is not given is an error, and nothing is ever markup but templates."""
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
        "plain": plain,
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


def plain(text: str) -> str:
    """A text on one line, without the signs of Markdown."""
    return " ".join(_SIGNS.sub(r"\1", text).split())


def marks(memory: Memory) -> Sequence[tuple[str, str]]:
    """What a reader should know of a memory before reading it, each with the class of its look."""
    found = [("pinned", "pinned")] if memory.pinned else []
    found += [("superseded", "old")] if memory.status == "superseded" else []
    found += [(bounds(memory.valid_until), "old")] if memory.valid_until else []
    return found + ([("looks like instructions", "warn")] if INSTRUCTIONS in memory.flags else [])
