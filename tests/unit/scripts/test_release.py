"""What scripts/release.py refuses to publish; `make test-more` builds and tries the packages themselves."""

from __future__ import annotations

import tarfile
import zipfile
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import memory

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
NUMBER = memory.__version__


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = spec_from_file_location("release", ROOT / "scripts" / "release.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def wheel(release: ModuleType, folder: Path, number: str = NUMBER, **changed: str) -> Path:
    """A wheel as it should be, but for what is named."""
    info = f"tiermem-{number}.dist-info"
    extras = "".join(f"Provides-Extra: {extra}\n" for extra in sorted(release.extras()))
    files = dict.fromkeys(release.sources() | release.pages(), "") | {
        f"{info}/METADATA": f"Metadata-Version: 2.4\nName: tiermem\nVersion: {number}\n{extras}",
        f"{info}/entry_points.txt": release.ENTRIES,
        f"{info}/licenses/LICENSE": "",
    }
    path = folder / "made.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | {f"{info}/{name}": text for name, text in changed.items()}).items():
            archive.writestr(name, content)
    return path


def test_the_sources_of_this_version_can_be_published(release: ModuleType) -> None:
    assert release.version() == NUMBER
    release.check_sources(NUMBER)


def test_a_version_without_a_section_in_the_changelog_is_refused(release: ModuleType) -> None:
    with pytest.raises(release.Wrong, match=r"CHANGELOG\.md has no section"):
        release.check_sources("99.0.0")


def test_a_whole_wheel_is_taken(release: ModuleType, tmp_path: Path) -> None:
    release.check_wheel(wheel(release, tmp_path), NUMBER)


@pytest.mark.parametrize("name", ["memory/stray.py", "tests/test_x.py"])
def test_a_file_too_many_is_refused(name: str, release: ModuleType, tmp_path: Path) -> None:
    path = wheel(release, tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(name, "")

    with pytest.raises(release.Wrong, match=name):
        release.check_wheel(path, NUMBER)


def test_a_file_too_few_is_refused(release: ModuleType, tmp_path: Path) -> None:
    whole, path = wheel(release, tmp_path), tmp_path / "less.whl"
    with zipfile.ZipFile(whole) as archive, zipfile.ZipFile(path, "w") as less:
        for name in archive.namelist():
            if name != "tiermem/py.typed":
                less.writestr(name, archive.read(name))

    with pytest.raises(release.Wrong, match=r"tiermem/py\.typed"):
        release.check_wheel(path, NUMBER)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("METADATA", "Name: tiered-memory\nVersion: 0.2.0\n", "tiered-memory"),
        ("METADATA", "Name: tiermem\nVersion: 9\n", "tiermem 9"),
        ("METADATA", f"Name: tiermem\nVersion: {NUMBER}\nProvides-Extra: watch\n", "watch"),
        ("entry_points.txt", "[console_scripts]\nmemory = memory.cli:main", "memory.cli:main"),
    ],
)
def test_a_wheel_that_says_something_else_is_refused(
    name: str, text: str, said: str, release: ModuleType, tmp_path: Path
) -> None:
    with pytest.raises(release.Wrong, match=said):
        release.check_wheel(wheel(release, tmp_path, **{name: text}), NUMBER)


def test_a_wheel_with_a_relative_link_is_refused(release: ModuleType, tmp_path: Path) -> None:
    extras = "".join(f"Provides-Extra: {extra}\n" for extra in sorted(release.extras()))
    text = f"Name: tiermem\nVersion: {NUMBER}\n{extras}\n# memory\n\nSee [setup](docs/setup.md).\n"

    with pytest.raises(release.Wrong, match=r"relative link: .*docs/setup\.md"):
        release.check_wheel(wheel(release, tmp_path, METADATA=text), NUMBER)


def test_a_source_distribution_that_lacks_a_file_is_refused(release: ModuleType, tmp_path: Path) -> None:
    whole = {*release.NEEDED, *(f"src/{name}" for name in release.sources())}
    for name, names in (("whole", whole), ("less", whole - {"LICENSE"})):
        with tarfile.open(tmp_path / name, "w") as archive:
            for one in names:
                archive.addfile(tarfile.TarInfo(f"tiermem-{NUMBER}/{one}"))

    release.check_sdist(tmp_path / "whole", NUMBER)
    with pytest.raises(release.Wrong, match="LICENSE"):
        release.check_sdist(tmp_path / "less", NUMBER)
