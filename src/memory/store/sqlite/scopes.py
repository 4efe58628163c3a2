"""Scopes as SQL, and ids as masks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeAlias

from memory.schema import np
from memory.schema.draft import tag_key
from memory.schema.kinds import PREFERENCE
from memory.schema.query import ACTIVE, EVERYTHING, FILTERS, NONE, Scope
from memory.store.records import time_bounds
from memory.store.sqlite.rows import chunks, listed
from memory.text.fold import fold
from memory.text.lookup import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import apsw
    from numpy.typing import NDArray

    from memory.schema.answer import Ranking
    from memory.store.records import Row, Values

Members: TypeAlias = "Callable[[apsw.Connection, Scope], NDArray[np.int64] | None]"
"""See `memory.store.sqlite.postings.Postings.members`."""

_SMALLER = {"agent_id": ("sessions", "runs", "projects"), "kind": ("sessions", "runs", "projects", "agents")}
"""Filters that leave fewer memories than that of a column; SQLite, which has no counts of them, would take any."""


_RARE = ("source", "category")
"""Of most values there are many: an index of these is taken only where it leaves few memories."""

_INDEXED = ("query_id", "task_code", "session_id", "agent_id", "project", "kind", *_RARE)

FEW, FEW_SHARE = 20_000, 20
"""Of more memories, or of a twentieth of all, what stands in an index is no help against the one by time, which has all."""


def rarest(db: apsw.Connection, scope: Scope) -> str | None:
    """The column whose values in scope the fewest memories have; None if no column has few."""
    counts: dict[str, int] = {}
    few = min(FEW, chunks(db) // FEW_SHARE)
    for column in _INDEXED:
        allowed = getattr(scope, FILTERS[column])
        if allowed and not (column == "project" and NONE in allowed):
            counted = f"select 1 from memories where {column} in (select value from json_each(?)) limit {few + 1}"
            counts[column] = db.execute(f"select count(*) from ({counted})", (json.dumps(sorted(allowed)),)).get
    found = min(counts, key=lambda column: counts[column], default=None)
    return found if found is not None and counts[found] <= few else None


def where(scope: Scope, by: str | None = None) -> tuple[str, Values]:
    """
    The one place a scope becomes SQL: a condition over memories as m, and its values.

    Args:
        by: The column to look up in an index, or to walk by, and no other; see `rarest`. None leaves it to SQLite.
    """
    clauses: dict[str, Values] = {}
    for column, name in FILTERS.items():
        if allowed := getattr(scope, name):
            # With a plus, the column is not looked up in an index (https://sqlite.org/optoverview.html#disqualifying_where_clause_terms_using_unary_)
            common = by or column in _RARE or any(getattr(scope, other) for other in _SMALLER.get(column, ()))
            plus = "+" if common and column != by else ""
            clause = f"{plus}m.{column} in (select value from json_each(?))"
            clause = f"({clause} or m.{column} is null)" if NONE in allowed else clause
            clauses[clause] = [json.dumps(sorted(allowed))]
    if scope.categories == PREFERENCES:
        clauses["m.category = 'preference'"] = []  # in plain text: their index is not taken for a bound value
    if scope.among is not None:
        clauses["m.id in (select value from json_each(?))"] = [listed(sorted(scope.among))]
    if scope.pinned:
        clauses["m.pinned = 1"] = []
    if scope.tags:
        wanted = sorted(map(tag_key, scope.tags))
        key = "lower" if all(map(str.isascii, wanted)) else "tag_key"  # SQLite's own knows no other letters
        own = f"iif(had.type = 'text', {key}(had.value), had.value)"
        had = f"select {own} from json_each(iif(json_valid(m.tags), m.tags, '[]')) had"
        lacking = f"select 1 from json_each(?) wanted where wanted.value not in ({had})"
        clauses[f"not exists ({lacking})"] = [json.dumps(wanted)]
    if without := unwanted(scope):
        clauses[f"m.id not in (select memory_id from chunks where id in ({HOLDING}))"] = [" OR ".join(without)]
    if any((scope.since, scope.until, scope.happened_since, scope.happened_until)):
        clauses |= {f"{compared} ?": [moment] for compared, moment in time_bounds(scope)}
    return " and ".join(clauses) or "1", [value for values in clauses.values() for value in values]


def unwanted(scope: Scope) -> list[str]:
    """The words and phrases that no memory in scope holds, as FTS5 is asked for each."""
    return [f'"{" ".join(words)}"' for words in (spelled(fold(one)) for one in sorted(scope.without)) if words]


HOLDING = "select rowid from passages_fts where passages_fts match ?"


def within(db: apsw.Connection, scope: Scope, most: int | None = None) -> list[int] | None:
    """The ids of the memories in scope; None if there are more than `most`."""
    condition, values = where(scope, rarest(db, scope))
    sql = f"select m.id from memories m where {condition} limit ?"
    found = ids(db, sql, *values, -1 if most is None else most + 1)
    return None if most is not None and len(found) > most else found


def ids(db: apsw.Connection, sql: str, *values: Any) -> list[int]:
    rows: Iterable[Row] = db.execute(sql, values)
    return [id for (id,) in rows]


BROAD = (ACTIVE, EVERYTHING)
"""Scopes that nearly every memory is in, so that it pays to rank first and filter what was ranked."""

FEW_SUPERSEDED = 200
"""If no more memories than so many are superseded, to read which takes less time than to look at what was ranked."""

SUPERSEDED = "m.status = 'superseded'"
"""In plain text: the index of these is not taken for a bound value."""


def inside(db: apsw.Connection, ranking: Ranking, scope: Scope) -> Ranking:
    """Of a ranking of memories that are there, what is in a broad scope."""
    if scope == EVERYTHING:
        return ranking
    superseded = ids(db, f"select m.id from memories m where {SUPERSEDED} limit ?", FEW_SUPERSEDED + 1)
    if scope == ACTIVE and not superseded:
        return ranking
    ranked = {*ranking.memories}
    if scope == ACTIVE and len(superseded) <= FEW_SUPERSEDED:
        among = ranked.difference(superseded)
    else:
        condition, values = where(scope)
        rows: Iterable[Row] = db.execute(
            f"select m.id from json_each(?) w cross join memories m on m.id = w.value where {condition}",
            (listed(ranked), *values),
        )
        among = {id for (id,) in rows}
    if len(among) == len(ranked):
        return ranking
    return ranking.at([place for place, memory in enumerate(ranking.memories) if memory in among])


PREFERENCES = frozenset({PREFERENCE})

SPARSE = 8  # times as high as there are many, ids need no mask


def chosen(ids: NDArray[np.int64], some: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
    """
    A mask of the ids that are among some: as `np.isin`, in a fifth of its time where ids are dense.

    Args:
        ids: Shape (n,), not negative.
        some: Not negative, in any order.
    """
    wanted = np.asarray(some, np.int64)
    most = int(wanted.max(initial=0))
    if most > SPARSE * len(ids):
        return np.isin(ids, wanted)
    mask = np.zeros(most + 2, np.bool_)  # its end stands for all higher ids
    mask[wanted] = True
    found: NDArray[np.bool_] = mask.take(ids, mode="clip")
    return found
