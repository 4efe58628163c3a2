"""
The package `memory` under a name that nobody else uses: others install a `memory` too.

`import tiermem` gives the `memory` that is installed beside this file, wherever else Python would look first, and
`tiermem.engine` is `memory.engine`: the same modules, so that a class has one identity however it was imported.
"""

from __future__ import annotations

import importlib
import os
import sys
from contextlib import ExitStack
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from memory import *  # noqa: F403  # what a type checker finds here

OWN = "memory"


class _Same(MetaPathFinder):
    """Finds and loads `tiermem.x` as the module `memory.x`."""

    def __init__(self, name: str) -> None:
        self._prefix = f"{name}."

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith(self._prefix) or name == f"{self._prefix}__main__":  # which is run, not imported
            return None
        module = importlib.import_module(f"{OWN}.{name.removeprefix(self._prefix)}")
        return ModuleSpec(name, _Loaded(module), origin=module.__file__, is_package=hasattr(module, "__path__"))


class _Loaded(Loader):
    """A module that was loaded under its own name, and keeps what it says about itself."""

    def __init__(self, module: ModuleType) -> None:
        self._module, self._spec = module, module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has put that of `tiermem.x` there


def _own() -> ModuleType:
    """
    The package beside this file.

    Raises:
        ImportError: Another `memory` was imported before; one process has room for one.
    """
    init = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), OWN, "__init__.py")
    found = sys.modules.get(OWN)
    if found is None:
        spec = spec_from_file_location(OWN, init)
        if spec is None or spec.loader is None:
            raise ImportError(f"{init} cannot be loaded")
        module = module_from_spec(spec)
        with ExitStack() as half:  # as the import system does it: what cannot be loaded is not there
            sys.modules[OWN] = module
            half.callback(sys.modules.pop, OWN)
            spec.loader.exec_module(module)
            half.pop_all()
        return module
    place = getattr(found, "__file__", None) or "a namespace package"
    if os.path.realpath(place) != os.path.realpath(init):
        raise ImportError(f"another package named {OWN} is imported already, from {place}")
    return found


sys.modules[__name__] = _own()
sys.meta_path.insert(0, _Same(__name__))
