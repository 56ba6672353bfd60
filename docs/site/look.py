"""Looks at the documentation site in a browser: `make test-docs`.

Each page is opened on a phone and on a desk, a few also in the dark. A page that is wider than the phone, an error on
the console and a request to another host fail. Screenshots are in build/site/screenshots.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    Request,
    TimeoutError,
    ViewportSize,
    sync_playwright,
)

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "site"
SHOTS = ROOT / "build" / "site" / "screenshots"
SHOWN = {
    "index",
    "search",
    "docs/README",
    "docs/args",
    "docs/services",
    "docs/coming-from",
    "reference/names",
    "reference/c",
    "reference/c/ntapi",
    "reference/c/ntapi_8",
    "reference/c/ntapi_16",
    "reference/swift",
    "reference/swift/ntapi",
    "reference/swift/ntapi.apiclient",
    "reference/python",
    "reference/python/clients",
}
"""The pages of which there are screenshots."""
SEARCHED = {
    "idempotency": "docs/",
    "ntapi_client_perform": "reference/c",
    "TokenRefresh": "reference/swift",
    "add_header": "reference/python",
}
"""Words, and where the search has to find each: in the pages and in every reference."""
WIDTHS = {"phone": 390, "desk": 1280}


def too_wide(page: Page) -> list[str]:
    """What makes a page wider than the window."""
    found: list[str] = page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] : [
            `${document.documentElement.scrollWidth} px wide`,
            ...[...document.querySelectorAll("article *")]
                .filter(item => item.getBoundingClientRect().right > innerWidth + 1)
                .slice(0, 3).map(item => item.outerHTML.slice(0, 120))
        ]"""
    )
    return found


def watch(page: Page, problems: list[str]) -> None:
    """Notes what goes wrong in a page."""

    def on_console(message: ConsoleMessage) -> None:
        if message.type == "error":
            problems.append(f"console: {message.text} {message.location}")

    def on_request(request: Request) -> None:
        if not request.url.startswith(("file:", "data:")):
            problems.append(f"request: {request.url}")

    page.on("console", on_console)
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on("request", on_request)


def search(page: Page) -> Iterator[str]:
    """What the search does not find."""
    for word, place in SEARCHED.items():
        page.goto(f"{(SITE / 'search.html').as_uri()}?q={word}")
        try:
            page.wait_for_selector(f"#search-results li a[href*='{place}']")
        except TimeoutError:
            yield f"the search for {word} finds nothing in {place}"


def look(browser: Browser, device: str, scheme: str, problems: list[str]) -> None:
    """Opens the pages on a device, in a colour scheme."""
    size = ViewportSize(width=WIDTHS[device], height=900)
    page = browser.new_page(viewport=size, color_scheme=scheme)
    watch(page, problems)
    for file in sorted(SITE.rglob("*.html")):
        name = str(file.relative_to(SITE).with_suffix(""))
        if scheme == "dark" and name not in SHOWN:
            continue
        page.goto(file.as_uri())
        problems += (f"{device}: {name}: {problem}" for problem in too_wide(page))
        if name in SHOWN:
            page.screenshot(path=SHOTS / f"{name.replace('/', '-')}-{device}-{scheme}.png")
    if (device, scheme) == ("desk", "light"):
        problems += search(page)
    page.close()


def main() -> int:
    """0 when every page is well."""
    problems: list[str] = []
    shutil.rmtree(SHOTS, ignore_errors=True)
    SHOTS.mkdir(parents=True)
    with sync_playwright() as playwright:
        # Root has no sandbox in Chromium; the pages are our own.
        path = "/usr/bin/chromium"
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for device in WIDTHS:
            for scheme in ("light", "dark"):
                look(browser, device, scheme, problems)
        browser.close()
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems; the screenshots are in {SHOTS.relative_to(ROOT)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
