"""URLs of servers that keep memories, and what may be shown of them."""

from __future__ import annotations

import re

_ENCODED = r"%(?!00)[0-9a-fA-F]{2}"

_NAME = rf"(?:[^:@/?#%\s]|{_ENCODED})*"

_HOST = rf"(?:(?:[\w.-]|{_ENCODED})*|\[[0-9a-fA-F:]+\])(?::\d+)?"

_OPTION = rf"[a-z_A-Z%\d]+=(?:[^&@#%\s]|{_ENCODED})*"

_SHAPE = re.compile(
    rf"(?P<scheme>postgres(?:ql)?://)(?:(?P<user>{_NAME})(?P<password>:{_NAME})?@)?"
    rf"(?P<rest>{_HOST}(?:,{_HOST})*(?:/{_NAME})?)(?:\?(?P<options>{_OPTION}(?:&{_OPTION})*&?)?)?"
)
"""What does not fit is never shown: nobody knows where a password begins in it. PostgreSQL repeats parts of it."""

_SECRET = re.compile("pass(?!file$)|pwd|token|secret|^scram_|^auth")
"""Names of options that hold one (PostgreSQL, "Parameter Key Words"), or would if they were no mistakes."""


def without_password(url: str) -> str:
    """
    A URL as it may be shown; nothing of nothing.

    Raises:
        ValueError: It is no URL of PostgreSQL. The message does not repeat it, for it may hold a password.
    """
    if not url:
        return ""
    if (found := _SHAPE.fullmatch(url)) is None:
        raise ValueError(
            "this is no URL such as postgresql://user@host:5432/database; in a name, a password or an option, write / as "
            "%2F, : as %3A, @ as %40, ? as %3F, # as %23 and % as %25"
        )
    user = re.split("%3a", found["user"] or "", flags=re.IGNORECASE)[0]  # what follows was meant as a password
    user = f"{user}@" if user else ""
    options = "&".join(one for one in (found["options"] or "").split("&") if one and not _is_secret(one))
    return f"{found['scheme']}{user}{found['rest']}{f'?{options}' if options else ''}"


def _is_secret(option: str) -> bool:
    """Whether an option of a URL is a password, or the like. PostgreSQL decodes its name too: `passw%6Frd`."""
    from urllib.parse import unquote  # 3 ms that no file needs

    return _SECRET.search(unquote(option.partition("=")[0]).lower()) is not None
