"""Who somebody is, where several people share a database."""

from __future__ import annotations

import os
import sys
from functools import cache

from memory.schema.errors import NAME_LIMIT


@cache
def login() -> str:
    """
    The name of this process's user, from the system and not from variables, which a service or an agent has not;
    empty where the system knows none, as in a container with a bare number.
    """
    try:
        if sys.platform == "win32":
            return os.getlogin()
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (OSError, KeyError):
        return ""


def check_user(text: str) -> None:
    """
    Check what somebody calls themselves; empty stands for the login name.

    Raises:
        ValueError: It is blank, longer than `NAME_LIMIT`, or has more than one line or what cannot be seen.
    """
    if text and (not text.strip() or not text.isprintable() or len(text) > NAME_LIMIT):
        raise ValueError(f"a user's name is one line of 1..{NAME_LIMIT} characters, not {text[:80]!r}")
