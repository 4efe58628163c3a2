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
    from memory.engine.trash import Undoable, Undoing


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
    done = f"Deleted{'' if days else ' for good'}: {recall.named(memory)}."
    back = f" The user can restore it for {counted(days, 'day')}." if days else ""
    said = [f"{done}{back}", *recall.notices(owed), ""]
    return Result({"memory": gone, "notices": data.notices(owed)}, "\n".join(said))


@command(
    "delete ID",
    Option("--purge", "Delete it for good, as for a secret: no byte of it is left in the database."),
    YES,
)
def delete(call: Call, a: Given) -> Shown:
    """
    Delete a memory. For 30 days (`trash.days`) you can restore it with `memory undo` or `memory trash restore ID`. At a
    terminal it asks first. ID is never a pattern.

    A secret is deleted for good with --purge.

    \b
        memory delete 6225d224
        memory delete 6225d224 --purge
    """
    days = 0 if a["purge"] else call.engine.config.trash.days
    memory = call.engine.trash.there(a["id"])
    back = f"It can be restored for {counted(days, 'day')}; a secret is deleted for good with --purge."
    told = back if days else "For good: that cannot be undone."
    if not (a["yes"] or call.agreed(f"Delete {named(memory)}? {told}")):
        return Shown({"memory": None}, "nothing was deleted", code=1)
    gone = call.engine.trash.delete(memory.id, purge=a["purge"])
    owed = () if days else call.engine.trash.owed()
    said = f"Deleted {named(gone)}{'; `memory undo` restores it' if days else ' for good'}"
    values = {"memory": data.pointer(gone), "notices": data.notices(owed)}
    return Shown(values, said, [*map(notice, owed)])


# Taking back ------------------------------------------------------------

UNCHANGED = Shown({"done": False}, "nothing was changed", code=1)

ACTIONS = {"removed": "removes", "changed": "changes back", "restored": "restores"}
"""What an undo did to a memory, and how it is said before."""


DRY = Option("--dry-run", "Only show what would change.")

USER_ONLY = Option("--user NAME", "Only by this person.", blank=False)


@command(
    "undo [ID]",
    Option("--step STEP", "The step to undo, as `memory history` shows it.", blank=False),
    DRY,
    YES,
    progress="undoing",
)
def undo(call: Call, a: Given) -> Shown:
    """
    Undo your last save, update, delete or import. With ID it undoes the last change to that memory by you or an agent
    of yours, and nothing else of that step. It says what it does. To change more than one memory it asks at a terminal,
    and elsewhere needs --yes.

    Changes by others who share the store stay, and so do tool calls of research runs. What it removes goes to the
    trash. `memory redo` reverses an undo.

    \b
        memory undo
        memory undo 6225d224
    """
    if a["id"] is not None and a["step"] is not None:
        raise Invalid("undo takes an ID or --step, not both", hint="Leave out ID, or --step.")
    return _taken_back(call, a, call.engine.trash.last(a["id"], step=a["step"]), "undo")


@command("redo", DRY, YES, progress="redoing")
def redo(call: Call, a: Given) -> Shown:
    """
    Redo what you last undid. It says what it does. To change more than one memory it asks at a terminal, and elsewhere
    needs --yes.

    \b
        memory redo --dry-run
    """
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


@command("history", PAGE, USER_ONLY, Option("--undone", "List the undos that `memory redo` reverses."))
def history(call: Call, a: Given) -> Shown:
    """
    List the latest steps that can be undone. A step is a command, or a call of an agent's tool. The list says when it
    ran, what it did, by which program, for whom, and how many changes it made. `memory undo --step` undoes one of
    yours.

    \b
        memory history
        memory history --limit 5 --undone
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
    List, restore or permanently remove deleted memories. They stay in the trash for 30 days (`trash.days`), where no
    search, list or export finds them.

    \b
        memory trash
        memory trash restore 6225d224
        memory trash empty
    """


@command("trash list", PAGE, USER_ONLY)
def list_(call: Call, a: Given) -> Shown:
    """
    List deleted memories, latest first. The list says until when each can be restored, which step deleted it, and who
    did.

    \b
        memory trash list
    """
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
    Option("--step STEP", "Everything that this step deleted, such as an undo of an import.", blank=False),
)
def restore(call: Call, a: Given) -> Shown:
    """
    Restore deleted memories. They come back with their ids and history, and with relations and links whose other end
    still exists. Keywords find them at once, meaning as soon as they are embedded again.

    \b
        memory trash restore 6225d224
        memory trash restore --step 1a2b3c4d
    """
    if not a["id"] and a["step"] is None:
        raise Invalid("an ID is missing, or --step", hint="`memory trash list` shows both.")
    found, notices = call.engine.trash.restore(a["id"], step=a["step"])
    values = {"memories": data.pointers(found), "notices": data.notices(notices)}
    return Shown(values, "\n".join(f"Restored {named(one)}" for one in found), [*map(notice, notices)])


@command(
    "trash empty", Option("[ID]...", "Only these."), Option("--everyones", "Also memories that others deleted."), YES
)
def empty(call: Call, a: Given) -> Shown:
    """
    Remove deleted memories for good. No byte of their text is left in the database or its log; for that, the whole file
    is rewritten. What others deleted in a shared store stays, unless you name it or pass --everyones.

    \b
        memory trash empty
        memory trash empty 6225d224
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
