"""
Write what is generated: config.example.yaml, docs/configuration.md and docs/cli.md.

    .venv/bin/python scripts/reference.py

A test fails when they are not what this would write.
"""

from __future__ import annotations

from pathlib import Path

import click

from memory.cli import COMMANDS, cli
from memory.config import Config, example, keys, meaning, value

ROOT = Path(__file__).resolve().parent.parent


def configuration() -> str:
    """Every setting as a table."""
    lines = [
        "# Configuration",
        "",
        "*Made by `scripts/reference.py`.*",
        "",
        "A setting comes from, in this order: a flag, the environment (`MEMORY_SEARCH_LIMIT` for `search.limit`), the",
        "settings file, its default. `memory config` shows every value with its origin. The file is `$MEMORY_CONFIG`,",
        "else `config.yaml` in `$MEMORY_HOME`, else in the platform's data folder; `memory init` writes one.",
        "",
        "| setting | default | meaning |",
        "|---|---|---|",
    ]
    defaults = Config()
    lines += [f"| `{key}` | `{_shown(value(defaults, key))}` | {meaning(key)} |" for key in keys()]
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
        "0 done (finding nothing is done), 1 could not, 2 asked wrongly, 130 interrupted. Results go to stdout, all else to",
        "stderr; with `--json` an error is a JSON document on stderr.",
    ]
    return "\n".join(lines) + "\n"


def _help(command: click.Command, name: str, parent: click.Context | None = None) -> str:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=100, **cli.context_settings)
    return command.get_help(context)


def written() -> dict[Path, str]:
    """Each generated file with its content."""
    return {
        ROOT / "config.example.yaml": example(),
        ROOT / "docs" / "configuration.md": configuration(),
        ROOT / "docs" / "cli.md": commands(),
    }


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text, "utf-8")
        print(path.relative_to(ROOT))
