"""
What a form of the page may run. All else answers 404 and does nothing, whatever the command line offers.

Pages that change something in their own way (`/new`, `/several`, `/care/settings`, …) name their commands themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, NotFound, clipped_repr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

RUN = (
    *("save", "pin", "unpin", "delete", "undo", "redo", "trash restore", "trash empty"),
    *("review keep", "review edit", "review drop"),
    *("import", "embed", "reindex", "setup", "model remove"),
)
"""What a form may run at `/run/COMMAND`."""

BEGIN = {"doctor": "checking everything", "model install": "installing the model"}
"""What a form may begin at `/care/begin/COMMAND`: it takes longer than a request. And what that is called."""

NEEDED = {"setup": "agent"}
"""A field without which a command would do something else: set up every agent, or list them."""

REFUSED = {
    "A page of its own does it.": ("update", "config set", "config unset", "review both", "review twins"),
    "It only reads; the pages show what it prints.": (
        *("search", "details", "list", "context", "history", "trash list", "tags list", "review list", "review each"),
        *("session context", "session list", "session show", "session stats", "expand", "reconstruct"),
        *("run context", "run list", "run show", "graph path", "graph search", "graph show", "graph stats"),
        *("config show", "model list", "status", "ledger", "stats", "help", "version", "completion"),
    ),
    "It writes files of this machine, or moves what is kept: run it at a terminal.": (
        *("export", "run export", "graph export", "mirror", "migrate", "init", "config import", "demo", "eval"),
    ),
    "It does not end by itself, or speaks to an agent.": (
        "ui",
        "watch",
        "mcp",
        "hook session-start",
        "hook session-end",
    ),
    "No form of the page asks for it: run it at a terminal.": (
        *("tags rename", "store", "cleanup", "run start", "run clear", "run import", "graph about", "graph add"),
        *(
            "graph delete",
            "graph forget",
            "graph import",
            "graph link",
            "graph observe",
            "graph rename",
            "graph unlink",
        ),
    ),
}
"""Every other command, by why a form does not run it."""


def check(path: str, fields: Mapping[str, Sequence[str]]) -> None:
    """
    Let through only what a form may run.

    Raises:
        NotFound: A form does not run it; the hint says why.
        Invalid: A field is missing.
    """
    if path not in RUN:
        hint = next((why for why, several in REFUSED.items() if path in several), "")
        raise NotFound(f"no command {clipped_repr(path)} for a form", hint=hint)
    if (needed := NEEDED.get(path)) and not any(fields.get(needed, ())):
        raise Invalid(f"{path}: the field {needed} is missing")
