"""
Time the searches of your own program, by the documented names.

    @log_timing("vector_search_fine")
    def search(question): ...

    search_stats.record_query("search_fine_report", elapsed, len(results), {"limit": 10, "filters": {"agent_id": "a"}})
    memory.get_search_statistics()["p95_time"]

The engine times and remembers its own searches without this.
"""

from __future__ import annotations

import functools
import logging
import math
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from memory.schema.answer import Searched
from memory.schema.errors import NAME_LIMIT, Invalid, check_text, clipped_repr

if TYPE_CHECKING:
    from memory.engine import Engine

Given = ParamSpec("Given")
Result = TypeVar("Result")

LOGGER = "memory.timing"
OWN = "own"  # the tier of a search that was not the engine's


def log_timing(operation: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """
    A decorator that logs how long each call takes, even if it raises: level DEBUG, logger `memory.timing`.

    Args:
        operation: The name in the log.
    """

    def decorated(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @functools.wraps(function)
        def timed(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            begun, how = perf_counter(), "failed after"
            try:
                result = function(*args, **kwargs)
                how = "took"
            finally:
                logging.getLogger(LOGGER).debug("%s %s %.3f s", operation, how, perf_counter() - begun)
            return result

        return timed

    return decorated


class SearchStats:
    """Remembers the searches of your own program among those of an engine."""

    def __init__(self, engine: Engine | None = None) -> None:
        """
        Args:
            engine: None opens the user's memory for each search.
        """
        self._engine = engine

    def record_query(
        self, query_type: str, elapsed: float, result_count: int, metadata: Mapping[str, Any] | None = None
    ) -> None:
        """
        Remember a search: `get_search_statistics` and `memory stats` count it.

        Args:
            query_type: E.g. "search_fine_report".
            elapsed: Seconds.
            metadata: Only `limit` and the names of `filters` are saved, never their values.

        Raises:
            Invalid: One of them is not valid. Nothing was saved.
        """
        fields = _fields(query_type, elapsed, result_count, {} if metadata is None else metadata)
        if self._engine is not None:
            return _remember(self._engine, fields)
        from memory.engine import Engine

        with Engine.open(lasting=False) as engine:  # only now: what is no such thing opens nothing
            return _remember(engine, fields)


def _fields(type: str, elapsed: float, results: int, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `Searched` but its moment."""
    check_text("query_type", type, NAME_LIMIT)
    if not type.strip() or len(type.split()) > 1:  # it is a word of a line
        raise Invalid(f"query_type is one word such as search_fine_report, not {clipped_repr(type)}")
    if isinstance(elapsed, bool) or not isinstance(elapsed, int | float) or not 0 <= elapsed < math.inf:
        raise Invalid(f"elapsed is a number of seconds, not {clipped_repr(elapsed)}")
    if not isinstance(metadata, Mapping):
        raise Invalid(f"metadata must be values by name, not {clipped_repr(metadata)}")
    limit, filters = metadata.get("limit"), metadata.get("filters")
    limit, filters = 0 if limit is None else limit, {} if filters is None else filters
    if not isinstance(filters, (Mapping, list, tuple, set, frozenset)):
        raise Invalid(f"metadata.filters must be values by name, or names, not {clipped_repr(filters)}")
    for name, count in (("result_count", results), ("limit", limit)):
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise Invalid(f"{name} is a whole number, not {clipped_repr(count)}")
    names = tuple("_".join(str(name).split()) for name in filters)
    return {"type": type.strip(), "seconds": float(elapsed), "limit": limit, "results": results, "filters": names}


def _remember(engine: Engine, fields: Mapping[str, Any]) -> None:
    engine.searches.record(Searched(engine.now(), tier=OWN, **fields), mode=OWN, outcome=OWN)


search_stats = SearchStats()
"""Records into the user's memory."""
