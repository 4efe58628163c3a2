"""Programs that use the library, killed at any moment, and an engine on what they left."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING

from memory import Config, Engine
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    import random

    from command import Shell

PRELUDE = """
import sys
from memory import Draft, Engine
from memory.config import load
from memory.schema.errors import Error

def said(*words):
    print(*words, flush=True)

def note(name):
    return Draft(title=name, what="alpha", body="# One\\n\\nbeta gamma delta\\n\\n" * 5)
"""


def python(shell: Shell, program: str, *arguments: str, **options) -> subprocess.Popen[str]:
    """Begin to run a program that uses the library."""
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(program), *arguments],
        env=shell.env,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


def killed(child: subprocess.Popen[str], dice: random.Random, lines: int) -> list[str]:
    """Let it say some lines, kill it a moment later, and return all it had said: whole lines."""
    with child:
        heard = []
        for _ in range(dice.randint(1, lines)):
            heard.append(child.stdout.readline())
        try:
            child.wait(dice.uniform(0, 0.01))
        except subprocess.TimeoutExpired:
            child.kill()
        heard += child.stdout.readlines()
    return [line.rstrip("\n") for line in heard if line.endswith("\n")]


def engine(shell: Shell, model: str = "hashed-64", batch: int = 32) -> Engine:
    embedding = replace(Config().embedding, provider="hashed", model=model, batch_size=batch)
    config = replace(Config(), home=str(shell.home), embedding=embedding)
    shell.home.mkdir(exist_ok=True)
    return Engine(SqliteStore(config.database), config)
