"""Where this program is installed and how: for the line that adds to it, and for strangers of the same name."""

from __future__ import annotations

import os
import re
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

from memory.schema.errors import printable

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
}
"""The module by which each extra is known to be there."""

_IMPORT = re.compile(r"^from ([\w.]+) import (\w+)", re.MULTILINE)
_HEAD = 4_096  # bytes of a program that are looked at: the scripts that installers write are shorter


def adding(extra: str) -> str:
    """The command that adds an extra to this installation and keeps those that it has."""
    present = {name for name, module in EXTRAS.items() if find_spec(module)}
    extras = ",".join(sorted({*present, extra}))
    if (source := _source_of_uv()) is not None:
        return f'uv tool install --force "{source}[{extras}]"'
    if (source := _source_of_pipx()) is not None:
        return f'pipx install --force "{source}[{extras}]"'
    if find_spec("pip"):
        return f'{_quoted(sys.executable)} -m pip install "{DISTRIBUTION}[{extras}]"'
    return f'uv pip install --python {_quoted(sys.executable)} "{DISTRIBUTION}[{extras}]"'


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def _source_of_uv() -> str | None:
    """What `uv tool install` was given, without extras; None if this is not a tool of uv."""
    receipt = os.path.join(sys.prefix, "uv-receipt.toml")
    if not os.path.isfile(receipt):
        return None
    import tomllib

    try:
        with open(receipt, "rb") as file:
            entries = tomllib.load(file).get("tool", {}).get("requirements", [])
    except (OSError, ValueError):  # of another version of uv: the name serves as well
        return DISTRIBUTION
    own = next((one for one in entries if isinstance(one, dict) and one.get("name") == DISTRIBUTION), {})
    return str(next((own[key] for key in ("directory", "editable", "path") if key in own), DISTRIBUTION))


def _source_of_pipx() -> str | None:
    """What `pipx install` was given, without extras; None if this is not an environment of pipx."""
    metadata = os.path.join(sys.prefix, "pipx_metadata.json")
    if not os.path.isfile(metadata):
        return None
    import json

    try:
        with open(metadata, encoding="utf-8") as file:
            given = json.load(file)["main_package"]["package_or_url"]
    except (OSError, ValueError, KeyError, TypeError):  # of another version of pipx
        return DISTRIBUTION
    return str(given).partition("[")[0]


# Strangers of the same name ------------------------------------------------------


def strangers(env: Mapping[str, str] = os.environ) -> Iterator[tuple[str, str]]:
    """What hides this program or could be taken for it, and what to do about each."""
    for name in _sharing():
        yield (
            f"{name} has installed a package `memory` into the same environment, over or under this one",
            f"Install {DISTRIBUTION} into an environment of its own, e.g. by `uv tool install` or `pipx install`.",
        )
    for command in COMMANDS:
        if (path := _first_on_path(command, env)) and (origin := foreign(path)):
            yield (
                f"the command `{command}` on your PATH is another program, of {origin}: {printable(path)}",
                f"`{COMMANDS[1]}` is the same as our `{COMMANDS[0]}`.",
            )


def _sharing() -> list[str]:
    """Other distributions that have a package of our name in this environment."""
    from importlib.metadata import packages_distributions

    return sorted({*packages_distributions().get("memory", ())} - {DISTRIBUTION, FORMER})


def _first_on_path(name: str, env: Mapping[str, str]) -> str | None:
    import shutil

    return shutil.which(name, path=env.get("PATH", ""))


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
    if any((f"{own}.cli", "run") in started for own in COMMANDS):
        return ""
    return next((module for module, _ in started), "")
