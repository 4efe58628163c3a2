"""Review: what sessions proposed is listed, kept, edited or dropped; memories that say nearly the same are named."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.engine import review as inspection
from memory.engine.review import CAUSE, CORRECTION, DECISION, RULE, SHOWN, USER, Proposed, Review
from memory.schema.errors import Invalid
from memory.tools.operation import PAGE, Call, Given, Option, Shown, command, group
from memory.tools.render import data
from memory.tools.render.text import counted, named, notice, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.schema.draft import Saved

__all__ = ["COMMANDS", "inspection"]

IDS = Option("ID...", blank=False)
SORTS = {DECISION: "decided", RULE: "from now on", CORRECTION: "corrected", CAUSE: "the cause"}
NOTHING = "nothing waits for review; `memory setup claude-code --capture` lets sessions propose notes"
ASK = "keep (k), edit (e), drop (d), later (l), quit (q)"


@group("review", usual="each")
def review() -> None:
    """
    Review what sessions proposed: keep, edit or drop it. Sessions propose notes only after `memory setup AGENT
    --capture`, and only what you keep here becomes a memory.

    \b
        memory review                                    one after the other, at a terminal
        memory review --json
        memory review edit 3f0c9c1e --what "What it should say"
        memory review keep 3f0c9c1e
        memory review drop 77ab01c2
        memory review twins
        memory review both 6225d224 c275b965
    """


@command("review each")
def each(call: Call, _: Given) -> Shown:
    """
    Review proposals one after the other. Without a terminal it lists them.

    \b
        memory review each
    """
    queue = _queue(call)
    waiting = queue.waiting()
    if call.as_json or not waiting or not call.person.there(stdout=True):
        return _listed(waiting)
    done = {"kept": 0, "dropped": 0}
    for number, one in enumerate(waiting, start=1):
        call.person.say(f"\n{number} of {len(waiting)}  {_block(one)}")
        answer = call.person.chooses(ASK, "kedlq", usual="l")
        if answer == "q":
            break
        if answer == "d":
            queue.settle(one.id)
            done["dropped"] += 1
        elif answer in "ke" and (wanted := _edited(call, one) if answer == "e" else one):
            saved = inspection.keep(call.engine, queue, wanted)
            call.person.say("\n".join([_done(saved), *map(notice, saved.notices)]))
            done["kept"] += 1
    left = len(queue.waiting())
    return Shown(None, f"{done['kept']} saved, {done['dropped']} dropped, {left} waiting")


def _edited(call: Call, one: Proposed) -> Proposed | None:
    """What a person makes of it in their editor; None if they left it empty."""
    text = call.person.edits(one.what)
    what = one.what if text is None else text.strip()
    return one._replace(what=what) if what else None


@command("review list")
def list_(call: Call, _: Given) -> Shown:
    """
    List proposals, oldest first, with their place in the transcript.

    \b
        memory review list
    """
    return _listed(_queue(call).waiting())


@command("review keep", IDS)
def keep(call: Call, a: Given) -> Shown:
    """
    Save proposals as notes, with their session and source.

    \b
        memory review keep 3f0c9c1e
    """
    queue = _queue(call)
    several = [queue.one(id) for id in a["id"]]
    saved = [inspection.keep(call.engine, queue, one) for one in several]
    notes = [notice(found) for one in saved for found in one.notices]
    return Shown({"saved": [data.saved(one) for one in saved]}, "\n".join(map(_done, saved)), notes)


@command("review drop", IDS)
def drop(call: Call, a: Given) -> Shown:
    """
    Drop proposals. Only a hash of each stays, so that it is not proposed again.

    \b
        memory review drop 3f0c9c1e 77ab01c2
    """
    queue = _queue(call)
    several = [queue.one(id) for id in a["id"]]
    for one in several:
        queue.settle(one.id)
    return Shown({"dropped": [one.id for one in several]}, f"Dropped {counted(len(several), 'proposal')}")


@command(
    "review edit ID",
    Option("--what TEXT|-", "What it should say; - reads standard input.", blank=False),
    Option("--why TEXT", "The reason; '' for none."),
    Option("--project [NAME]", "Its project; without a name, that of the current folder; '' for none."),
)
def edit(call: Call, a: Given) -> Shown:
    """
    Change the text or the project of a proposal. It goes on waiting.

    \b
        memory review edit 3f0c9c1e --what "What it should say"
    """
    _queue(call).one(a["id"])
    if all(a[name] is None for name in ("what", "why", "project")):
        raise Invalid("nothing to change", hint="See `memory review edit --help`.")
    changed = inspection.edited(call.settings(), a["id"], what=a["what"], why=a["why"], project=a["project"])
    return Shown({"waiting": _row(changed)}, f"Changed {changed.id[:SHOWN]}")


@command("review twins", PAGE, progress="comparing")
def twins(call: Call, a: Given) -> Shown:
    """
    List near-duplicate memories, most similar first. They are compared by words, and by meaning where there are
    vectors. Then come pairs in which the newer memory says something else about the same thing, such as another number,
    and may replace the older. `memory save --supersedes` replaces one; `memory review both` keeps both.

    \b
        memory review twins
    """
    found = inspection.inspect(call.engine, call.progress)
    pairs = inspection.alive(call.engine, found.pairs)
    rows = [
        {"one": data.pointer(one), "other": data.pointer(other), **data.row(pair, "words:real4 cosine:real4")}
        for pair, one, other in pairs[: a["limit"]]
    ]
    lines = [f"{pair.alike:4.0%}  {named(one)}\n      {named(other)}" for pair, one, other in pairs[: a["limit"]]]
    more = len(pairs) - len(rows)
    notes = [f"{more:,} more; --limit shows them"] if more else [] if pairs else ["there are no near-duplicates"]
    return Shown({"pairs": rows, "memories": found.memories}, "\n".join(lines), notes)


@command("review both ONE OTHER")
def both(call: Call, a: Given) -> Shown:
    """
    Keep two near-duplicates, and do not ask about them again.

    \b
        memory review both 6225d224 c275b965
    """
    inspection.keep_both(call.engine, a["one"], a["other"])
    return Shown({"one": a["one"], "other": a["other"]}, "both stay")


def _queue(call: Call) -> Review:
    return Review(call.settings().database)


def _done(saved: Saved) -> str:
    return f"{'Already saved' if saved.known else 'Saved'} {named(saved.memory)}"


def _listed(waiting: list[Proposed]) -> Shown:
    lines = [*map(_block, waiting)]
    following = ["next     memory review keep ID, edit ID --what TEXT, drop ID"] if waiting else [NOTHING]
    return Shown({"waiting": [*map(_row, waiting)]}, "\n\n".join([*lines, *following]))


def _row(one: Proposed) -> dict[str, Any]:
    return {**one._asdict(), "time": one.time or None, "session": one.session or None}


def _block(one: Proposed) -> str:
    return "\n".join(_lines(one))


def _lines(one: Proposed) -> Iterator[str]:
    who = "you" if one.role == USER else "the agent"
    facts = (SORTS.get(one.sort, plain(one.sort)), plain(one.project or "no project"), f"said by {who}", one.time[:16])
    yield f"{one.id[:SHOWN]}  {' · '.join(filter(None, facts))}"
    yield f"    {plain(one.what)}"
    if one.why:
        yield f"    {plain(one.why)}"
    yield f"    {plain(one.file)}" + (f":{one.line}" if one.line else ", near its end")


COMMANDS = (review, each, list_, keep, drop, edit, twins, both)
