"""Which vector of an answer belongs to which text, of servers that say so in ways of their own."""

from __future__ import annotations

import pytest

from memory.vectors.providers.servers import _order


@pytest.mark.parametrize(
    ("said", "order"),
    [
        ([0, 1, 2], [0, 1, 2]),
        ([2, 0, 1], [1, 2, 0]),
        (["2", "0", "1"], [1, 2, 0]),
        ([None, None], [0, 1]),
        ([0, 0, 0], [0, 1, 2]),
        (["0", "0"], [0, 1]),
        ([7], [0]),
        ([], []),
        ([0, 0, 1], None),
        ([1, 2, 3], None),
        ([0, None], None),
        (["a", 1], None),
        ([0, 2], None),
        ([True, False], [0, 1]),
    ],
)
def test_places_are_taken_where_they_are_clear(said: list[object], order: list[int] | None) -> None:
    found = _order(said)

    assert (found if found is None else list(found)) == order
