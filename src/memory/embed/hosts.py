"""Where servers are, without asking them: little is imported for it, since a search looks here before all else."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from memory.schema.errors import Refused

if TYPE_CHECKING:
    from memory.config.settings import EmbeddingSettings

OPENAI = "https://api.openai.com/v1"
OLLAMA_PORT = 11434

_URL = re.compile(r"(?:(\w+)://)?(?:[^/@]*@)?(\[[0-9a-fA-F:.%]+\]|[\w.-]+)(?::(\d{1,5}))?(/[^?#]*)?(?:[?#].*)?")


def ollama_url(host: str) -> str:
    """The URL of Ollama: of the setting, else of `$OLLAMA_HOST`, else on this machine."""
    url = host or os.environ.get("OLLAMA_HOST", "") or "127.0.0.1"
    return url.replace("0.0.0.0", "127.0.0.1")  # noqa: S104  # where a server binds, not where it is


def openai_url(base_url: str) -> str:
    """The URL of a server like OpenAI: of the setting, else of `$OPENAI_BASE_URL`, else OpenAI's own."""
    url = base_url or os.environ.get("OPENAI_BASE_URL", "") or OPENAI
    return url if "://" in url else f"https://{url}"


def shown(url: str, setting: str, *, port: int | None = None) -> str:
    """
    A URL as it may be shown: with its scheme and port, without credentials, query and closing slash.

    Args:
        setting: Where it comes from.
        port: Of one that has neither a scheme nor a port.

    Raises:
        Refused: It is no URL of a server.
    """
    found = _URL.fullmatch(url)
    if found is None or (found[1] or "http") not in {"http", "https"} or int(found[3] or 1) > 65_535:
        hint = f"Set `{setting}`, e.g. to http://127.0.0.1:{port or 8000}."
        seen = url.rpartition("@")[2]  # what stands before is a secret
        raise Refused(f"{seen!r} is no URL of a server", hint=hint)
    scheme, name, number, path = found.groups()
    number = number or (port if scheme is None else None)
    return f"{scheme or 'http'}://{name}{f':{number}' if number else ''}{(path or '').rstrip('/')}"


def host_of(provider: str, settings: EmbeddingSettings) -> str:
    """
    Where a provider's server is, as it may be shown; empty for one that has none.

    Raises:
        Refused: The setting is no URL.
    """
    match provider:
        case "ollama":
            return shown(ollama_url(settings.ollama_host), "embedding.ollama_host", port=OLLAMA_PORT)
        case "openai":
            return shown(openai_url(settings.openai_base_url), "embedding.openai_base_url")
    return ""
