"""The machine as `memory setup` sees it: only this module looks, so a test can simulate any machine."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory.schema.errors import Invalid

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Environment:
    """
    Attributes:
        home: The user's folder.
        platform: A value of `sys.platform`; "win32" and "darwin" have folders of their own.
        env: Environment variables. An empty one counts as unset, as in the XDG specification.
        cwd: The current folder, absolute.
    """

    home: Path
    platform: str
    env: Mapping[str, str]
    cwd: Path

    def folder(self, variable: str, default: Path) -> Path:
        """The folder that a variable names, absolute and with `~` expanded; else the default."""
        named = self.env.get(variable, "").strip()
        return self.absolute(named) if named else default

    def absolute(self, name: str) -> Path:
        """A path from the user as an absolute one, without following links."""
        if name == "~" or name.startswith(("~/", "~\\")):
            name = str(self.home) + name[1:]
        return Path(os.path.normpath(self.cwd / name))

    @property
    def config(self) -> Path:
        """https://specifications.freedesktop.org/basedir-spec: for programs that follow it on every platform."""
        return self.folder("XDG_CONFIG_HOME", self.home / ".config")

    @property
    def applications(self) -> Path:
        """Where Electron programs keep their settings."""
        if self.platform == "darwin":
            return self.home / "Library" / "Application Support"
        if self.platform == "win32":
            return self.folder("APPDATA", self.home / "AppData" / "Roaming")
        return self.config

    def program(self, name: str) -> str | None:
        """The absolute path of a program on PATH."""
        found = shutil.which(name, path=self.env.get("PATH", ""))
        return os.path.abspath(found) if found else None  # noqa: PTH100  # Path.absolute keeps `..`


def here() -> Environment:
    """
    The current machine.

    Raises:
        Invalid: The current folder was deleted, or there is no home folder, or its path is not absolute.
    """
    named = os.environ.get("HOME") if sys.platform != "win32" else None
    if named is not None and not Path(named).is_absolute():
        raise Invalid(f"HOME is {named!r}, no absolute path", hint="Set HOME to your home folder.")
    try:
        return Environment(Path.home(), sys.platform, dict(os.environ), Path.cwd())
    except FileNotFoundError as error:
        raise Invalid("the current folder is gone", hint="Change to a folder that exists.") from error
    except RuntimeError as error:
        raise Invalid("you have no home folder, where agents have their files", hint="Set HOME.") from error
