"""A server that embeds texts: what is special about one provider."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Reply(NamedTuple):
    """
    Attributes:
        rows: One vector a text, in their order, as the server gave them.
        tokens: As it counted them; None if it did not say.
    """

    rows: Sequence[Sequence[float]]
    tokens: int | None = None


class Remote(Protocol):
    """
    A server that embeds texts. `memory.embed.requests.Requests` makes an embedder of it.

    Attributes:
        host: Its URL, without credentials.
        most_texts, most_tokens: Of one request.
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
            seconds: For all of it, from looking up the host's name to the last byte.
            most: Bytes of the answer, unpacked; not many more are ever read.

        Raises:
            Unreachable: No answer in time, or one that may be another the next time.
            Refused: It will not, however often it is asked; `Unfit` or `TooLong` if one of the texts is why.
            Garbled: The answer is not what the protocol says.
        """
        ...

    def loaded(self, seconds: float) -> bool:
        """
        Whether the model is ready to answer at once.

        Raises:
            EmbedError: It gives no answer.
        """
        ...

    def close(self) -> None:
        """Hang up."""
        ...
