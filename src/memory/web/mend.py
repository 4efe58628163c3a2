"""Edit a memory, replace it, write a new one, or change several at once. Each form is a command, as one step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from memory.schema.errors import Error, Invalid
from memory.schema.kinds import CATEGORIES
from memory.schema.moments import written
from memory.schema.query import ACTIVE
from memory.text.display import one_line
from memory.tools.render.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.document import Details
    from memory.schema.memory import Memory
    from memory.web.site import Visit

TEXTS = ("title", "what", "why", "impact", "details", "category", "project", "source", "tags", "files", "at", "until")
LISTS = {"tags": "tag", "files": "file"}
"""Texts that list several, and the option that takes each."""

OFFERED = 200  # projects and tags that a form completes, most used first

MEANWHILE = "It was changed meanwhile. What you typed is still here; save again to overwrite that change."


def texts(found: Details) -> dict[str, str]:
    """What a form about a memory is filled with."""
    memory = found.memory
    values = {name: getattr(memory, name) or "" for name in ("title", "what", "why", "impact", "category", "project")}
    values |= {"source": memory.source or "", "details": found.body}
    values |= {"at": written(memory.happened_at), "until": written(memory.valid_until, end=True)}
    return values | {"tags": ", ".join(memory.tags), "files": "\n".join(memory.related_files)}


def typed(visit: Visit) -> dict[str, str]:
    """What was typed into it; browsers end lines in two characters."""
    return {name: visit.sent(name).replace("\r\n", "\n") for name in TEXTS}


def listed(text: str) -> list[str]:
    """The parts of a text between commas or line ends."""
    return [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]


def form(visit: Visit, values: dict[str, str], **more: Any) -> Response:
    shown: dict[str, Any] = {
        "values": values,
        "categories": CATEGORIES,
        "memory": None,
        "wrong": None,
        "replaces": False,
        "seen": "",
        "merges": None,
    }
    with visit.engine as engine:
        values_of, tags_of = engine.store.memories.values, engine.store.memories.tags
        shown["projects"] = [name for name, _ in values_of("project", ACTIVE)[:OFFERED] if name]
        shown["tags"] = [name for name, _ in tags_of(ACTIVE)[:OFFERED]]
    shown |= more
    return visit.page("mend.html", 400 if shown["wrong"] else 200, **shown)


# One ---------------------------------------------------------------------------


def edit(visit: Visit) -> Response:
    with visit.engine as engine:
        found = engine.documents.details(visit.path["id"], count=False)
    return form(visit, texts(found), memory=found.memory, seen=found.memory.updated_at.isoformat())


def edited(visit: Visit) -> Response:
    with visit.engine as engine:
        found = engine.documents.details(visit.path["id"], count=False)
    memory, before, values = found.memory, texts(found), typed(visit)
    seen = memory.updated_at.isoformat()
    if visit.sent("_seen") != seen:
        return form(visit, values, memory=memory, seen=seen, wrong=Invalid(MEANWHILE))
    changes = {name: values[name] for name in TEXTS if values[name] != before[name].replace("\r\n", "\n")}
    fields: dict[str, Sequence[str]] = {name: [text] for name, text in changes.items() if name not in LISTS}
    fields |= {LISTS[name]: listed(text) or [""] for name, text in changes.items() if name in LISTS}
    if not changes:
        return _to(memory)
    try:
        visit.site.run("update", fields | {"id": [memory.uid]})
    except Error as error:
        return form(visit, values, memory=memory, seen=seen, wrong=error)
    visit.say(f"Changed {', '.join(changes)}.", undoable=True)
    return _to(memory)


def replace(visit: Visit) -> Response:
    with visit.engine as engine:
        found = engine.documents.details(visit.path["id"], count=False)
    return form(visit, texts(found) | {"at": "", "until": ""}, memory=found.memory, replaces=True)


def new(visit: Visit) -> Response:
    return form(visit, dict.fromkeys(TEXTS, "") | {"project": visit.asked("project")})


def saved(visit: Visit) -> Response:
    """A new memory, which may take the place of another."""
    values, old = typed(visit), visit.path.get("id")
    fields: dict[str, Sequence[str]] = {name: [text] for name, text in values.items() if name not in LISTS and text}
    fields |= {LISTS[name]: listed(values[name]) for name in LISTS}
    fields |= {"project": [values["project"]], "supersedes": [old] if old else []}
    try:
        known = visit.rows("save", **fields)
    except Error as error:
        with visit.engine as engine:
            memory = engine.documents.get(old) if old else None
        return form(visit, values, memory=memory, replaces=memory is not None, wrong=error)
    said = "Saved; it replaces the earlier memory." if old else "Saved."
    visit.say("That is already saved." if known["known"] else said, undoable=True)
    for notice in known["notices"]:
        visit.say(notice["text"], notice["hint"])
    return RedirectResponse(f"/memory/{known['memory']['id']}", 303)


def _to(memory: Memory) -> Response:
    return RedirectResponse(f"/memory/{memory.uid}", 303)


# Several at once ---------------------------------------------------------------


def several(visit: Visit) -> Response:
    """What is chosen in a list: pinned, tagged or deleted, as one step."""
    ids, what, tag = visit.form.get("_id", []), visit.sent("_do"), one_line(visit.sent("_tag")).strip()

    def work() -> None:
        if what in ("tag", "untag") and not tag:
            raise Invalid("Which tag?", hint="Type it beside the button.")
        if what in ("pin", "unpin"):
            visit.site.run(what, {"id": ids})
        elif what == "delete":
            visit.site.run_all("delete", [{"id": [id]} for id in ids])
        elif what in ("tag", "untag"):
            visit.site.run_all("update", [*_tagged(visit, ids, tag, add=what == "tag")])
        else:
            raise Invalid(f"no way to {what[:20]!r} memories")
        visit.say(f"{DONE[what]} {counted(len(ids), 'memory', 'memories')}.", undoable=what != "pin")

    return visit.done(work)


DONE = {"pin": "Pinned", "unpin": "Unpinned", "delete": "Deleted", "tag": "Tagged", "untag": "Removed the tag from"}


def _tagged(visit: Visit, ids: Sequence[str], tag: str, *, add: bool) -> list[dict[str, list[str]]]:
    """For each memory that it changes, the fields of an update."""
    with visit.engine as engine:
        found = [engine.documents.get(id) for id in ids]
    wanted = [(one, [old for old in one.tags if old != tag] + [tag] * add) for one in found]
    return [{"id": [one.uid], "tag": tags or [""]} for one, tags in wanted if tuple(tags) != one.tags]


PAGES = {
    "GET /memory/{id}/edit": edit,
    "POST /memory/{id}/edit": edited,
    "GET /memory/{id}/replace": replace,
    "POST /memory/{id}/replace": saved,
    "GET /new": new,
    "POST /new": saved,
    "POST /several": several,
}
