"""What PyPI shows: the README without a relative link, and addresses once there is a public one."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text("utf-8")
ADDRESS = "https://forge.example/ann/memory"


def loaded(name: str) -> ModuleType:
    spec = spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return loaded("package")


def targets(text: str) -> list[str]:
    return re.findall(r"\]\(([^)]+)\)", text)


def test_a_relative_link_becomes_its_text_as_long_as_there_is_no_address(package: ModuleType) -> None:
    assert package.ADDRESS == ""
    assert [one for one in targets(README) if not one.startswith("https://")]
    assert [one for one in targets(package.readme(README)) if not one.startswith("https://")] == []
    assert package.readme("[a *b*](docs/x.md#y) and [c](https://c.example)") == "a *b* and [c](https://c.example)"
    assert package.urls() == {}


def test_with_an_address_each_link_leads_there(package: ModuleType) -> None:
    text = package.readme(README, ADDRESS)

    assert len(targets(text)) == len(targets(README))
    assert all(one.startswith("https://") for one in targets(text))
    assert package.readme("[a](docs/x.md#y)", ADDRESS) == f"[a]({ADDRESS}/blob/main/docs/x.md#y)"
    assert all(one.startswith(ADDRESS) for one in package.urls(ADDRESS).values())


def test_nothing_is_published_without_an_address_nor_under_another_tag(
    package: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = loaded("release")
    number = release.version()

    with pytest.raises(release.Wrong, match="no public address"):
        release.check_public(f"v{number}", number)
    monkeypatch.setattr(package, "ADDRESS", ADDRESS)
    monkeypatch.setattr(release, "packaging", lambda: package)
    with pytest.raises(release.Wrong, match="is not v"):
        release.check_public("v0.0.0", number)
    assert release.main(["--publish", "v0.0.0"]) == 1
