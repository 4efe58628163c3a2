"""Review: proposals of sessions, near-duplicates, memories that look like instructions, and removed secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import RedirectResponse, Response

from memory.schema.errors import Error, Invalid
from memory.tools.review import inspection
from memory.web.mend import LISTS, TEXTS, form, listed, texts, typed
from memory.web.read import DiffLine, pieces

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.schema.memory import Memory
    from memory.web.site import Visit

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
    "GET /review": page,
    "POST /review/look": begin,
    "POST /review/decide": decide,
    "GET /review/merge/{old}/{new}": merge,
    "POST /review/merge/{old}/{new}": merged,
}
