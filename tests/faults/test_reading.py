"""Commands that are given a file: none waits for the end of what has none."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from command import COMMAND, Shell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

STORE = ["store", "input_prompt", "FILE", "--session", "s", "--iter", "1"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    (tmp_path / "work").mkdir()
    return Shell(tmp_path / "home", tmp_path / "work")


@pytest.mark.parametrize(
    "arguments", [STORE, ["import", "FILE"], ["run", "import", "FILE"], ["graph", "import", "FILE"]]
)
@pytest.mark.parametrize("target", ["/dev/zero", "/proc/kmsg"])
def test_a_link_to_what_has_no_end_is_refused_in_a_sentence(
    shell: Shell, arguments: Sequence[str], target: str
) -> None:
    (shell.folder / "notes.md").symlink_to(target)

    ran = shell(*("notes.md" if one == "FILE" else one for one in arguments), code=2)

    assert "notes.md: it is a " in ran.err
    assert shell("export").out == ""


def test_settings_and_rules_that_have_no_end_are_refused(shell: Shell) -> None:
    shell.home.mkdir()
    (shell.home / "config.yaml").symlink_to("/dev/zero")
    assert "it is a device" in shell("status", code=2).err

    (shell.home / "config.yaml").unlink()
    (shell.home / ".memoryignore").symlink_to("/dev/zero")
    assert "it is a device" in shell("save", "title", "--what", "text", code=2).err


def test_what_a_shell_puts_in_place_of_a_command_is_read(shell: Shell) -> None:
    command = f"{COMMAND} store report <(echo 'the report') --session s --iter 1 --agent a --task t"

    ran = subprocess.run(
        ["bash", "-c", command], env=shell.env, cwd=shell.folder, capture_output=True, timeout=60, check=False
    )

    assert ran.returncode == 0, ran.stderr
    assert "the report" in shell("search", "report").out


def test_standard_input_is_read_by_its_name(shell: Shell) -> None:
    shell.process("store", "input_prompt", "/dev/stdin", "--session", "s", "--iter", "1", stdin="what was asked")

    assert "what was asked" in shell("search", "asked").out


def test_more_than_any_body_has_is_not_read(shell: Shell) -> None:
    text = "é" * 1_000_002  # bytes are counted, before there are characters
    (shell.folder / "long.md").write_text(text)

    assert "2,000,003 bytes" in shell(*("long.md" if one == "FILE" else one for one in STORE), code=2).err
    assert "2,000,003 bytes" in shell(*("-" if one == "FILE" else one for one in STORE), stdin=text, code=2).err
