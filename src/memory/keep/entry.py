"""What a save writes of a draft, except its vectors: no secrets, orders flagged, chunks that tile its body, a hash."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from memory.config.files import SETTINGS_BYTES, contents
from memory.redact import Redactor, SecretRule
from memory.redact.ignore import FILE, parsed
from memory.redact.injection import orders
from memory.schema.answer import Notice
from memory.schema.draft import NAMES, SHARED, Draft, content_hash, properties
from memory.schema.errors import WHAT_OF_BODY, ConfigError, Invalid, Refused
from memory.schema.kinds import RULES, Kind, sizes
from memory.schema.memory import (
    INSTRUCTIONS,
    OVERLAP,
    Chunk,
    ChunkId,
    ChunkType,
    Excerpt,
    Memory,
    MemoryId,
    Revision,
)
from memory.store import Entry
from memory.text.chunk import chunk
from memory.text.terms import grams
from memory.text.tokens import letters, tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from memory.config.settings import ChunkingSettings
    from memory.schema.memory import Details
    from memory.vectors.registry import Embedders

OPEN = "<redacted>"
LEAKED = "If it was a real secret, replace it where it is used: it may have been shown elsewhere too."


class Sanitizer:
    """
    Removes secrets from drafts and flags text that looks like orders. Reads the user's rules at first use, and again when
    their file has changed.
    """

    def __init__(self, folder: str, aliases: Mapping[str, str]) -> None:
        """
        Args:
            folder: The folder of `.memoryignore`, if there is one.
            aliases: Names of projects; see `memory.config.project.aliases`.
        """
        self._folder, self._aliases = folder, aliases
        self._redactor = Redactor()
        self._stamp: tuple[int, int] | None = None

    def draft(self, draft: Draft) -> tuple[Draft, tuple[str, ...], tuple[Notice, ...]]:
        """
        A draft ready to be written, its flags (see `memory.schema.memory.Memory`), and notices about what was done.

        Raises:
            Invalid: A `<redacted>` is not closed, or a text is too long after markers replaced its secrets.
            ConfigError: A rule of `.memoryignore` cannot be used. Nothing may be written then.
        """
        clean, names = self._current().draft(draft)
        if project := self._aliases.get(clean.project or ""):
            clean = replace(clean, project=project)
        notices: tuple[Notice, ...] = ()
        if names:
            notices = (Notice(f"removed before it was saved: {_counted(names)}", LEAKED),)
        text = "\n".join(_texts(clean))
        if OPEN in text.lower():
            notices += (Notice(f"{OPEN} has no end: it was read as a placeholder, and nothing was removed there"),)
        if (phrase := orders(text)) is None:
            return clean, (), notices
        warning = f"saved, and marked wherever it is recalled: {phrase!r} looks like an instruction to an agent"
        return clean, (INSTRUCTIONS,), (*notices, Notice(warning))

    def entry(self, draft: Draft, moment: datetime, cutting: Cutting) -> Entry:
        """A draft ready to be written: without secrets, cut into chunks. Raises what `draft` does."""
        clean, flags, notices = self.draft(draft)
        return entry(clean, moment, cutting)._replace(flags=flags, notices=notices)

    def text(self, text: str) -> str:
        """
        A text without its secrets.

        Raises:
            Invalid, ConfigError: As in `draft`.
        """
        return self._current().text(text).text

    def quoted(self, text: str) -> str:
        """
        A tool's input or output without its secrets; if it is JSON, also without values whose field names a secret.

        Raises:
            Invalid, ConfigError: As in `draft`.
        """
        redactor = self._current()
        try:
            clean, names = redactor.value(json.loads(text))
        except (ValueError, RecursionError, Invalid):  # not JSON, or nested too deep
            return redactor.text(text).text
        return json.dumps(clean, ensure_ascii=False) if names else text

    def problem(self) -> Notice | None:
        """A notice about a problem that makes every save fail; None if there is none."""
        try:
            self._current()
        except ConfigError as error:
            return Notice(f"nothing can be saved: {error}", error.hint)
        return None

    def leak(self, details: Details) -> Notice | None:
        """
        A notice if a saved memory or its history contains a secret by today's rules, or if that cannot be checked; else
        None.
        """
        id = details.memory.short_id
        try:
            drafts = [_as_draft(details.memory, details.body)]
            drafts += [_as_draft(old.memory, old.body) for old in details.history]
        except Invalid as error:
            hint = "Another program wrote it, or the file is damaged. `memory export` shows what it says."
            return Notice(f"memory {id} cannot be checked: {error}", hint)
        if (name := next(chain.from_iterable(map(self._names, drafts)), None)) is not None:
            hint = f"If it is one, change it where it counts, then `memory delete --purge {id}`."
            return Notice(f"memory {id} contains text that looks like a secret: {name}", hint)
        return None

    def _names(self, draft: Draft) -> Sequence[str]:
        """Of the rules that would remove something."""
        try:
            return self._current().draft(draft)[1]
        except Invalid as error:  # saved before the marker had a meaning
            return [str(error)]

    def revision(self, revision: Revision) -> Revision:
        """An earlier version of an imported memory, ready to be written."""
        memory = revision.memory
        clean, flags, _ = self.draft(_as_draft(memory, revision.body))
        fields = {name: getattr(clean, name) for name in SHARED}
        clean_memory = memory._replace(**fields, flags=flags, body_size=len(clean.body))
        return revision._replace(memory=clean_memory, body=clean.body)

    def _current(self) -> Redactor:
        try:
            status = os.stat(os.path.join(self._folder, FILE))
            stamp = (status.st_mtime_ns, status.st_size)
        except FileNotFoundError:
            stamp = None
        except OSError:
            stamp = (0, 0)  # reading the file will say what is wrong
        if stamp != self._stamp:
            self._redactor = Redactor(rules(self._folder))
            self._stamp = stamp
        return self._redactor


def rules(folder: str) -> tuple[SecretRule, ...]:
    """
    The rules of `.memoryignore` in a folder; none if the file does not exist.

    Raises:
        ConfigError: It cannot be read, is not UTF-8, or a line is not a rule. Names file and line,
            never the line's text.
    """
    path = os.path.join(folder, FILE)  # not pathlib, as in `memory.config`
    try:
        text = contents(path, SETTINGS_BYTES).decode("utf-8-sig")
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}", hint="Nothing is saved until it can be read."
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8: byte {error.start} is not", hint="Save it as UTF-8.") from error
    return parsed(text, path)


def _as_draft(memory: Memory, body: str) -> Draft:
    return Draft(**{name: getattr(memory, name) for name in SHARED}, body=body)


def _texts(draft: Draft) -> Iterator[str]:
    yield from (draft.title, draft.what, draft.why, draft.impact, draft.description, draft.body)
    yield from (*draft.tags, *draft.related_files)
    yield from filter(None, (getattr(draft, name) for name in NAMES))
    if draft.metadata:
        yield json.dumps(dict(draft.metadata), ensure_ascii=False)


def _counted(names: Iterable[str]) -> str:
    """Names with their counts: "aws-access-key, 2 bearer-token"."""
    return ", ".join(name if count == 1 else f"{count} {name}" for name, count in Counter(names).items())


# Cut and indexed --------------------------------------------------------------


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

    @classmethod
    def configured(cls, chunking: ChunkingSettings, embedders: Embedders) -> Cutting:
        """As the settings say, by the tokens of the model; they are estimated if it has no counter."""
        return cls(chunking.size, sizes(chunking.kinds), lambda: embedders.counter or tokens)

    def of(self, kind: Kind) -> int | None:
        """The size for a kind; None leaves its bodies whole."""
        return self.sizes.get(kind, self.size if RULES[kind].chunked else None)


USUAL = Cutting()


def entry(draft: Draft, moment: datetime, cutting: Cutting = USUAL) -> Entry:
    """A draft ready to be written; without links or a superseded memory, unless `_replace` adds them."""
    rule = RULES[draft.kind]
    chunks = chunked(draft, cutting)
    if rule.family != "note" and not draft.what:
        draft = replace(draft, what=draft.body[:WHAT_OF_BODY])
    return Entry(
        draft=draft,
        uid=uuid4().hex,
        moment=moment,
        content_hash=content_hash(draft),
        chunks=chunks,
        grams=grams([_indexed_text(piece, draft) for piece in excerpts(draft, chunks)]),
        renews=rule.one if rule.renewed else (),
    )


def chunked(draft: Draft, cutting: Cutting = USUAL) -> tuple[Chunk, ...]:
    """
    The chunks of a draft, at least one; they tile its body.

    A note, and a document with a description, begins with its head, which covers nothing of the body, so that its short
    fields can be found by themselves.
    """
    size = cutting.of(draft.kind)
    pieces = _cut(draft.body, size, cutting) if size is not None and draft.body else _whole(draft.body)
    described = draft.kind is Kind.KNOWLEDGE_BASE and draft.what not in ("", draft.body[:WHAT_OF_BODY])
    if described or RULES[draft.kind].family == "note":
        head = Chunk(0, 0, 0, ChunkType.HEAD, token_count=tokens(f"{draft.title} {draft.what}"))
        pieces = (head, *(replace(piece, index=piece.index + 1) for piece in pieces))
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


def _indexed_text(piece: Excerpt, draft: Draft) -> str:
    """All that the index has of a chunk, to be searched for scripts without spaces and names in code."""
    texts = [piece.title, *piece.chunk.header_path, piece.text]
    if piece.chunk.index == 0:
        facts = (*piece.tags, *(properties(draft.kind, draft.metadata) if draft.metadata else ()))
        texts += [piece.why, piece.impact, *facts, draft.project or "", *draft.related_files]
    return "\n".join(texts)
