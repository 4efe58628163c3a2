"""What benches and scripts import of the package is there: they run in `make test-more` only."""

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

PROJECT = Path(__file__).parents[3]
FILES = sorted(
    path
    for folder in ("bench", "scripts")
    for path in (PROJECT / folder).rglob("*.py")
    if path.parent.name != "peers"  # run by a peer, whose package may have this name too
)


def _run(node: ast.AST) -> Iterator[ast.AST]:
    """Every node but what is for type checkers."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from _run(child)


def _modules(package: ModuleType) -> set[str]:
    return {one.name for one in pkgutil.iter_modules(getattr(package, "__path__", []))}


@pytest.mark.skipif(not FILES, reason="the benches and scripts come with the sources only")
def test_what_benches_and_scripts_import_of_the_package_is_there() -> None:
    gone, found = [], 0
    for file in FILES:
        for node in _run(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "memory":
                module = importlib.import_module(node.module)
                for name in (one.name for one in node.names):
                    found += 1
                    if not hasattr(module, name) and name not in _modules(module):
                        gone.append(f"{file.name}: {node.module}.{name}")

    assert found > 100
    assert gone == []
