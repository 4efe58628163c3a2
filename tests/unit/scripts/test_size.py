"""What scripts/size.py counts."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = Path(__file__).resolve().parents[3] / "scripts" / "size.py"

MODULE = '''"""What it is for."""

import os

# A comment.
LIMIT = 3
"""Of what."""


class Box:
    """Holds things."""

    def open(self) -> str:
        """
        Says what is in it.
        """
        return """two
lines"""
'''


def asked(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "README.md").touch()
    return subprocess.run(
        [sys.executable, str(SIZE), *arguments], cwd=folder, capture_output=True, text=True, check=False
    )


def sized(folder: Path) -> list[str]:
    ran = asked(folder, str(folder))
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def written(folder: Path, name: str, text: str) -> None:
    path = folder / "src" / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_blank_lines_comments_and_docstrings_are_no_code(tmp_path):
    written(tmp_path, "text/box.py", MODULE)
    written(tmp_path, "text/box.sql", "-- What for.\n\nselect 1;\n")
    written(tmp_path, "web/page.html", "<p>\n\n</p>\n")
    written(tmp_path, "__init__.py", "")

    lines = [line.split() for line in sized(tmp_path)]

    assert ["text", "6", "5", "1", "17%", "16.7", "2", "0"] in lines
    assert ["all", "6", "5", "2", "17%", "16.7", "2", "2"] in lines


def test_what_moves_from_the_product_to_a_bench_stays_in_the_sum(tmp_path):
    written(tmp_path, "box.py", MODULE)
    before = sized(tmp_path)
    (tmp_path / "bench").mkdir()
    (tmp_path / "src" / "memory" / "box.py").rename(tmp_path / "bench" / "box.py")

    after = sized(tmp_path)

    assert "lines of Python and SQL outside tests: 6" in before
    assert "lines of Python and SQL outside tests: 6" in after


def test_a_public_class_name_that_stands_twice_is_named(tmp_path):
    for name in ("one.py", "two.py"):
        written(tmp_path, name, "class Box: ...\nclass _Own: ...\n")

    lines = sized(tmp_path)

    assert "public class names that stand twice or more: 1" in lines
    assert "    Box: one.py, two.py" in lines


def test_lines_of_prose_are_counted_and_rows_of_tables_are_not(tmp_path):
    written(tmp_path, "__init__.py", "")
    (tmp_path / "docs" / "inner").mkdir(parents=True)
    (tmp_path / "docs" / "inner" / "page.md").write_text(f"{'x' * 121}\n{'y' * 120}\n| {'z' * 121} |\n", "utf-8")

    lines = sized(tmp_path)

    assert "lines of Markdown over 120 characters, tables left out: 1" in lines
    assert "    docs: 1" in lines


def checked(folder: Path, budget: str) -> subprocess.CompletedProcess[str]:
    (folder / "pyproject.toml").write_text(f"[tool.size]\n{budget}\n")
    (folder / "scripts").mkdir()
    shutil.copy(SIZE, folder / "scripts")
    return subprocess.run(
        [sys.executable, "scripts/size.py", "--budget"], cwd=folder, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("budget", "problem"),
    [
        ("product = 6\ntext = 6", None),
        ("product = 5\ntext = 6", "product has 6 lines of code; [tool.size] in pyproject.toml allows 5"),
        ("product = 6\ntext = 5", "text has 6 lines of code; [tool.size] in pyproject.toml allows 5"),
        ("product = 6", "text has 6 lines of code; [tool.size] in pyproject.toml allows none: give it a line"),
    ],
)
def test_what_is_larger_than_its_budget_fails(tmp_path, budget, problem):
    written(tmp_path, "text/box.py", MODULE)

    ran = checked(tmp_path, budget)

    assert ran.stdout.splitlines()[:1] == ([problem] if problem else [])
    assert ran.returncode == bool(problem)


def test_within_the_budget_too_a_public_class_name_stands_once(tmp_path):
    for name in ("text/one.py", "text/two.py"):
        written(tmp_path, name, "class Box: ...\nclass _Own: ...\n")

    ran = checked(tmp_path, "product = 4\ntext = 4")

    assert ran.stdout == "the public class name Box stands twice: text/one.py, text/two.py\n"
    assert ran.returncode == 1


@pytest.mark.parametrize("arguments", [["--help"], ["nowhere"], ["one", "two"]], ids=" ".join)
def test_what_is_no_checkout_is_a_usage_error(tmp_path, arguments):
    ran = asked(tmp_path, *arguments)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("usage: ")
    assert ran.stderr.count("\n") == 1
