"""A browser without a screen, for tests that look at pages: one for a session, without a network."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
HAS_BROWSER = CHROMIUM is not None and DRIVER is not None
WHY_NOT = "there is no Chromium with its driver: apt-get install chromium chromium-driver"
OPTIONS = (
    "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync", "disable-dev-shm-usage", "force-color-profile=srgb",
)  # fmt: skip
SECONDS = 60  # until a page is ready, on a machine that does much else


@contextmanager
def started() -> Iterator[Browser]:
    """Start a browser with an empty profile, and end it."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for option in (*OPTIONS, f"user-data-dir={profile}"):
            options.add_argument(f"--{option}")
        options.binary_location = str(CHROMIUM)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            yield Browser(driver, Path(profile))
        finally:
            driver.quit()


class Browser:
    """What tests want of a browser."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver, self._folder = driver, folder

    def open(self, html: str, *, width: int = 1280, dark: bool = False) -> None:
        """Open a page from disk, and wait until it is complete."""
        path = self._folder / "page.html"
        path.write_text(html, encoding="utf-8")
        self.look(width, dark=dark)
        self.said()
        self.requests()
        self.driver.get(path.as_uri())
        self.wait("return document.documentElement.dataset.ready || document.querySelector('#rest > .stamp')")

    def look(self, width: int, *, dark: bool) -> None:
        """Set the width of the window, and what the reader prefers."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}  # else a pointer is moved while the page still scrolls
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})

    def run(self, script: str, *values: Any) -> Any:
        return self.driver.execute_script(script, *values)

    def wait(self, script: str) -> Any:
        """Run a script until what it returns is true."""
        end = time.monotonic() + SECONDS
        while not (found := self.run(script)):
            assert time.monotonic() < end, script
            time.sleep(0.02)
        return found

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).textContent", selector))

    def said(self) -> list[str]:
        """Return what the page said on the console since it was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[tuple[str, str | None]]:
        """Return what was asked for since it was asked last, and what kept it from being sent; the page itself is a file."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [m["params"] for m in messages if m["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated")]
        failed = [m["params"] for m in messages if m["method"] == "Network.loadingFailed"]
        blocked = {one["requestId"]: one.get("blockedReason") for one in failed}
        return [(str(one.get("url") or one["request"]["url"]), blocked.get(one["requestId"])) for one in sent]

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(*keys).perform()
