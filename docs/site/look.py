"""Looks at the documentation site in a browser: `make test-docs`.

Each page is opened on a phone and on a desk, a few also in the dark, and those with a switch of language in each
language. A page that is wider than the phone, an error on the console, a request to another host and a part in another
language fail. Screenshots are in build/site/screenshots.
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
    "docs/errors",
    "docs/services",
    "docs/interceptors",
    "docs/background",
    "docs/testing",
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
LANGUAGES = ("swift", "c", "python")
SWITCHED = "docs/errors"
"""A page with programs and tables, on which a language is chosen."""
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


def of_other_languages(page: Page, language: str) -> list[str]:
    """What is wrong with a page for which a language was chosen, here or on another page."""
    found: list[str] = page.evaluate(
        """language => {
            const problems = [];
            const shown = item => item.checkVisibility();
            const names = item => `${item.className}: ${item.textContent.slice(0, 60)}`;
            if (document.documentElement.dataset.language !== language) {
                problems.push(`${language} is not remembered`);
            }
            for (const item of document.querySelectorAll(`.or-${language}`)) {
                const isOwn = item.classList.contains(`for-${language}`);
                if (!isOwn && shown(item)) problems.push(`shown for ${language}: ${names(item)}`);
                if (isOwn && !shown(item) && shown(item.parentElement)) problems.push(`hidden: ${names(item)}`);
            }
            for (const table of document.querySelectorAll("article table")) {
                const cells = row => [...row.cells].filter(shown).length;
                const counts = new Set([...table.rows].filter(shown).map(cells));
                if (counts.size > 1) problems.push(`columns of a table: ${names(table)}`);
            }
            const bar = document.querySelector(".languages");
            if (bar) {
                scrollTo({ top: document.documentElement.scrollHeight / 2, behavior: "instant" });
                const place = bar.getBoundingClientRect();
                if (place.top < 0 || place.bottom > innerHeight || place.left < 0 || place.right > innerWidth) {
                    problems.push("the switch is out of sight");
                }
                if (!bar.querySelector(`[aria-pressed="true"][value="${language}"]`)) {
                    problems.push("the switch does not show the language");
                }
            }
            return problems;
        }""",
        language,
    )
    return found


def switch(browser: Browser, device: str, language: str, problems: list[str]) -> None:
    """Chooses a language on one page, in the middle of it, and opens all that have a switch."""
    size = ViewportSize(width=WIDTHS[device], height=900)
    page = browser.new_page(viewport=size)
    watch(page, problems)
    page.goto((SITE / f"{SWITCHED}.html").as_uri())
    heading = page.locator("#network-failures h2")
    heading.evaluate(
        "item => scrollBy({ top: item.getBoundingClientRect().top - 300, behavior: 'instant' })"
    )
    page.locator(f".languages [value={language}]").click()
    top = heading.evaluate("item => item.getBoundingClientRect().top")
    if abs(top - 300) > 2:
        problems.append(f"{device}: {SWITCHED}: the text moves to {top} px for {language}")
    for file in sorted(SITE.rglob("*.html")):
        if 'class="languages"' not in file.read_text(encoding="utf-8"):
            continue
        name = str(file.relative_to(SITE).with_suffix(""))
        page.goto(file.as_uri())
        found = [*too_wide(page), *of_other_languages(page, language)]
        problems += (f"{device}: {name}: {problem}" for problem in found)
        if name in SHOWN:
            page.screenshot(path=SHOTS / f"{name.replace('/', '-')}-{device}-{language}.png")
    page.goto((SITE / "docs/args.html").as_uri() + "#in-swift")
    if not page.locator("#in-swift").is_visible():
        problems.append(f"{device}: a link to a hidden section leads nowhere")
    page.close()


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
            for language in LANGUAGES:
                switch(browser, device, language, problems)
        browser.close()
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems; the screenshots are in {SHOTS.relative_to(ROOT)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
