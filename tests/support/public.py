"""The public library as a reader of `help` meets it: every name of `memory.__all__`, and what these names lead to."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import memory

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE = Path(memory.__file__).parent
IMPORTED = re.compile(r"^from memory[\w.]* import (.*?)(?:  #.*)?$", re.MULTILINE)
LIBRARY = (SOURCE.parents[1] / "docs/library.md").read_text("utf-8")
ROWS = {"Store", "Movable"}
"""The rows below the engine, which `Engine.store` holds for its parts: programs do not call them."""


class Part(NamedTuple):
    """
    A class, function, method or property.

    Attributes:
        name: With its class: `Engine.save`.
        text: Its docstring, without indentation.
    """

    name: str
    text: str


@cache
def classes() -> dict[str, ast.ClassDef]:
    """Every public class of the package that no other statement holds, by its name, which is unique."""
    modules = (ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py"))
    nodes = (node for module in modules for node in module.body if isinstance(node, ast.ClassDef))
    return {node.name: node for node in nodes if not node.name.startswith("_")}


def methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Of a class and of what it inherits from ours, the public ones."""
    for one in node.body:
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and not one.name.startswith("_"):
            yield one
    for base in node.bases:
        if isinstance(base, ast.Name) and base.id in classes():
            yield from methods(classes()[base.id])


def leads_to(node: ast.ClassDef) -> set[str]:
    """Names of our classes in the annotations of a class's public attributes and methods."""
    texts = [ast.unparse(one.returns) for one in methods(node) if one.returns]
    texts += [
        ast.unparse(given.annotation)
        for one in methods(node)
        for given in (*one.args.args, *one.args.kwonlyargs)
        if given.annotation
    ]
    texts += [
        ast.unparse(one.annotation)
        for one in ast.walk(node)
        if isinstance(one, ast.AnnAssign) and not re.search(r"\b_\w+$", ast.unparse(one.target))
    ]
    made = [
        ast.unparse(one.value)
        for one in ast.walk(node)
        if isinstance(one, ast.Assign) and re.fullmatch(r"self\.[a-z]\w*", ast.unparse(one.targets[0]))
    ]
    texts += [found[0] for text in made if (found := re.match(r"(?:\w+\.)*[A-Z]\w*(?=\()", text))]
    return {word for text in texts for word in re.findall(r"\b[A-Z]\w+", text) if word in classes()} - ROWS


@cache
def reached() -> list[str]:
    """The classes that a user meets, beginning with those of `memory.__all__` and of docs/library.md."""
    shown = (name.strip() for line in IMPORTED.findall(LIBRARY) for name in line.split(","))
    names = [name for name in dict.fromkeys((*memory.__all__, *shown)) if name in classes()]
    for name in names:
        names += sorted(leads_to(classes()[name]) - set(names))
    return names


def parts() -> Iterator[Part]:
    """All of it; what a class makes of its tools as well, which only Python itself sees."""
    for name in memory.__all__:
        value = getattr(memory, name)
        if inspect.isfunction(value):
            yield Part(name, inspect.getdoc(value) or "")
        elif inspect.isclass(value):
            read = {one.name for one in methods(classes()[name])}
            made = {key: one for key, one in vars(value).items() if inspect.isfunction(one) and key not in read}
            yield from (Part(f"{name}.{key}", inspect.getdoc(one) or "") for key, one in made.items() if key[0] != "_")
    for name in reached():
        node = classes()[name]
        yield Part(name, ast.get_docstring(node) or "")
        yield from (Part(f"{name}.{one.name}", ast.get_docstring(one) or "") for one in methods(node))
