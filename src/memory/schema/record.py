"""Values that check themselves: frozen dataclasses, whose methods are shared, as to make each class its own takes 1 ms."""

from __future__ import annotations

from dataclasses import MISSING, FrozenInstanceError, dataclass, fields
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, kw_only: bool = False, repr: bool = True, **_frozen: bool) -> Any:
        """As `dataclass` does it; that it is frozen is written for type checkers. Instances have a `__dict__`."""
        own = {"__init__": _init, "__eq__": _eq, "__hash__": _hash, "__setattr__": _fixed, "__delattr__": _fixed}
        own["__signature__"] = _Signature()
        own |= {"__repr__": _repr} if repr else {}

        def made(cls: type) -> type:
            for name, method in own.items():
                setattr(cls, name, method)
            return dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)

        return made


__all__ = ["record"]


class _Signature:
    """What `inspect.signature` says of a record: made when it is asked for, as no command asks."""

    def __get__(self, _instance: object, owner: Any) -> object:
        from inspect import Parameter, Signature

        every = sorted(owner.__dataclass_fields__.values(), key=lambda one: one.kw_only)
        made = []
        for one in every:
            usual = one.default if one.default_factory is MISSING else one.default_factory
            kind = Parameter.KEYWORD_ONLY if one.kw_only else Parameter.POSITIONAL_OR_KEYWORD
            default = Parameter.empty if usual is MISSING else usual
            made.append(Parameter(one.name, kind, default=default, annotation=one.type))
        return Signature(made, return_annotation=None)


def _init(self: Any, *given: object, **named: object) -> None:
    known, called = self.__dataclass_fields__, f"{type(self).__name__}.__init__()"
    places = [name for name, one in known.items() if not one.kw_only]
    if len(given) > len(places):
        raise TypeError(f"{called} takes {len(places) + 1} positional arguments but {len(given) + 1} were given")
    for name, one in zip(places, given, strict=False):
        if name in named:
            raise TypeError(f"{called} got multiple values for argument {name!r}")
        named[name] = one
    if unknown := named.keys() - known.keys():
        raise TypeError(f"{called} got an unexpected keyword argument {min(unknown)!r}")
    for name, one in known.items():
        if name not in named:
            if one.default is MISSING and one.default_factory is MISSING:
                raise TypeError(f"{called} missing 1 required argument: {name!r}")
            # A default is an attribute of the class, where a test, or a script, may set another one.
            named[name] = one.default_factory() if one.default is MISSING else getattr(type(self), name)
    self.__dict__.update(named)
    if check := getattr(self, "__post_init__", None):
        check()


def _compared(self: Any) -> tuple[object, ...]:
    return tuple(getattr(self, one.name) for one in fields(self) if one.compare)


def _eq(self: Any, other: object) -> bool:
    return _compared(self) == _compared(other) if type(self) is type(other) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    return f"{type(self).__qualname__}({', '.join(f'{one.name}={getattr(self, one.name)!r}' for one in fields(self))})"


def _fixed(self: Any, name: str, *_value: object) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to or delete field {name!r} of {type(self).__name__}")
