"""The `memory` command in an environment of its own, and the record of what it says."""

from __future__ import annotations

import atexit
import importlib
import os
import shlex
import shutil
import signal
import sys
import sysconfig
import tempfile
import traceback
from dataclasses import dataclass, field, replace
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TextIO

from memory.config.settings import EmbeddingSettings
from seen.same import same

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMAND = Path(sysconfig.get_path("scripts")) / "memory"
PATIENCE = 100
"""Seconds after which a command that hangs is ended by its alarm."""
CRASHED = 99
ENDS = (0, 1, 2)
"""Exit codes that a command may have here; others are said at once."""
CALM = {
    "MEMORY_SEARCH_SLOW_SECONDS": "600",
    "MEMORY_EMBEDDING_FILL_SECONDS": "600",
}
"""Limits of time that a slow machine would reach."""
EmbeddingSettings.pause_seconds, EmbeddingSettings.retries = 3600.0, 0  # commands are forked from this process
HASHED = {"MEMORY_EMBEDDING_PROVIDER": "hashed", "MEMORY_EMBEDDING_MODEL": "hashed-64"}

PLAIN = ((),)
JSON = (("--json",),)
BOTH = PLAIN + JSON


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Record:
    """Blocks of text by the file they go to."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.given: set[str] = set()
        self.told = ""
        self._files: dict[str, list[str]] = {}

    def add(self, to: str, text: str) -> None:
        self._files.setdefault(f"{to}.txt", []).append(text if text.endswith("\n") else text + "\n(no line end)\n")

    def same(self) -> dict[str, str]:
        files = {name: "".join(blocks) for name, blocks in self._files.items()}
        return same(files, self.place, given={f"{name}.txt" for name in self.given}, told=self.told)


@dataclass(frozen=True, slots=True)
class Shell:
    """A home, a folder to work in, and nothing else of the environment."""

    record: Record
    place: Path
    settings: dict[str, str] = field(default_factory=dict)

    @classmethod
    def made(cls, record: Record, place: Path, **settings: str) -> Self:
        for folder in ("home/work", "memory"):
            (place / folder).mkdir(parents=True, mode=0o700)
        (place / "memory").chmod(0o700)
        return cls(record, place, HASHED | CALM | settings)

    @property
    def folder(self) -> Path:
        return self.place / "home" / "work"

    @property
    def home(self) -> Path:
        return self.place / "memory"

    @property
    def env(self) -> dict[str, str]:
        basic = {"PATH": f"{COMMAND.parent}:/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": str(self.place / "home")}
        return basic | {"MEMORY_HOME": str(self.home)} | self.settings

    def copy(self, name: str) -> Shell:
        """The same things in another place."""
        place = self.record.place / name
        shutil.copytree(self.place, place)
        return replace(self, place=place)

    def given(self, **settings: str) -> Shell:
        return replace(self, settings=self.settings | settings)

    def __call__(self, to: str, *arguments: str, stdin: str = "", note: str = "") -> Ran:
        """Run a command and record it."""
        ran = self.asked(*arguments, stdin=stdin)
        shown = f"$ {note}memory {shlex.join(arguments)}" + (f" <<< {stdin!r}" if stdin else "")
        self.record.add(to, f"{shown}\nexit {ran.code}\n")
        for stream, text in (("stdout", ran.out), ("stderr", ran.err)):
            if text:
                self.record.add(to, f"--- {stream}\n{text}")
        return ran

    def asked(self, *arguments: str, stdin: str = "") -> Ran:
        """Run a command."""
        ran = self.child(lambda: command(*arguments), stdin)
        if ran.code not in ENDS:
            print(f"memory {shlex.join(arguments)} ended with {ran.code}: {ran.err}", file=sys.stderr)
        return ran

    def tell(self) -> None:
        """Make known all uids that there are now, since text names them by their beginning."""
        self.record.told += self.asked("export").out

    def lines(self, to: str, text: str, *, forms: Sequence[tuple[str, ...]] = BOTH) -> None:
        """Run each line in each of the forms."""
        for line in filter(None, text.splitlines()):
            words, _, stdin = line.partition(" <<< ")
            arguments = shlex.split(words)
            for more in forms:
                self(to, *arguments, *more, stdin=stdin.replace("\\n", "\n"))

    def child(self, run: Callable[[], None], stdin: str = "") -> Ran:
        """
        What a function leaves behind in a process of its own.

        It is forked, since a start takes a third of a second, and tells at its end what it had to import: the next ones
        find that done.
        """
        with (
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
            tempfile.TemporaryFile("w+") as imported,
        ):
            given.write(stdin.encode())
            given.seek(0)
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            process = os.fork()
            if not process:
                try:
                    _become(self, given.fileno(), out.fileno(), err.fileno())
                    _finish(run, imported)
                finally:  # whatever went wrong: the rest is the parent's
                    os._exit(CRASHED)
            _, status = os.waitpid(process, 0)
            imported.seek(0)
            for name in imported.read().split():
                importlib.import_module(name)
            texts = []
            for file in (out, err):
                file.seek(0)
                texts.append(file.read().decode())
            return Ran(os.waitstatus_to_exitcode(status), *texts)


def command(*arguments: str) -> None:
    """What the program `memory` does."""
    sys.argv = [str(COMMAND), *arguments]
    _command()


def _become(shell: Shell, *streams: int) -> None:
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # streams have no path
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(  # noqa: SIM115
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    os.chdir(shell.folder)
    os.environ.clear()
    os.environ.update(shell.env)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.alarm(PATIENCE)


def _finish(run: Callable[[], None], imported: TextIO) -> None:
    """Run it and leave, by `os._exit` whatever happens: what the parent registered for its end is the parent's."""
    code, before = 0, set(sys.modules)

    def tell() -> None:
        names = [name for name in sys.modules if name not in before]
        imported.write("\n".join(name for name in names if find_spec(name) is not None))
        imported.flush()

    atexit.register(tell)
    try:
        run()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except BaseException as error:
        print(*traceback.format_exception_only(error), file=sys.stderr)
        code = CRASHED
    tell()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


importlib.import_module("memory").Engine  # noqa: B018  # imported once, for all children
(_entry,) = entry_points(group="console_scripts", name="memory")
_command = _entry.load()
