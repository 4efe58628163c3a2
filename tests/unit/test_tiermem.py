"""The package under its other name: the same modules, wherever else Python would look for `memory`."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import memory

OTHERS = ("memory.__main__", "memory.integrations.")  # the last need frameworks that are not here
MODULES = [one.name for one in pkgutil.walk_packages(memory.__path__, "memory.") if not one.name.startswith(OTHERS)]
SOURCE = str(Path(memory.__file__).parents[1])


def ran(*arguments: str, first: Path | None = None) -> subprocess.CompletedProcess[str]:
    """A Python that finds our packages after what is in a folder."""
    path = SOURCE if first is None else f"{first}:{SOURCE}"
    argv = [sys.executable, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=False, env={"PYTHONPATH": path})


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """A folder in which somebody else's `memory` stands."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory/__init__.py").write_text("def run():\n    raise SystemExit('a stranger')\n")
    return tmp_path


def test_each_module_is_the_same_one() -> None:
    for name in ["memory", *MODULES]:
        module = importlib.import_module(name)
        spec = module.__spec__

        other = importlib.import_module(name.replace("memory", "tiermem", 1))

        assert other is module
        assert module.__spec__ is spec
        assert module.__name__ == name


def test_it_is_the_same_whichever_name_comes_first() -> None:
    program = """
import tiermem.vectors.local as one
import memory.vectors.local as other
from tiermem import Engine
import memory
print(one is other, memory.Engine is Engine, other.__spec__.name)
"""
    assert ran("-c", program).stdout == "True True memory.vectors.local\n"


def test_what_was_packed_under_one_name_is_unpacked_under_the_other() -> None:
    tiermem = importlib.import_module("tiermem")

    assert isinstance(pickle.loads(pickle.dumps(tiermem.Scope())), memory.Scope)


def test_a_module_that_is_not_there_is_missed_by_its_name() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"memory\.nothing"):
        importlib.import_module("tiermem.nothing")


def test_a_stranger_that_comes_first_is_passed_over(stranger: Path) -> None:
    assert ran("-c", "import tiermem; print(tiermem.__file__)", first=stranger).stdout == f"{memory.__file__}\n"
    assert ran("-m", "tiermem", "--version", first=stranger).stdout == f"memory {memory.__version__}\n"


def test_what_a_stranger_has_overwritten_is_named_by_doctor(tmp_path: Path) -> None:
    """Installers write the files of two packages of one name over each other."""
    for name in ("memory", "tiermem"):
        shutil.copytree(Path(SOURCE, name), tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "memory/__init__.py").write_text('"""Theirs."""\n')
    info = tmp_path / "echovault-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echovault\nVersion: 1.0\n")
    (info / "top_level.txt").write_text("memory\n")

    asked = ran("-m", "tiermem", "--home", str(tmp_path / "home"), "doctor", first=tmp_path)

    assert "echovault has installed a package `memory` into the same environment" in asked.stdout, asked.stderr
    assert asked.returncode == 1


def test_a_stranger_that_is_imported_already_is_named(stranger: Path) -> None:
    failed = ran("-c", "import memory, tiermem", first=stranger)

    assert failed.stderr.splitlines()[-1].startswith("ImportError: another package named memory is imported already")
    assert str(stranger) in failed.stderr


def test_an_import_that_fails_leaves_nothing_half_loaded(tmp_path: Path) -> None:
    for name in ("memory", "tiermem"):
        shutil.copytree(Path(SOURCE, name), tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "memory/schema/__init__.py").open("a", encoding="utf-8") as version:
        version.write("\nimport os\n\nif os.environ.pop('BROKEN', ''):\n    raise OSError('torn')\n")
    program = """
import os, sys
os.environ["BROKEN"] = "yes"
try:
    import tiermem
except OSError as error:
    print(error, "memory" in sys.modules, "tiermem" in sys.modules)
import tiermem
import memory
print(memory is tiermem, tiermem.Engine.__name__, sum("_Same" in str(one) for one in sys.meta_path))
"""

    assert ran("-c", program, first=tmp_path).stdout == "torn False False\nTrue Engine 1\n"
