"""What scripts/size.py counts."""

import subprocess
import sys
from pathlib import Path

import pytest

SIZE = Path(__file__).resolve().parents[3] / "scripts" / "size.py"

MODULE = '''"""What it is for."""

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


def sized(folder: Path) -> list[str]:
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "README.md").touch()
    return subprocess.run(
        [sys.executable, str(SIZE), str(folder)], capture_output=True, text=True, check=True
    ).stdout.splitlines()


def written(folder: Path, name: str, text: str) -> None:
    path = folder / "src" / "memory" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def test_blank_lines_comments_and_docstrings_are_no_code(tmp_path):
    written(tmp_path, "text/box.py", MODULE)
    written(tmp_path, "__init__.py", "")

    lines = [line.split() for line in sized(tmp_path)]

    assert ["text", "5", "4", "8", "1"] in lines
    assert ["all", "5", "4", "8", "2"] in lines


def test_what_is_too_long_is_named(tmp_path):
    body = "".join(f"    x{number} = 1\n" for number in range(360))
    written(tmp_path, "long.py", f"def much() -> None:\n{body}\n\ndef little() -> None:\n    x = 1\n")

    lines = sized(tmp_path)

    assert "functions over 40 lines: 1 of 2" in lines
    assert "    long.py:1 much: 361 lines, 361 of code" in lines
    assert "    long.py: 365 lines, 363 of code" in lines


def test_lines_of_prose_are_counted_and_rows_of_tables_are_not(tmp_path):
    written(tmp_path, "__init__.py", "")
    (tmp_path / "docs" / "inner").mkdir(parents=True)
    (tmp_path / "docs" / "inner" / "page.md").write_text(f"{'x' * 121}\n{'y' * 120}\n| {'z' * 121} |\n", "utf-8")

    lines = sized(tmp_path)

    assert "lines of Markdown over 120 characters, tables left out: 1" in lines
    assert "    docs: 1" in lines


@pytest.mark.parametrize("arguments", [["--help"], ["nowhere"], ["one", "two"]], ids=" ".join)
def test_what_is_no_checkout_is_a_usage_error(tmp_path, arguments):
    ran = subprocess.run(
        [sys.executable, str(SIZE), *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("usage: ")
    assert ran.stderr.count("\n") == 1
