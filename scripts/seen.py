"""
Write what users and agents see, as text files: a change of it shows as `diff -r before after`.

    .venv/bin/python scripts/seen.py FOLDER

By hand, before and after work that must change nothing outside: the same commit gives the same bytes. Only the command,
the server and documented imports are used, so modules may move. `memory demo` is seen by its help alone.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from seen import agents, commands, made, outside, public, refused
from seen.shell import Record, Shell

FIXED = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1"}
"""Sets are shown in one order, and what is forked has one thread."""


def main(folder: Path) -> None:
    place = Path(f"/tmp/seen-{os.getpid():07}")  # noqa: S108  # as many letters and words in any run: paths are kept
    place.mkdir()
    try:  # no TemporaryDirectory: each forked command would remove it at its end
        record = Record(place)
        store = made.store(Shell.made(record, place / "store"))
        for part in (commands, refused, agents, outside, public):
            part.see(store)
    finally:
        shutil.rmtree(place)
    for name, text in record.same().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1].startswith("-") or Path(sys.argv[1]).exists():
        sys.exit("usage: python scripts/seen.py FOLDER, which must not be there")
    if os.environ | FIXED != os.environ:
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | FIXED)  # noqa: S606  # itself
    main(Path(sys.argv[1]))
