"""The library's lines in Python's logging."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

import ntapi
from conftest import API_URL, PATIENCE, run_python
from ntapi.testing import Stub


def test_levels(fault: ntapi.Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ntapi")
    fault.log_flags = ntapi.LogFlags.ALL
    assert fault.log_flags is ntapi.LogFlags.ALL or fault.log_flags == 15
    fault.send("ok", ntapi.bearer("sesame"), ntapi.url("appid", "sesame"), ntapi.url("q", "x"))
    fault.perform("reset/before")
    assert fault.drain(PATIENCE) == 0
    levels = {record.levelno for record in caplog.records}
    assert {logging.DEBUG, logging.INFO, logging.ERROR} <= levels
    assert {record.name for record in caplog.records} == {"ntapi"}
    assert "/ok?appid=<redacted>&q=x" in caplog.text
    assert "<redacted><redacted>" not in caplog.text
    assert "sesame" not in caplog.text


def test_the_flags_that_hold(fault: ntapi.Client, caplog: pytest.LogCaptureFixture) -> None:
    """Log flags come from the logger's level, the default, or the client itself."""
    caplog.set_level(logging.INFO, "ntapi")
    flags = ntapi.LogFlags
    assert fault.log_flags == flags.INFO | flags.WARN | flags.ERROR
    fault.set_default("log_flags", int(flags.DEBUG))
    assert fault.log_flags == flags.DEBUG
    fault.log_flags = flags.NONE
    assert fault.log_flags == flags.NONE


def test_flags_as_a_default(servers: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    class Quiet(ntapi.Client):
        pass

    Quiet.set_default("logFlags", int(ntapi.LogFlags.NONE))
    with Quiet(servers["fault"]) as client:
        client.perform("reset/before")
        assert client.log_flags == ntapi.LogFlags.NONE
    assert caplog.records == []


@pytest.mark.parametrize("first", ["", "import logging", "import logging, ntapi"])
def test_nothing_is_printed_until_the_program_configures_logging(
    servers: dict[str, str], first: str
) -> None:
    code = f"""
{first}
import sys, ntapi
client = ntapi.Client(sys.argv[1])
client.perform('reset/before')
import logging
client.perform('reset/before')
handlers = logging.getLogger("ntapi").handlers
assert [type(handler) for handler in handlers] == [logging.NullHandler], handlers
logging.basicConfig()
client.perform('reset/before')
"""
    result = run_python(code, servers["fault"])
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("ERROR:ntapi:#1.3 network")


def test_the_level_of_the_logger_suffices(
    servers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    """No log flags are needed. A level may be set at any time, in any of logging's ways."""
    logger = logging.getLogger("ntapi")

    def levels(client: ntapi.Client, command: str) -> set[int]:
        caplog.clear()
        client.perform(command)
        assert client.drain(PATIENCE) == 0
        return {record.levelno for record in caplog.records}

    with ntapi.Client(servers["fault"]) as client:
        assert levels(client, "ok") == set()
        caplog.set_level(logging.DEBUG, "ntapi")
        assert levels(client, "ok") == {logging.INFO, logging.DEBUG}
        logger.setLevel(logging.INFO)
        assert levels(client, "ok") == {logging.INFO}
        assert levels(client, "reset/before") == {logging.INFO, logging.ERROR}
        logger.setLevel(logging.NOTSET)
        with caplog.at_level(logging.DEBUG):
            assert levels(client, "ok") == {logging.INFO, logging.DEBUG}
            logging.disable(logging.INFO)
            assert levels(client, "ok") == set()
            logging.disable(logging.NOTSET)
        logger.setLevel(logging.CRITICAL)
        assert levels(client, "reset/before") == set()
        logger.setLevel(logging.DEBUG)
        client.log_flags = ntapi.LogFlags.ERROR
        assert levels(client, "ok") == set()


def test_levels_are_followed_in_asyncio(
    servers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            await client.perform("ok")
            assert caplog.records == []
            caplog.set_level(logging.DEBUG, "ntapi")
            await client.perform("ok")

    asyncio.run(main())
    assert {record.levelno for record in caplog.records} == {logging.INFO, logging.DEBUG}


@pytest.mark.parametrize("base", [ntapi.Client, ntapi.AsyncClient])
def test_the_line_of_an_error_comes_before_its_handler(stub: Stub, base: Any) -> None:
    """Also when an interceptor has answered and returns while the line is written."""
    has_come = threading.Event()
    is_too_late: list[bool] = []

    class Slow(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            is_too_late.append(has_come.wait(0.2))

    @ntapi.attempt_interceptor
    def fail(_: ntapi.InterceptedCall) -> None:
        raise ValueError

    def begin(client: Any) -> None:
        place = ntapi.response_thread(ntapi.BACKGROUND)
        client.begin("a", place, lambda _: has_come.set())

    async def main() -> None:
        async with ntapi.AsyncClient(API_URL, stub=stub, interceptors=[fail]) as client:
            begin(client)
            assert await client.drain(PATIENCE) == 0

    logger = logging.getLogger("ntapi")
    handler = Slow()
    logger.addHandler(handler)
    try:
        if base is ntapi.AsyncClient:
            asyncio.run(main())
        else:
            with ntapi.Client(API_URL, stub=stub, interceptors=[fail]) as client:
                begin(client)
                assert client.drain(PATIENCE) == 0
    finally:
        logger.removeHandler(handler)
    assert is_too_late == [False]
    assert has_come.is_set()


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
