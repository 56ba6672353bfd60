"""Imports a HAR of the recorder into Chromium's own DevTools: `make test-docs`.

DevTools has the code in `models/har/har.js`. It shows what it makes of a file on its Network panel.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import ntapi
from ntapi.testing import Recorder, Server
from ntapi.testing.server import ServerAnswer
from playwright.sync_api import sync_playwright

IMPORT = """async text => {
    const { HARFormat, Importer } = await import("./models/har/har.js");
    const log = new HARFormat.HARRoot(JSON.parse(text)).log;
    return Importer.Importer.requestsFromHARLog(log).map(request => ({
        url: request.url(), method: request.requestMethod, status: request.statusCode,
        protocol: request.protocol, type: request.mimeType, size: request.resourceSize,
        transferred: request.transferSize, seconds: request.duration, timing: request.timing,
    }));
}"""


def record(path: Path) -> None:
    """Two requests over HTTP/2 and TLS, the second on the connection of the first."""
    server = Server(tls=True)
    server.enqueue(ServerAnswer(302, headers={"Location": "/new"}), ServerAnswer(json=[1, 2]))
    with server as url, Recorder(path) as recorder, ntapi.Client(url, recorder=recorder) as client:
        client.set_default("caFile", str(server.ca_path))
        client.send("old", ntapi.url("q", "a b"))


def imported(har: str) -> list[dict[str, Any]]:
    """The requests that DevTools makes of a HAR."""
    with tempfile.TemporaryDirectory() as profile:
        # Root has no sandbox in Chromium; the pages are its own.
        command = [
            "/usr/bin/chromium",
            "--headless=new",
            "--no-sandbox",
            "--remote-debugging-port=0",
        ]
        command += [f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as chromium:
            assert chromium.stderr is not None
            # It prints the port that it has chosen.
            address = next(line for line in chromium.stderr if "DevTools listening on" in line)
            origin = address.split("ws://")[1].split("/")[0]
            with sync_playwright() as playwright:
                browser = playwright.chromium.connect_over_cdp(f"http://{origin}")
                page = browser.contexts[0].new_page()
                page.goto(f"http://{origin}/devtools/devtools_app.html")
                found: list[dict[str, Any]] = page.evaluate(IMPORT, har)
                browser.close()
            chromium.terminate()
            return found


def main() -> int:
    """0 when DevTools has read all."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "requests.har"
        record(path)
        first, second = imported(path.read_text(encoding="utf-8"))
    print(f"DevTools reads {first['url']} and {second['url']}")
    assert (first["status"], second["status"]) == (302, 200)
    assert first["url"].endswith("/old?q=a%20b") and second["url"].endswith("/new")
    assert {first["protocol"], second["protocol"]} == {"http/2"}
    assert (second["type"], second["size"], second["transferred"]) == ("application/json", 5, 5)
    # TLS is a part of the connection, which only the first request has opened.
    times = first["timing"]
    assert 0 <= times["connectStart"] < times["sslStart"] < times["sslEnd"] <= times["connectEnd"]
    assert second["timing"]["connectStart"] == -1 and second["seconds"] > 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
