"""allowsCellularAccess, on a machine whose loopback interface is a mobile one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import ntapi
from conftest import REPOSITORY, run_python

PROGRAM = """
import sys, ntapi
fault, proxy = sys.argv[1:]
frugal = ntapi.SessionConfiguration.ephemeral(allows_cellular_access=False, proxy="")
over_proxy = ntapi.SessionConfiguration.ephemeral(allows_cellular_access=False, proxy=proxy)
open_client = ntapi.Client(fault)
open_client.set_default("proxy", "")
client = ntapi.Client(fault)
client.set_default("proxy", "")
client.set_default("allowsCellularAccess", False)
assert open_client.send("echo").status == 200
for refused in (
    ntapi.Client(fault, configuration=frugal),
    ntapi.Client(fault, configuration=over_proxy),
    client,
):
    error = refused.perform("echo").error
    assert error.code == ntapi.codes.NO_INTERNET, error
    assert "mobile interface lo" in error.message, error
    assert "allowsCellularAccess is false" in error.message, error
    assert error.retryable
assert open_client.send("echo").status == 200
print("refused")
"""


@pytest.fixture
def preloaded(tmp_path: Path) -> dict[str, str]:
    """The environment in which a program takes the loopback interface for a mobile one."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    source = REPOSITORY / "Tests" / "c" / "mobile_loopback.c"
    module = tmp_path / "mobile_loopback.so"
    command = [compiler, "-shared", "-fPIC", "-o", str(module), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return {**os.environ, "LD_PRELOAD": str(module)}


def test_connections_are_refused(servers: dict[str, str], preloaded: dict[str, str]) -> None:
    done = run_python(PROGRAM, servers["fault"], servers["proxy"], env=preloaded)
    assert done.stdout.strip() == "refused", done.stderr


def test_it_is_a_setting() -> None:
    configuration = ntapi.SessionConfiguration.ephemeral(allows_cellular_access=False)
    assert configuration.allows_cellular_access is False
    assert configuration["allowsCellularAccess"] is False
    assert ntapi.SessionConfiguration.ephemeral().allows_cellular_access is None
    configuration["allowsCellularAccess"] = "no"
    client = ntapi.Client("http://h", configuration=configuration)
    error = client.perform("x").error
    assert error is not None
    assert error.code == ntapi.codes.INVALID_REQUEST
