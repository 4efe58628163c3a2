"""Memories that one statement inserts have the short ids that they would have if each were inserted by itself."""

from __future__ import annotations

from bisect import bisect

from hypothesis import given, strategies as st

from memory.store.records import COLUMNS, together

uids = st.lists(st.text("01", min_size=4, max_size=4), unique=True, min_size=1, max_size=12)


def row(uid: str, there: list[str]) -> tuple:
    """As a statement returns it that sees those that are there."""
    place = bisect(there, uid)
    beside = (there[place - 1] if place else None, there[place] if place < len(there) else None)
    return (*(uid if name == "uid" else name for name in COLUMNS), None, None, *beside, None, None)


@given(uids, st.data())
def test_rows_of_one_statement_are_as_if_each_were_inserted_by_itself(uids, data) -> None:
    first = data.draw(st.integers(0, len(uids) - 1))
    there, new = sorted(uids[:first]), uids[first:]
    wanted = [row(uid, sorted(uids[: first + number])) for number, uid in enumerate(new)]

    assert list(together(row(uid, there) for uid in new)) == wanted
