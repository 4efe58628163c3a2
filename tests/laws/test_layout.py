"""Where the entities of a picture stand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, strategies as st

from memory.web.entities import placed


@given(st.integers(0, 30), st.data())
def test_entities_of_a_picture_stand_inside_it_and_apart(count, data):
    ends = st.integers(0, max(count - 1, 0))
    pairs = data.draw(st.lists(st.tuples(ends, ends), max_size=40)) if count else []

    found = placed(count, pairs)

    assert found == placed(count, pairs)
    assert len(found) == count
    assert all(0 <= value <= 1 for place in found for value in place)
    assert len(set(found)) == count


def test_related_entities_stand_nearer_than_others():
    groups = [range(6), range(6, 12)]
    pairs = [pair for group in groups for pair in combinations(group, 2)]
    at = np.array(placed(12, pairs))

    far = np.linalg.norm(at[:, None] - at[None], axis=2)
    assert max(far[one, other] for one, other in pairs) < min(
        far[one, other] for one in groups[0] for other in groups[1]
    )
