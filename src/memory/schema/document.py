"""A memory read whole: its body, a chunk with its neighbours, and what an agent needs to resume a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memory.schema.answer import Notice
    from memory.schema.memory import Chunk, ChunkId, Memory, Revision


class Piece(NamedTuple):
    """A chunk with its text."""

    id: ChunkId
    chunk: Chunk
    text: str


class Expanded(NamedTuple):
    """
    A chunk with its neighbours.

    Attributes:
        target: The requested chunk.
        pieces: That chunk and its neighbours, in order.
        text: The slice of the body that they cover. If a note's head is among them, the note's `what` comes first.
    """

    memory: Memory
    target: Chunk
    pieces: tuple[Piece, ...]
    text: str


class Document(NamedTuple):
    """
    A memory with its body, verbatim.

    Attributes:
        chunks: Number of its chunks; None if not counted.
        whole: Whether their slices join to the body; None if not checked.
    """

    memory: Memory
    body: str
    chunks: int | None = None
    whole: bool | None = None


class Embedding(NamedTuple):
    """
    The state of a memory's embedding: whether it can be found by meaning.

    Attributes:
        state: "generated": all chunks have vectors; "pending": some wait; "failed": the model refused some;
            "outdated": the vectors are of another model than the settings name; "none": no model is configured;
            "excluded": it is found by keyword only.
        chunks: Number of chunks without a vector that wait for one.
        error: The reason of the latest failure; empty if there was none.
    """

    state: str
    chunks: int = 0
    error: str = ""


class Details(NamedTuple):
    """
    A memory with its body, its history and the state of its embedding.

    Attributes:
        body: The verbatim text; "" if there is none.
        history: Earlier versions, each with the time it was replaced (UTC).
        notices: What went wrong on the way, e.g. that this access was not counted.
        embedding: Whether it can be found by meaning; None if not looked up.
    """

    memory: Memory
    body: str
    history: tuple[Revision, ...]
    notices: tuple[Notice, ...] = ()
    embedding: Embedding | None = None


class Resumed(NamedTuple):
    """
    What an agent needs to resume a session; memories of each kind newest first.

    Attributes:
        context: The newest `session_context` of the iteration, or of an earlier one if it has none.
        prompts: Every `input_prompt` of the session.
        reports, observations, working: The newest of each kind, from any iteration.
    """

    context: Memory | None
    prompts: tuple[Memory, ...]
    reports: tuple[Memory, ...]
    observations: tuple[Memory, ...]
    working: tuple[Memory, ...]
