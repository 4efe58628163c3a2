"""What a caller says of entities and relations, as mappings, looked through before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from memory.engine.graph import Edge
from memory.schema.draft import Draft
from memory.schema.errors import Invalid
from memory.schema.kinds import Kind
from memory.schema.limits import NAME_LIMIT, TITLE_LIMIT, check_text, clipped_repr
from memory.text.observations import checked, listed

Rows: TypeAlias = "Sequence[Mapping[str, Any]]"

NAME = ("name",)
TYPE = ("entityType", "entity_type")
OBSERVATIONS = ("observations", "obs")
EMBED = ("embed",)
SOURCE = ("from", "source")
TARGET = ("to", "target")
RELATION = ("relationType", "relation", "type")
ENTITY = ("entityName", "entity", "name")
CONTENTS = ("contents", "observations", "obs")
"""Each field with the other names that it goes by elsewhere; answers have the first."""

BATCH = 1000
"""Rows of one call: it is one transaction."""


class Described(NamedTuple):
    """
    An entity as it is given.

    Attributes:
        embed: False keeps it from being embedded for good, True takes that back; None leaves it as it is.
    """

    name: str
    type: str | None
    observations: tuple[str, ...]
    embed: bool | None


class Told(NamedTuple):
    """Observations on one entity."""

    entity: int | str
    texts: tuple[str, ...]


def flag(name: str, value: object) -> None:
    """
    Raises:
        Invalid: It is neither true nor false.
    """
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false, not {clipped_repr(value)}")


def entities(rows: object) -> list[Described]:
    """
    Raises:
        Invalid: It is no list of entities; the sentence names the place.
    """
    found = []
    for place, row in _rows("entities", rows, (NAME, TYPE, OBSERVATIONS, EMBED)):
        name, type, embed = _of(row, NAME), _of(row, TYPE), _of(row, EMBED)
        if not isinstance(name, str) or not name.strip():
            raise Invalid(f"{place} needs a name, a text, not {clipped_repr(name)}")
        if type is not None and not isinstance(type, str):
            raise Invalid(f"{place}.entityType must be text, not {clipped_repr(type)}")
        if embed is not None and not isinstance(embed, bool):
            raise Invalid(f"{place}.embed must be true or false, not {clipped_repr(embed)}")
        known = _texts(f"{place}.observations", _of(row, OBSERVATIONS) or ())
        found.append(Described(called(f"{place}.name", name), (type or "").strip() or None, known, embed))
        _check(place, found[-1])
    return found


def called(what: str, given: str) -> str:
    """
    A name as it is kept.

    Raises:
        Invalid: It is blank, too long, or has several lines.
    """
    name = given.strip()
    check_text(what, name, TITLE_LIMIT)
    if not name or "\n" in name or "\r" in name:
        raise Invalid(f"{what} is one line of text, not {clipped_repr(given)}", hint="Put the rest into observations.")
    return name


def _check(place: str, one: Described) -> None:
    """
    Raises:
        Invalid: No entity can be like that: more is known than there is room for.
    """
    try:
        Draft(kind=Kind.ENTITY, title=one.name, category=one.type, body=listed(one.observations))
    except Invalid as error:
        raise Invalid(f"{place}, {clipped_repr(one.name)}: {error}", hint=error.hint) from error


def relations(rows: object) -> list[Edge]:
    """
    Raises:
        Invalid: It is no list of relations; the sentence names the place.
    """
    found = []
    for place, row in _rows("relations", rows, (SOURCE, TARGET, RELATION)):
        type = _of(row, RELATION)
        if not isinstance(type, str):
            raise Invalid(
                f"{place} needs a relationType, a text, not {clipped_repr(type)}", hint='Say how: "depends_on".'
            )
        check_text(f"{place}.relationType", type, NAME_LIMIT)
        found.append(Edge(_entity(place, row, SOURCE), _entity(place, row, TARGET), type))
    return found


def told(what: str, rows: object) -> list[Told]:
    """
    Observations by entity.

    Args:
        what: The name of the argument.

    Raises:
        Invalid: It is no such list; the sentence names the place.
    """
    found = []
    for place, row in _rows(what, rows, (ENTITY, CONTENTS)):
        if (texts := _of(row, CONTENTS)) is None:
            raise Invalid(f"{place} needs contents, a list of texts")
        found.append(Told(_entity(place, row, ENTITY), _texts(f"{place}.contents", texts)))
    return found


def references(what: str, given: object) -> list[int | str]:
    """
    Names, ids or uids, each once.

    Raises:
        Invalid: It is no list of them.
    """
    if isinstance(given, (str, Mapping)) or not isinstance(given, Sequence) or not all(map(_reference, given)):
        raise Invalid(f"{what} must be a list of names or ids, not {clipped_repr(given)}")
    return list(dict.fromkeys(given))


def _rows(what: str, rows: object, fields: tuple[tuple[str, ...], ...]) -> list[tuple[str, Mapping[str, Any]]]:
    """The rows with their places, once it is known that they have no other fields, and none twice."""
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Sequence):
        raise Invalid(f"{what} must be a list of objects, not {clipped_repr(rows)}")
    if len(rows) > BATCH:
        raise Invalid(f"{what} are {len(rows):,}; at most {BATCH:,} are taken at a time")
    found = [(f"{what}[{number}]", row) for number, row in enumerate(rows)]
    for place, row in found:
        if not isinstance(row, Mapping):
            raise Invalid(f"{place} must be an object, not {clipped_repr(row)}")
        for name in row:
            if not any(name in names for names in fields):
                takes = ", ".join(names[0] for names in fields)
                raise Invalid(f"{place} has no field {clipped_repr(name)}", hint=f"It takes {takes}.")
        for names in fields:
            if len(twice := [name for name in names if row.get(name) is not None]) > 1:
                raise Invalid(f"{place} has the same twice: {' and '.join(twice)}")
    return found


def _of(row: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _entity(place: str, row: Mapping[str, Any], names: tuple[str, ...]) -> int | str:
    value = _of(row, names)
    if not _reference(value):
        raise Invalid(f"{place} needs {names[0]}, the name or id of an entity, not {clipped_repr(value)}")
    found: int | str = value
    return found


def _reference(value: object) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _texts(place: str, texts: object) -> tuple[str, ...]:
    if isinstance(texts, (str, Mapping)) or not isinstance(texts, Sequence):
        raise Invalid(f"{place} must be a list of texts, not {clipped_repr(texts)}")
    try:
        return tuple(checked(texts))
    except Invalid as error:
        raise Invalid(f"{place}: {error}", hint=error.hint) from error
