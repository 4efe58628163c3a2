"""What a save writes of a draft, except its vectors: chunks that tile its body, extra index terms, its hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from memory.schema.errors import Refused
from memory.schema.kinds import RULES, Kind
from memory.schema.limits import WHAT_OF_BODY
from memory.schema.memory import OVERLAP, Chunk, ChunkId, ChunkType, Excerpt, MemoryId
from memory.store import Entry
from memory.text.chunk import chunk
from memory.text.terms import indexed, parts
from memory.text.tokens import letters, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from memory.schema.draft import Draft


class Cutting(NamedTuple):
    """
    How bodies are cut into chunks; see the settings `chunking`.

    Attributes:
        size: The most tokens of a chunk, for kinds that are cut.
        sizes: Other sizes for some kinds; None leaves their bodies whole.
        counter: Gives the token counter; called only for bodies that may exceed the size.
    """

    size: int = 450
    sizes: Mapping[Kind, int | None] = MappingProxyType({})
    counter: Callable[[], Callable[[str], int]] = lambda: tokens

    def of(self, kind: Kind) -> int | None:
        """The size for a kind; None leaves its bodies whole."""
        return self.sizes.get(kind, self.size if RULES[kind].chunked else None)


USUAL = Cutting()


def entry(draft: Draft, moment: datetime, cutting: Cutting = USUAL) -> Entry:
    """A draft ready to be written; without links or a superseded memory, unless `_replace` adds them."""
    rule = RULES[draft.kind]
    if rule.family != "note" and not draft.what:
        draft = replace(draft, what=draft.body[:WHAT_OF_BODY])
    chunks = chunked(draft, cutting)
    return Entry(
        draft=draft,
        uid=uuid4().hex,
        moment=moment,
        content_hash=content_hash(draft),
        chunks=chunks,
        grams=tuple(_grams(_indexed_text(piece, draft)) for piece in excerpts(draft, chunks)),
        renews=rule.one if rule.renewed else (),
    )


def chunked(draft: Draft, cutting: Cutting = USUAL) -> tuple[Chunk, ...]:
    """
    The chunks of a draft, at least one; they tile its body.

    A note begins with its head, which covers nothing of the body, so that its short fields can be found by themselves.
    """
    size = cutting.of(draft.kind)
    pieces = _whole(draft.body) if size is None else _cut(draft.body, size, cutting)
    if RULES[draft.kind].family == "note":
        head = Chunk(0, 0, 0, ChunkType.HEAD, token_count=tokens(f"{draft.title} {draft.what}"))
        pieces = (head, *(_moved(piece) for piece in pieces))
    pieces = pieces or _whole(draft.body)  # only a byte order mark
    if not pieces:  # an entity without observations
        return (Chunk(0, 0, 0, ChunkType.TEXT),)
    if pieces[-1].stop < len(draft.body):  # a body of only white space
        pieces = (*pieces, Chunk(len(pieces), pieces[-1].stop, len(draft.body), ChunkType.TEXT))
    return pieces


def _cut(body: str, size: int, cutting: Cutting) -> tuple[Chunk, ...]:
    if letters(body) <= size:  # one chunk with any tokenizer, so none is loaded
        return chunk(body, size=size)
    try:
        return chunk(body, size=size, count=cutting.counter())
    except Refused:  # the counter of an embedder that was passed in failed
        return chunk(body, size=size)


def _whole(body: str) -> tuple[Chunk, ...]:
    return (Chunk(0, 0, len(body), ChunkType.TEXT, token_count=tokens(body)),) if body else ()


def _moved(piece: Chunk) -> Chunk:
    return Chunk(
        piece.index + 1, piece.start, piece.stop, piece.type, piece.header_path, piece.level, piece.token_count
    )


def content_hash(draft: Draft) -> str:
    """SHA-256 of a draft's content: for a note all of it, for other kinds the body (CAP D9)."""
    if RULES[draft.kind].family != "note":
        return hashlib.sha256(draft.body.encode()).hexdigest()
    texts = (
        draft.title,
        draft.what,
        draft.why,
        draft.impact,
        draft.description,
        draft.body,
        draft.category,
        draft.tags,
    )
    facts = (draft.related_files, dict(draft.metadata), draft.source)
    return hashlib.sha256(json.dumps((texts, facts), sort_keys=True).encode()).hexdigest()


def excerpts(draft: Draft, chunks: Sequence[Chunk]) -> list[Excerpt]:
    """The chunks of a draft with the texts around them; in place of its id, each has its index."""
    texts = (draft.title, draft.what, draft.why, draft.impact)
    return [
        Excerpt(
            ChunkId(piece.index),
            MemoryId(0),
            piece,
            draft.what if piece.type is ChunkType.HEAD else draft.body[piece.start : piece.stop],
            draft.body[max(0, piece.start - OVERLAP) : piece.start],
            *texts,
            draft.tags,
        )
        for piece in chunks
    ]


def _grams(text: str) -> str:
    """Extra index terms for a text, where the index takes several of people's words for one."""
    pairs = () if text.isascii() else (indexed(text),)  # ASCII text has spaces between its words
    return " ".join(filter(None, (*pairs, *parts(text))))


def _indexed_text(piece: Excerpt, draft: Draft) -> str:
    """All that the index has of a chunk, to be searched for scripts without spaces and names in code."""
    texts = [piece.title, *piece.chunk.header_path, piece.text]
    if piece.chunk.index == 0:
        texts += [piece.why, piece.impact, *piece.tags, draft.project or "", *draft.related_files]
    return "\n".join(texts)
