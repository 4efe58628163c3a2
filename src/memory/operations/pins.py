"""Pins: what comes first in every context, whatever is saved after it."""

from __future__ import annotations

from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render import data, text
from memory.schema.kinds import RESEARCH_KINDS

IDS = Option("ID...", blank=False)


@command("pin", IDS)
def pin(call: Call, a: Given) -> Shown:
    """
    Let memories come first in every context. What supersedes a pinned memory is pinned too. What belongs to a research
    run comes first in the contexts of that run only.

    \b
        memory pin 6225d224
        memory list --pinned
    """
    return _shown(call, a, pinned=True)


@command("unpin", IDS)
def unpin(call: Call, a: Given) -> Shown:
    """Let memories no longer come first."""
    return _shown(call, a, pinned=False)


def _shown(call: Call, a: Given, *, pinned: bool) -> Shown:
    found = call.engine.documents.pin(a["id"], pinned=pinned)
    done = "pinned" if pinned else "unpinned"
    runs = dict.fromkeys(one.query_id for one in found if pinned and one.kind in RESEARCH_KINDS and one.query_id)
    notes = [f"what belongs to a run comes first in its contexts only: `memory context --run {run}`" for run in runs]
    lines = "\n".join(f"{done} {text.named(one)}" for one in found)
    return Shown({"memories": data.pointers(found)}, lines, [*map(text.plain, notes)])


COMMANDS = (pin, unpin)
