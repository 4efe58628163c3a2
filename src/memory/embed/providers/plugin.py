"""A provider that another package brings, by the entry-point group `memory.embedders`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from memory.config.settings import PLUGINS
from memory.embed.third_party import third_party
from memory.schema.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from memory.config.settings import EmbeddingSettings
    from memory.embed import Embedder
    from memory.embed.remote import Remote


def plugin(provider: str, settings: EmbeddingSettings, *, builtin: Iterable[str]) -> Embedder | Remote:
    """
    Args:
        builtin: The providers that there are without it, for the error.

    Raises:
        Refused: There is no such provider, or it cannot be used.
    """
    from importlib.metadata import entry_points

    entries = tuple(entry_points(group=PLUGINS, name=provider))
    if not entries:
        names = ", ".join((*builtin, *sorted(entry_points(group=PLUGINS).names)))
        raise Refused(f"no provider {provider!r} is installed", hint=f"There are: {names}.")
    name = f"the provider {provider!r} of {entries[0].value}"
    with third_party(name):
        factory = cast("Callable[[EmbeddingSettings], Embedder | Remote]", entries[0].load())
        embedder = factory(settings)
        missing = [field for field in ("provider", "model") if not isinstance(getattr(embedder, field, None), str)]
    if missing or not (hasattr(embedder, "embed") or hasattr(embedder, "ask")):
        raise Refused(f"{name} gave {type(embedder).__name__}, which is no embedder", hint="See docs/embedding.md.")
    return embedder
