"""Changing a settings file: one line of it, all else and every comment as it was."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from memory.config import SECTIONS, example, tree
from memory.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping


def written(file: str, changes: Mapping[str, object]) -> None:
    """
    Put settings into a file, which is made from the example if it is missing.

    Args:
        changes: Values by key ("search.limit"), already checked.

    Raises:
        ConfigError: The file cannot be read or written, or is written in a way that cannot be changed line by line;
            it was not touched.
    """
    target = os.path.realpath(file)
    try:
        with open(target, encoding="utf-8-sig") as opened:
            text = opened.read()
    except FileNotFoundError:
        text = example()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {error}") from error
    for key, value in changes.items():
        text = changed(text, key, value, file)
    beside = f"{target}.{os.getpid()}.new"
    try:
        with open(beside, "w", encoding="utf-8") as opened:
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        if os.path.exists(target):
            os.chmod(beside, os.stat(target).st_mode & 0o777)
        os.replace(beside, target)
    except OSError as error:
        if os.path.exists(beside):
            os.unlink(beside)
        raise ConfigError(f"cannot write {file}: {error.strerror}") from error


def changed(text: str, key: str, value: object, file: str = "config.yaml") -> str:
    """
    The text of a settings file with one setting changed.

    Raises:
        ConfigError: It would not say what it should: the file is no YAML of the plain kind.
    """
    section, _, name = key.rpartition(".")
    said = f"{name}: {_yaml(value)}"
    lines = text.split("\n")
    lines = lines[:-1] if not lines[-1] else lines
    new = "\n".join(_in_section(lines, section, name, said) if section else _at_top(lines, name, said)) + "\n"
    try:
        well = dict(tree(new, file)) == dict(tree(text, file)) | {key: value}
    except ConfigError:
        well = False
    if not well:
        raise ConfigError(
            f"{file} is written in a way that cannot be changed line by line", hint=f"Set {key} to {value!r} by hand."
        )
    return new


def _at_top(lines: list[str], name: str, said: str) -> list[str]:
    place = _find(lines, rf"{name}\s*:", 0, len(lines))
    place = _find(lines, rf"# ?{name}\s*:", 0, len(lines)) if place is None else place
    return [said, *lines] if place is None else [*lines[:place], said, *lines[place + 1 :]]


def _in_section(lines: list[str], section: str, name: str, said: str) -> list[str]:
    header = _find(lines, rf"{section}\s*:\s*(#.*)?$", 0, len(lines))
    if header is None:
        header = _find(lines, rf"# ?{section}\s*:\s*$", 0, len(lines))
        if header is None:
            return [*lines, "", f"{section}:", f"  {said}"]
        lines = [*lines[:header], f"{section}:", *lines[header + 1 :]]
    stop = _end(lines, header + 1)
    indents = (re.match(r"( +)\w", line) for line in lines[header + 1 : stop])
    said = next((found[1] for found in indents if found), "  ") + said
    place = _find(lines, rf"\s+{name}\s*:", header + 1, stop)
    place = _find(lines, rf"#\s+{name}\s*:", header + 1, stop) if place is None else place
    if place is None:
        return [*lines[: header + 1], said, *lines[header + 1 :]]
    return [*lines[:place], said, *lines[place + 1 :]]


def _end(lines: list[str], start: int) -> int:
    """Where the section that begins before `start` is over: at the next one, also if that is a comment."""
    names = "|".join((*SECTIONS, "home"))
    return next(
        (place for place in range(start, len(lines)) if re.match(rf"(# ?)?({names})\s*:|[^\s#]", lines[place])),
        len(lines),
    )


def _find(lines: list[str], pattern: str, start: int, stop: int) -> int | None:
    return next((place for place in range(start, stop) if re.match(pattern, lines[place])), None)


def _yaml(value: object) -> str:
    """A value that YAML reads back as it is."""
    if isinstance(value, str) and not re.fullmatch(r"[A-Za-z][\w./-]*", value):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and value.lower() in {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}:
        return json.dumps(value)
    if isinstance(value, float):
        said = repr(value)
        return said if "." in said else said.replace("e", ".0e")  # without a point, YAML 1.1 takes it for text
    return json.dumps(value) if not isinstance(value, str) else value
