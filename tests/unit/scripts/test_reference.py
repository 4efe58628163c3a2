"""What is generated is what the code says."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _loaded():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = _loaded()


def test_the_readme_and_setup_say_what_the_tools_take_of_a_context():
    readme, setup = (" ".join((ROOT / name).read_text("utf-8").split()) for name in ("README.md", "docs/setup.md"))
    core, *others = (f"{REFERENCE.cost(toolset):,}" for toolset in ("core", "sessions", "research", "graph"))

    assert f"six tools take about {core} tokens" in readme
    for figure, before in zip(others, ("those for sessions", "for research", "for the graph"), strict=True):
        assert f"{before} {figure}" in readme
    assert f"six tools, about {core} tokens" in setup


@pytest.mark.parametrize("bar", [("core", 1_750), ("sessions", 5_850), ("research", 2_950), ("graph", 5_100)])
def test_a_toolset_takes_no_more_of_a_context_than_it_may(bar):
    toolset, most = bar

    assert REFERENCE.cost(toolset) <= most


@pytest.mark.parametrize(("path", "text"), REFERENCE.written().items(), ids=lambda value: getattr(value, "name", ""))
def test_a_generated_file_is_up_to_date(path, text):
    assert path.read_text("utf-8") == text, "run .venv/bin/python scripts/reference.py"
