"""
How large the product is: lines of code, statements and modules of src/memory, by folder and in all, and what is too long.

    .venv/bin/python scripts/size.py            of this checkout
    .venv/bin/python scripts/size.py FOLDER     of another one: `git archive REVISION | tar x -C FOLDER`

A line of code has a token; blank lines, comments and docstrings have none. A docstring is any string that stands alone,
also below an attribute. Statements are those of the syntax tree, without docstrings and, beside that, with them.
"""

from __future__ import annotations

import ast
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

FUNCTION, FILE, PROSE = 40, 350, 120
"""Lines of a function and of a file, characters of a line of prose: more is too long."""

LAYOUT = {
    tokenize.ENCODING,
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Function(NamedTuple):
    """
    Attributes:
        lines: From `def` to the end, with all that stands between.
        code: Of these, lines of code.
    """

    place: str
    lines: int
    code: int


class Module(NamedTuple):
    """
    Attributes:
        path: Below src/memory.
        lines: All that there are.
        code: Lines of code.
    """

    path: Path
    lines: int
    code: int
    statements: int
    docstrings: int
    functions: tuple[Function, ...]

    @property
    def folder(self) -> str:
        return self.path.parts[0] if len(self.path.parts) > 1 else "."


def docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def module(root: Path, path: Path) -> Module:
    with tokenize.open(path) as file:
        text = file.read()
    nodes = list(ast.walk(ast.parse(text)))
    docstrings = [node for node in nodes if docstring(node)]
    described = {line for node in docstrings for line in range(node.lineno, node.end_lineno + 1)}
    tokens = [one for one in tokenize.generate_tokens(iter(text.splitlines(True)).__next__) if one.type not in LAYOUT]
    code = {line for one in tokens for line in range(one.start[0], one.end[0] + 1)} - described
    name = path.relative_to(root)
    functions = tuple(
        Function(
            f"{name}:{node.lineno} {node.name}",
            node.end_lineno - node.lineno + 1,
            len(code.intersection(range(node.lineno, node.end_lineno + 1))),
        )
        for node in nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    lines = len(text.splitlines())
    return Module(name, lines, len(code), statements - len(docstrings), len(docstrings), functions)


def modules(checkout: Path) -> list[Module]:
    root = checkout / "src" / "memory"
    return [module(root, path) for path in sorted(root.rglob("*.py"))]


def summary(found: list[Module]) -> str:
    """A line a folder, then all of them."""
    folders = sorted({one.folder for one in found})
    parts = [(folder, [one for one in found if one.folder == folder]) for folder in folders]
    head = ("src/memory", "lines of code", "statements", "with docstrings", "modules")
    rows = [head] + [
        (
            name,
            f"{sum(one.code for one in part):,}",
            f"{sum(one.statements for one in part):,}",
            f"{sum(one.statements + one.docstrings for one in part):,}",
            f"{len(part):,}",
        )
        for name, part in [*parts, ("all", found)]
    ]
    return "\n".join(f"{name:<14}" + "".join(f"{number:>17}" for number in numbers) for name, *numbers in rows)


def prose(checkout: Path) -> dict[str, int]:
    """Lines of Markdown over the limit by place; rows of tables, which cannot be broken, left out."""
    places = {
        "README.md": [checkout / "README.md"],
        "docs": sorted((checkout / "docs").rglob("*.md")),
        "others at the root": sorted(set(checkout.glob("*.md")) - {checkout / "README.md"}),
    }
    return {
        place: sum(
            len(line) > PROSE and not line.startswith("|")
            for path in paths
            for line in path.read_text("utf-8").splitlines()
        )
        for place, paths in places.items()
    }


def report(checkout: Path) -> str:
    found = modules(checkout)
    functions = [one for module in found for one in module.functions]
    long = sorted((one for one in functions if one.lines > FUNCTION), key=lambda one: -one.lines)
    files = sorted((one for one in found if one.lines > FILE), key=lambda one: -one.lines)
    wide = prose(checkout)
    lines = [
        summary(found),
        "",
        f"functions over {FUNCTION} lines: {len(long)} of {len(functions):,}",
        *(f"    {one.place}: {one.lines} lines, {one.code} of code" for one in long),
        f"files over {FILE} lines: {len(files)}",
        *(f"    {one.path}: {one.lines} lines, {one.code} of code" for one in files),
        f"lines of Markdown over {PROSE} characters, tables left out: {sum(wide.values())}",
        *(f"    {place}: {count}" for place, count in wide.items()),
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    checkout = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1]
    if len(sys.argv) > 2 or not (checkout / "src" / "memory").is_dir():
        print("usage: python scripts/size.py [FOLDER], a checkout with src/memory in it", file=sys.stderr)
        sys.exit(2)
    print(report(checkout))
