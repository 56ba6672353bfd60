"""The servers that examples talk to."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def weather_server() -> Iterator[str]:
    """The base URL of NTAPI_TEST_WEATHER, or of a server that ends with this block."""
    with server("weather") as url:
        yield url


@contextlib.contextmanager
def server(name: str) -> Iterator[str]:
    """The base URL of a running server of Tests/servers, or of one that ends with this block."""
    running = os.environ.get(f"NTAPI_TEST_{name.upper()}")
    if running:
        yield running
        return
    with first_line(f"{name}.py") as url:
        yield url


@contextlib.contextmanager
def table_of_servers(names: str) -> Iterator[dict[str, str]]:
    """The table of NTAPI_TEST_SERVERS, or that of servers which end with this block."""
    running = os.environ.get("NTAPI_TEST_SERVERS")
    if running:
        yield json.loads(running)
        return
    with first_line("run.py", "--only", names) as table:
        yield json.loads(table)


@contextlib.contextmanager
def first_line(program: str, *arguments: str) -> Iterator[str]:
    """The first line of a program of Tests/servers, which ends with this block."""
    command = [sys.executable, str(ROOT / "Tests" / "servers" / program), *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()
