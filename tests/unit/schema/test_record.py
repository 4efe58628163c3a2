"""A frozen record whose methods are shared is what `dataclass` would make of it."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace
from inspect import Parameter, signature

import pytest

from memory import Query
from memory.schema.record import record


@record(frozen=True)
class Ours:
    x: int
    y: int = 2
    more: list[int] = field(default_factory=list)
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", abs(self.y))


@dataclass(frozen=True)
class Theirs:
    x: int
    y: int = 2
    more: list[int] = field(default_factory=list)
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "y", abs(self.y))


@record(frozen=True, kw_only=True, repr=False)
class Named:
    secret: str = "s3cret"


def test_it_has_the_fields_and_the_defaults() -> None:
    assert [one.name for one in fields(Ours)] == [one.name for one in fields(Theirs)]
    assert Ours.__match_args__ == Theirs.__match_args__  # type: ignore[attr-defined]
    assert repr(Ours(1, y=-3)) == repr(Theirs(1, y=-3)).replace("Theirs", "Ours")
    assert asdict(Ours(1, 5, [4])) == asdict(Theirs(1, 5, [4]))
    assert Ours(1).more is not Ours(1).more
    assert "s3cret" not in repr(Named())


def test_a_default_that_is_set_at_the_class_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ours, "y", 7)

    assert (Ours(1).y, Ours(1, 2).y) == (7, 2)


def test_it_has_the_signature() -> None:
    ours, theirs = (signature(one).parameters for one in (Ours, Theirs))

    assert [*ours] == [*theirs]
    assert [(one.kind, one.annotation) for one in ours.values()] == [
        (one.kind, one.annotation) for one in theirs.values()
    ]
    assert (ours["x"].default, ours["y"].default, ours["origin"].default) == (Parameter.empty, 2, "")
    assert [one.kind for one in signature(Named).parameters.values()] == [Parameter.KEYWORD_ONLY]


def test_equal_values_are_equal() -> None:
    assert Ours(1, 2, origin="file") == Ours(1) != Ours(2)
    assert Ours(1) != Theirs(1)
    assert hash(Query("wal")) == hash(Query("wal"))
    assert replace(Ours(1), x=4) == Ours(4)


@pytest.mark.parametrize("value", [Ours(1, 7), Query("wal")])
def test_it_is_copied_and_pickled(value: object) -> None:
    assert copy.deepcopy(value) == value
    assert pickle.loads(pickle.dumps(value)) == value


def test_it_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Ours(1).x = 2  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del Ours(1).x
    with pytest.raises(FrozenInstanceError):
        Ours(1).other = 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("given", "named", "said"),
    [
        ((), {}, r"missing 1 required .*'x'"),
        ((1, 2, [], "", 5), {}, "takes .* positional arguments but 6 were given"),
        ((1,), {"x": 1}, "multiple values for argument 'x'"),
        ((1,), {"z": 1}, "unexpected keyword argument 'z'"),
    ],
)
def test_wrong_arguments_are_refused_with_the_same_words(given, named, said) -> None:
    for made in (Ours, Theirs):
        with pytest.raises(TypeError, match=said):
            made(*given, **named)
    with pytest.raises(TypeError, match="takes 1 positional argument"):
        Named("x")  # type: ignore[misc]
