"""The `memory` command as a person runs it: a process of its own, in a home of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

    Embeddings are hashed, since no test needs better ones and the model takes its time.
    """

    home: Path
    folder: Path
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        basic = {"PATH": os.environ["PATH"], "HOME": str(self.folder.parent), "MEMORY_HOME": str(self.home)}
        return basic | {"MEMORY_EMBEDDING_PROVIDER": "hashed", "MEMORY_EMBEDDING_MODEL": "hashed-64"} | self.settings

    def __call__(self, *arguments: str | bytes | Path, stdin: str | bytes = b"", code: int | None = 0) -> Ran:
        """Run it; an exit code other than `code` fails the test, and a traceback always does."""
        run = subprocess.run(
            [COMMAND, *arguments],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            env=self.env,
            cwd=self.folder,
            timeout=60,
            check=False,
        )
        ran = Ran(run.returncode, run.stdout.decode(), run.stderr.decode())
        assert "Traceback" not in ran.err, ran.err
        assert code is None or ran.code == code, ran
        return ran

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Begin to run it."""
        return subprocess.Popen([COMMAND, *arguments], env=self.env, cwd=self.folder, **options)
