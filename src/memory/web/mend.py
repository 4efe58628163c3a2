"""
Edit a memory, replace it, write a new one, or change several at once; and what is to be reviewed. Each form is a command, as
one step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from memory.schema.errors import Error, Invalid
from memory.schema.kinds import CATEGORIES
from memory.schema.moments import written
from memory.schema.query import ACTIVE
from memory.text.display import one_line
from memory.tools.render.text import counted
from memory.tools.review import inspection
from memory.web.read import DiffLine, pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Details, Memory
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
            raise Invalid(f"memories cannot be {what[:20]!r}")
        visit.say(f"{DONE[what]} {counted(len(ids), 'memory', 'memories')}.", undoable=what != "pin")

    return visit.done(work)


DONE = {"pin": "Pinned", "unpin": "Unpinned", "delete": "Deleted", "tag": "Tagged", "untag": "Removed the tag from"}


def _tagged(visit: Visit, ids: Sequence[str], tag: str, *, add: bool) -> list[dict[str, list[str]]]:
    """For each memory that it changes, the fields of an update."""
    with visit.engine as engine:
        found = [engine.documents.get(id) for id in ids]
    wanted = [(one, [old for old in one.tags if old != tag] + [tag] * add) for one in found]
    return [{"id": [one.uid], "tag": tags or [""]} for one, tags in wanted if tuple(tags) != one.tags]


# Review: what sessions proposed, memories that say nearly the same, that look like orders, and secrets taken out ---


NAME, LABEL = "inspect", "checking memories"
SHOWN = 20  # pairs, and memories of the other lists
FIELDS = {"details": "body", "files": "related_files", "at": "happened_at", "until": "valid_until"}
"""The fields of a draft that a form calls otherwise."""


def page(visit: Visit) -> Response:
    task = visit.site.tasks.latest(NAME)
    running = task is not None and task.running  # read before the result: it may end meanwhile
    found: inspection.Inspected | None = task.result if task else None
    values: dict[str, Any] = {"pairs": [], "left": 0, "orders": [], "secrets": []}
    if found is not None:
        with visit.engine as engine:
            pairs = inspection.alive(engine, found.pairs)
            values |= {"pairs": pairs[:SHOWN], "left": max(len(pairs) - SHOWN, 0)}
            orders, secrets = found.orders[:SHOWN], found.secrets[:SHOWN]
            there = engine.store.memories.by_id([*orders, *(one.memory for one in secrets)])
            values |= {"orders": [there[id] for id in orders if id in there]}
            values |= {"secrets": [(there[one.memory], one) for one in secrets if one.memory in there]}
    waiting = visit.rows("review list")["waiting"]
    by: dict[str, list[dict[str, Any]]] = {}
    for one in waiting:
        by.setdefault(one["file"], []).append(one)
    values |= {"waiting": waiting, "sessions": [(_session(several[0]), several) for several in by.values()]}
    return visit.page("review.html", task=task, running=running, found=found, compared=compared, **values)


def _session(one: dict[str, Any]) -> str:
    """What the session of a proposal is called: its day and its project."""
    day, project = (one["time"] or "")[:10], one["project"]
    return f"Session{f' of {day}' if day else ''}{f' in {project}' if project else ''}"


def compared(one: Memory, other: Memory) -> list[tuple[str, Sequence[DiffLine]]]:
    """What the two say, field by field, as pieces of the first and the second."""
    fields = ("title", "what", "why", "impact")
    texts = [(name, str(getattr(one, name) or ""), str(getattr(other, name) or "")) for name in fields]
    return [(name, pieces(old, new)) for name, old, new in texts if old or new]


def begin(visit: Visit) -> Response:
    """Look through all memories, in the background."""

    def work(progress: Any) -> inspection.Inspected:
        with visit.site.keeper.engine() as engine:
            return inspection.inspect(engine, progress)

    visit.site.tasks.begin(NAME, LABEL, work, back="/review", same=True)
    return RedirectResponse("/review", 303)


def decide(visit: Visit) -> Response:
    """Of two memories that say nearly the same: one takes the place of the other, or both stay."""
    one, other, what = visit.sent("one"), visit.sent("other"), visit.sent("_do")

    def work() -> None:
        with visit.engine as engine:
            if what == "both":
                inspection.keep_both(engine, one, other)
                visit.say("Both stay.")
            elif what in ("one", "other"):
                old, new = (one, other) if what == "other" else (other, one)
                inspection.supersede(engine, old, new)
                visit.say("One replaces the other.", undoable=True)
            else:
                raise Invalid("Choose which memory to keep.")

    return visit.done(work, usual="/review")


def merge(visit: Visit) -> Response:
    """The newer of two in a form, with what the older one says beside it."""
    with visit.engine as engine:
        old, new = (engine.documents.details(visit.path[name], count=False) for name in ("old", "new"))
    values = texts(new)
    values["tags"] = ", ".join(dict.fromkeys((*new.memory.tags, *old.memory.tags)))
    values["files"] = "\n".join(dict.fromkeys((*new.memory.related_files, *old.memory.related_files)))
    return form(visit, values, memory=new.memory, merges=old)


def merged(visit: Visit) -> Response:
    values = typed(visit)
    with visit.engine as engine:
        old, new = (engine.documents.details(visit.path[name], count=False) for name in ("old", "new"))
        before = texts(new)
        changes: dict[str, object] = {
            FIELDS.get(name, name): tuple(listed(values[name])) if name in LISTS else values[name] or None
            for name in TEXTS
            if values[name] != before[name].replace("\r\n", "\n")
        }
        try:
            inspection.merge(engine, old.memory.uid, new.memory.uid, changes)
        except Error as error:
            return form(visit, values, memory=new.memory, merges=old, wrong=error)
    visit.say("Merged; the older one is superseded.", undoable=True)
    return RedirectResponse(f"/memory/{new.memory.uid}", 303)


PAGES = {
    "GET /memory/{id}/edit": edit,
    "POST /memory/{id}/edit": edited,
    "GET /memory/{id}/replace": replace,
    "POST /memory/{id}/replace": saved,
    "GET /new": new,
    "POST /new": saved,
    "POST /several": several,
    "GET /review": page,
    "POST /review/look": begin,
    "POST /review/decide": decide,
    "GET /review/merge/{old}/{new}": merge,
    "POST /review/merge/{old}/{new}": merged,
}
