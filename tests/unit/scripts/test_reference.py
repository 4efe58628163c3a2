"""What is generated is what the code says."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def _written():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.written()


@pytest.mark.parametrize(("path", "text"), _written().items(), ids=lambda value: getattr(value, "name", ""))
def test_a_generated_file_is_up_to_date(path, text):
    assert path.read_text("utf-8") == text, "run .venv/bin/python scripts/reference.py"
