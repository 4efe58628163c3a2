"""How stories look at a page in a browser, and wait for it."""

from __future__ import annotations

from typing import NamedTuple

from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

SECONDS = 30


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
