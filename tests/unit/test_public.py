"""What the library offers: the names that `memory` lists, each of which is there."""

from __future__ import annotations

import memory


def test_the_library_lists_what_is_public_and_nothing_else() -> None:
    import memory.engine  # a module that was imported is not public for that

    assert dir(memory) == sorted(memory.__all__)
    assert "engine" in vars(memory)


def test_what_is_listed_is_there() -> None:
    assert [name for name in dir(memory) if not hasattr(memory, name)] == []
