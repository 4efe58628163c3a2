"""Maintain: the state, problems with their repairs, the model, the trash, settings and agents."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import Error, Invalid, NotFound
from memory.tools.arguments import filled
from memory.tools.settings import set_, show, unset
from memory.web.timeline import span
from memory.web.work import BEGIN, declared, said

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from memory.engine import Engine
    from memory.tools.operation import Command, Shown
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
    "memory reindex --rollback": Mend("Return to the earlier vectors", "/run/reindex", (("rollback", "yes"),)),
    "memory doctor --fix": Mend("Repair", "/care/begin/doctor", (("fix", "yes"),)),
    "memory doctor": Mend("Check again", "/care/begin/doctor"),
    "memory model install": Mend("Install the model", "/care/begin/model/install"),
    "memory trash empty": Mend("Remove the rest", "/run/trash/empty", (("yes", "yes"),)),
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
        raise Invalid(f"{path[:40]!r} cannot be started here")
    fields = {name: values for name, values in visit.form.items() if not name.startswith("_")}
    filled(declared(path), fields)  # what is wrong is said at once
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
        together = {one.step: one for one in _together(engine, found)}
    steps = dict.fromkeys(one["step"] for one in found)
    groups = [(together.get(step), [one for one in found if one["step"] == step]) for step in steps]
    users = sorted({one["user"] for one in found if one["user"]})
    return visit.page("trash.html", groups=groups, shown=len(found), whole=whole, days=days, user=user, users=users)


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
    names = ("calls", "texts", "tokens", "bytes_out", "seconds", "cost")
    sums = {name: sum(line[name] for line in lines) for name in names}
    return visit.page("ledger.html", lines=lines, days=days, spans=SPANS, sums=sums)


# Agents -------------------------------------------------------------------------

STATES = {
    "yes": "set up",
    "plugin": "set up as a plugin",
    "old": "set up by another version or with other settings",
    "other": 'has another server called "memory"',
    "unreadable": "has a file that cannot be read",
    "no": "not set up",
}


def agents(visit: Visit) -> Response:
    return visit.page("agents.html", agents=visit.rows("setup")["agents"], states=STATES)


def one_agent(visit: Visit) -> Response:
    """
    An agent, and what setting it up or removing it would change; nothing is changed.

    Raises:
        NotFound: There is no such agent.
    """
    name = visit.path["name"]
    agent = next((row for row in visit.rows("setup")["agents"] if row["agent"] == name), None)
    if agent is None:
        raise NotFound(f"there is no agent {name[:40]!r}")
    places = [("user", "For you, in all projects"), ("project", "For everyone who works on this project")]
    plans = [
        {"place": place, "words": words, "file": agent[f"{place}_file"], "state": agent[place]}
        | _plan(visit, name, project=place == "project", remove=agent[place] in ("yes", "old"))
        for place, words in places
        if agent[f"{place}_file"]
    ]
    return visit.page("agent.html", agent=agent, plans=plans, states=STATES)


def _plan(visit: Visit, name: str, *, project: bool, remove: bool) -> dict[str, Any]:
    """What the button beside it would do, as a dry run tells."""
    flags = {"project": project, "remove": remove, "dry_run": True}
    try:
        found = visit.rows("setup", agent=[name], **{flag: ["yes"] for flag, on in flags.items() if on})
    except Error as error:
        return {"remove": remove, "steps": [], "error": error}
    return {"remove": remove, "steps": found["steps"], "error": None}


# Settings -----------------------------------------------------------------------

OFTEN = (
    *("embedding.provider", "embedding.model", "search.limit", "search.mode", "context.tokens", "mcp.toolsets"),
    *("trash.days", "user", "project_aliases"),
)
"""Settings that people change, before all others."""

CHANGED, USUAL, OF_ALL = "Changed by you", "Often changed", "general"


def settings(visit: Visit) -> Response:
    """The settings: first those that were changed, then those that people change, then the others by section."""
    found = _run(visit, show, {}).data or {}
    first: dict[str, list[dict[str, Any]]] = {CHANGED: [], USUAL: []}
    sections: dict[str, list[dict[str, Any]]] = {}
    for one in found["settings"]:
        text = str(one["value"]).lower() if isinstance(one["value"], bool) else str(one["value"])
        row = one | {"changed": one["origin"] != "default", "text": text}
        if row["changed"]:
            first[CHANGED].append(row)
        elif one["key"] in OFTEN:
            first[USUAL].append(row)
        else:
            sections.setdefault(one["key"].rpartition(".")[0] or OF_ALL, []).append(row)
    first[USUAL].sort(key=lambda row: OFTEN.index(row["key"]))
    asked = visit.asked("key")
    rest = any(one["key"] == asked for several in sections.values() for one in several)
    return visit.page("settings.html", first=first, sections=sections, file=found["file"], asked=asked, rest=rest)


def change_setting(visit: Visit) -> Response:
    """`memory config set` or `memory config unset`, for one setting."""
    key = visit.sent("key")

    def work() -> None:
        command, words = (unset, [key]) if visit.sent("usual") else (set_, [key, visit.sent("value")])
        shown = _run(visit, command, {"key": words})
        visit.say(said(shown), ". ".join(shown.warnings))

    return visit.done(work)


def _run(visit: Visit, command: Command, fields: dict[str, list[str]]) -> Shown:
    arguments = filled(command, fields)
    with visit.engine as engine:
        return visit.site.ran(command, arguments, engine)


PAGES = {
    "GET /care": page,
    "GET /care/state": part,
    "GET /care/model": model,
    "POST /care/begin/{command:path}": begin,
    "GET /care/trash": trash,
    "GET /care/ledger": ledger,
    "GET /care/settings": settings,
    "POST /care/settings": change_setting,
    "GET /care/agents": agents,
    "GET /care/agents/{name}": one_agent,
}
