"""The command that connects coding agents to memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.agents.agents import AGENTS, INSTRUCTIONS, NAMES, Agent
from memory.agents.command import Environment, here
from memory.agents.files import shown
from memory.config.installation import check_server
from memory.schema.errors import Error, Invalid
from memory.text.display import escape_controls
from memory.tools.model import offer
from memory.tools.operation import Call, Given, Option, Shown, command

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from memory.agents.register import FileEdit, Registration
    from memory.agents.setup_files import Row


@command(
    "setup",
    Option("[AGENT]"),
    Option("--all", "Every agent that is on this machine."),
    Option("--project", "Use the project's file, shared with others, instead of yours."),
    Option("--remove", "Remove our entries, and nothing else."),
    Option("--dry-run", "Only show what would change: a line for each file."),
    Option("-v --verbose", "With --dry-run, also show the lines that would change."),
    Option("--force", "Replace an entry of the same name that memory did not write."),
    Option("--no-hooks", "Register the server, but no hooks at the start and end of sessions."),
    Option("--capture", "Let sessions propose notes when they end, for `memory review`; Claude Code only."),
    Option("--yes", "Do not ask: connect the agents, and install the local model if it is missing."),
)
def setup(call: Call, a: Given) -> Shown:
    """
    Connect coding agents to memory, or disconnect them. It registers the MCP server, the hooks and the skill of memory
    with AGENT. Without AGENT it lists the agents on this machine, and at a terminal offers to connect them.

    \b
        memory setup                        find the agents on this machine and offer to connect them
        memory setup --all                  connect them without asking
        memory setup claude-code            one agent: for you, in all projects
        memory setup cursor --project       for everyone who works on this project
        memory setup agents-md              instructions in the project's AGENTS.md
        memory setup codex --dry-run -v     the changes, as a diff
        memory setup claude-code --capture  sessions propose notes for you to review
        memory setup codex --remove         disconnect it again

    Nothing else in a settings file is changed, and your own file is first copied beside it. Running it again changes
    nothing.

    Agents do not have your environment, so where your memories are is written into the entry and stays until you name
    another place: with `memory --home`, `--config`, `--store` and `--user`, or with MEMORY_HOME, MEMORY_CONFIG,
    MEMORY_STORE_URL and MEMORY_USER. A password is never written: setup then refuses, and says where to put it.
    """
    environment = here()
    if a["capture"] and (wrong := [name for name in ("project", "remove", "no_hooks") if a[name]]):
        raise Invalid(f"--capture registers a hook of yours, which --{wrong[0].replace('_', '-')} does not")
    if a["agent"]:
        if a["all"]:
            raise Invalid("--all already includes every agent", hint=f"Leave out --all, or {a['agent']}.")
        return _one(call, a["agent"], a, environment)
    everybody = a["all"] or a["dry_run"]
    if not everybody and any(a[name] for name in ("project", "remove", "force", "no_hooks", "capture")):
        raise Invalid("name the agent, or add --all", hint=f"One of {', '.join(NAMES)}.")
    return _all(call, a, environment) if everybody or a["yes"] else _found(call, a, environment)


def _found(call: Call, a: Given, environment: Environment) -> Shown:
    """The agents, and at a terminal the question whether to connect those that are here."""
    rows = _rows(environment)
    if call.as_json or not (_open(rows) and call.person.there(stdout=True)):
        return Shown({"agents": [*map(_row, rows)]}, "\n".join(_table(rows)))
    call.person.say("\n".join(_table(rows, asking=True)))
    if call.person.agrees(f"Connect {_titles(_open(rows))}?", usual=True, stdout=True):
        return _all(call, a, environment)
    return Shown(None, ONE)


def _one(call: Call, agent: str, a: Given, environment: Environment) -> Shown:
    if not (a["remove"] or agent == INSTRUCTIONS):
        check_server()  # an entry for a server that cannot start is worse than none
    if a["capture"] and agent not in CAPTURING:
        hint = f"Only those of {', '.join(CAPTURING)} are read."
        raise Invalid(f"sessions of {agent} cannot propose notes", hint=hint)
    capture = a["capture"] or _wants_capture(call, [agent], a, environment)
    outcome = _registered(call, agent, a, environment, capture=capture)
    notes = [*map(escape_controls, outcome.notices)]
    if agent != INSTRUCTIONS:
        notes += _offered(call, a)
    return Shown(_data(agent, outcome, a), "\n".join(_lines(outcome, a)), notes)


def _offered(call: Call, a: Given) -> list[str]:
    """What is said of the local model, which whoever connects an agent is offered."""
    return [] if a["remove"] or a["dry_run"] else offer(call, yes=a["yes"])


CAPTURING = tuple(agent.name for agent in AGENTS if agent.captures)


def _wants_capture(call: Call, names: list[str], a: Given, environment: Environment) -> bool:
    """Whether a person at a terminal, who is asked once, wants sessions to propose what to keep."""
    from memory.agents.setup_files import capturing

    decided = any(a[name] for name in ("project", "remove", "no_hooks", "dry_run", "yes", "all"))
    if decided or not call.person.there():
        return False
    here = [agent for agent in AGENTS if agent.name in names and agent.captures and not capturing(agent, environment)]
    return bool(here) and call.person.agrees(CAPTURE.format(_titles(here)))


CAPTURE = "Let sessions of {} propose notes when they end, for you to review?"


def _registered(call: Call, agent: str, a: Given, environment: Environment, *, capture: bool) -> Registration:
    from memory.agents.register import Request, setup as register  # the list does without

    wanted = {name: a[name] for name in ("project", "remove", "force")}
    request = Request(agent=agent, **wanted, hooks=not a["no_hooks"], capture=capture, **call.flags._asdict())
    return register(request, environment, dry_run=a["dry_run"])


def _all(call: Call, a: Given, environment: Environment) -> Shown:
    """Every agent that is here; with --remove, every agent. One that fails keeps none of the others from it."""
    from memory.tools.render.data import error as rendered

    if not a["remove"]:
        check_server()
    titles = {agent.name: agent.title for agent in AGENTS if agent.project or not a["project"]}
    chosen = [row.name for row in _rows(environment) if row.name in titles and (row.sign or a["remove"])]
    capture = a["capture"] or _wants_capture(call, chosen, a, environment)
    values: list[dict[str, Any]] = []
    lines: list[str] = []
    notes: list[str] = []
    for name in chosen:
        try:
            outcome = _registered(call, name, a, environment, capture=capture and name in CAPTURING)
        except Error as error:
            values.append({"agent": name, **rendered(error)})
            notes += [escape_controls(f"{titles[name]}: {line}") for line in (str(error), error.hint) if line]
            continue
        if a["remove"] and all(step.state == "absent" for step in outcome.steps):
            continue
        values.append(_data(name, outcome, a))
        if outcome.steps:
            lines += [titles[name], *(f"  {line}" for line in _lines(outcome, a))]
        notes += [escape_controls(f"{titles[name]}: {notice}") for notice in outcome.notices]
    if not values:
        lines.append("nothing of memory is in any agent's files" if a["remove"] else NONE_FOUND)
    else:
        notes += _offered(call, a)
    return Shown({"agents": values}, "\n".join(lines), notes, code=int(any("error" in value for value in values)))


def _lines(outcome: Registration, a: Given) -> Iterator[str]:
    for step in outcome.steps:
        yield escape_controls(_line(step, dry_run=a["dry_run"]))
        if a["dry_run"] and a["verbose"] and step.diff:
            yield escape_controls(step.diff)
    if outcome.following and not a["dry_run"]:
        yield f"next     {outcome.following}"


_WORDS = {
    "already": "already set up",
    "absent": "is not there",
    "kept": "was changed, so it stays",
    "other": "is not there; another one of the name, not ours, stays",
    "unverified": "could not be verified, though asked for",
}


def _line(step: FileEdit, *, dry_run: bool) -> str:
    done = _WORDS.get(step.state, f"would be {step.state}" if dry_run else step.state)
    copy = f" (copy from before: {step.backup.name})" if step.backup and not dry_run else ""
    if step.calls:
        calls = "; ".join(shown(call) for call in step.calls)
        return f"{step.what}: {done} by `{calls}`{copy}"
    return f"{step.what}: {done}: {step.path}{copy}"


def _data(agent: str, outcome: Registration, a: Given) -> dict[str, Any]:
    return {
        "agent": agent,
        "project": a["project"],
        "dry_run": a["dry_run"],
        "changed": outcome.changed and not a["dry_run"],
        "steps": [
            {
                "what": step.what,
                "file": str(step.path),
                "state": step.state,
                "commands": [list(call) for call in step.calls],
                "diff": step.diff if a["dry_run"] else "",
                "backup": str(step.backup) if step.backup else None,
            }
            for step in outcome.steps
        ],
        "notices": [{"text": notice, "hint": ""} for notice in outcome.notices],
        "next": outcome.following,
    }


def _rows(environment: Environment) -> list[Row]:
    from memory.agents.setup_files import overview

    return overview(environment)


ONE = "next     memory setup AGENT      connect one of them"
NONE_FOUND = "no coding agent was found on this machine; `memory setup AGENT` prepares one that comes later"


def _open(rows: list[Row]) -> list[Row]:
    """The agents on this machine that do not have memory as this installation would set it up."""
    return [row for row in rows if row.sign and row.name != INSTRUCTIONS and {row.user, row.project} <= {"no", "old"}]


def _table(rows: list[Row], *, asking: bool = False) -> Iterator[str]:
    width, wide = (max(len(text) for text in texts) for texts in ([row.name for row in rows], [*map(_known, rows)]))
    for row in rows:
        sign = f"found: {row.sign}" if row.sign else "not found"
        yield escape_controls(f"{row.name:<{width}}  {_known(row):<{wide}}  {sign}")
    if not any(row.sign for row in rows if row.name != INSTRUCTIONS):
        yield NONE_FOUND
    elif (names := _open(rows)) and not asking:
        yield f"next     memory setup --all      connect {_titles(names)}"
        yield ONE


def _titles(several: Sequence[Row | Agent]) -> str:
    *others, last = [one.title for one in several]
    return f"{', '.join(others)} and {last}" if others else last


_STATES = {
    "yes": "set up",
    "plugin": "set up as a plugin",
    "old": "set up, by another version or with other settings",
    "other": 'has another server called "memory"',
    "unreadable": "has a file that cannot be read",
}


def _known(row: Row) -> str:
    places = ((row.user, "for you"), (row.project, "in this project"))
    return ", ".join(f"{_STATES[state]} {place}" for state, place in places if state in _STATES) or "not set up"


def _row(row: Row) -> dict[str, Any]:
    values = {name: str(value) if isinstance(value, Path) else value for name, value in row._asdict().items()}
    return {"agent": values.pop("name"), "installed": row.sign is not None, **values}


COMMANDS = (setup,)
