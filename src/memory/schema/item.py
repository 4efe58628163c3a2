"""Items: what a program keeps under keys of its own. What its memory says of that stands in its metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import Invalid, check_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.schema.memory import Json

PLACE_LIMIT = 300
"""Characters of a key, and of a namespace as a path: an index of PostgreSQL takes 2,700 bytes of both."""


def path(labels: Sequence[str]) -> str:
    """
    A namespace as one text: each label ends with a slash, so that what begins with a path is in the namespaces below it.
    A slash in a label is %2F, a percent sign %25.
    """
    return "".join(f"{label.replace('%', '%25').replace('/', '%2F')}/" for label in labels)


def labels(path: str) -> tuple[str, ...]:
    """The opposite."""
    return tuple(label.replace("%2F", "/").replace("%25", "%") for label in path.split("/")[:-1])


def namespace_of(metadata: Mapping[str, Json]) -> str | None:
    """The namespace of an item, as a path; None if this is no item's metadata."""
    namespace = metadata.get("namespace")
    return path([str(label) for label in namespace]) if isinstance(namespace, (list, tuple)) else None


def key_of(metadata: Mapping[str, Json]) -> str | None:
    """The key of an item; None if this is no item's metadata."""
    key = metadata.get("key")
    return key if isinstance(key, str) else None


def check_namespace(namespace: object, *, least: int = 1) -> None:
    """
    Raises:
        Invalid: It is no sequence of at least so many texts, one of them is empty, or together they are too long.
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
        Invalid: It is no text, or is too long.
    """
    check_text("a key", key, PLACE_LIMIT)


def check_item(metadata: Mapping[str, Json]) -> None:
    """
    Raises:
        Invalid: It does not say where an item is kept, or its value is no object.
    """
    check_namespace(metadata.get("namespace"))
    check_key(metadata.get("key"))
    if not isinstance(metadata.get("value", {}), dict):
        raise Invalid("the value of an item is a text or an object", hint='Put a list or a number into one: {"n": 3}.')
