"""What a client may attach by its address: the context, one memory, the state."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote

from memory.operations.render import care_data, recall
from memory.schema.errors import NotFound
from memory.schema.query import around

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.engine import Engine

_BY_ID = "memory://memory/"


class Resource(NamedTuple):
    """
    Attributes:
        uri: Its address, or the template of one.
        read: Its text, given the engine, after the address and the client's project.
        of_project: Whether it depends on the client's project.
    """

    uri: str
    name: str
    description: str
    mime: str
    read: Callable[[str, str | None, Engine], str]
    of_project: bool = False


def _context(_uri: str, project: str | None, engine: Engine) -> str:
    found = engine.context(scope=around(project), beside=partial(recall.beside, project=project))
    return recall.context(found, project=project, empty="Nothing is kept here yet.")


def _memory(uri: str, _project: str | None, engine: Engine) -> str:
    found = engine.documents.details(unquote(uri.removeprefix(_BY_ID)))
    return recall.details(found, found.body)


def _status(_uri: str, _project: str | None, engine: Engine) -> str:
    return json.dumps(care_data.status(engine.maintenance.status(), engine.config.database), ensure_ascii=False)


MEMORY = Resource(
    f"{_BY_ID}{{id}}", "memory", "One memory with its details, by its id or uid.", "text/markdown", _memory
)
FIXED = (
    Resource(
        "memory://context",
        "context",
        "What is known of the current project: read before starting.",
        "text/markdown",
        _context,
        of_project=True,
    ),
    Resource("memory://status", "status", "How much is kept, and what is wrong.", "application/json", _status),
)


def named(uri: str) -> Resource:
    """
    Raises:
        NotFound: There is no such resource.
    """
    if found := next((one for one in FIXED if one.uri == uri), None):
        return found
    if uri.startswith(_BY_ID) and len(uri) > len(_BY_ID):
        return MEMORY
    addresses = ", ".join([*(one.uri for one in FIXED), MEMORY.uri])
    raise NotFound(f"no resource {uri[:100]!r}", hint=f"There are: {addresses}.")
