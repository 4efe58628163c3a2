"""
What forms do: each runs a command, once however often it is sent, in the background if that takes longer than a request.

Pages that change something in their own way (`/new`, `/several`, `/care/settings`, …) name their commands themselves.
"""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from contextvars import copy_context
from importlib import import_module
from itertools import count
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

from jinja2.ext import Extension
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from memory.schema.errors import Error, Invalid, NotFound, clipped_repr
from memory.tools.arguments import filled
from memory.tools.operation import Command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jinja2 import Environment

    from memory.tools.operation import Shown
    from memory.web.site import Visit

UNDOABLE = ("save", "delete", "review keep")
"""Commands that a notice offers to take back; the journal knows more."""


SOON = 0.3  # seconds; who sent a form waits so long without seeing how far it is


def command(visit: Visit) -> Response:
    """
    Run the command of the address, "trash/restore", with the fields of the form. What has a progress bar at a terminal
    runs in the background; the page says how far it is unless it has ended soon.

    Raises:
        NotFound: It is no command that a form may run, see `RUN`.
        Invalid: A field is not what it takes.
    """
    path = visit.path["command"].replace("/", " ")
    fields = {name: values for name, values in visit.form.items() if not name.startswith("_")}
    check_allowed(path, fields)
    if label := declared(path).progress:
        filled(declared(path), fields)  # what is wrong is said at once
        begun = visit.site.tasks.begin(
            path, label, lambda progress: visit.site.run(path, fields, progress), back=visit.next()
        )
        if not begun.wait(SOON):
            return RedirectResponse(f"/tasks/{begun.id}", 303)

    def work() -> None:
        shown = begun.outcome() if label else visit.site.run(path, fields)
        visit.say(said(shown), undoable=path in UNDOABLE, wrong=shown.code != 0)

    return visit.done(work)


def task(visit: Visit) -> Response:
    """
    How far something in the background is, and what it said at its end.

    Raises:
        NotFound: It is not known, perhaps of a server that has ended.
    """
    found = visit.site.tasks.one(visit.path["id"])
    if found is None:
        raise NotFound("that task is no longer known")
    running = found.running  # read before the result: it may end meanwhile
    text = said(found.result) if found.result else ""
    return visit.page("task.html", task=found, running=running, back=visit.there(found.back), said=text)


def said(shown: Shown) -> str:
    """What a command says to a person, on one line."""
    text = shown.text.decode("utf-8", "replace") if isinstance(shown.text, bytes) else shown.text
    return " · ".join(filter(None, [text.strip(), *shown.notes]))


def alive(_visit: Visit) -> Response:
    return PlainTextResponse("yes")


# What a form may run ------------------------------------------------------------

RUN = (
    *("save", "pin", "unpin", "delete", "undo", "redo", "trash restore", "trash empty"),
    *("review keep", "review edit", "review drop"),
    *("import", "embed", "reindex", "setup", "model remove"),
)
"""What a form may run at `/run/COMMAND`. All else answers 404 and does nothing, whatever the command line offers."""

BEGIN = {"doctor": "checking everything", "model install": "installing the model"}
"""What a form may begin at `/care/begin/COMMAND`: it takes longer than a request. And what that is called."""

PLACES = {
    **dict.fromkeys(("save", "update", "pin", "unpin"), "notes"),
    **dict.fromkeys(("delete", "undo", "redo", "trash"), "trash"),
    **dict.fromkeys(("status", "doctor", "embed", "reindex", "ledger"), "upkeep"),
    "import": "bring",
    "review": "review",
    "setup": "setup",
    "model": "model",
    "session": "sessions",
    "run": "research.operations",
}
"""The module in `memory.tools` of each command that the page runs or reads, by its first word."""

NEEDED = {"setup": "agent"}
"""A field without which a command would do something else: set up every agent, or list them."""


def check_allowed(path: str, fields: Mapping[str, Sequence[str]]) -> None:
    """
    Let through only what a form may run.

    Raises:
        NotFound: A form does not run it.
        Invalid: A field is missing.
    """
    if path not in RUN:
        raise NotFound(f"no command {clipped_repr(path)} for a form", hint="Run it at a terminal.")
    if (needed := NEEDED.get(path)) and not any(fields.get(needed, ())):
        raise Invalid(f"{path}: the field {needed} is missing")


def declared(path: str) -> Command:
    """The declaration of a command that the page runs or reads, "delete" or "trash restore"."""
    commands = import_module(f"memory.tools.{PLACES[path.partition(' ')[0]]}").COMMANDS
    return next(one for one in commands if isinstance(one, Command) and one.path == path)


# What takes longer than a request ----------------------------------------------

KEPT = 20  # that have ended


class Task:
    """
    Something under way.

    Attributes:
        name: What it is of; of one name one runs at a time.
        label: What it is called on the page.
        steps, total: How far it is; a total of 0 is not known.
        result: What it gave; None until then.
        error: Why it gave nothing.
        back: The address where it was begun.
        former: What it waits for.
        same: See `Tasks.begin`.
    """

    def __init__(self, id: int, name: str, label: str, *, back: str, former: Task | None, same: object) -> None:
        self.id, self.name, self.label, self.back = id, name, label, back
        self.former, self.same = former, same
        self.steps, self.total = 0, 0
        self.result: Any = None
        self.error: Error | None = None
        self._began, self._ended = monotonic(), 0.0
        self._over = threading.Event()

    def progress(self, steps: int, total: int) -> None:
        self.steps, self.total = steps, total

    @property
    def running(self) -> bool:
        return not self._over.is_set()

    @property
    def waiting(self) -> bool:
        return self.former is not None

    def wait(self, seconds: float | None = None) -> bool:
        """Wait so long for its end; whether it has ended."""
        return self._over.wait(seconds)

    def outcome(self) -> Any:
        """
        What it gave, once it has ended.

        Raises:
            Error: Why it gave nothing.
        """
        if self.error is not None:
            raise self.error
        return self.result

    @property
    def seconds(self) -> float:
        return (self._ended or monotonic()) - self._began

    def run(self, work: Callable[[Callable[[int, int], None]], Any]) -> None:
        if self.former is not None:
            self.former.wait()
            self.former = None
            self._began = monotonic()
        try:
            self.result = work(self.progress)
        except Error as error:  # the page shows it
            self.error = error
        finally:
            self._ended = monotonic()
            self._over.set()


class Tasks:
    """Tasks by their number. One for a process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._known: dict[int, Task] = {}

    def begin(
        self,
        name: str,
        label: str,
        work: Callable[[Callable[[int, int], None]], Any],
        *,
        back: str = "/",
        same: object = None,
    ) -> Task:
        """
        Begin something; while another of that name runs, it waits for that. `work` is given what takes steps and total.

        Args:
            same: What it does, if to do that once is enough: then one of that name that does the same and has not
                ended is given in its place.
        """
        with self._lock:
            former = self.latest(name)
            if former is not None and not former.running:
                former = None
            if former is not None and same is not None and former.same == same:
                return former
            task = Task(next(self._numbers), name, label, back=back, former=former, same=same)
            self._known[task.id] = task
            for id in [id for id, one in self._known.items() if not one.running][:-KEPT]:
                del self._known[id]
        thread = threading.Thread(target=copy_context().run, args=(task.run, work), name=name, daemon=True)
        thread.start()
        return task

    def one(self, id: int) -> Task | None:
        return self._known.get(id)

    def latest(self, name: str) -> Task | None:
        """The last one of a name."""
        return next((one for one in reversed([*self._known.values()]) if one.name == name), None)

    def running(self) -> list[Task]:
        return [one for one in [*self._known.values()] if one.running]


# A form that is sent twice, as by a double click, acts once: each that is shown has a number -----


NUMBER = "_once"
ANSWERS = 100  # that are kept, the last ones

_FORM = re.compile(r'<form\b[^>]*\bmethod="post"[^>]*>')


class Numbered(Extension):
    """Gives every form of a template that changes something its number, so that none can be forgotten."""

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        environment.globals["once"] = lambda: token_hex(8)  # no count: a form may outlive the process that showed it

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:
        return _FORM.sub(rf'\g<0><input type="hidden" name="{NUMBER}" value="{{{{ once() }}}}">', source)


class Once:
    """What was answered to forms that were sent."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[bytes, Future[Response]] = {}

    def answered(self, form: bytes, made: Callable[[], Response]) -> tuple[Response, bool]:
        """
        The answer to a form, made once however often and fast it is sent, and whether it was made now.

        Only redirects are remembered; a form that failed may be sent again.

        Args:
            form: What tells it from every other, its address, its number and its fields.
        """
        with self._lock:
            known = self._answers.get(form)
            if known is None:
                own = self._answers[form] = Future()
                for old in [*self._answers][:-ANSWERS]:
                    del self._answers[old]
        if known is not None:
            return known.result(), False
        leads = False
        try:
            own.set_result(response := made())
            leads = 300 <= response.status_code < 400
        except BaseException as error:
            own.set_exception(error)
            raise
        else:
            return response, True
        finally:
            if not leads:
                with self._lock:
                    self._answers.pop(form, None)


PAGES = {"POST /run/{command:path}": command, "GET /tasks/{id:int}": task, "GET /alive": alive}
