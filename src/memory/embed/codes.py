"""What the status codes of an embedding server mean."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from memory.errors import Garbled, Refused, TooLong, Unfit, Unreachable
from memory.limits import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.errors import EmbedError

__all__ = ["failure", "plain_host"]

_TOO_LONG = re.compile(
    r"(context|input|array) length|maximum (context|input|sequence)|tokens per request|too (long|many tokens|large)",
    re.IGNORECASE,
)
_SAID = 300  # characters of what a server said


def failure(status: int, said: str, *, host: str, headers: Mapping[str, str], hint: str) -> EmbedError:
    """
    The error for an answer that is none.

    Args:
        said: The server's own words.
        headers: Keys in lower case, or of any case if the mapping does not care.
        hint: What to do if the model or the key is not taken.
    """
    said = plain(said)
    told = f"{host} answered {status}: {said[:_SAID]}{'…' if len(said) > _SAID else ''}"
    match status:
        case _ if (
            "NaN" in said
        ):  # Ollama encodes vectors to JSON and fails: https://github.com/ollama/ollama/issues/9639
            return Garbled(told)
        case 429 if "quota" in said.lower() or "billing" in said.lower():
            return Refused(told, hint="The account has nothing left to spend.")
        case 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 507 | 529:
            return Unreachable(told, after=_after(headers.get("retry-after")))
        case 400 | 413 | 422:
            return (TooLong if _TOO_LONG.search(said) or status == 413 else Unfit)(told, hint=hint)
        case _:
            return Refused(told, hint=hint)


def _after(header: str | None) -> float | None:
    """Seconds until a `Retry-After`, which is a number of them or a date (RFC 9110, section 10.2.3)."""
    if not header:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def plain_host(url: str, setting: str, *, scheme: str = "http", port: int | None = None) -> str:
    """
    A URL as it may be shown: with its scheme and port, without credentials, query and closing slash.

    Args:
        setting: Where it comes from.
        scheme: Of one that has none.
        port: Of one that has neither a scheme nor a port.

    Raises:
        Refused: It is no URL of a server.
    """
    from urllib.parse import urlsplit

    bare = "://" not in url
    try:
        parts = urlsplit(f"{scheme}://{url}" if bare else url)
        number = parts.port or (port if bare else None)
    except ValueError as error:
        raise Refused(f"{url!r} is no URL of a server: {error}", hint=f"Set `{setting}`.") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise Refused(
            f"{url!r} is no URL of a server", hint=f"Set `{setting}`, e.g. to http://127.0.0.1:{port or 8000}."
        )
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}{f':{number}' if number else ''}{parts.path.rstrip('/')}"
