"""
Write again what people and agents read, tests/support/said: each session is played, and its answers are replaced.

    .venv/bin/python scripts/said.py

By hand, where words change on purpose; then read the diff. A test fails when it is not what is said.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS / "support"), str(TESTS / "e2e")]


def main() -> None:
    from saying import FOLDER, said
    from test_said import person

    for path in sorted(FOLDER.glob("*.txt")):
        with tempfile.TemporaryDirectory() as place:
            path.write_text(said(path.read_text("utf-8"), person(Path(place))), "utf-8")
        print(path.name)


if __name__ == "__main__":
    main()
