"""What is read of a memory as a document: its body, a chunk with its neighbours, what a session goes on with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memory.schema.answer import Notice
    from memory.schema.memory import Chunk, ChunkId, Memory, Revision


class Piece(NamedTuple):
    """A chunk with what it says."""

    id: ChunkId
    chunk: Chunk
    text: str


class Expanded(NamedTuple):
    """
    A chunk with its neighbours.

    Attributes:
        target: The chunk that was asked for.
        pieces: It and its neighbours, in order.
        text: The slice of the body that they cover; for a note's head, its `what` before it.
    """

    memory: Memory
    target: Chunk
    pieces: tuple[Piece, ...]
    text: str


class Document(NamedTuple):
    """
    A memory with its body, verbatim.

    Attributes:
        chunks: How many it is cut into; None where they were not looked at.
        whole: Whether their slices, put together, are the body; None likewise.
    """

    memory: Memory
    body: str
    chunks: int | None = None
    whole: bool | None = None


class Embedding(NamedTuple):
    """
    Whether a memory can be found by its meaning.

    Attributes:
        state: "generated": all its chunks have vectors; "pending": some wait; "failed": the model did not take some;
            "outdated": they are of another model than the settings name; "none": no model is configured; "excluded": it is
            found by keyword only.
        chunks: How many wait.
        error: Why some failed.
    """

    state: str
    chunks: int = 0
    error: str = ""


class Details(NamedTuple):
    """A memory with its body, what it said before, and whether it can be found by its meaning."""

    memory: Memory
    body: str
    history: tuple[Revision, ...]
    notices: tuple[Notice, ...] = ()
    embedding: Embedding | None = None


class Resumed(NamedTuple):
    """
    What an agent needs to go on with a session; memories of each sort latest first.

    Attributes:
        context: The latest `session_context` of the iteration; of the iterations before it if it has none.
        prompts: Every `input_prompt` of the session.
        reports, observations, working: The latest of each, of any iteration.
    """

    context: Memory | None
    prompts: tuple[Memory, ...]
    reports: tuple[Memory, ...]
    observations: tuple[Memory, ...]
    working: tuple[Memory, ...]
