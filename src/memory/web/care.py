"""Look after: how things stand, what is wrong with its mends, the model, and what was deleted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.cli import forms
from memory.schema.errors import Error, Invalid
from memory.web.allowed import BEGIN
from memory.web.use import span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.web.site import Visit

LISTED = 200  # deleted memories on a page


class Mend(NamedTuple):
    """
    A button that repairs something.

    Attributes:
        address: Where the form goes.
        fields: What it says.
    """

    words: str
    address: str
    fields: tuple[tuple[str, str], ...] = ()


MENDS = {
    "memory embed": Mend("Embed what waits", "/run/embed"),
    "memory reindex": Mend("Embed everything again", "/run/reindex"),
    "memory reindex --rollback": Mend("Back to the former vectors", "/run/reindex", (("rollback", "yes"),)),
    "memory doctor --fix": Mend("Repair", "/care/begin/doctor", (("fix", "yes"),)),
    "memory doctor": Mend("Ask again", "/care/begin/doctor"),
    "memory model install": Mend("Install the model", "/care/begin/model/install"),
    "memory trash empty": Mend("Take what is left", "/run/trash/empty", (("yes", "yes"),)),
}
"""What a hint may tell somebody at a terminal to run, as buttons."""


def mends(hint: str) -> list[Mend]:
    """The buttons for the commands that a hint names; none for what only a person can do."""
    return [MENDS[named] for named in re.findall(r"`([^`]*)`", hint) if named in MENDS]


def page(visit: Visit) -> Response:
    """How things stand."""
    return visit.page("care.html", last=last(visit), again=again(visit), **state(visit))


def model(visit: Visit) -> Response:
    """The model. It is apart, for its 84 MB are read to say whether they are sound."""
    return visit.page("care_model.html", models=visit.rows("model list")["models"])


def part(visit: Visit) -> Response:
    """What of the page changes by itself, as long as something runs."""
    return visit.page("care_state.html", **state(visit))


def state(visit: Visit) -> dict[str, Any]:
    found, checked = visit.rows("status"), visit.site.tasks.latest("doctor")
    running = visit.site.tasks.running()
    findings = checked.result.data["findings"] if checked is not None and checked.result else ()
    building = [one for one in found["generations"] if one["state"] == "building"]
    filling = bool(building) or (found["configured"] and found["queued"] > found["failed"])
    return {
        "found": found,
        "running": running,
        "checked": checked,
        "findings": findings,
        "moving": bool(running or filling),
        "mends": mends,
    }


def last(visit: Visit) -> dict[str, Any]:
    """What undo would take back, or, as "error", why it cannot."""
    try:
        return visit.rows("undo", dry_run=["yes"]) | {"error": None}
    except Error as error:
        return {"error": error}


def again(visit: Visit) -> dict[str, Any] | None:
    """What redo would do again; None if it cannot."""
    try:
        return visit.rows("redo", dry_run=["yes"])
    except Error:
        return None


def begin(visit: Visit) -> Response:
    """
    Begin a command that takes long.

    Raises:
        Invalid: It is none of `BEGIN`, or a field is not what it takes.
    """
    path = visit.path["command"].replace("/", " ")
    if path not in BEGIN:
        raise Invalid(f"{path[:40]!r} is not begun here")
    fields = {name: values for name, values in visit.form.items() if not name.startswith("_")}
    forms.filled(forms.declared(path), fields)  # what is wrong is said at once
    visit.site.tasks.begin(
        path,
        BEGIN[path],
        lambda progress: visit.site.run(path, fields, progress),
        back=visit.next("/care"),
        same=fields,
    )
    return visit.back("/care")


def trash(visit: Visit) -> Response:
    user = visit.asked("user")
    found = visit.rows("trash list", limit=[str(LISTED)], user=[user] if user else [])["memories"]
    with visit.engine as engine:
        whole, days = engine.store.counts().trashed, engine.config.trash.days
        together = _together(engine, found)
    users = sorted({one["user"] for one in found if one["user"]})
    return visit.page("trash.html", deleted=found, whole=whole, days=days, user=user, users=users, together=together)


class Together(NamedTuple):
    """
    What lies in the trash of one step.

    Attributes:
        words: What the step did, in words that follow the number.
    """

    step: str
    memories: int
    deleted_at: str
    words: str


def _together(engine: Engine, found: Sequence[dict[str, Any]]) -> list[Together]:
    """The steps that deleted several of those that are listed, and how many lie there of each in all."""
    first = {one["step"]: one["deleted_at"] for one in found if one["step"]}
    several = []
    for step, deleted_at in first.items():
        count = len({one.uid for one in engine.trash.rows(step=step)})
        did = next(iter(engine.store.steps.recent(1, key=step, undone=None)), None)
        what = did.verb if did is not None else ""
        words = f"of this {what}" if did is not None and did.undone and what else f"of one {what or 'step'}"
        if count > 1:
            several.append(Together(step, count, deleted_at, words))
    return several


# What was sent ------------------------------------------------------------------

SPANS = {"7": "7 days", "30": "30 days", "366": "a year"}


def ledger(visit: Visit) -> Response:
    """
    Raises:
        Invalid: The address names no span.
    """
    days = span(visit, SPANS)
    lines = visit.rows("ledger", days=[days])["lines"]
    return visit.page("ledger.html", lines=lines, days=days, spans=SPANS, sums=_sums(lines))


def _sums(lines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    names = ("calls", "texts", "tokens", "bytes_out", "seconds", "cost")
    return {name: sum(line[name] for line in lines) for name in names}


PAGES = {
    "GET /care": page,
    "GET /care/state": part,
    "GET /care/model": model,
    "POST /care/begin/{command:path}": begin,
    "GET /care/trash": trash,
    "GET /care/ledger": ledger,
}
