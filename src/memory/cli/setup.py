"""The command that connects a coding agent to memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.cli.model import YES, offer
from memory.cli.options import flags
from memory.integrations.agents import INSTRUCTIONS, NAMES
from memory.integrations.command import Environment, here
from memory.integrations.files import shown
from memory.operations.operation import Call, Given, Option, Shown, command
from memory.schema.errors import Invalid
from memory.text.display import escape_controls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.integrations.parts import Row
    from memory.integrations.register import Outcome, Request, Step


@command(
    "setup",
    Option("[AGENT]"),
    Option("--project", "Use the project's file, which is shared, instead of yours."),
    Option("--remove", "Undo it: remove our entries, and nothing else."),
    Option("--dry-run", "Only show what would change."),
    Option("--force", "Replace what somebody else has put there under our name."),
    Option("--no-hooks", "Register the server, but no hooks at the start and end of sessions."),
    YES,
)
def setup(_call: Call, a: Given) -> Shown:
    """
    Connect a coding agent to memory, or disconnect it. This registers the MCP server, the hooks and the skill of memory
    with AGENT; without AGENT, it lists the agents.

    \b
        memory setup                        which agents are installed, and which are connected
        memory setup claude-code            for you, in all projects
        memory setup cursor --project       for all who work on this project
        memory setup agents-md              instructions in the project's AGENTS.md
        memory setup codex --dry-run        the changes, as a diff
        memory setup codex --remove         undo it

    Nothing else in a settings file is changed, and your own file is first copied beside it. Doing it again changes
    nothing. A folder or a settings file that you name by `memory --home` and `--config`, or MEMORY_HOME and
    MEMORY_CONFIG, is written into the entry, since agents do not have your environment, and stays until you name another.
    """
    environment = here()
    if a["agent"] is None:
        if any(a.values()):
            raise Invalid("name the agent", hint=f"One of {', '.join(NAMES)}.")
        return _listed(environment)
    from memory.integrations.register import Request, setup as register  # the list does without

    home, config = flags()
    wanted = {name: a[name] for name in ("agent", "project", "remove", "force")}
    request = Request(**wanted, hooks=not a["no_hooks"], home=home, config=config)
    outcome = register(request, environment, dry_run=a["dry_run"])
    lines = [*_lines(outcome, dry_run=a["dry_run"])]
    notes = [*map(escape_controls, outcome.notices)]
    if not (a["remove"] or a["dry_run"] or a["agent"] == INSTRUCTIONS):
        notes += offer(yes=a["yes"])
    return Shown(_data(request, outcome, dry_run=a["dry_run"]), "\n".join(lines), notes)


def _lines(outcome: Outcome, *, dry_run: bool) -> Iterator[str]:
    for step in outcome.steps:
        yield escape_controls(_line(step, dry_run=dry_run))
        if dry_run and step.diff:
            yield escape_controls(step.diff)
    if outcome.following and not dry_run:
        yield f"next     {outcome.following}"


_WORDS = {
    "already": "is there already",
    "absent": "is not there",
    "kept": "was changed, so it stays",
    "other": "is not there; another one of the name, not ours, stays",
    "unverified": "could not be verified, though asked for",
}


def _line(step: Step, *, dry_run: bool) -> str:
    done = _WORDS.get(step.state, f"would be {step.state}" if dry_run else step.state)
    copy = f" (copy from before: {step.backup.name})" if step.backup and not dry_run else ""
    if step.calls:
        calls = "; ".join(shown(call) for call in step.calls)
        return f"{step.what}: {done} by `{calls}`{copy}"
    return f"{step.what}: {done}: {step.path}{copy}"


def _data(request: Request, outcome: Outcome, *, dry_run: bool) -> dict[str, Any]:
    return {
        "agent": request.agent,
        "project": request.project,
        "dry_run": dry_run,
        "changed": outcome.changed and not dry_run,
        "steps": [
            {
                "what": step.what,
                "file": str(step.path),
                "state": step.state,
                "commands": [list(call) for call in step.calls],
                "diff": step.diff if dry_run else "",
                "backup": str(step.backup) if step.backup else None,
            }
            for step in outcome.steps
        ],
        "notices": [{"text": notice, "hint": ""} for notice in outcome.notices],
        "next": outcome.following,
    }


def _listed(environment: Environment) -> Shown:
    from memory.integrations.parts import overview

    rows = overview(environment)
    width = max(len(row.name) for row in rows)
    lines = [f"{row.name:<{width}}  {'installed' if row.installed else 'not found':<9}  {_known(row)}" for row in rows]
    installed = [row for row in rows if row.installed and row.name != INSTRUCTIONS]
    if not installed or any(row.user == row.project == "no" for row in installed):
        lines.append("next     memory setup AGENT")
    return Shown({"agents": [_row(row) for row in rows]}, "\n".join(lines))


_STATES = {
    "yes": "set up",
    "old": "set up, by another version or with other settings",
    "other": 'has another server called "memory"',
    "unreadable": "has a file that cannot be read",
}


def _known(row: Row) -> str:
    places = ((row.user, "for you"), (row.project, "in this project"))
    return ", ".join(f"{_STATES[state]} {place}" for state, place in places if state in _STATES) or "not set up"


def _row(row: Row) -> dict[str, Any]:
    values = {name: str(value) if isinstance(value, Path) else value for name, value in row._asdict().items()}
    return {"agent": values.pop("name"), **values}


COMMANDS = (setup,)
