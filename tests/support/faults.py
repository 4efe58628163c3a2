"""What goes wrong between a client and an embedding provider, as values a test hands to a `Provider`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import threading
    from collections.abc import Mapping

Protocol: TypeAlias = Literal["ollama", "openai"]


@dataclass(frozen=True, slots=True)
class Status:
    """
    It says no: too many requests, broken inside, being updated.

    Args:
        body: JSON, or text that goes out as it is. None is what the protocol says with this code.
        headers: For example {"Retry-After": "2"}; seconds or an HTTP date.
    """

    code: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hang:
    """A machine that swaps: it takes the request and says nothing, then hangs up. `Hang(0)` hangs up at once."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Slow:
    """The right answer, late: a model that is being loaded."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Held:
    """The right answer, once the test lets go of it: whoever asked is known to wait meanwhile."""

    go: threading.Event


@dataclass(frozen=True, slots=True)
class HalfBody:
    """The connection breaks in the middle of the answer: a killed server, a proxy that lost patience."""


@dataclass(frozen=True, slots=True)
class Drip:
    """
    It answers, and never ends: a byte now and then.

    Args:
        seconds: Between two bytes.
        headers: Whether those of its headers, rather than of its body.
    """

    seconds: float
    headers: bool = False


@dataclass(frozen=True, slots=True)
class Flood:
    """
    It answers as fast as it can, without end.

    Args:
        packed: As its header `Content-Encoding` says; only gzip and deflate really are, a thousandfold.
    """

    packed: str = ""


@dataclass(frozen=True, slots=True)
class NotJson:
    """Status 200 and a page for people: the login of a hotel, or another program on this port."""

    type: str = "text/html"


@dataclass(frozen=True, slots=True)
class Huge:
    """10 MB of JSON that hold no embedding: some other service answers."""


@dataclass(frozen=True, slots=True)
class WrongWidth:
    """Every vector is `by` numbers wider, or narrower if negative: the model was replaced."""

    by: int


@dataclass(frozen=True, slots=True)
class UnevenWidths:
    """The last vector lacks its last number: a bug in the server."""


@dataclass(frozen=True, slots=True)
class NotANumber:
    """
    The first number of the first vector is none: an overflow in half precision.

    Args:
        value: NaN or an infinity are written as Python writes them, None as null.
    """

    value: float | None = float("nan")


@dataclass(frozen=True, slots=True)
class Zeros:
    """Vectors without a direction: what some servers give for a text they could not read."""


@dataclass(frozen=True, slots=True)
class TooFew:
    """The last vector is missing."""


@dataclass(frozen=True, slots=True)
class TooMany:
    """The last vector comes twice."""


@dataclass(frozen=True, slots=True)
class OtherModel:
    """Another model answers, and says so: a router with an opinion."""

    name: str


@dataclass(frozen=True, slots=True)
class Shuffled:
    """The vectors come last first, each with its right index. Ollama has no index, so nothing happens there."""


@dataclass(frozen=True, slots=True)
class Refuses:
    """One poisonous text spoils every request that has it: this happens if a text contains the word, or else 400."""

    word: str
    how: Fault | None = None


Fault: TypeAlias = (
    Status
    | Hang
    | Slow
    | Held
    | HalfBody
    | Drip
    | Flood
    | NotJson
    | Huge
    | WrongWidth
    | UnevenWidths
    | NotANumber
    | Zeros
    | TooFew
    | TooMany
    | OtherModel
    | Shuffled
    | Refuses
)


class Reply(NamedTuple):
    """
    One HTTP answer.

    Attributes:
        type: The value of Content-Type.
    """

    status: int
    body: bytes
    type: str = "application/json; charset=utf-8"
    headers: Mapping[str, str] = {}


def rate_limited(retry_after: str | None = None) -> Status:
    """OpenAI's 429 that passes."""
    return Status(429, refusal("openai", "rate_limit"), {} if retry_after is None else {"Retry-After": retry_after})


def over_quota() -> Status:
    """OpenAI's 429 that does not pass: the money is gone."""
    return Status(429, refusal("openai", "quota"))


@cache
def recorded(protocol: Protocol) -> Any:
    """The shapes of `tests/support/recorded`; not to be changed."""
    return json.loads((Path(__file__).parent / "recorded" / f"{protocol}.json").read_text(encoding="utf-8"))


def refusal(protocol: Protocol, name: str, **words: object) -> Any:
    """The recorded body of an error, its {words} filled in."""
    text = json.dumps(recorded(protocol)["errors"][name]["body"])
    for word, value in words.items():
        text = text.replace(f"{{{word}}}", json.dumps(str(value))[1:-1])
    return json.loads(text)


def refused(protocol: Protocol, name: str, **words: object) -> Reply:
    return written(refusal(protocol, name, **words), recorded(protocol)["errors"][name]["status"])


def written(body: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(body).encode())


def instead(fault: Fault | None, protocol: Protocol, texts: list[str]) -> Reply | None:
    """What a fault makes the provider say before it embeds anything, if it does."""
    match fault:
        case Status(code, str() as body, headers):
            return Reply(code, body.encode(), "text/plain", headers)
        case Status(code, body, headers):
            return written(_plain(protocol, code) if body is None else body, code)._replace(headers=headers)
        case NotJson(kind):
            return Reply(200, b"<html><title>Welcome</title><p>Please sign in.</html>", kind)
        case Huge():
            return written({"log": "x" * 10_000_000})
        case Refuses(word) if any(word in text for text in texts):
            return refused(protocol, "poison" if protocol == "ollama" else "bad_input")
        case _:
            return None


def spoiled(fault: Fault | None, vectors: list[list[Any]]) -> list[list[Any]]:
    """The vectors after a fault has been at them; new lists, as wide and as many as it likes."""
    match fault:
        case WrongWidth(by):
            vectors = [(vector + [0.5] * by)[: len(vector) + by] for vector in vectors]
        case UnevenWidths():
            vectors = [*vectors[:-1], vectors[-1][:-1]]
        case NotANumber(value):
            vectors = [[value, *vectors[0][1:]], *vectors[1:]]
        case Zeros():
            vectors = [[0.0] * len(vector) for vector in vectors]
        case TooFew():
            vectors = vectors[:-1]
        case TooMany():
            vectors = [*vectors, vectors[-1]]
    return vectors


def _plain(protocol: Protocol, code: int) -> Any:
    if protocol == "ollama":
        return refusal("ollama", "busy") if code == 503 else {"error": f"no answer today ({code})"}
    if code == 429:
        return refusal("openai", "rate_limit")
    kind = "server_error" if code >= 500 else "invalid_request_error"
    return {"error": {"message": f"No answer today ({code}).", "type": kind, "param": None, "code": None}}
