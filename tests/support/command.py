"""The `memory` command as a person runs it, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import in_process

COMMAND = Path(sys.executable).with_name("memory")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, Any]:
        return json.loads(self.err)


@dataclass(frozen=True, slots=True)
class Shell:
    """
    A person's shell: a home for memories, a current folder, and nothing else of the environment.

    Embeddings are hashed, since no test needs better ones and the model takes its time; and no word vectors are made,
    14,000 for each store, unless a test asks for them. However busy the machine is, what is saved is embedded, and no search
    is called slow.
    """

    home: Path
    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    encoding: str = ""  # of the standard streams; UTF-8 if none is named
    terminal: bool = False  # whether standard output and standard error are one, where nobody can be asked

    @property
    def env(self) -> dict[str, str]:
        basic = {"PATH": os.environ["PATH"], "HOME": str(self.folder.parent), "MEMORY_HOME": str(self.home)}
        basic |= {"MEMORY_EMBEDDING_PROVIDER": "hashed", "MEMORY_EMBEDDING_MODEL": "hashed-64"}
        basic |= {"MEMORY_EMBEDDING_WORDS": "never", "MEMORY_EMBEDDING_FILL_SECONDS": "3600"}
        return basic | {"LOG_SLOW_QUERY_THRESHOLD": "3600"} | self.settings

    def __call__(self, *arguments: str | bytes | Path, stdin: str | bytes | None = b"", code: int | None = 0) -> Ran:
        """
        Run it in this process, as `process` would; an exit code other than `code` fails the test.

        Args:
            stdin: None if there is no standard input, as after `<&-`.
        """
        told = stdin.encode() if isinstance(stdin, str) else stdin
        run = in_process.run([COMMAND, *arguments], told, self.env, self.folder, self.encoding, terminal=self.terminal)
        return _ran(*run, code, self.encoding)

    def process(self, *arguments: str | bytes | Path, stdin: str | bytes | None = b"", code: int | None = 0) -> Ran:
        """Run it in a process of its own, for facts about processes; a traceback fails the test too."""
        run = subprocess.run(
            [COMMAND, *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            preexec_fn=None if stdin is not None else lambda: os.close(0),
            capture_output=True,
            env=self.env,
            cwd=self.folder,
            timeout=in_process.PATIENCE,
            check=False,
        )
        return _ran(run.returncode, run.stdout, run.stderr, code)

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Begin to run it."""
        return subprocess.Popen([COMMAND, *arguments], env=self.env, cwd=self.folder, **options)

    def imports(self, *arguments: str) -> set[str]:
        """The modules that a command imports, in a process of its own."""
        run = subprocess.run(
            [sys.executable, "-X", "importtime", COMMAND, *arguments],
            env=self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return {line.split("|")[-1].strip() for line in run.stderr.splitlines() if line.startswith("import time")}


def _ran(code: int, out: bytes, err: bytes, expected: int | None, encoding: str = "") -> Ran:
    ran = Ran(code, out.decode(encoding or "utf-8"), err.decode(encoding or "utf-8"))
    assert "Traceback" not in ran.err, ran.err
    assert expected is None or ran.code == expected, ran
    return ran
