"""Look after: which coding agents are connected, what connecting one would change, and the buttons that do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.errors import Error, NotFound

if TYPE_CHECKING:
    from starlette.responses import Response

    from memory.web.site import Visit

STATES = {
    "yes": "set up",
    "plugin": "set up as a plugin",
    "old": "set up by another version or with other settings",
    "other": 'has another server called "memory"',
    "unreadable": "has a file that cannot be read",
    "no": "not set up",
}


def page(visit: Visit) -> Response:
    return visit.page("agents.html", agents=visit.rows("setup")["agents"], states=STATES)


def one(visit: Visit) -> Response:
    """
    An agent, and what setting it up or removing it would change; nothing is changed.

    Raises:
        NotFound: There is no such agent.
    """
    name = visit.path["name"]
    agent = next((row for row in visit.rows("setup")["agents"] if row["agent"] == name), None)
    if agent is None:
        raise NotFound(f"there is no agent {name[:40]!r}")
    places = [("user", "For you, in all projects"), ("project", "For all who work on this project")]
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


PAGES = {"GET /care/agents": page, "GET /care/agents/{name}": one}
