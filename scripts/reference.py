"""
Write what is generated: config.example.yaml, docs/configuration.md, docs/cli.md, docs/mcp.md and .claude-plugin.

    .venv/bin/python scripts/reference.py

It also prints what the tools of each toolset take of an agent's context; README.md and docs/setup.md say the same.
A test fails when they are not what this would write.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from memory import __version__
from memory.agents.agents import AGENTS
from memory.agents.command import NAME, Environment, ServerCommand
from memory.agents.edits import snippet
from memory.agents.setup_files import for_user
from memory.cli import COMMANDS, cli
from memory.config import Config, keys, meaning, value
from memory.config.edit import example
from memory.config.settings import FORMER, TOOLSETS
from memory.mcp.offers import MEMORY, PROMPTS, RESOURCES, instructions
from memory.mcp.server import described
from memory.text.tokens import tokens
from memory.tools.operation import chosen

if TYPE_CHECKING:
    from memory.tools.arguments import Parameter

ROOT = Path(__file__).resolve().parent.parent
FOLDER = "./.claude-plugin"
WIDTH = 120
STEP = 50
NEXT = r"(?![-+*#>|\d])"  # what would make a list, a heading, a quotation or a table of the next line
ENDS = (rf"[.!?]\)? {NEXT}", rf"[,;:)] {NEXT}", rf" {NEXT}")
"""Where a line may end: after a sentence, a clause, a word."""


def configuration() -> str:
    """Every setting as a table."""
    lines = [
        "# Configuration",
        "",
        "*Made by `scripts/reference.py`.*",
        "",
        "After this page you can change any setting, and know where its value comes from.",
        "",
        "A setting comes from the first of these that has it: a flag, the environment (`MEMORY_SEARCH_LIMIT` for",
        "`search.limit`), the settings file, its default.",
        "`memory config` shows every value, first those that were changed, and where;",
        "`memory config set KEY VALUE` changes one, `memory config unset KEY` goes back to its default.",
        "The file is `$MEMORY_CONFIG`, else `config.yaml` in `$MEMORY_HOME`, else in the platform's data folder;",
        "`memory init` creates one.",
        "",
        "`memory config import FILE` takes over the settings of another program from JSON, TOML or YAML:",
        "`embeddings` and `vector_search` of a config.json, `export_memories` of a config.toml, any setting by our own name.",
        "It names each key, with its former value or as unknown.",
        "It never writes a key or password, nor an address that contains one (`http://user:password@host`):",
        "those belong in the environment.",
        "`memory config` and `memory status` mention a file of another program beside `config.yaml`; it is not read.",
        "",
        "| setting | default | meaning |",
        "|---|---|---|",
    ]
    defaults = Config()
    lines += [f"| `{key}` | `{_shown(value(defaults, key))}` | {meaning(key)} |" for key in keys()]
    lines += [
        "",
        "## Settings of earlier versions",
        "",
        "A file or a variable that names one goes on working.",
        "Unless it gives the former default, a notice says what holds now.",
        "The server of the provider, the second server, the expected width and the seconds of a search are carried over.",
        "`memory config unset KEY` removes one from the file; none can be set again.",
        "",
        "| former setting | now |",
        "|---|---|",
    ]
    lines += [f"| `{key}` | {former.now} |" for key, former in FORMER.items()]
    return "\n".join(lines) + "\n"


def _shown(default: object) -> str:
    return '""' if default == "" else str(default).lower() if isinstance(default, bool) else str(default)


def commands() -> str:
    """The help of every command."""
    lines = [
        "# The `memory` command",
        "",
        "*Made by `scripts/reference.py`.*",
        "",
        "After this page you know every command and option. `memory help COMMAND` prints the same.",
        "",
        "```text",
        _help(cli, "memory"),
        "```",
    ]
    root = click.Context(cli, info_name="memory", **cli.context_settings)
    for name in COMMANDS:
        command = cli.get_command(root, name)
        if command is not None:
            lines += ["", f"## memory {name}", "", "```text", _help(command, name, root), "```"]
        if isinstance(command, click.Group):
            parent = click.Context(command, info_name=name, parent=root, **cli.context_settings)
            for inner, one in command.commands.items():
                lines += ["", f"### memory {name} {inner}", "", "```text", _help(one, inner, parent), "```"]
    lines += [
        "",
        "## Exit codes",
        "",
        "0 success (also if nothing is found), 1 failure, 2 usage error, 130 interrupted. Results go to stdout, everything",
        "else to stderr; with `--json` an error is a JSON document on stderr.",
    ]
    return "\n".join(lines) + "\n"


def _help(command: click.Command, name: str, parent: click.Context | None = None) -> str:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100, **cli.context_settings)
    return command.get_help(context)


def tools() -> str:
    """The MCP tools, resources and prompts."""
    lines = [
        "# The MCP server",
        "",
        "*Made by `scripts/reference.py`.*",
        "",
        "After this page you know which tools an agent can have, what each takes and answers, and what they cost.",
        "",
        *broken(
            "`memory setup AGENT` registers `memory mcp` with an agent ([setup.md](setup.md)). It speaks the Model "
            "Context Protocol on standard input and output: the sessions of 2024-11-05 to 2025-11-25 and the requests "
            "of 2026-07-28. Nothing is opened or loaded before the first call that needs it, except a model that "
            "takes seconds to load (sentence-transformers, a plug-in): that one is loaded in the background from the "
            "start (`mcp.warm_start`). The server ends with its input, at most ten seconds later."
        ),
        "",
        *broken(
            "**You choose which tools** an agent sees, since each takes room in its context: `--toolset core` (the "
            "default), `care`, `sessions` ([sessions.md](sessions.md)), `research` ([research.md](research.md)), "
            "`graph` ([graph.md](graph.md)), `all`, or the setting `mcp.toolsets`. Each says below what it costs. "
            "The tools show what matters; with `care` they show every argument that they take."
        ),
        "",
        *broken(
            "**Arguments** are strict: an unknown one is refused with the nearest known one, and nothing is changed. "
            "A number out of its range is replaced by the bound, with a note. Names that models guess are taken: `q`, "
            "`task` or `about` for `query`, `memory_id` for `id`, `content` for `details`; a value given under two names is refused."
        ),
        "",
        *broken(
            "**Whose project.** `memory_context` and `memory_save` work in the client's project. That is the git "
            "repository of its roots, the same in all worktrees; without roots, that of the folder in which it "
            "started the server. Of several roots it is the one around that folder, else the first. A home folder "
            "that is not a repository is not a project. What is saved with no project holds in every one. `project_aliases` "
            "joins names. `memory_search` looks everywhere unless told otherwise."
        ),
        "",
        *broken(
            "**Recall is data.** Recalled text stands between two lines with a random boundary. Before its title, "
            "each memory has its id, its kind, its project, its date and its author. Text that looks like "
            'instructions to an agent is flagged when it is saved (`flags: ["instructions"]`) and marked when it is '
            "recalled; it is never dropped. Invisible characters become U+FFFD ([why](decisions/secrets-and-orders.md)). "
            "Secrets are removed before anything is written: [redaction.md](redaction.md)."
        ),
        "",
        *broken(
            "**Text and JSON.** An answer is text, and complete: it contains every id, name and number that another "
            "tool takes, and a token budget counts the text. With `mcp.structured: always` each tool also has an "
            "output schema, and the structured content has the same as JSON, for programs; the fields are named "
            "below. Some agents then give their model the JSON instead of the text, at three times the tokens and "
            "without the fence; the warning is in `about` and the marks are in `flags` "
            "([why](decisions/mcp-and-agents.md))."
        ),
        "",
        "## Over HTTP",
        "",
        *broken(
            "`memory mcp --http` serves the same at `http://127.0.0.1:8377/mcp` (`--port N`), on this machine only, "
            "to requests with a token and with a Host and an Origin of this machine: exactly `127.0.0.1`, `localhost` "
            "or `[::1]`, with a port. The token is `$MEMORY_MCP_TOKEN`, else the content of the file `mcp-token` "
            "beside the database, which is created at the first start and readable only by you. A client's entry:"
        ),
        "",
        "```json",
        '{ "mcpServers": { "memory": {',
        '  "type": "http",',
        '  "url": "http://127.0.0.1:8377/mcp",',
        '  "headers": { "Authorization": "Bearer TOKEN" }',
        "} } }",
        "```",
        "",
        "The server's own folder says nothing about such a client: without roots, the client names the project itself.",
    ]
    for name in TOOLSETS[:-1]:
        lines += ["", f"## Toolset `{name}`", "", f"It takes about {cost(name):,} tokens of an agent's context."]
        for tool in chosen([name]):
            lines += ["", f"### {tool.name}", "", *broken(tool.description), ""]
            if tool.parameters:
                lines += ["| argument | takes | meaning |", "|---|---|---|"]
            lines += [
                f"| `{one.name}`{' *' if one.required else ' †' if one.hidden else ''} | {_takes(one)} | {one.meaning} |"
                for one in tool.parameters
            ]
            lines += ["", *broken(f"As JSON: {', '.join(f'`{field}`' for field in tool.returns['required'])}.")]
    lines += [
        "",
        "\\* required; † taken always, but listed only with `care` or `all`",
        "",
        "## Resources",
        "",
        "| address | what |",
        "|---|---|",
    ]
    lines += [f"| `{one.listed.uri}` | {one.listed.description} |" for one in RESOURCES]
    lines += [f"| `{MEMORY.listed.uri_template}` | {MEMORY.listed.description} |"]
    lines += ["", "## Prompts", "", "| name | argument | what |", "|---|---|---|"]
    for one in (offer.listed for offer in PROMPTS):
        argument = (one.arguments or [])[0]
        lines.append(f"| `{one.name}` | `{argument.name}`: {argument.description} | {one.description} |")
    return "\n".join(lines) + "\n"


def cost(toolset: str) -> int:
    """
    About how many tokens an agent's program sends along with every request for the tools, and for the instructions.

    As `memory.text.tokens.tokens` counts them, which is more than models do, in steps of 50.
    """
    tools = chosen([toolset])
    listed = [
        described(tool, structured=False).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools
    ]
    said = json.dumps(listed, separators=(",", ":")) + (instructions([tool.name for tool in tools]) or "")
    return -(-tokens(said) // STEP) * STEP


def broken(paragraph: str) -> list[str]:
    """A paragraph in lines of at most 120 characters, which end at a sentence, else at a clause, else at a word."""
    lines = []
    while len(paragraph) > WIDTH:
        ends = (list(re.finditer(end, paragraph[: WIDTH + 1])) for end in ENDS)
        place = next(found[-1].end() for found in ends if found and found[-1].end() > WIDTH // 3)
        lines.append(paragraph[:place].rstrip())
        paragraph = paragraph[place:]
    return [*lines, paragraph]


def _takes(one: Parameter) -> str:
    if one.choices:
        return ", ".join(one.choices)
    return {"strings": "list of texts", "string": "text", "integer": f"{one.low} to {one.high}"}.get(one.sort, one.sort)


def plugin() -> dict[str, str]:
    """Claude Code's plugin, by file: what `memory setup claude-code` writes, with the command that is on PATH."""
    anywhere = Environment(Path("/"), "linux", {}, Path("/"))
    claude = next(agent for agent in AGENTS if agent.name == "claude-code")
    server, hooks, skill = for_user(claude, anywhere, ServerCommand((NAME,)), hooks=True)
    manifest = {
        "name": NAME,
        "version": __version__,
        "description": "Long-term memory: recalls what earlier sessions found out, and saves what this one finds out.",
        "author": {"name": "The tiermem authors"},
        "license": "MIT",
        "keywords": ["memory", "mcp", "search", "local"],
        "commands": f"{FOLDER}/commands",
        "skills": f"{FOLDER}/skills",
        **json.loads(snippet(server.edit)),
        **json.loads(snippet(hooks.edit)),
    }
    return {
        "plugin.json": json.dumps(manifest, indent=2) + "\n",
        "skills/memory/SKILL.md": skill.edit.body,
    }


def written() -> dict[Path, str]:
    """Each generated file with its content."""
    return {
        **{ROOT / FOLDER / name: text for name, text in plugin().items()},
        ROOT / "config.example.yaml": example(),
        ROOT / "docs" / "configuration.md": configuration(),
        ROOT / "docs" / "cli.md": commands(),
        ROOT / "docs" / "mcp.md": tools(),
    }


if __name__ == "__main__":
    for path, text in written().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))
    for toolset in TOOLSETS:
        print(f"about {cost(toolset):,} tokens: {toolset}")
