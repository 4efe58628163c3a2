"""The command that makes memory known to a coding agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from memory.cli.options import as_json, show
from memory.integrations.agents import INSTRUCTIONS, NAMES
from memory.integrations.environment import here
from memory.integrations.own import shown
from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from memory.integrations.environment import Environment
    from memory.integrations.parts import Row
    from memory.integrations.register import Outcome, Request, Step


@click.command(short_help="Make memory known to a coding agent, or undo it.")
@click.argument("agent", required=False, metavar="[AGENT]")
@click.option("--project", is_flag=True, help="In the project's file, which is shared, in place of yours.")
@click.option("--remove", is_flag=True, help="Undo it: take out what is ours, and nothing else.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--force", is_flag=True, help="Replace what somebody else put there under our name.")
@click.option("--no-hooks", is_flag=True, help="Register the server, but no commands at start and end of sessions.")
@as_json
@click.pass_context
def setup(
    context: click.Context,
    /,
    agent: str | None,
    *,
    project: bool,
    remove: bool,
    dry_run: bool,
    force: bool,
    no_hooks: bool,
    as_json: bool,
) -> None:
    """
    Register the MCP server, the hooks and the skill of memory with AGENT; without one, list the agents.

    \b
        memory setup                        which agents are here, and which know memory
        memory setup claude-code            for you, in all projects
        memory setup cursor --project       for all who work on this project
        memory setup agents-md              instructions in the project's AGENTS.md
        memory setup codex --dry-run        the changes, as a diff
        memory setup codex --remove         undo it

    Nothing else in a settings file is touched, and a copy of one of yours is kept beside. Doing it again changes nothing.
    The folder and the settings file that `memory --home` and `--config` name, or MEMORY_HOME and MEMORY_CONFIG, are
    written into the entry, since agents do not have your environment, and stay until others are named.
    """
    environment = here()
    if agent is None:
        if project or remove or force or no_hooks or dry_run:
            raise Invalid("name the agent", hint=f"One of {', '.join(NAMES)}.")
        _list(environment, as_json=as_json)
        return
    home, config = context.find_root().obj
    from memory.integrations.register import Request, setup as register  # the list does without

    request = Request(
        agent=agent,
        project=project,
        remove=remove,
        force=force,
        hooks=not no_hooks,
        home=home,
        config=config,
    )
    outcome = register(request, environment, dry_run=dry_run)
    if as_json:
        from memory.operations.render import data

        show(data.document("setup", _data(request, outcome, dry_run=dry_run)))
        return
    _tell(outcome, dry_run=dry_run)


def _tell(outcome: Outcome, *, dry_run: bool) -> None:
    from memory.text.display import escape_controls

    for step in outcome.steps:
        click.echo(escape_controls(_line(step, dry_run=dry_run)))
        if dry_run and step.diff:
            click.echo(escape_controls(step.diff))
    for notice in outcome.notices:
        click.echo(f"memory: {escape_controls(notice)}", err=True)
    if outcome.following and not dry_run:
        click.echo(f"next     {outcome.following}")


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


def _list(environment: Environment, *, as_json: bool) -> None:
    from memory.integrations.parts import overview

    rows = overview(environment)
    if as_json:
        from memory.operations.render import data

        show(data.document("setup", {"agents": [_row(row) for row in rows]}))
        return
    width = max(len(row.name) for row in rows)
    for row in rows:
        here = "installed" if row.installed else "-"
        click.echo(f"{row.name:<{width}}  {here:<9}  {_known(row)}")
    installed = [row for row in rows if row.installed and row.name != INSTRUCTIONS]
    if not installed or any(row.user == row.project == "no" for row in installed):
        click.echo("next     memory setup AGENT")


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
    return {
        "agent": row.name,
        "title": row.title,
        "installed": row.installed,
        "user": row.user,
        "user_file": str(row.user_file) if row.user_file else None,
        "project": row.project,
        "project_file": str(row.project_file) if row.project_file else None,
    }
