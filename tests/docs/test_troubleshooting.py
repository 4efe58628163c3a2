"""The messages that docs/troubleshooting.md explains are those that people see."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from command import Shell
from formats_made import FORMATS, unpacked
from provider import Provider

from faults import Status

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
MESSAGES = re.findall(r"^### .*?`([^`]+)`", (ROOT / "docs/troubleshooting.md").read_text("utf-8"), re.MULTILINE)

NO_ONE = "http://127.0.0.1:9"
"""The port of `discard`, at which nothing answers."""


def asked(shell: Shell, *arguments: str, **settings: str) -> str:
    changed = {f"MEMORY_{name}": value for name, value in settings.items()}
    return replace(shell, settings=shell.settings | changed)(*arguments, code=None).err


def by_meaning(shell: Shell, provider: str, **settings: str) -> str:
    asked(shell, "save", "A cat", "--what", "on a mat", EMBEDDING_PROVIDER="none")
    return asked(shell, "search", "a cat", "--mode", "vector", EMBEDDING_PROVIDER=provider, **settings)


def refused_key(shell: Shell) -> str:
    with Provider() as provider:
        provider.always(Status(401))
        told = replace(shell, settings=shell.settings | {"OPENAI_API_KEY": "key"})
        return by_meaning(told, "openai", EMBEDDING_BASE_URL=f"{provider.url}/v1")


def other_model(shell: Shell) -> str:
    shell("save", "A cat", "--what", "on a mat")
    return asked(shell, "search", "a cat", "--mode", "vector", EMBEDDING_MODEL="hashed-32")


def without_model(shell: Shell) -> str:
    asked(shell, "save", "A cat", "--what", "on a mat", EMBEDDING_PROVIDER="none")
    asked(shell, "save", "A dog", "--what", "on a chair", EMBEDDING_PROVIDER="none")
    told = {"MEMORY_EMBEDDING_PROVIDER": "ollama", "MEMORY_EMBEDDING_BASE_URL": NO_ONE}
    return replace(shell, settings=told)("search", "something on a mat or a chair").err


def older(shell: Shell) -> str:
    unpacked(FORMATS[-1], shell.home)
    return shell("search", "cat", code=1).err


def damaged(shell: Shell) -> str:
    shell.home.mkdir(exist_ok=True)
    (shell.home / "memory.db").write_bytes(b"this is no database, and never was one" * 100)
    return shell("search", "cat", code=1).err


def left_out(shell: Shell) -> str:
    (shell.folder / "notes").mkdir()
    (shell.folder / "notes" / "page.md").write_text("# A page")
    (shell.folder / "notes" / "page.html").write_text("<p>no</p>")
    ran = shell("import", "notes", code=None)
    return ran.err + ran.out


PROVOKED: dict[str, Callable[[Shell], str]] = {
    "no setting 'emb.provider'": lambda shell: shell("config", "set", "emb.provider", "local", code=2).err,
    "better ones may be missing": without_model,
    "'yesterdayish' is neither a date nor an age": lambda shell: (
        shell("search", "cat", "--since", "yesterdayish", code=2).err
    ),
    "Ollama does not answer": lambda shell: by_meaning(shell, "ollama", EMBEDDING_BASE_URL=NO_ONE),
    "there is no key for https://api.openai.com/v1": lambda shell: by_meaning(shell, "openai"),
    "answered 401": refused_key,
    "the stored vectors are in": other_model,
    "has format": older,
    "is not a readable database": damaged,
    "cannot be reached": lambda shell: asked(shell, "search", "cat", STORE_URL="postgresql://ann@127.0.0.1:9/notes"),
    "left out": left_out,
}

IN_SOURCE = {"which is not installed", "the local model is not installed", "another process is writing to"}
"""What other tests provoke, in environments without an extra or a model, and by waiting for half a minute."""

NOT_OURS = {"memory: command not found", "[redacted:…]", "memory mirror"}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    folder = tmp_path / "work"
    folder.mkdir()
    return Shell(tmp_path / "home", folder)


@pytest.mark.parametrize("message", PROVOKED)
def test_a_message_that_is_explained_is_printed(shell: Shell, message: str) -> None:
    assert message in PROVOKED[message](shell)


def test_every_message_that_is_explained_is_ours() -> None:
    source = "".join(path.read_text("utf-8") for path in (ROOT / "src/memory").rglob("*.py"))

    assert {*MESSAGES} == {*PROVOKED} | IN_SOURCE | NOT_OURS
    assert [message for message in IN_SOURCE if message not in source] == []
