"""The fixture of the smoke tests: the table of running servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")


@pytest.fixture(scope="session")
def servers() -> Iterator[dict[str, str]]:
    """The servers that `run.py` has started, or new ones."""
    given = os.environ.get("NTAPI_TEST_SERVERS")
    if given:
        yield json.loads(given)
        return
    command = [sys.executable, str(RUN)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin and process.stdout
        yield json.loads(process.stdout.readline())
        process.stdin.close()
        assert process.wait() == 0
