"""The library's lines in Python's logging."""

from __future__ import annotations

import logging

import pytest

import ntapi
from conftest import PATIENCE, run_python


def test_levels(fault: ntapi.Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ntapi")
    fault.log_flags = ntapi.LogFlags.ALL
    assert fault.log_flags is ntapi.LogFlags.ALL or fault.log_flags == 15
    fault.send("ok", ntapi.bearer("sesame"), ntapi.url("q", "x"))
    fault.perform("reset/before")
    assert fault.drain(PATIENCE) == 0
    levels = {record.levelno for record in caplog.records}
    assert {logging.DEBUG, logging.INFO, logging.ERROR} <= levels
    assert {record.name for record in caplog.records} == {"ntapi"}
    assert "q=x" in caplog.text
    assert "sesame" not in caplog.text


def test_flags_as_a_default(servers: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    class Quiet(ntapi.Client):
        pass

    Quiet.set_default("logFlags", int(ntapi.LogFlags.NONE))
    with Quiet(servers["fault"]) as client:
        client.perform("reset/before")
        assert client.log_flags is None
    assert caplog.records == []


def test_warnings_reach_standard_error_without_configuration(servers: dict[str, str]) -> None:
    code = "import sys, ntapi; ntapi.Client(sys.argv[1]).perform('reset/before')"
    result = run_python(code, servers["fault"])
    assert result.returncode == 0
    assert result.stderr.count("\n") == 1
    assert "network" in result.stderr


def test_a_log_handler_that_uses_the_client(fault: ntapi.Client) -> None:
    statuses: list[int] = []

    class Sending(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if not statuses:
                statuses.append(0)
                statuses.append(fault.send("echo").status)

    logger = logging.getLogger("ntapi")
    handler = Sending()
    logger.addHandler(handler)
    try:
        fault.perform("reset/before")
        assert fault.drain(PATIENCE) == 0
    finally:
        logger.removeHandler(handler)
    assert statuses == [0, 200]
