"""Where the program is installed: the line that adds to it there, and strangers of the same name."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

import pytest

import memory
from memory.config.installation import foreign, strangers

ASKED = "from memory.config.installation import adding; print(adding({!r}))"
STARTED = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8"))["project"]["scripts"][
    "memory"
]
OURS = f"import sys\nfrom {STARTED.partition(':')[0]} import run\nif __name__ == '__main__':\n    sys.exit(run())\n"
PIPS = "# -*- coding: utf-8 -*-\nimport re\nimport sys\nfrom {} import {}\nif __name__ == '__main__':\n    sys.exit(main())\n"


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """An environment with this package and nothing that it could add, not even pip."""
    folder = tmp_path / "environment"
    venv.create(folder, with_pip=False)
    return folder


def alone(folder: Path) -> dict[str, str]:
    """Variables that lead to this package, which may be installed beside others, and to nothing beside it."""
    place = folder / "alone"
    place.mkdir(exist_ok=True)
    if not (link := place / "memory").is_symlink():
        link.symlink_to(Path(memory.__file__).parent)
    return {"PYTHONPATH": str(place)}


def line(folder: Path, extra: str) -> str:
    """What an installation in an environment says."""
    argv = [folder / "bin/python", "-c", ASKED.format(extra)]
    return subprocess.run(argv, capture_output=True, text=True, check=True, env=alone(folder)).stdout.strip()


def test_an_environment_with_pip_is_added_to_by_its_own(bare: Path) -> None:
    (bare / "lib" / f"python3.{sys.version_info[1]}" / "site-packages" / "pip").mkdir()

    assert line(bare, "mcp") == f'{bare}/bin/python -m pip install "tiermem[mcp]"'


def test_an_environment_without_pip_is_added_to_by_uv(bare: Path) -> None:
    assert line(bare, "mcp") == f'uv pip install --python {bare}/bin/python "tiermem[mcp]"'


def test_extras_that_are_there_stay(bare: Path) -> None:
    site = bare / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    for package in ("mcp", "openai"):
        (site / package).mkdir()

    assert line(bare, "ollama").endswith('"tiermem[mcp,ollama,openai]"')


WITH = """requirements = [
    { name = "tiermem" },
    { name = "rich", extras = ["jupyter"], specifier = ">=13" },
    { name = "ours", editable = "/src/ours" },
    { name = "theirs", directory = "/src/theirs" },
]
python = "/usr/bin/python3"
"""
OTHERS = '--with "rich[jupyter]>=13" --with-editable "/src/ours" --with "/src/theirs"'


@pytest.mark.parametrize(
    ("receipt", "rest"),
    [
        ('requirements = [{ name = "tiermem", extras = ["mcp"] }]', '"tiermem[mcp]"'),
        ('requirements = [{ name = "tiermem", specifier = "==0.1" }]', '"tiermem[mcp]"'),  # the hint is of this version
        ('requirements = [{ name = "tiermem", directory = "/src/tiermem" }]', '"/src/tiermem[mcp]"'),
        ('requirements = [{ name = "tiermem", editable = "/src/tiermem" }]', '--editable "/src/tiermem[mcp]"'),
        (
            'requirements = [{ name = "tiermem", path = "/w/t-0.2.0-py3-none-any.whl" }]',
            '"/w/t-0.2.0-py3-none-any.whl[mcp]"',
        ),
        (
            'requirements = [{ name = "tiermem", git = "https://host.example/t?rev=v0.2.0" }]',
            '"tiermem[mcp] @ git+https://host.example/t@v0.2.0"',
        ),
        (WITH, f'--python /usr/bin/python3 "tiermem[mcp]" {OTHERS}'),
        ('requirements = [{ name = "another" }]', '"tiermem[mcp]" --with "another"'),
        ("requirements = [3]", '"tiermem[mcp]"'),
        ("requirements = 3", '"tiermem[mcp]"'),
        ("requirements = [{", '"tiermem[mcp]"'),
    ],
)
def test_a_tool_of_uv_is_installed_again_as_it_was(bare: Path, receipt: str, rest: str) -> None:
    (bare / "uv-receipt.toml").write_text(f"[tool]\n{receipt}\n")

    assert line(bare, "mcp") == f"uv tool install --force {rest}"


@pytest.mark.parametrize(
    ("metadata", "rest"),
    [
        ({"main_package": {"package_or_url": "tiermem[ollama]", "pip_args": []}}, '"tiermem[mcp]"'),
        ({"main_package": {"package_or_url": "/src/t", "pip_args": ["--editable"]}}, '--editable "/src/t[mcp]"'),
        ({}, '"tiermem[mcp]"'),
        ([], '"tiermem[mcp]"'),
    ],
)
def test_an_environment_of_pipx_is_installed_again_as_it_was(bare: Path, metadata: object, rest: str) -> None:
    (bare / "pipx_metadata.json").write_text(json.dumps(metadata))

    assert line(bare, "mcp") == f"pipx install --force {rest}"


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("text", "origin"),
    [
        (OURS, ""),
        (OURS.replace("memory.__main__", "tiermem.cli"), ""),
        (OURS.replace("memory.__main__", "memory.cli"), ""),  # an earlier installation
        (PIPS.format("memory.cli", "main"), "memory.cli"),
        (PIPS.format("mcp_memory_service.cli.main", "main"), "mcp_memory_service.cli.main"),
        ("exec /opt/venv/bin/memory $@", ""),  # a wrapper of the user's
        ("from __future__ import annotations\n", ""),
    ],
)
def test_a_script_says_whose_it_is(text: str, origin: str, tmp_path: Path) -> None:
    assert foreign(str(script(tmp_path, "memory", text))) == origin


def test_a_stranger_on_path_is_named_only_if_it_comes_first(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for folder in (theirs, ours):
        folder.mkdir()
    script(theirs, "memory", PIPS.format("mcp_memory_service.cli.main", "main"))
    script(ours, "memory", OURS)

    [(said, hint)] = strangers({"PATH": f"{theirs}:{ours}"})

    assert str(theirs / "memory") in said
    assert "mcp_memory_service" in said
    assert "tiermem" in hint
    assert list(strangers({"PATH": f"{ours}:{theirs}"})) == []


@pytest.mark.parametrize(
    ("scripts", "started"),
    [
        ({"memory": OURS, "tiermem": OURS}, "memory"),
        ({"memory": PIPS.format("memory.cli", "main"), "tiermem": OURS}, "tiermem"),
        ({"memory": PIPS.format("memory.cli", "main")}, "python -m tiermem"),
    ],
)
def test_agents_start_our_script_and_no_strangers(scripts: dict[str, str], started: str, bare: Path) -> None:
    for name, text in scripts.items():
        script(bare / "bin", name, text)
    program = "from memory.agents.command import _program; print(*_program())"

    ran = subprocess.run(
        [bare / "bin/python", "-c", program], capture_output=True, text=True, check=True, env=alone(bare)
    )

    assert ran.stdout.strip() == f"{bare}/bin/{started}"


def distribution(site: Path, name: str, file: str, text: str) -> None:
    """One installed here, with a file about what it brings."""
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / file).write_text(text)
    for line in (
        text.splitlines() if file == "RECORD" else ()
    ):  # from 3.13 on, what is listed and not there does not count
        (site / line.partition(",")[0]).parent.mkdir(exist_ok=True)
        (site / line.partition(",")[0]).touch()


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("top_level.txt", "other\nmemory\n"),
        ("RECORD", "memory/__init__.py,sha256=x,7\nmcp_memory_service-1.0.dist-info/RECORD,,\n"),
        ("RECORD", "other.py,sha256=x,7\nmemory.py,sha256=x,7\n"),
    ],
)
def test_a_stranger_in_the_same_environment_is_named(
    file: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mcp-memory-service", "tiermem"):
        distribution(tmp_path, name, file, text)
    distribution(tmp_path, "memory-of-others", "RECORD", "memory_of_others/memory.py,sha256=x,7\n")
    monkeypatch.syspath_prepend(tmp_path)

    [(said, hint)] = strangers({"PATH": ""})

    assert "mcp-memory-service" in said
    assert "environment of its own" in hint
