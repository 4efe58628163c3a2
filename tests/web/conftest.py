"""A real browser: Chromium without a window, driven by Selenium. One for the whole run; each test has its own tab."""

from __future__ import annotations

from pathlib import Path

import pytest
from browsing import WIDE, chromium


@pytest.fixture(scope="session")
def driven(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def browser(driven):
    """A clean tab. What the page reports of itself, a refused style or a script that failed, fails the test."""
    driven.set_window_size(*WIDE)
    driven.get("about:blank")
    driven.delete_all_cookies()
    driven.get_log("browser")
    yield driven
    reported = [one["message"] for one in driven.get_log("browser") if one["level"] == "SEVERE"]
    assert not [said for said in reported if "Failed to load resource" not in said]  # the status of an answer


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, from a package that has it."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__path__[0]) / "axe.min.js").read_text("utf-8")
