"""
How large the product is, by room: lines of code, statements, imports, comments, SQL and templates of src/memory.

    .venv/bin/python scripts/size.py            of this checkout
    .venv/bin/python scripts/size.py FOLDER     of another one: `git archive REVISION | tar x -C FOLDER`
    .venv/bin/python scripts/size.py --budget   whether it keeps to `[tool.size]` of pyproject.toml and no public class name
                                                stands twice; exit code 1 if not

A line of code has a token; blank lines, comments and docstrings have none. A docstring is any string that stands alone,
also below an attribute. Statements are those of the syntax tree without docstrings. Imports are their share of the lines
of code, comments the lines with a comment for each hundred lines of code. SQL and templates are lines that are not blank.
"""

from __future__ import annotations

import ast
import sys
import tokenize
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path
from typing import NamedTuple

PROSE = 120
"""Characters of a line of prose: more is too long."""

TEMPLATES = {".html", ".css", ".js"}

LAYOUT = {
    tokenize.ENCODING,
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Module(NamedTuple):
    """
    Attributes:
        path: Below the folder that was asked for.
        code: Lines of code; `imports` and `comments` are lines, too.
        classes: Names of its public classes.
    """

    path: Path
    code: int
    statements: int
    imports: int
    comments: int
    classes: tuple[str, ...]

    @property
    def room(self) -> str:
        return room(self.path)


def room(path: Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else "."


def docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def spanned(nodes: list[ast.stmt]) -> set[int]:
    """The numbers of the lines of some statements."""
    return {line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}


def module(root: Path, path: Path) -> Module:
    with tokenize.open(path) as file:
        text = file.read()
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
    tokens = list(tokenize.generate_tokens(iter(text.splitlines(keepends=True)).__next__))
    docstrings = [node for node in nodes if docstring(node)]
    code = {line for one in tokens if one.type not in LAYOUT for line in range(one.start[0], one.end[0] + 1)} - spanned(
        docstrings
    )
    return Module(
        path.relative_to(root),
        len(code),
        len(nodes) - len(docstrings),
        len(spanned([node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)])),
        len({one.start[0] for one in tokens if one.type == tokenize.COMMENT}),
        tuple(node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_")),
    )


@cache
def modules(root: Path) -> list[Module]:
    return [module(root, path) for path in sorted(root.rglob("*.py"))]


def filled(root: Path, suffixes: set[str]) -> Counter[str]:
    """Lines that are not blank of files that are not Python, by room."""
    lines: Counter[str] = Counter()
    for path in root.rglob("*"):
        if path.suffix in suffixes:
            lines[room(path.relative_to(root))] += sum(map(bool, map(str.strip, path.read_text("utf-8").splitlines())))
    return lines


def summary(checkout: Path) -> list[str]:
    """A line a room, then all of them."""
    root = checkout / "src" / "memory"
    every, sql, templates = modules(root), filled(root, {".sql"}), filled(root, TEMPLATES)
    rooms = {name: [one for one in every if one.room == name] for name in sorted({one.room for one in every})}
    columns = "lines of code", "statements", "modules", "imports", "comments", "SQL", "templates"
    lines = [f"{'src/memory':<14}" + "".join(f"{column:>15}" for column in columns)]
    for name, part in [*rooms.items(), ("all", every)]:
        code = sum(one.code for one in part)
        cells = (
            f"{code:,}",
            f"{sum(one.statements for one in part):,}",
            f"{len(part):,}",
            f"{sum(one.imports for one in part) / (code or 1):.0%}",
            f"{100 * sum(one.comments for one in part) / (code or 1):.1f}",
            f"{sql.total() if name == 'all' else sql[name]:,}",
            f"{templates.total() if name == 'all' else templates[name]:,}",
        )
        lines.append(f"{name:<14}" + "".join(f"{cell:>15}" for cell in cells))
    return lines


def outside_tests(checkout: Path) -> int:
    """Lines of Python and SQL of the product, its benches and its scripts: what moves between them stays in the sum."""
    roots = [checkout / name for name in ("src", "bench", "scripts")]
    return sum(one.code for root in roots for one in modules(root)) + sum(
        filled(root, {".sql"}).total() for root in roots
    )


def names_twice(root: Path) -> dict[str, list[str]]:
    """The public class names that stand in more than one module below a folder, and in which."""
    places: dict[str, list[str]] = {}
    for one in modules(root):
        for name in one.classes:
            places.setdefault(name, []).append(str(one.path))
    return {name: paths for name, paths in sorted(places.items()) if len(paths) > 1}


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
    twice, wide = names_twice(checkout / "src" / "memory"), prose(checkout)
    lines = [
        *summary(checkout),
        "",
        f"lines of Python and SQL outside tests: {outside_tests(checkout):,}",
        f"public class names that stand twice or more: {len(twice)}",
        *(f"    {name}: {', '.join(paths)}" for name, paths in twice.items()),
        f"lines of Markdown over {PROSE} characters, tables left out: {sum(wide.values())}",
        *(f"    {place}: {count}" for place, count in wide.items()),
    ]
    return "\n".join(lines)


def over_budget(checkout: Path) -> list[str]:
    """What is larger than `[tool.size]` of pyproject.toml allows: `product`, and each room of src/memory by its name."""
    budget = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["tool"]["size"]
    sizes: Counter[str] = Counter()
    for one in modules(checkout / "src" / "memory"):
        sizes["product"] += one.code
        if one.room != ".":
            sizes[one.room] += one.code
    return [
        f"{name} has {sizes[name]:,} lines of code; [tool.size] in pyproject.toml allows "
        + (f"{budget[name]:,}" if name in budget else "none: give it a line")
        for name in sorted(sizes.keys() | budget.keys())
        if sizes[name] > budget.get(name, -1)
    ]


if __name__ == "__main__":
    HERE = Path(__file__).parents[1]
    arguments = sys.argv[1:]
    if arguments == ["--budget"]:
        if problems := over_budget(HERE):
            problems.append("Make it smaller, or raise the number in the same commit and say what it buys.")
        for name, paths in names_twice(HERE / "src" / "memory").items():
            problems.append(f"the public class name {name} stands twice: {', '.join(paths)}")
        print(*problems, sep="\n", end="\n" * bool(problems))
        sys.exit(bool(problems))
    checkout = Path(arguments[0]) if arguments else HERE
    if len(arguments) > 1 or not (checkout / "src" / "memory").is_dir():
        print("usage: python scripts/size.py [FOLDER | --budget], a checkout with src/memory in it", file=sys.stderr)
        sys.exit(2)
    print(report(checkout))
