"""Short texts with tags and times, as other servers of memories keep them: a note each, from JSON or a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.carry.formats.items import LeftOut, left_out, one_line
from memory.carry.formats.reading import elements
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, Invalid
from memory.store.sqlite import foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from memory.carry.formats.items import ImportTarget, Item, Read
    from memory.carry.formats.reading import Source

    Row = Mapping[str, Any]
    Parser = Callable[[Row, ImportTarget], Item]


def of_json(source: Source, target: ImportTarget, parse: Parser, *keys: str) -> Iterator[Read]:
    with source.opened() as file:
        for number, found in enumerate(elements(file, source.name, *keys)):
            yield found if isinstance(found, LeftOut) else _made(f"{source.name}[{number}]", found, target, parse)


def rows(found: Iterable[Row], name: str, target: ImportTarget, parse: Parser) -> Iterator[Read]:
    """The memories of a database."""
    for number, row in enumerate(found, start=1):
        yield _made(f"{name}, row {number}", row, target, parse)


def database(source: Source, table: str, columns: tuple[str, ...], order: str) -> Iterator[Row]:
    """
    The rows of a database.

    Raises:
        Invalid: It is in an archive, or cannot be read.
    """
    if source.path is None:
        raise Invalid(f"{source.name}: a database is read from a file of its own", hint="Unpack it.")
    return foreign.rows(source.path, table, columns, order)


def _made(place: str, row: Row, target: ImportTarget, parse: Parser) -> Read:
    try:
        return parse(row, target)
    except Invalid as error:
        return left_out(place, error)


def facts_of(metadata: object) -> dict[str, Any]:
    return metadata if isinstance(metadata, dict) else {}


def draft_of(
    text: str, program: str, target: ImportTarget, *, tags: tuple[str, ...], facts: Row, category: str | None = None
) -> Draft:
    """A short text without secrets as a note; what is longer than a line may be goes to its details."""
    text = text.strip()
    long = len(text) > LINE_LIMIT
    return Draft(
        title=one_line(text),
        what=f"{text[: LINE_LIMIT - 1]}…" if long else text,
        body=text if long else "",
        category=category,
        tags=tags,
        metadata=dict(facts),
        project=target.of(None),
        source=program,
    )
