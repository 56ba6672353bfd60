"""The weather server that examples talk to."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@contextlib.contextmanager
def weather_server() -> Iterator[str]:
    """The base URL of NTAPI_TEST_WEATHER, or of a server that ends with this block."""
    running = os.environ.get("NTAPI_TEST_WEATHER")
    if running:
        yield running
        return
    command = [sys.executable, str(ROOT / "Tests" / "servers" / "weather.py")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdin and server.stdout
        try:
            yield server.stdout.readline().strip()
        finally:
            server.stdin.close()
