"""A browser without a window, and how stories look at a page in it, and wait for it."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECONDS = 30
WIDE = (1280, 900)
ARGUMENTS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars")
BROWSERS, DRIVERS = ("chromium", "chromium-browser", "google-chrome"), ("chromedriver",)


def program(*names: str) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """Chromium with an empty profile in this folder."""
    browser, driver = program(*BROWSERS), program(*DRIVERS)
    assert browser, "there is no Chromium: on Debian, apt install chromium"
    assert driver, "there is no driver of Chromium: on Debian, apt install chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driven = webdriver.Chrome(options, Service(driver))
    try:
        yield driven
    finally:
        driven.quit()


class Look(NamedTuple):
    theme: str
    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.theme}, {self.width}"


LOOKS = [Look(theme, *size) for theme in ("light", "dark") for size in ((1280, 900), (360, 740))]
SERIOUS = ("serious", "critical")


def faults(browser, axe: str, url: str, look: Look) -> list[object]:
    """What axe-core says is serious of a page with all its details open, and how far it is wider than the screen."""
    screen = {"width": look.width, "height": look.height, "deviceScaleFactor": 1, "mobile": look.width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
    features = {"prefers-color-scheme": look.theme, "prefers-reduced-motion": "reduce"}
    media = [{"name": name, "value": value} for name, value in features.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": media})
    browser.get(url)
    seen(browser, "main")
    browser.execute_script("document.querySelectorAll('details').forEach((details) => { details.open = true; })")
    browser.execute_script(axe)
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    wide = browser.execute_script("return document.documentElement.scrollWidth")
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    violations = [one for one in found["violations"] if one["impact"] in SERIOUS]
    wrong = [(one["id"], one["nodes"][0]["html"], one["nodes"][0]["any"]) for one in violations]
    return wrong + [f"{wide} wide"] * (wide > look.width)


def until(browser, found, seconds: float = SECONDS):
    """The first result that says something; a page that is replaced meanwhile is looked at again."""
    return WebDriverWait(browser, seconds, ignored_exceptions=[StaleElementReferenceException]).until(found)


def seen(browser, selector: str):
    """The elements of a selector, as soon as there are any."""
    return until(browser, lambda it: it.find_elements(By.CSS_SELECTOR, selector))


def shows(browser, text: str, seconds: float = SECONDS) -> bool:
    return until(browser, lambda it: text in it.find_element(By.TAG_NAME, "body").text, seconds)


def press(browser, *keys: str) -> None:
    for key in keys:
        browser.switch_to.active_element.send_keys(key)
