"""Pins: what comes first in every context, whatever is saved after it."""

from __future__ import annotations

from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render import data, text

IDS = Option("ID...", blank=False)


@command("pin", IDS)
def pin(call: Call, a: Given) -> Shown:
    """
    Let memories come first in every context. What supersedes a pinned memory is pinned too.

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
    return Shown({"memories": data.pointers(found)}, "\n".join(f"{done} {text.named(one)}" for one in found))


COMMANDS = (pin, unpin)
