"""
Databases: which files SQLite has open in this process, and how to show the URL of a server without its password.

Only SQLite may open these files in this process: POSIX drops all locks of a process on a file as soon as the process
closes any descriptor of it. SQLite would continue without its locks, and another process could overwrite its pages
(https://sqlite.org/howtocorrupt.html, section 2.2).
"""

from __future__ import annotations

import os
import re
import threading
from functools import cache
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from _typeshed import StrPath


COMPANIONS = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database (https://sqlite.org/tempfiles.html)."""


_open: WeakSet[OpenDatabase] = WeakSet()
_changing = threading.Lock()


class OpenDatabase:
    """A database that this process has open, until `close` is called or this object is garbage-collected."""

    def __init__(self, path: str) -> None:
        self.names = {_name(path + ending) for ending in ("", *COMPANIONS)}
        with _changing:
            _open.add(self)

    def close(self) -> None:
        with _changing:
            _open.discard(self)


def is_open(path: StrPath) -> bool:
    """
    Whether a path is, or links to, a database that this process has open, or its log, shared memory or journal. Hard
    links count too. Opens nothing.
    """
    with _changing:
        names = {name for database in _open for name in database.names}
    if not names:
        return False
    file = identity(path)
    return _name(path) in names or (file is not None and file in map(identity, names))


def identity(path: StrPath) -> tuple[int, int] | None:
    """Device and inode of the file that a path leads to; None if there is none."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _name(path: StrPath) -> str:
    """An absolute path. Links among its folders are resolved; if the file itself is a link, it is not followed."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(os.path.realpath(folder), name)


# URLs of PostgreSQL servers, shown without their passwords ----------------------


_ENCODED = r"%(?!00)[0-9a-fA-F]{2}"

_NAME = rf"(?:[^:@/?#%\s]|{_ENCODED})*"

_HOST = rf"(?:(?:[\w.-]|{_ENCODED})*|\[[0-9a-fA-F:]+\])(?::\d+)?"

_OPTION = rf"[a-z_A-Z%\d]+=(?:[^&@#%\s]|{_ENCODED})*"


@cache
def _shape() -> re.Pattern[str]:
    """
    The form of a PostgreSQL URL. A text of another form is never shown, because a password could be anywhere in it;
    PostgreSQL's own messages repeat parts of the URL.
    """
    return re.compile(
        rf"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>{_NAME})(?P<password>:{_NAME})?@)?"
        rf"(?P<rest>{_HOST}(?:,{_HOST})*(?:/{_NAME})?)(?:\?(?P<options>{_OPTION}(?:&{_OPTION})*&?)?)?"
    )


_HIDDEN = "pass(?!file$)|pwd|token|secret|^scram_|^auth"
"""Names of options that hold a secret (PostgreSQL, "Parameter Key Words"), or are probably misspellings of these."""


def without_password(url: str) -> str:
    """
    A URL, safe to show; "" for "".

    Raises:
        ValueError: It is not a PostgreSQL URL. The message does not repeat it, because it may contain a password.
    """
    if not url:
        return ""
    if (found := _shape().fullmatch(url)) is None:
        raise ValueError(
            "this is not a URL such as postgresql://user@host:5432/database; in a name, a password or an option, write / as "
            "%2F, : as %3A, @ as %40, ? as %3F, # as %23 and % as %25"
        )
    user = re.split("%3a", found["user"] or "", flags=re.IGNORECASE)[0]  # the rest was meant as a password
    user = f"{user}@" if user else ""
    options = "&".join(one for one in (found["options"] or "").split("&") if one and not _is_secret(one))
    return f"{found['scheme']}{user}{found['rest']}{f'?{options}' if options else ''}"


def _is_secret(option: str) -> bool:
    """Whether an option of a URL holds a secret. PostgreSQL decodes percent signs in its name too: `passw%6Frd`."""
    from urllib.parse import unquote  # costs 3 ms, needed for a server only

    return re.search(_HIDDEN, unquote(option.partition("=")[0]).lower()) is not None
