"""What takes longer than a request: run in a thread, with how far it is; and forms that act once however often they come."""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from contextvars import copy_context
from itertools import count
from secrets import token_hex
from time import monotonic
from typing import TYPE_CHECKING, Any

from jinja2.ext import Extension

from memory.schema.errors import Error

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from starlette.responses import Response


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

        Only one that leads on is remembered: whoever is told what went wrong may send the form again.

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
