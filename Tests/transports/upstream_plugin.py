"""The pytest plugin of run_upstream.py. It replaces a library's default transports by NTApi's, and
writes the result of each test.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ntapi.transports
import pytest

_results: dict[str, Any] = {"outcomes": {}, "sent": []}
_running = ""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options that the script gives."""
    parser.addoption("--library", help="httpx, httpx2 or requests")
    parser.addoption("--ours", action="store_true", help="with NTApi's transports")
    parser.addoption("--results", type=Path, help="the JSON file for the results")


def pytest_configure(config: pytest.Config) -> None:
    """Replaces the default transports. Nothing else of the library is touched."""
    library = config.getoption("--library")
    if not config.getoption("--ours"):
        return
    if library == "requests":
        sessions: Any = importlib.import_module("requests.sessions")
        sessions.HTTPAdapter = _noticed(ntapi.transports.RequestsAdapter, "send")
        return
    client: Any = importlib.import_module(f"{library}._client")
    for name, method in (("", "handle_request"), ("Async", "handle_async_request")):
        transport = getattr(ntapi.transports, name + library.upper())
        setattr(client, f"{name}HTTPTransport", _noticed(transport, method))


def _noticed(transport: Any, method: str) -> Any:
    """Returns the transport, which from now on records the tests that send a request through it."""
    own = getattr(transport, method)

    def send(*args: Any, **options: Any) -> Any:
        if _running not in _results["sent"]:
            _results["sent"].append(_running)
        return own(*args, **options)

    setattr(transport, method, send)
    return transport


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Records which test runs."""
    global _running
    _running = item.nodeid
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Records how a test ends: "passed", "failed", "skipped", or "either" if its authors do not
    expect it to pass. An error before or after a test is a failure.
    """
    if report.when == "call" or report.outcome != "passed":
        outcome = "either" if hasattr(report, "wasxfail") else report.outcome
        _results["outcomes"][report.nodeid] = outcome


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Writes the results."""
    session.config.getoption("--results").write_text(json.dumps(_results))
