"""Entities and relations as rows, as given and as answered, with the field names of other graph memories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeGuard, TypeVar

from memory.engine.graph import short_id
from memory.schema.answer import Notice
from memory.schema.draft import Draft
from memory.schema.errors import (
    TITLE_LIMIT,
    Ambiguous,
    Invalid,
    NotFound,
    check_text,
    checked_name,
    clipped_repr,
    placed,
)
from memory.schema.kinds import Kind
from memory.text.markdown import checked, listed
from memory.tools.arguments import Parameter, Schema, brief, record, several
from memory.tools.render import data
from memory.tools.render.data import row

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.schema.memory import Embedding, Memory, MemoryId

One = TypeVar("One")

Name: TypeAlias = "int | str"
"""An entity's name, its id, its uid or the beginning of its uid; names come first."""

Values: TypeAlias = "dict[str, Any]"
"""JSON values by name."""

Given: TypeAlias = "Sequence[Mapping[str, Any]]"
"""Rows as a caller gives them."""

BATCH = 1000
"""Rows of one call, which is one transaction."""

PAGE = 1000  # entities, relations, links that are read together

HINTS = 3
"""Unknown names for which the nearest known one is looked up."""

STATES = ("generated", "pending", "outdated", "failed", "excluded")
"""Of an entity's vectors; see `status`."""

_NAMED = "id=uid memory_id=id:number uid name=title entityType=category:text?"
_DATED = "created_at:real updated_at:real flags:texts"
_ENTITY = f"{_NAMED} embedding_status {_DATED}"
SHAPES: dict[str, Schema] = {
    "entity": record(_ENTITY),
    "entities": several(record(_ENTITY)),
    "grown": several(record(f"{_ENTITY} added:texts known:texts")),
    "known": several(record(f"{_ENTITY} observations:texts")),
    "found": several(record(f"{_ENTITY} observations:texts score:real")),
    "alike": several(record(f"{_ENTITY} score:real similarity:real?")),
    "near": several(record(f"{_ENTITY} observations:texts score:real similarity:real? distance:number? keyword:real")),
    "names": several(record("id memory_id:number uid name")),
    "failed": several(record("id memory_id:number name error")),
    "references": several({"type": ["string", "integer"]}),
}
"""The shapes of the graph's rows, by the names that declarations use. `relate` adds that of a relation."""

# What rows take ----------------------------------------------------------


def taken(name: str, meaning: str, *fields: Parameter) -> Parameter:
    return brief(name, "objects", meaning, required=True, fields=fields)


ENTITIES = taken(
    "entities",
    "The entities.",
    brief("name", "string", "Its name, one line; no two entities share one.", required=True),
    brief("entityType", "string", "What kind of thing it is, in a word.", also=("entity_type",)),
    brief("observations", "strings", "What is known about it.", whole=True, also=("obs",)),
    Parameter("embed", "boolean", "False: no model reads it."),
)
_OF = brief("entityName", "id", "The entity's name or id.", required=True, also=("entity", "name"))
OBSERVATIONS = taken(
    "observations",
    "What to add, by entity.",
    _OF,
    brief("contents", "strings", "Short facts.", whole=True, required=True, also=("observations", "obs")),
)
DELETIONS = taken(
    "deletions",
    "What to remove, by entity.",
    _OF,
    brief("observations", "strings", "The facts.", whole=True, required=True, also=("contents", "obs")),
)


class Described(NamedTuple):
    """
    An entity as it is given.

    Attributes:
        embed: False: never embed it. True takes that back; None leaves it as it is.
    """

    name: str
    type: str | None
    observations: tuple[str, ...]
    embed: bool | None


def described(given: object) -> list[Described]:
    """
    Raises:
        Invalid: It is not a list of entities; the message names the place.
    """
    found = []
    for place, values in objects(ENTITIES, given):
        name, type, known, embed = values.values()
        one = Described(called(f"{place}.name", name), (type or "").strip() or None, known, embed)
        with placed(f"{place}, {clipped_repr(one.name)}"):  # more may be known of it than there is room for
            Draft(kind=Kind.ENTITY, title=one.name, category=one.type, body=listed(one.observations))
        found.append(one)
    return found


def called(what: str, given: str) -> str:
    """
    A name as it is stored.

    Raises:
        Invalid: It is blank, too long, or has several lines.
    """
    name = given.strip()
    check_text(what, name, TITLE_LIMIT)
    if not name or "\n" in name or "\r" in name:
        raise Invalid(f"{what} is one line of text, not {clipped_repr(given)}", hint="Put the rest into observations.")
    return name


def told(taken: Parameter, given: object) -> list[tuple[Name, tuple[str, ...]]]:
    """
    Observations by entity.

    Args:
        taken: OBSERVATIONS or DELETIONS.

    Raises:
        Invalid: It is not such a list; the message names the place.
    """
    found = (values.values() for _, values in objects(taken, given))
    return [(entity, texts) for entity, texts in found]


def references(what: str, given: object) -> list[Name]:
    """
    Names, ids or uids, each once.

    Raises:
        Invalid: It is not a list of them.
    """
    if not _several(given) or not all(map(_reference, given)):
        raise Invalid(f"{what} must be a list of names or ids, not {clipped_repr(given)}")
    return list(dict.fromkeys(given))


def check_flag(name: str, value: object) -> None:
    """
    Raises:
        Invalid: It is neither true nor false.
    """
    if not isinstance(value, bool):
        raise Invalid(f"{name} is true or false, not {clipped_repr(value)}")


def objects(taken: Parameter, given: object) -> list[tuple[str, Values]]:
    """
    The rows given for an argument, with their places. Each has all the fields, by their first names; None where one is left out.

    Raises:
        Invalid: It is not a list of such rows, or a row has an unknown field, or the same field twice.
    """
    if not _several(given):
        raise Invalid(f"{taken.name} must be a list of objects, not {clipped_repr(given)}")
    if len(given) > BATCH:
        raise Invalid(f"{taken.name} are {len(given):,}; at most {BATCH:,} are taken at a time")
    named = [(f"{taken.name}[{number}]", row) for number, row in enumerate(given)]
    found = [(place, _named(place, row, taken.fields)) for place, row in named]
    return [(place, _values(place, values, taken.fields)) for place, values in found]


def _named(place: str, row: object, fields: Sequence[Parameter]) -> Values:
    """A row by the first names of its fields, each of which has aliases."""
    if not isinstance(row, Mapping):
        raise Invalid(f"{place} must be an object, not {clipped_repr(row)}")
    for name in row:
        if not any(name == one.name or name in one.also for one in fields):
            takes = ", ".join(one.name for one in fields)
            raise Invalid(f"{place} has no field {clipped_repr(name)}", hint=f"It takes {takes}.")
    values = {}
    for one in fields:
        names = [name for name in (one.name, *one.also) if row.get(name) is not None]
        if len(names) > 1:
            raise Invalid(f"{place} has the same field twice: {' and '.join(names)}")
        values[one.name] = row[names[0]] if names else None
    return values


def _values(place: str, values: Values, fields: Sequence[Parameter]) -> Values:
    found = dict(values)
    # Ids come last: for a row that is no relation at all, the missing type says more than a missing end.
    for one in sorted(fields, key=lambda one: one.sort == "id"):
        found[one.name] = _value(place, one, values[one.name])
    return found


def _value(place: str, one: Parameter, value: Any) -> Any:
    match one.sort:
        case "strings" if one.required and value is None:
            raise Invalid(f"{place} needs {one.name}, a list of texts")
        case "strings":
            return _texts(f"{place}.{one.name}", value if one.required else value or ())
        case "id" if not _reference(value):
            wanted = f"{place} needs {one.name}, the name or id of an entity"
        case "string" if one.required and not (isinstance(value, str) and value.strip()):
            wanted = f"{place} needs a {one.name}, a text"
        case "string" if not isinstance(value, str | None):
            wanted = f"{place}.{one.name} must be text"
        case "boolean" if not isinstance(value, bool | None):
            wanted = f"{place}.{one.name} must be true or false"
        case "string" if one.named:
            return checked_name(f"{place}.{one.name}", value)
        case _:
            return value
    raise Invalid(f"{wanted}, not {clipped_repr(value)}", hint=one.meaning)


def _several(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _reference(value: object) -> bool:
    return isinstance(value, (int, str)) and not isinstance(value, bool)


def _texts(place: str, texts: object) -> tuple[str, ...]:
    if not _several(texts):
        raise Invalid(f"{place} must be a list of texts, not {clipped_repr(texts)}")
    with placed(place):
        return tuple(checked(texts))


# What is answered --------------------------------------------------------


def paged(found: Iterator[One], size: int = PAGE) -> Iterator[list[One]]:
    """A page at a time, so that what belongs to its items can be read together."""
    while page := list(islice(found, size)):
        yield page


def entity_rows(engine: Engine, entities: Sequence[Memory], *, observations: bool = True) -> list[Values]:
    """Entities, with or without their observations; times in seconds since 1970."""
    embeddings = engine.vectors.embeddings(entities)
    known = engine.graph.known(entities) if observations else {}
    return [
        row(one, _NAMED)
        | ({"observations": list(known[one.id])} if observations else {})
        | {"embedding_status": status(one, embeddings[one.id])}
        | row(one, _DATED)
        for one in entities
    ]


def states(engine: Engine, entities: Sequence[Memory]) -> dict[MemoryId, str]:
    """The `status` of each, by its id."""
    embeddings = engine.vectors.embeddings(entities)
    return {one.id: status(one, embeddings[one.id]) for one in entities}


def status(memory: Memory, embedding: Embedding) -> str:
    """
    Whether an entity can be found by meaning: "generated", "pending", "failed", "excluded" or "outdated". The
    last means that it waits and was changed since it was created, or that its vectors are from another model.
    """
    if memory.keyword_only:
        return "excluded"
    state = "pending" if embedding.state == "none" else embedding.state
    return "outdated" if state == "pending" and memory.updated_at > memory.created_at else state


def looked_up(engine: Engine, names: object) -> tuple[list[tuple[Name, Memory]], list[Name]]:
    """
    Entities, each once, with the first name that asked for it; and the unknown names.

    Raises:
        Ambiguous: A name could be several entities.
    """
    wanted = references("names", names)
    found: dict[MemoryId, tuple[Name, Memory]] = {}
    missing = []
    for name, one in zip(wanted, engine.graph.looked_up(wanted), strict=True):
        match one:
            case NotFound():
                missing.append(name)
            case Ambiguous():
                raise one
            case _:
                found.setdefault(one.id, (name, one))
    return list(found.values()), missing


def shown(engine: Engine, values: Values) -> Values:
    """An answer with the ids that people and agents see; a memory that is gone has the shortest."""
    rows = [row for row in values.values() for row in (row if isinstance(row, list) else [row]) if _numbered(row)]
    known = engine.graph.there([row["memory_id"] for row in rows])
    names = {row["id"]: short_id(row["id"]) for row in rows} | {one.uid: one.short_id for one in known.values()}

    def named(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(named, value))
        return value | {"id": names[value["id"]]} if _numbered(value) else value

    return {name: named(value) for name, value in values.items()}


def _numbered(value: object) -> bool:
    return isinstance(value, dict) and "memory_id" in value


def unknown(engine: Engine, names: Sequence[Name]) -> list[Values]:
    """Notices of unknown names, with the nearest known one."""
    suggestion = engine.graph.suggestion
    return data.notices(tuple(Notice(f"no entity {clipped_repr(name)}", suggestion(name)) for name in names[:HINTS]))
