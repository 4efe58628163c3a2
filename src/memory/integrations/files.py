"""
Other programs' settings files: read, compared, copied and replaced in one step, and never overwritten if someone else
has just changed them.
"""

from __future__ import annotations

import os
import re
import stat
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import NamedTuple

from memory.config.files import contents, folders, read_only, utf8, write_file
from memory.schema.errors import ConfigError, explained

BACKUP = ".before-memory"
"""Suffix of the copy of a file from before ours was added."""

OTHERS_BYTES = 64 << 20
"""Limit for another program's file: Claude Code keeps conversations in its file, which grows to megabytes."""

HIDDEN = "…"

_WORD = re.compile(r"""[^\s"'`{}\[\](),:;=<>]+""")
_RUN = re.compile(rf"{HIDDEN}(?:[^\w{HIDDEN}\n]*{HIDDEN})+")


class Seen(NamedTuple):
    """
    A file as it was read.

    Attributes:
        path: The agent's path; a link stays a link.
        target: The file that is read and replaced.
        data: None if there is no file.
    """

    path: Path
    target: Path
    data: bytes | None

    @property
    def text(self) -> str:
        """
        Its text with byte order mark and line ends; empty if there is no file.

        Raises:
            ConfigError: It is not UTF-8.
        """
        return utf8(self.data or b"", str(self.path), ConfigError, mark=True)


def seen(path: Path, *, inside: Path | None = None) -> Seen:
    """
    Read a file.

    Args:
        inside: A folder that links must not leave: whoever made a repository may have put links into it.

    Raises:
        ConfigError: It exists but cannot be read, or is not an ordinary file, or a link leads out of `inside`.
    """
    target = Path(os.path.realpath(path))
    if inside is not None and not _within(target, Path(os.path.realpath(inside))):
        raise ConfigError(
            f"{path} is a link out of the project, to {target}; it was neither read nor changed",
            hint="Put a file of the project in the place of the link.",
        )
    try:
        mode = target.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # reading a pipe would wait for a writer
            raise ConfigError(f"cannot read {path}: it is no ordinary file")
        return Seen(path, target, contents(target, OTHERS_BYTES))
    except FileNotFoundError:
        return Seen(path, target, None)
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from error


def _within(target: Path, folder: Path) -> bool:
    """Whether a path is in a working tree; git's own folder in it does not count."""
    return target.is_relative_to(folder) and ".git" not in target.relative_to(folder).parts


def backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def before(path: Path) -> str | None:
    """The file's text before ours was added, if a readable copy was kept; a link in its place is not our copy."""
    copy = backup(path)
    try:
        return contents(copy, OTHERS_BYTES).decode("utf-8") if stat.S_ISREG(copy.lstat().st_mode) else None
    except (OSError, UnicodeDecodeError):
        return None


def check_writable(file: Seen) -> None:
    """
    Find out before anything is written whether writing is possible: later, another file has been changed already.

    Raises:
        ConfigError: The file or its folder is read-only.
    """
    if file.data is not None and read_only(file.target):
        raise ConfigError(f"{file.path} is read-only", hint="Allow writing to it, or change it where it comes from.")
    folder = next(parent for parent in file.target.parents if parent.exists())
    if read_only(folder):
        raise ConfigError(f"cannot write {file.path}: the folder {folder} is read-only", hint="Allow writing to it.")


def write(file: Seen, text: str, *, private: bool) -> None:
    """
    Replace a file, or create it.

    Args:
        private: Give a new file and its new folders to the user alone: 0600 and 0700.
            An existing file keeps its mode and owner.

    Raises:
        ConfigError: It cannot be written, or someone changed it after it was read; it was not touched.
    """
    private = private and file.data is None
    with explained(ConfigError, f"cannot write {file.path}"), folders(file.target.parent, private=private):
        write_file(file.target, text.encode(), private=private, check=partial(_check_unchanged, file))


def remove(file: Seen) -> None:
    """
    Remove a file.

    Raises:
        ConfigError: It cannot be removed, or someone changed it after it was read.
    """
    _check_unchanged(file)
    with explained(ConfigError, f"cannot remove {file.path}"):
        file.target.unlink()


def keep(file: Seen) -> Path | None:
    """
    Copy a file next to itself, for its owner only, replacing an earlier copy. None if there is no file.

    A link in the copy's place is replaced; what it leads to stays.

    Raises:
        ConfigError: The copy cannot be written.
    """
    if file.data is None:
        return None
    copy = backup(file.path)
    with explained(ConfigError, f"cannot write {copy}"):
        write_file(copy, file.data, private=True)
    return copy


def _check_unchanged(file: Seen) -> None:
    if seen(file.path) != file:
        raise ConfigError(
            f"{file.path} was changed by somebody else just now; it was not touched",
            hint="Close the agent if it is running, and try again.",
        )


def diff(before: str, after: str, ours: str, names: tuple[str, str]) -> str:
    """
    The changed lines, as `diff -U0` shows them.

    Args:
        ours: A text whose words may all be shown; every other word is masked.
        names: The names of the text before and after.
    """
    known = frozenset(_WORD.findall(ours))
    lines = unified_diff(before.splitlines(keepends=True), after.splitlines(keepends=True), n=0)
    shown = [f"--- {names[0]}\n", f"+++ {names[1]}\n"]
    for line in list(lines)[2:]:
        text = line if line.startswith("@@") else line[0] + _masked(line[1:], known)
        shown.append(text if text.endswith("\n") else text + "\n\\ No newline at end of file\n")
    return "".join(shown) if len(shown) > len(names) else ""


def _masked(line: str, known: frozenset[str]) -> str:
    return _RUN.sub(HIDDEN, _WORD.sub(lambda word: word[0] if word[0] in known else HIDDEN, line))
