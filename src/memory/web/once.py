"""A form that is sent twice, as by a double click, acts once: each that is shown has a number of its own."""

from __future__ import annotations

import re
import threading
from concurrent.futures import Future
from secrets import token_hex
from typing import TYPE_CHECKING

from jinja2.ext import Extension

if TYPE_CHECKING:
    from collections.abc import Callable

    from jinja2 import Environment
    from starlette.responses import Response

NUMBER = "_once"
KEPT = 100  # answers, the last ones

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
                for old in [*self._answers][:-KEPT]:
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
