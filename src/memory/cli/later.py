"""Modules that others import at their top and hardly any command uses: executed when something of them is asked for."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from threading import RLock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType


class _Finder:
    """
    Finds these modules as all others do, and executes them late. `importlib.util.LazyLoader` does not serve: a second
    `import` of the same module executes it (Python 3.11).
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in self._names:
            return None
        others = (other.find_spec(name, path, target) for other in sys.meta_path if other is not self)
        if (spec := next(filter(None, others), None)) is not None and spec.loader is not None:
            spec.loader = _Late(spec.loader)  # type: ignore[assignment]
        return spec


class _Late:
    """Executes a module when it lacks an attribute that somebody asks for (PEP 562)."""

    def __init__(self, loader: Loader) -> None:
        self._loader, self.create_module = loader, loader.create_module

    def exec_module(self, module: ModuleType) -> None:
        lock, own, executed = RLock(), vars(module), False

        def __getattr__(name: str) -> Any:  # noqa: N807
            nonlocal executed
            with lock:
                if not executed:
                    executed = True
                    try:
                        self._loader.exec_module(module)
                    except BaseException:
                        executed = False
                        raise
            if name in own:
                return own[name]
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        own["__getattr__"] = __getattr__


@contextmanager
def later(*names: str) -> Generator[None]:
    """What is imported inside gets these modules unexecuted, unless somebody has them already."""
    finder = _Finder(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
