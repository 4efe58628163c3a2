"""The verbs that delete and that take back: delete, undo, and the trash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.engine.trash import KEY, Deleted
from memory.schema.errors import Invalid, iso
from memory.schema.moments import day, minute, second
from memory.tools.arguments import ID, Parameter
from memory.tools.operation import PAGE, YES, Call, Given, Option, Result, Shown, command, group, tool
from memory.tools.render import data
from memory.tools.render.text import counted, named, notice, plain, table

if TYPE_CHECKING:
    from memory.keep.undo import Undoing
    from memory.store.journal import Undoable


@tool(
    "Delete a memory",
    "memory:name notices:notices",
    ID,
    Parameter("purge", "boolean", "For good: a secret.", plain=True),
    destroys=True,
)
def memory_delete(call: Call, given: Given) -> Result:
    """Delete a mistake, or what the user asks to forget; a secret with `purge`."""
    from memory.tools.render import recall  # 4 ms that no command needs

    purge = bool(given.get("purge"))
    memory = call.engine.trash.delete(given["id"], purge=purge)
    owed = call.engine.trash.owed() if purge else ()
    gone = {"id": memory.uid, "memory_id": memory.id, "title": memory.title}
    days = 0 if purge else call.engine.config.trash.days
    back = f"; for {counted(days, 'day')} the user can have it back" if days else " for good"
    said = [f"Deleted{back}: {recall.named(memory)}.", *recall.notices(owed), ""]
    return Result({"memory": gone, "notices": data.notices(owed)}, "\n".join(said))


@command(
    "delete ID",
    Option("--purge", "For good, as for a secret: no byte of what it said is left in the database."),
    YES,
)
def delete(call: Call, a: Given) -> Shown:
    """
    Delete a memory, with everything derived from it. It can be had back for 30 days (`trash.days`): `memory undo`,
    `memory trash restore ID`. At a terminal it asks. ID is never a pattern.

    A secret is deleted for good with --purge.
    """
    days = 0 if a["purge"] else call.engine.config.trash.days
    memory = call.engine.trash.there(a["id"])
    back = f"It can be had back for {counted(days, 'day')}; a secret is deleted for good with --purge."
    told = back if days else "For good: that cannot be undone."
    if not (a["yes"] or call.agreed(f"Delete {named(memory)}? {told}")):
        return Shown({"memory": None}, "nothing was deleted", code=1)
    gone = call.engine.trash.delete(memory.id, purge=a["purge"])
    owed = () if days else call.engine.trash.owed()
    said = f"deleted {named(gone)}{'; `memory undo` takes it back' if days else ' for good'}"
    values = {"memory": data.pointer(gone), "notices": data.notices(owed)}
    return Shown(values, said, [*map(notice, owed)])


# Taking back ------------------------------------------------------------

UNCHANGED = Shown({"done": False}, "nothing was changed", code=1)

ACTIONS = {"removed": "removes", "changed": "changes back", "restored": "restores"}
"""What an undo did to a memory, and how it is said before."""


DRY = Option("--dry-run", "Only say what it would do.")

USER_ONLY = Option("--user NAME", "Only of this person.", blank=False)


@command(
    "undo [ID]",
    Option("--step STEP", "This step, as `memory history` shows it.", blank=False),
    DRY,
    YES,
    progress="undoing",
)
def undo(call: Call, a: Given) -> Shown:
    """
    Take back the last save, update, delete or import that a command of yours did; with ID the last change of that
    memory, by you or an agent of yours, and nothing else of that step. It says what it does. More than one memory needs
    your yes: at a terminal it asks, elsewhere it needs --yes.

    What others did who share the store stays. What it removes goes to the trash, and `memory redo` takes the undo back.
    Calls of tools in research runs stay.

    \b
        memory undo
        memory undo 6225d224
    """
    if a["id"] is not None and a["step"] is not None:
        raise Invalid("undo takes back a memory's last change, or a step", hint="Leave out ID, or --step.")
    return _taken_back(call, a, call.engine.trash.last(a["id"], step=a["step"]), "undo")


@command("redo", DRY, YES, progress="redoing")
def redo(call: Call, a: Given) -> Shown:
    """Take back your last undo. It says what it does, and more than one memory needs your yes, as with `memory undo`."""
    return _taken_back(call, a, call.engine.trash.last_undo(), "redo")


def _taken_back(call: Call, a: Given, plan: Undoing, verb: str) -> Shown:
    """
    Raises:
        Invalid: It is more than one memory, and nobody can be asked.
    """
    if a["dry_run"]:
        return Shown(_values(plan, done=False), _told(plan), ["nothing was changed"])
    if plan.several and not a["yes"]:
        if not call.person.there():
            what = (
                counted(plan.several, "memory", "memories")
                if plan.memories
                else f"{plan.several:,} relations and links"
            )
            hint = f"`memory {verb} --yes` does it, --dry-run shows it; `memory undo ID` takes back one memory."
            raise Invalid(f"this changes {what} at once ({_who(plan.step)})", hint=hint)
        if not call.agreed(f"{_told(plan)}\nTake this back?" if verb == "undo" else f"{_told(plan)}\nDo this again?"):
            return UNCHANGED
    found, notices = call.engine.trash.undo(plan, call.progress)
    values = _values(found, done=True) | {"notices": data.notices(notices)}
    return Shown(values, f"{verb.removesuffix('do')}done: {_told(found, past=True)}", [*map(notice, notices)])


def _values(plan: Undoing, *, done: bool) -> dict[str, Any]:
    memories = [data.row(one, "done id=uid title") for one in plan.named]
    step = data.row(plan, "step=step.key verb=step.verb by=step.by user=step.user moment=step.moment")
    counts = data.row(plan, "removed:number changed:number restored:number joined:number")
    return {**step, **counts, "memories": memories, "done": done}


def _told(plan: Undoing, *, past: bool = False) -> str:
    """A step, and what happens to the first of its memories."""
    part = " (of that only this memory)" if plan.of is not None and plan.step.size > 1 else ""
    lines = [f"{_who(plan.step)}, {second(plan.step.moment)}{part}"]
    verbs = {done: done for done in ACTIONS} if past else ACTIONS
    lines += [f"    {verbs[one.done]} {one.short_id} {plain(one.title)}".rstrip() for one in plan.named]
    if more := plan.removed + plan.changed + plan.restored - len(plan.named):
        parts = [f"{count:,} {what}" for what in ACTIONS if (count := getattr(plan, what))]
        lines.append(f"    and {counted(more, 'memory', 'memories')} more; in all {', '.join(parts)}")
    if plan.joined:
        lines.append(f"    {counted(plan.joined, 'relation or link', 'relations and links')}")
    return "\n".join(lines)


def _who(step: Undoable) -> str:
    """What was done, and by which program."""
    return f"{plain(step.verb) or 'a change'} by {plain(step.by)}" if step.by else f"memory {plain(step.verb)}"


@command("history", PAGE, USER_ONLY, Option("--undone", "The undos that `memory redo` takes back."))
def history(call: Call, a: Given) -> Shown:
    """
    List the last steps that can be taken back, whoever did them: when, what, by which program, for whom, and how many
    changes it made. A step is a command, or a call of an agent's tool. `memory undo --step` takes back one of yours.
    """
    found = call.engine.trash.steps(a["limit"], user=a["user"], undone=a["undone"])
    rows = [
        (one.key[:KEY], minute(one.moment), plain(one.user), _who(one), counted(one.size, "change")) for one in found
    ]
    values = [data.row(one, "step=key moment verb by user changes=size:number") for one in found]
    return Shown({"steps": values}, table(rows), [] if found else ["nothing that can be taken back was done"])


@group("trash", "list")
def trash() -> None:
    """
    List what was deleted, have it back, or delete it for good.

    It lies there for 30 days (`trash.days`), out of reach of every search, list and export.

    \b
        memory trash
        memory trash restore 6225d224
        memory trash empty
    """


@command("trash list", PAGE, USER_ONLY)
def list_(call: Call, a: Given) -> Shown:
    """List what was deleted, last deleted first: until when it can be had back, in which step it was, and by whom."""
    found = call.engine.trash.recent(a["limit"], user=a["user"])
    rows = [
        (
            one.short_id,
            minute(one.deleted_at),
            f"until {day(one.until)}",
            one.step[:KEY],
            *((plain(one.user),) if call.engine.store.shared else ()),
            plain(one.draft.title or one.draft.what),
        )
        for one in found
    ]
    more = 0 if a["user"] else call.engine.store.counts().trashed - len(found)
    notes = [f"{more:,} more; --limit shows them"] if found and more > 0 else []
    none = f"nothing in the trash was deleted by {plain(a['user'])}" if a["user"] else "the trash is empty"
    return Shown({"memories": [_row(one) for one in found]}, table(rows), notes if found else [none])


def _row(one: Deleted) -> dict[str, Any]:
    moments = {"deleted_at": iso(one.deleted_at), "until": iso(one.until)}
    who = {"step": one.step, "user": one.user}
    return {"id": one.uid, **data.row(one.draft, "kind title what project:text?"), **moments, **who}


@command(
    "trash restore",
    Option("[ID]...", blank=False),
    Option("--step STEP", "All that this step deleted: an undo of an import, for instance.", blank=False),
)
def restore(call: Call, a: Given) -> Shown:
    """
    Have memories back under their ids, with their history, and their relations and links where those still are. Words
    find them at once, their meaning as soon as they are embedded again.

    \b
        memory trash restore 6225d224
        memory trash restore --step 1a2b3c4d
    """
    if not a["id"] and a["step"] is None:
        raise Invalid("an ID is missing, or --step", hint="`memory trash list` shows both.")
    found, notices = call.engine.trash.restore(a["id"], step=a["step"])
    values = {"memories": data.pointers(found), "notices": data.notices(notices)}
    return Shown(values, "\n".join(f"restored {named(one)}" for one in found), [*map(notice, notices)])


@command("trash empty", Option("[ID]...", "Only these."), Option("--everyones", "Also what others deleted."), YES)
def empty(call: Call, a: Given) -> Shown:
    """
    Delete what is in the trash for good. Of what it said no byte is left in the database and its log; for that, the
    whole file is written anew. What others deleted who share the store stays, unless you name it or ask for it.
    """
    engine = call.engine
    uids = {engine.trash.named(one).uid for one in a["id"]}
    count = len(uids) or (engine.store.counts().trashed if a["everyones"] else engine.trash.mine())
    what = counted(count, "memory", "memories")
    if count and not (a["yes"] or call.agreed(f"Delete {what} for good? That cannot be undone.")):
        return UNCHANGED
    gone = engine.trash.empty(a["id"], everyones=a["everyones"])
    notices = engine.trash.owed()
    said = f"{counted(gone, 'memory', 'memories')} deleted for good"
    return Shown({"memories": gone, "done": True, "notices": data.notices(notices)}, said, [*map(notice, notices)])


COMMANDS = (delete, undo, redo, history, trash, list_, restore, empty)
