"""A provider that another package brings, installed as packages are."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

import pytest
from agent import Agent
from command import Shell

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import os
from pathlib import Path

from memory.vectors.providers.inside import HashedEmbedder


class Shouting(HashedEmbedder):
    provider = "shouting"
    host = "https://shouting.example"

    @property
    def model(self):
        return "loud"

    def embed(self, texts, role):
        return super().embed([text.upper() for text in texts], role)


def make(settings):
    return Shouting(settings.dimensions or 48)


class Slow(Shouting):
    provider = "slow"
    host = ""
    warm = False

    def embed(self, texts, role):
        Path(os.environ["LOADED"]).touch()
        return super().embed(texts, role)


def slow(settings):
    return Slow(48)


def broken(settings):
    raise ValueError("no microphone")
"""

ENTRY_POINTS = "[memory.embedders]\nshouting = shouting:make\nslow = shouting:slow\nmute = shouting:broken\ngone = shouting:no_such\n"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has put a package with providers."""
    folder = tmp_path_factory.mktemp("plugin")
    wheel = folder / "shouting-1.0-py3-none-any.whl"
    info = "shouting-1.0.dist-info"
    files = {
        "shouting.py": MODULE,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: shouting\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": ENTRY_POINTS,
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        record = ""
        for name, text in files.items():
            archive.writestr(name, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(text)}\n"
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    target = folder / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target, wheel]
    subprocess.run(command, check=True, capture_output=True)
    return target


@pytest.fixture
def shell(tmp_path: Path, installed: Path) -> Shell:
    shell = WithPath(tmp_path / "home", tmp_path, {"PYTHONPATH": str(installed)})
    return replace(shell, settings=shell.settings | {"MEMORY_EMBEDDING_PROVIDER": "shouting"})


class WithPath(Shell):
    """Each command in a process of its own: where packages are is read when an interpreter starts."""

    __call__ = Shell.process

    @property
    def env(self) -> dict[str, str]:
        return {name: said for name, said in super().env.items() if name != "MEMORY_EMBEDDING_MODEL"} | self.settings


def test_a_plug_in_is_a_provider_like_any_other(shell: Shell) -> None:
    shell("save", "Postgres pool raised")

    answer = shell("search", "postgresql pooling", "--json", "--mode", "hybrid").json

    assert answer["hits"][0]["title"] == "Postgres pool raised"
    [space] = shell("status", "--json").json["generations"]
    assert (space["provider"], space["model"], space["dimension"]) == ("shouting", "loud", 48)


def test_what_a_plug_in_sends_is_in_the_ledger(shell: Shell) -> None:
    shell("save", "Postgres pool raised")

    lines = shell("ledger", "--json").json["lines"]

    assert {line["host"] for line in lines} == {"https://shouting.example"}
    assert sum(line["bytes_out"] for line in lines) >= len("Postgres pool raised")


def test_a_budget_holds_for_a_plug_in_that_sends(shell: Shell) -> None:
    poor = replace(shell, settings=shell.settings | {"MEMORY_EMBEDDING_DAILY_BUDGET": "1 call"})
    assert "budget" in poor("save", "Postgres pool raised").err + poor("save", "Another").err


@pytest.mark.parametrize(("name", "said"), [("mute", "no microphone"), ("gone", "no_such")])
def test_a_broken_plug_in_costs_the_vectors_and_says_why(shell: Shell, name: str, said: str) -> None:
    broken = replace(shell, settings=shell.settings | {"MEMORY_EMBEDDING_PROVIDER": name})

    ran = broken("save", "Kept all the same")

    assert ran.out.startswith("Saved")
    assert said in ran.err
    assert broken("search", "kept").out


def test_an_unknown_provider_names_the_installed_ones(shell: Shell) -> None:
    unknown = replace(shell, settings=shell.settings | {"MEMORY_EMBEDDING_PROVIDER": "whispering"})

    assert "shouting" in unknown("status", code=2).err


def test_vectors_of_a_plug_in_that_was_removed_are_kept(shell: Shell) -> None:
    shell("save", "Postgres pool raised")
    without = replace(shell, settings={"MEMORY_EMBEDDING_PROVIDER": "hashed"})

    assert "shouting:loud" in without("search", "zebra crossings", code=None).err
    assert without("reindex").out


@pytest.mark.parametrize("warm", [True, False])
def test_a_server_loads_a_model_that_takes_long_before_it_is_needed_if_told_so(
    shell: Shell, tmp_path: Path, warm: bool
) -> None:
    loaded = tmp_path / "loaded"
    settings = {
        "MEMORY_EMBEDDING_PROVIDER": "slow",
        "WARM_START_EMBEDDING_MODEL": str(warm).lower(),
        "LOADED": str(loaded),
    }
    slow = replace(shell, settings=shell.settings | settings)

    with Agent(slow, "legacy") as agent:
        until = monotonic() + 60
        while warm and not loaded.exists() and monotonic() < until:
            agent.tools()
        assert agent.call("memory_search", query="anything")["hits"] == []

    assert loaded.exists() is warm
