"""A real browser: Chromium without a window, driven by Selenium. One for the whole run; each test has its own tab."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service

NARROW = (360, 740)
WIDE = (1280, 900)
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def program(*names: str) -> str:
    found = next(filter(None, map(shutil.which, names)), None)
    assert found, f"none of {', '.join(names)}: on Debian, apt install chromium chromium-driver"
    return found


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    options = webdriver.ChromeOptions()
    options.binary_location = program(*BROWSERS)
    for argument in (*ARGUMENTS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options, Service(program("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def browser(chromium):
    """A clean tab. What the page reports of itself, a refused style or a script that failed, fails the test."""
    chromium.set_window_size(*WIDE)
    chromium.get("about:blank")
    chromium.delete_all_cookies()
    chromium.get_log("browser")
    yield chromium
    reported = [one["message"] for one in chromium.get_log("browser") if one["level"] == "SEVERE"]
    assert not [said for said in reported if "Failed to load resource" not in said]  # the status of an answer


@pytest.fixture(scope="session")
def axe():
    """The source of axe-core, from a package that has it."""
    import axe_playwright_python

    return (Path(axe_playwright_python.__path__[0]) / "axe.min.js").read_text("utf-8")
