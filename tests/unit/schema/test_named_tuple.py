"""The named tuples of modules that every command imports are those of `typing`."""

from __future__ import annotations

import copy
import pickle
import typing
from inspect import signature

import pytest

from memory.schema import NamedTuple
from memory.schema.answer import Notice, Scored


class Ours(NamedTuple):
    """A point."""

    x: int
    y: int = 2

    @property
    def sum(self) -> int:
        return self.x + self.y

    @classmethod
    def origin(cls) -> Ours:
        return cls(0, 0)


class Theirs(typing.NamedTuple):
    """A point."""

    x: int
    y: int = 2

    @property
    def sum(self) -> int:
        return self.x + self.y

    @classmethod
    def origin(cls) -> Theirs:
        return cls(0, 0)


def test_it_has_what_one_of_typing_has() -> None:
    names = ("_fields", "_field_defaults", "__doc__", "__module__", "__slots__", "__bases__", "__match_args__")

    assert {name: getattr(Ours, name) for name in names} == {name: getattr(Theirs, name) for name in names}
    assert typing.get_type_hints(Ours) == typing.get_type_hints(Theirs)
    assert signature(Ours).parameters.keys() == signature(Theirs).parameters.keys()
    assert {*dir(Theirs)} - {*dir(Ours)} <= {"__orig_bases__"}


def test_it_does_what_one_of_typing_does() -> None:
    assert repr(Ours(1)) == repr(Theirs(1)).replace("Theirs", "Ours")
    assert (Ours(1), Ours(1).sum, Ours.origin(), Ours(1)._replace(y=5)) == ((1, 2), 3, (0, 0), (1, 5))
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Ours()  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Ours(1).x = 2  # type: ignore[misc]


@pytest.mark.parametrize("value", [Scored(1, 2, 0.5), Notice("text", hint="hint")])  # type: ignore[arg-type]
def test_it_is_copied_and_pickled(value: tuple[object, ...]) -> None:
    assert copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert type(pickle.loads(pickle.dumps(value))) is type(value)
