"""A server that embeds texts: what is special to a provider, its URL, and what its status codes mean."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from memory.schema.errors import Garbled, Refused, TooLong, Unfit, Unreachable
from memory.schema.limits import printable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.config.settings import EmbeddingSettings
    from memory.schema.errors import EmbedError

OPENAI = "https://api.openai.com/v1"
OLLAMA_PORT = 11434

_URL = re.compile(r"(?:(\w+)://)?(?:[^/@]*@)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+)(?::(\d{1,5}))?(/[^?#]*)?(?:[?#].*)?")

_TOO_LONG = re.compile(
    r"(context|input|array) length|maximum (context|input|sequence)|tokens per request|too (long|many tokens|large)",
    re.IGNORECASE,
)
LONGEST_WAIT = 3600.0  # seconds, even if a server asks for more
_MESSAGE = 300  # characters of a server's message that are repeated


class Reply(NamedTuple):
    """
    Attributes:
        rows: One vector for each text, in order, as the server gave them.
        tokens: The server's count; None if it did not say.
    """

    rows: Sequence[Sequence[float]]
    tokens: int | None = None


class Remote(Protocol):
    """
    A server that embeds texts. `memory.embed.client.Client` makes an embedder of it.

    Attributes:
        host: Its URL, without credentials.
        most_texts, most_tokens: Limits of one request.
    """

    provider: str
    model: str
    host: str
    most_texts: int
    most_tokens: int

    def ask(self, texts: Sequence[str], seconds: float, most: int) -> Reply:
        """
        One request, once.

        Args:
            seconds: For everything, from the name lookup to the last byte.
            most: Most bytes of the answer, unpacked; reading stops soon after.

        Raises:
            Unreachable: No answer in time, or one that may differ next time.
            Refused: Asking again cannot help; `Unfit` or `TooLong` if one of the texts is the reason.
            Garbled: The answer does not follow the protocol.
        """
        ...

    def loaded(self, seconds: float) -> bool:
        """
        Whether the model is ready to answer at once.

        Raises:
            EmbedError: The server does not answer.
        """
        ...

    def close(self) -> None:
        """Hang up."""
        ...


def ollama_url(host: str) -> str:
    """Ollama's URL: from the setting, else from `$OLLAMA_HOST`, else on this machine."""
    url = host or os.environ.get("OLLAMA_HOST", "") or "127.0.0.1"
    return url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104  # where a server binds, not where it is


def openai_url(base_url: str) -> str:
    """The URL of OpenAI or a compatible server: from the setting, else from `$OPENAI_BASE_URL`, else OpenAI's own."""
    url = base_url or os.environ.get("OPENAI_BASE_URL", "") or OPENAI
    return url if "://" in url else f"https://{url}"


def safe_url(url: str, setting: str, *, port: int | None = None) -> str:
    """
    A URL that is safe to show: with scheme and port, without credentials, query and final slash.

    Args:
        setting: The setting it comes from, for the hint.
        port: Added if the URL has neither a scheme nor a port.

    Raises:
        Refused: It is not the URL of a server.
    """
    match = _URL.fullmatch(url)
    if match is None or (match[1] or "http") not in {"http", "https"} or int(match[3] or 1) > 65_535:
        hint = f"Set `{setting}`, e.g. to http://127.0.0.1:{port or 8000}."
        host = url.rpartition("@")[2]  # what is before it is a secret
        raise Refused(f"{host!r} is no URL of a server", hint=hint)
    scheme, name, number, path = match.groups()
    number = number or (port if scheme is None else None)
    return f"{scheme or 'http'}://{name}{f':{number}' if number else ''}{(path or '').rstrip('/')}"


def secret(text: str, variable: str) -> str:
    """
    A key ready to send, without the line end that a file leaves on it.

    Raises:
        Refused: It cannot be sent. The message does not repeat it.
    """
    key = text.strip()
    if not (key.isascii() and key.isprintable()):
        hint = "A key is one line of plain letters, digits and signs."
        raise Refused(f"the key in {variable} holds what cannot be sent", hint=hint)
    return key


def mask_keys(text: str, *keys: str) -> str:
    """A message of a server or client without keys: some repeat them, in full, in part or in quotes."""
    for key in filter(None, keys):
        for spelling in {key, repr(key)[1:-1]}:
            text = text.replace(spelling, "…")
    return re.sub(r"\b(sk|pk|key)-[\w*.-]{4,}", "…", text)


def host_of(provider: str, settings: EmbeddingSettings) -> str:
    """
    The URL of a provider's server, safe to show; empty for a provider without one.

    Raises:
        Refused: The setting is not a URL.
    """
    match provider:
        case "ollama":
            return safe_url(ollama_url(settings.ollama_host), "embedding.ollama_host", port=OLLAMA_PORT)
        case "openai":
            return safe_url(openai_url(settings.openai_base_url), "embedding.openai_base_url")
    return ""


def failure(status: int, message: str, *, host: str, headers: Mapping[str, str], hint: str) -> EmbedError:
    """
    The error for an answer with an error status.

    Args:
        message: The server's own words.
        headers: With keys in lower case, or a mapping that ignores case.
        hint: What to do if the model or the key is refused.
    """
    message = printable(message)
    text = f"{host} answered {status}: {message[:_MESSAGE]}{'…' if len(message) > _MESSAGE else ''}"
    match status:
        # Ollama cannot write such a vector as JSON: https://github.com/ollama/ollama/issues/9639
        case _ if "NaN" in message:
            return Garbled(text)
        case 429 if "quota" in message.lower() or "billing" in message.lower():
            return Refused(text, hint="The account has nothing left to spend.")
        case 408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 507 | 529:
            return Unreachable(text, after=_after(headers.get("retry-after")))
        case 400 | 413 | 422:
            return (TooLong if _TOO_LONG.search(message) or status == 413 else Unfit)(text, hint=hint)
        case _:
            return Refused(text, hint=hint)


def _after(header: str | None) -> float | None:
    """Seconds until a `Retry-After`, which is a number of seconds or a date (RFC 9110, section 10.2.3)."""
    if not header:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d{0,9})?", header.strip()):
        return min(LONGEST_WAIT, float(header))
    from email.utils import parsedate_to_datetime

    try:
        until = parsedate_to_datetime(header)
        remaining = (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None
    return min(LONGEST_WAIT, max(0.0, remaining))
