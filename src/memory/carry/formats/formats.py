"""Which program wrote a file: told from its beginning, never from its name alone."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from memory.carry.formats import (
    MARKDOWN,
    Beginning,
    Belongs,
    Format,
    chatgpt,
    claude_ai,
    claude_code,
    claude_mem,
    codex,
    echovault,
    gemini,
    memories,
    notes,
    reference,
)
from memory.carry.formats.items import BLANK, ImportTarget, Item, LeftOut, Read, left_out, uid_of
from memory.carry.formats.reading import elements, head, shapes
from memory.config.files import TEXT_BYTES, bounded, utf8
from memory.config.front_matter import split, values
from memory.keep.jsonl import FIELDS
from memory.schema.errors import Invalid, did_you_mean
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.carry.formats.reading import Source


LISTED = "`memory help importing` lists them."

JSON = (".json", ".jsonl", ".ndjson")
DATABASES = (".db", ".sqlite", ".sqlite3")


# Markdown ---------------------------------------------------------------------------


def _markdown(source: Source, target: ImportTarget) -> Iterator[Read]:
    if (item := _document(source, target)) is not None:
        yield item


def _document(source: Source, target: ImportTarget) -> Item | None:
    text = _text(source, target)
    file = source.name if source.path is None else target.remembered(source.path)
    return notes.document(text, stem=_stem(source), file=file, project=target.project, clean=target.clean)


def _basic_memory(source: Source, target: ImportTarget) -> Iterator[Read]:
    if (item := _document(source, target)) is not None:
        known = item._replace(uid=uid_of("basic-memory", target.project, item.draft.metadata.get("permalink")))
        yield known
        yield from notes.graph_of(known, target.clean)


def _vault(source: Source, target: ImportTarget) -> Iterator[Read]:
    return echovault.sections(_text(source, target), source.name, target)


def _text(source: Source, target: ImportTarget) -> str:
    """
    The text of a file, without its secrets.

    Raises:
        Invalid: It is too long, or not UTF-8.
    """
    with source.opened() as file:
        try:
            return target.clean(utf8(bounded(file, TEXT_BYTES, source.name), source.name, mark=True))
        except OSError as error:
            raise Invalid(f"{source.name}: {error.strerror or error}") from error


def _stem(source: Source) -> str:
    return PurePosixPath(source.name.replace("\\", "/")).stem


# The table --------------------------------------------------------------------------

PLAIN = Format("Markdown file", "Markdown files", "the knowledge base", _markdown, belongs=Belongs.HERE)
BASIC_MEMORY = Format(
    "note of basic-memory",
    "notes of basic-memory",
    "the graph and the knowledge base",
    _basic_memory,
    belongs=Belongs.HERE,
)
VAULT = Format(
    "session of an EchoVault vault", "sessions of an EchoVault vault", "notes", _vault, belongs=Belongs.NAMED
)

MARKDOWNS = (PLAIN, BASIC_MEMORY, VAULT, claude_code.MEMORY)

MODULES = (
    *(claude_code, chatgpt, claude_ai, codex, gemini, claude_mem),
    *(echovault, memories, reference),
)
"""A module a program, or a sort of them. To add one: its module, with `FORMATS`, and files of it in tests/support/peers."""

FORMATS = tuple(one for module in MODULES for one in module.FORMATS)
"""All formats but those of Markdown: a file is of the first that tells it."""


def by_name(name: str, source: Source) -> Format | None:
    """
    What a file of no known format is taken for: Markdown, as most texts are; None for an export of ours, or drafts, in lines
    of JSON.

    Raises:
        Invalid: It is neither.
    """
    begins = head(source)
    if begins.startswith(foreign.MAGIC):
        raise Invalid(f"{name}: not a file of a program that memory can import", hint=LISTED)
    if b"\0" in begins:
        raise Invalid(f"{name}: not a file of a program that memory can import", hint=LISTED)
    if name != "-" and not name.lower().endswith(JSON):
        return PLAIN
    if _unknown(source):
        raise Invalid(f"{name}: JSON that memory cannot import", hint=LISTED)
    return None


def _unknown(source: Source) -> bool:
    """Whether it is JSON that neither a program that is known writes nor we do, whose lines are objects with our fields."""
    begins = head(source).lstrip(b"\xef\xbb\xbf \t\r\n")
    if not begins.startswith((b"{", b"[")):
        return False
    first = next(shapes(begins.split(b"\n", 1)[0].decode("utf-8", "replace")))
    lined = begins.startswith(b"{") and (first.whole or b"\n" not in begins)
    if lined and ("schema" in first.outer or any(did_you_mean(key, FIELDS, "") for key in first.outer - FIELDS)):
        return False
    if lined and first.outer & FIELDS and (not first.inner or first.outer <= FIELDS):
        return False
    with source.opened() as file:
        found = next(elements(file, source.name), None)
    return not (isinstance(found, LeftOut) and found.why.startswith("not JSON:"))


def told(name: str, begins: bytes, source: Source) -> Format | None:
    """
    The format of a file; None if it is none of these.

    Args:
        name: Its name; only its ending counts.
        begins: What it begins with; see `head`.

    Raises:
        Invalid: It is a web page, which some exports have besides; or a database that cannot be read.
    """
    low = name.lower()
    if begins[:500].lstrip(b"\xef\xbb\xbf \t\r\n").lower().startswith((b"<!doctype html", b"<html")):
        raise Invalid(f"{name}: a web page is not imported", hint="Exports have JSON beside it.")
    if low.endswith(MARKDOWN):
        return _of_markdown(begins.decode("utf-8", "replace"), source)
    look = Beginning(source, begins)
    return next((format for format in FORMATS if format.tells(look)), None)


def _of_markdown(text: str, source: Source) -> Format:
    if claude_code.of_memory(source):
        return claude_code.MEMORY
    if echovault.of_vault(text):
        return VAULT
    return BASIC_MEMORY if notes.of_basic_memory(values(split(text))) else PLAIN


def items(format: Format, source: Source, target: ImportTarget) -> Iterator[Read]:
    """What a file brings, or why it brings nothing."""
    nothing = True
    try:
        for one in format.read(source, target):
            nothing = False
            yield one
        if nothing:
            yield left_out(source.name, BLANK, ruled=True)
    except Invalid as error:
        yield left_out(source.name, error)
    except OSError as error:
        yield left_out(source.name, error.strerror or error)
