"""A real headless Chromium, with a driver or for the text of a page."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("headless", "no-sandbox", "disable-gpu", "no-first-run"),
    *("disable-background-networking", "disable-component-update"),
)
# Contrast of each text with what is behind it: the worst, and how many texts there are.
CONTRAST = """
const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const over = (colour, below) => {  // any CSS colour on top of another, as the browser mixes them
  canvas.fillStyle = `rgb(${below})`; canvas.fillRect(0, 0, 1, 1);
  canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
};
const behind = element => {
  const chain = [];
  for (let e = element; e; e = e.parentElement) chain.push(getComputedStyle(e).backgroundColor);
  return chain.reverse().reduce((below, colour) => over(colour, below), [255, 255, 255]);
};
const worst = {ratio: 99, text: "", count: 0};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
  if (!text || element.closest("title") || !element.getClientRects().length) continue;
  const style = getComputedStyle(element);
  const below = behind(element);
  const [a, b] = [light(over(element instanceof SVGElement ? style.fill : style.color, below)), light(below)];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  worst.count += 1;
  if (ratio < worst.ratio) { worst.ratio = ratio; worst.text = text; }
}
return {...worst, page: behind(document.body)};
"""


@contextmanager
def driven(folder: Path, *, language: str = "en") -> Iterator[Any]:
    """A real headless Chromium with a driver, its profile in a folder. Skips where either is missing."""
    webdriver = pytest.importorskip("selenium.webdriver")
    program, driver = next(filter(None, map(shutil.which, PROGRAMS)), None), shutil.which("chromedriver")
    if program is None or driver is None:
        pytest.skip("needs Chromium and chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, "disable-quic", "disable-sync", f"accept-lang={language}", f"user-data-dir={folder}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    try:
        yield opened
    finally:
        opened.quit()


def emulate(browser: Any, *, width: int, scheme: str = "light", media: str = "") -> None:
    """A window of a width, a colour scheme, and a medium such as `print`."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def soon(true: Callable[[], object], seconds: float = 120.0) -> bool:
    """Whether it becomes true within so many seconds."""
    until = time.monotonic() + seconds
    while not (found := true()) and time.monotonic() < until:
        time.sleep(0.02)
    return bool(found)
