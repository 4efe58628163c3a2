"""What the status codes of an embedding server mean."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory.schema.errors import Garbled, Refused, TooLong, Unfit, Unreachable
from memory.schema.limits import plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memory.schema.errors import EmbedError

__all__ = ["failure"]

_TOO_LONG = re.compile(
    r"(context|input|array) length|maximum (context|input|sequence)|tokens per request|too (long|many tokens|large)",
    re.IGNORECASE,
)
LONGEST = 3600.0  # seconds
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
        # Ollama cannot write such a vector as JSON: https://github.com/ollama/ollama/issues/9639
        case _ if "NaN" in said:
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
    if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", header.strip()):
        return min(LONGEST, float(header))
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(header)
        left = (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return min(LONGEST, max(0.0, left))
