"""Writes settings files: the example, or one line of a file changed or taken back, everything else kept."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from memory.config import SECTIONS, Config, keys, meaning, tree, value as value_of
from memory.config.files import SETTINGS_BYTES, contents, locked, read_only, write_file
from memory.schema.errors import ConfigError, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_REST = r"([ \t]*(?:(?<=[ \t])#.*)?[ \t\r\n]*)"
"""What may follow a value: a comment, the line end. Of all white space, YAML skips only these characters."""

_VALUE = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^ \t\r\n"'#&*!|>%@`{}\[\],].*?)"""
"""A value on one line, quoted or plain; not a list, an anchor, a tag or a block."""


class _Changed(Exception):
    """Someone else changed a file after it was read."""


DECIDING = ("embedding.provider", "embedding.model", "embedding.daily_budget")
"""The settings that most people change, if any."""

_TOP = """\
# Settings of `memory`. The first three decide most; all the others can stay as they are.
# To change one, take away the # before it and before its section, or run: memory config set KEY VALUE
# `memory config` shows every value and where it comes from."""


def example() -> str:
    """A settings file with every setting at its default, commented out, each with its meaning."""
    section, lines = "", [_TOP]
    for key in _ordered():
        owner = key.rpartition(".")[0]
        if owner != section:
            lines += ["", f"#{owner}:"] if owner else [""]
            section = owner
        lines += [f"# {meaning(key)}", _commented(key)]
        if key == DECIDING[-1]:
            lines += ["", "# From here on, the defaults are good for nearly everybody.", ""]
    return "\n".join(lines) + "\n"


def _commented(key: str) -> str:
    """The example's line for a setting."""
    section, _, name = key.rpartition(".")
    return f"#{'  ' if section else ''}{name}: {yaml_text(value_of(Config(), key))}"


def _ordered() -> list[str]:
    """All settings, the deciding ones and their section first."""
    section = DECIDING[0].partition(".")[0]
    own = [key for key in keys() if key.startswith(f"{section}.")]
    return list(dict.fromkeys([*DECIDING, *own, *keys()]))


def write_settings(file: str, changes: Mapping[str, object]) -> None:
    """
    Put settings into a file, starting over if someone else changed it meanwhile.

    A missing file is created from the example.

    Args:
        changes: Values by key ("search.limit"), already checked; None takes the setting out of the file.

    Raises:
        ConfigError: The file cannot be read or written, is read-only, or cannot be changed line by line.
            Nothing was changed.
    """
    target = os.path.realpath(file)
    with explained(ConfigError, f"cannot write {file}"), locked(os.path.dirname(target)):
        while True:
            before = _text(target, file)
            if before is None and all(value is None for value in changes.values()):
                return
            text = example() if before is None else before
            for key, value in changes.items():
                text = unset(text, key, file) if value is None else changed(text, key, value, file)
            if text == before:
                return
            if before is not None and read_only(target):
                raise ConfigError(f"{file} is read-only", hint="Allow writing to it, or change it where it comes from.")
            with suppress(_Changed):
                write_file(target, text.encode(), check=partial(_check_unchanged, target, before, file))
                return


def _text(target: str, file: str) -> str | None:
    """The text of a file, with its line endings and byte order mark; None if it does not exist."""
    try:
        return contents(target, SETTINGS_BYTES).decode("utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {file}: {error}") from error


def _check_unchanged(target: str, before: str | None, file: str) -> None:
    if _text(target, file) != before:
        raise _Changed


def changed(text: str, key: str, value: object, file: str = "config.yaml") -> str:
    """
    The text of a settings file with one setting changed.

    Comments stay, even after the value. A commented line becomes the setting only if it is exactly the example's line
    for it: any other might be someone's own words.

    Raises:
        ConfigError: The result would not be what was asked for: the file is not plain YAML.
    """
    with _by_hand(file, f"Set {key} to {value!r} by hand."):
        return _marked(text, lambda plain: _changed(plain, key, value, file))


def unset(text: str, key: str, file: str = "config.yaml") -> str:
    """
    The text of a settings file without one setting: its line becomes the example's again; that of a former one goes.

    Raises:
        ConfigError: As for `changed`.
    """
    with _by_hand(file, f"Take {key} out by hand."):
        return _marked(text, lambda plain: _unset(plain, key, file))


@contextmanager
def _by_hand(file: str, hint: str) -> Iterator[None]:
    try:
        yield
    except ConfigError as error:
        raise ConfigError(f"{file} is written in a way that cannot be changed line by line", hint=hint) from error


def _marked(text: str, change: Callable[[str], str]) -> str:
    """A change of a text that may begin with a byte order mark."""
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    return mark + change(text.removeprefix(mark))


def _changed(text: str, key: str, value: object, file: str) -> str:
    had = dict(tree(text, file))
    if key in had and had[key] == value:
        return text
    end = "\r\n" if text.partition("\n")[0].endswith("\r") else "\n"
    lines, start = (text + end * (text[-1:] not in "\r\n")).splitlines(keepends=True), 0
    section, _, name = key.rpartition(".")
    if section:
        there = any(known.startswith(f"{section}.") for known in had)
        lines, start = _with_header(lines, section, there=there, end=end)
    stop = _end(lines, start, section)
    body = _with_setting(lines[start:stop], name, yaml_text(value), nested=bool(section), end=end)
    new = "".join((*lines[:start], *body, *lines[stop:]))
    # Reading the result back is the proof: whatever the line patterns missed, nothing else has changed.
    if dict(tree(new, file)) != had | {key: value}:
        raise ConfigError(f"{key} cannot be changed to {value!r} without changing other lines")
    return new


def _unset(text: str, key: str, file: str) -> str:
    had = dict(tree(text, file))
    if key not in had:
        return text
    lines = text.splitlines(keepends=True)
    section, _, name = key.rpartition(".")
    header = _find(lines, rf"{section}[ \t]*:{_REST}") if section else -1
    start = len(lines) if header is None else header + 1
    places = [
        at
        for at in range(start, _end(lines, start, section))
        if re.fullmatch(rf"{'[ ]+' if section else ''}{name}[ \t]*:(?:[ \t]+{_VALUE})?{_REST}", lines[at], re.DOTALL)
    ]
    for at in places:
        end = lines[at][len(lines[at].rstrip("\r\n")) :]
        lines[at] = _commented(key) + end if key in keys() else ""
    new = "".join(lines)
    if dict(tree(new, file)) != {known: said for known, said in had.items() if known != key}:
        raise ConfigError(f"{key} cannot be removed without changing other lines")
    return new


def _end(lines: list[str], start: int, section: str) -> int:
    """The index of the line after a section, or after the file."""
    return next((at for at in range(start, len(lines)) if section and re.match(r"[^\s#]", lines[at])), len(lines))


def _with_header(lines: list[str], section: str, *, there: bool, end: str) -> tuple[list[str], int]:
    """The lines with a section's header, and the index of the line after it."""
    header = _find(lines, rf"{section}[ \t]*:{_REST}")
    if header is not None:
        return lines, header + 1
    if there or _find(lines, rf"(?![#\s])[^:]*\b{section}\b.*") is not None:
        raise ConfigError(f"{section} is not on a line of its own")
    known = example().splitlines()
    for place, (line, after) in enumerate(pairwise(lines)):
        if line.rstrip() == f"#{section}:" and after.rstrip() in known:
            return [*lines[:place], f"{section}:{end}", *lines[place + 1 :]], place + 1
    return [*lines, end, f"{section}:{end}"], len(lines) + 2


def _with_setting(lines: list[str], name: str, said: str, *, nested: bool, end: str) -> list[str]:
    """The lines of a section, or of the file, with a setting: on its own line, on that of its example, or first."""
    indents = (re.match(r"( +)[^\s#]", line) for line in lines)
    indent = next((found[1] for found in indents if found), "  ") if nested else ""
    for place, line in enumerate(lines):
        if found := re.fullmatch(rf"({indent}{name}[ \t]*:)(?:([ \t]+){_VALUE})?{_REST}", line, re.DOTALL):
            return [*lines[:place], f"{found[1]}{found[2] or ' '}{said}{found[3]}", *lines[place + 1 :]]
    new, known = f"{indent}{name}: {said}{end}", example().splitlines()
    other = _find(lines, rf"#({'|'.join(SECTIONS)}):\s*") if nested else None
    for place, line in enumerate(lines[:other]):
        if line.rstrip() in known and re.match(rf"#{'  ' if nested else ''}{name}:", line):
            return [*lines[:place], new, *lines[place + 1 :]]
    return [new, *lines]


def _find(lines: list[str], pattern: str) -> int | None:
    return next((at for at, line in enumerate(lines) if re.fullmatch(pattern, line, re.DOTALL)), None)


def yaml_text(value: object) -> str:
    """A value as YAML text that reads back as the same value."""
    said = json.dumps(value, ensure_ascii=False)
    if isinstance(value, float):
        return said if "." in said else said.replace("e", ".0e")  # YAML 1.1 takes a number without a point for text
    if not isinstance(value, str):
        return said
    if re.fullmatch(r"(?i)(?!(true|false|yes|no|on|off|null|y|n)$)[a-z][\w./-]*", value):
        return value
    return re.sub(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda odd: f"\\u{ord(odd[0]):04x}", said)
