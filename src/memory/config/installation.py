"""Where this program is installed and how: for the line that adds to it, and for strangers of the same name."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from memory.schema.errors import Error, printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DISTRIBUTION = "tiermem"
FORMER = "tiered-memory"
"""The distribution's name before 0.2.0; on PyPI it belongs to another project."""

COMMANDS = ("memory", "tiermem")

EXTRAS = {
    "mcp": "mcp",
    "ollama": "ollama",
    "onnx": "onnxruntime",
    "openai": "openai",
    "sentence-transformers": "sentence_transformers",
    "web": "jinja2",
}
"""The module by which each extra is known to be there."""

_IMPORT = re.compile(r"^from ([\w.]+) import (\w+)", re.MULTILINE)
_HEAD = 4_096  # bytes of a program that are looked at: the scripts that installers write are shorter


def adding(extra: str) -> str:
    """The command that adds an extra to this installation and keeps what it has: extras, other packages, its source."""
    present = {name for name, module in EXTRAS.items() if find_spec(module)}
    extras = f"[{','.join(sorted({*present, extra}))}]"
    if (receipt := _read("uv-receipt.toml")) is not None:
        return _by_uv(receipt.get("tool"), extras)
    if (metadata := _read("pipx_metadata.json")) is not None:
        return _by_pipx(metadata, extras)
    if find_spec("pip"):
        return f'{_quoted(sys.executable)} -m pip install "{DISTRIBUTION}{extras}"'
    return f'uv pip install --python {_quoted(sys.executable)} "{DISTRIBUTION}{extras}"'


def check_server() -> None:
    """
    Raises:
        Error: What the server for agents needs beyond a search is not installed; with the command that adds it.
    """
    if find_spec("mcp") is None:
        raise Error(
            "the server for agents needs the package mcp, which is not installed", hint=f"Run `{adding('mcp')}`."
        )


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def _read(name: str) -> dict[str, Any] | None:
    """What an installer has written about this environment, empty if it cannot be read; None if it is not its own."""
    file = os.path.join(sys.prefix, name)
    if not os.path.isfile(file):
        return None
    import json
    import tomllib

    try:
        with open(file, "rb") as content:
            found = (tomllib if name.endswith("toml") else json).load(content)
    except (OSError, ValueError):  # of another version of the installer: the name of the distribution serves as well
        return {}
    return _table(found)


def _table(value: object) -> dict[str, Any]:
    """A JSON object, or an empty one in place of anything else."""
    return value if isinstance(value, dict) else {}


def _by_uv(tool: object, extras: str) -> str:
    """`uv tool install` as it was called, with extras. A receipt lists the tool first, then what `--with` brought."""
    entries = _table(tool).get("requirements", [])
    entries = [one for one in entries if isinstance(one, dict) and "name" in one] if isinstance(entries, list) else []
    own = next((one for one in entries if one["name"] == DISTRIBUTION), {"name": DISTRIBUTION})
    words = ["uv tool install --force"]
    if isinstance(python := _table(tool).get("python"), str):
        words.append(f"--python {_quoted(python)}")
    words += ["--editable"] if "editable" in own else []
    words.append(f'"{_of_uv(own, extras)}"')
    others = (one for one in entries if one["name"] != DISTRIBUTION)
    words += [f'{"--with-editable" if "editable" in one else "--with"} "{_of_uv(one)}"' for one in others]
    return " ".join(words)


def _of_uv(entry: Mapping[str, Any], extras: str = "") -> str:
    """An entry of a receipt as it is given to `uv tool install`."""
    if (folder := next((entry[key] for key in ("directory", "editable", "path") if key in entry), None)) is not None:
        return f"{folder}{extras}"
    extras = extras or (f"[{','.join(entry['extras'])}]" if entry.get("extras") else "")
    if (url := entry.get("git")) is not None:
        return f"{entry['name']}{extras} @ git+{re.sub(r'[?](?:rev|tag|branch)=', '@', url)}"
    if (url := entry.get("url")) is not None:
        return f"{entry['name']}{extras} @ {url}"
    return f"{entry['name']}{extras}{'' if entry['name'] == DISTRIBUTION else entry.get('specifier', '')}"


def _by_pipx(metadata: Mapping[str, Any], extras: str) -> str:
    """`pipx install` as it was called, with extras. What was injected stays by itself, seen with pipx 1.18."""
    main = _table(metadata.get("main_package"))
    editable = "--editable " if "--editable" in (main.get("pip_args") or ()) else ""
    source = str(main.get("package_or_url") or DISTRIBUTION).partition("[")[0]
    return f'pipx install --force {editable}"{source}{extras}"'


# Strangers of the same name ------------------------------------------------------


def strangers(env: Mapping[str, str] = os.environ) -> Iterator[tuple[str, str]]:
    """What hides this program or could be taken for it, and what to do about each."""
    import shutil
    from importlib.metadata import packages_distributions

    for name in sorted({*packages_distributions().get("memory", ())} - {DISTRIBUTION, FORMER}):
        yield (
            f"{name} has installed a package `memory` into the same environment, over or under this one",
            f"Install {DISTRIBUTION} into an environment of its own, e.g. by `uv tool install` or `pipx install`.",
        )
    for command in COMMANDS:
        if (path := shutil.which(command, path=env.get("PATH", ""))) and (origin := foreign(path)):
            yield (
                f"the command `{command}` on your PATH is another program, of {origin}: {printable(path)}",
                f"`{COMMANDS[1]}` is the same as our `{COMMANDS[0]}`.",
            )


def foreign(program: str) -> str:
    """
    The module that a program named like ours starts; empty if it is ours, or cannot be told.

    A script that an installer of Python packages wrote says what it imports; what another one does is nobody's business.
    """
    try:
        with open(program, "rb") as file:
            text = file.read(_HEAD).decode("utf-8", "replace")
    except OSError:  # it may be run and not read
        return ""
    started = [(module, name) for module, name in _IMPORT.findall(text) if module.partition(".")[0] != "__future__"]
    if any((f"{own}.{module}", "run") in started for own in COMMANDS for module in ("cli", "__main__")):
        return ""
    return next((module for module, _ in started), "")
