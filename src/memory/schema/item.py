"""
Items: values that a program saves under its own keys, and conditions on them. Key and value are in the metadata of the
item's memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.errors import Invalid, check_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.schema.memory import Json

PLACE_LIMIT = 300
"""
Characters of a key, and of a namespace as a path: an index entry of PostgreSQL holds at most 2,700 bytes for both.
"""


def path(labels: Sequence[str]) -> str:
    """
    A namespace as one text. Each label ends with a slash, so all namespaces below it begin with its path. A slash in a
    label becomes %2F, a percent sign %25.
    """
    return "".join(f"{label.replace('%', '%25').replace('/', '%2F')}/" for label in labels)


def labels(path: str) -> tuple[str, ...]:
    """The labels of a path; the inverse of `path`."""
    return tuple(label.replace("%2F", "/").replace("%25", "%") for label in path.split("/")[:-1])


def namespace_of(metadata: Mapping[str, Json]) -> str | None:
    """The namespace of an item, as a path; None if the metadata is not an item's."""
    namespace = metadata.get("namespace")
    return path([str(label) for label in namespace]) if isinstance(namespace, (list, tuple)) else None


def key_of(metadata: Mapping[str, Json]) -> str | None:
    """The key of an item; None if the metadata is not an item's."""
    key = metadata.get("key")
    return key if isinstance(key, str) else None


def check_namespace(namespace: object, *, least: int = 1) -> None:
    """
    Raises:
        Invalid: It is not a sequence of at least `least` texts, one of them is empty, or together they are too long.
    """
    if not isinstance(namespace, (list, tuple)) or len(namespace) < least:
        raise Invalid(f"a namespace is a tuple of texts, not {namespace!r:.80}", hint='For example ("users", "ann").')
    for label in namespace:
        check_text("a label of a namespace", label, PLACE_LIMIT)
        if not label:
            raise Invalid("a label of a namespace is empty", hint="Leave it out, or give it a name.")
    check_text("a namespace", path(namespace), PLACE_LIMIT)


def check_key(key: object) -> None:
    """
    Raises:
        Invalid: It is not text, or is too long.
    """
    check_text("a key", key, PLACE_LIMIT)


def check_item(metadata: Mapping[str, Json]) -> None:
    """
    Raises:
        Invalid: The namespace or the key is missing, or the value is not an object.
    """
    check_namespace(metadata.get("namespace"))
    check_key(metadata.get("key"))
    if not isinstance(metadata.get("value", {}), dict):
        raise Invalid("the value of an item is a text or an object", hint='Put a list or a number into one: {"n": 3}.')


# Conditions on values: the filters of `memory.KeyedStore.search` -----------------------


def condition(filter: Mapping[str, Any]) -> Callable[[object], bool]:
    """
    A function that says whether a value meets a filter; see `memory.KeyedStore.search`.

    Raises:
        Invalid: There is no such operator, or $in has no list.
    """
    if not isinstance(filter, dict):
        raise Invalid(f"a filter is an object of fields and values, not {filter!r:.80}")
    _check(filter)
    return lambda value: isinstance(value, dict) and all(equal(value.get(name), one) for name, one in filter.items())


def _check(wanted: object) -> None:
    for name, one in wanted.items() if isinstance(wanted, dict) else ():
        if isinstance(name, str) and name.startswith("$"):
            if name not in OPERATORS:
                raise Invalid(f"no operator {name}", hint=f"One of {', '.join(OPERATORS)}.")
            if name == "$in" and not isinstance(one, (list, tuple)):
                raise Invalid(f"$in needs a list, not {one!r:.80}")
        else:
            _check(one)


def equal(value: object, wanted: object) -> bool:
    """
    Whether a JSON value equals another one or meets its operators. Of an object, only the fields that `wanted` names
    count.
    """
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(OPERATORS[name](value, one) for name, one in wanted.items())
        return isinstance(value, dict) and all(equal(value.get(name), one) for name, one in wanted.items())
    if isinstance(wanted, (list, tuple)):
        if not isinstance(value, (list, tuple)) or len(value) != len(wanted):
            return False
        return all(equal(one, other) for one, other in zip(value, wanted, strict=True))
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted


def comparable(value: object, other: object) -> bool:
    """Whether both are numbers, or both are texts."""
    numbers = isinstance(value, (int, float)) and isinstance(other, (int, float))
    return (numbers and not isinstance(value, bool)) or (isinstance(value, str) and isinstance(other, str))


OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": equal,
    "$ne": lambda value, other: not equal(value, other),
    "$gt": lambda value, other: comparable(value, other) and value > other,
    "$gte": lambda value, other: comparable(value, other) and value >= other,
    "$lt": lambda value, other: comparable(value, other) and value < other,
    "$lte": lambda value, other: comparable(value, other) and value <= other,
    "$in": lambda value, others: any(equal(value, one) for one in others),
}
