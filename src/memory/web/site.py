"""What the pages share, and one request of one of them."""

from __future__ import annotations

import re
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlencode

from starlette.responses import HTMLResponse, RedirectResponse, Response

from memory.cli import forms
from memory.schema.errors import Ambiguous, Error, Invalid, NotFound
from memory.schema.version import __version__
from memory.web.once import Once
from memory.web.shown import environment
from memory.web.tasks import Tasks
from memory.write.steps import step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from memory.cli.flags import Flags
    from memory.engine import Engine
    from memory.mcp.keeper import Keeper
    from memory.operations.operation import Shown


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

    def run(
        self, path: str, fields: Mapping[str, Sequence[str]], progress: Callable[[int, int], None] | None = None
    ) -> Shown:
        """
        Run a command by its name with the fields of a form, as somebody at a terminal would; see `memory.cli.forms`.

        Raises:
            Invalid: There is no such command, or not for a page; a field is missing, unknown or not what it takes.
            Error: Of the command.
        """
        command = forms.declared(path)
        arguments = forms.filled(command, fields)
        with self.keeper.engine() as engine, step(path) as self.steps:
            return forms.run(command, arguments, engine, self.flags, progress)

    def run_all(self, path: str, several: Sequence[Mapping[str, Sequence[str]]]) -> list[Shown]:
        """
        Run a command several times, as one step. What came before an error is done, and can be taken back.

        Raises:
            Invalid, Error: As of `run`. If a field is wrong nothing is done.
        """
        command = forms.declared(path)
        arguments = [forms.filled(command, fields) for fields in several]
        with self.keeper.engine() as engine, step(path) as self.steps:
            return [forms.run(command, one, engine, self.flags) for one in arguments]


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
            raise Invalid("a form leads back to this page only")
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
