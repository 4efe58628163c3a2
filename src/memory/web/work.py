"""
What pages share on the server's side: a command by a form, what runs in the background, whether we are there.

Pages that change something in their own way (`/new`, `/several`, `/care/settings`, …) name their commands themselves.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, RedirectResponse, Response

from memory.schema.errors import Invalid, NotFound, clipped_repr
from memory.tools.fields import filled
from memory.tools.operation import Command

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
        raise NotFound("that is not known any more")
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


PAGES = {"POST /run/{command:path}": command, "GET /tasks/{id:int}": task, "GET /alive": alive}
