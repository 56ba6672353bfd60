"""Which certificates the environment makes trusted. Each case is a new process, because a process
reads the environment once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import run_python

SENDS = """
import sys
import ntapi
ca_file = sys.argv[2] if len(sys.argv) > 2 else None
configuration = ntapi.SessionConfiguration.ephemeral(proxy="", ca_file=ca_file)
with ntapi.Client(sys.argv[1], configuration=configuration) as client:
    response = client.perform("ok")
    print(response.status if response.error is None else response.error.message)
"""


def answer(servers: dict[str, str], *arguments: str, **variables: str) -> str:
    """The output of a program that sends a request with TLS."""
    names = ("SSL_CERT_FILE", "SSL_CERT_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    result = run_python(SENDS, servers["fault_tls"], *arguments, env={**environment, **variables})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def folder_of(ca: str, folder: Path) -> str:
    """A folder as OpenSSL searches one: each file is named by a hash of its subject."""
    command = ["openssl", "x509", "-hash", "-noout", "-in", ca]
    name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    shutil.copy(ca, folder / f"{name}.0")
    return str(folder)


@pytest.mark.parametrize("empty", [{}, {"SSL_CERT_FILE": "", "SSL_CERT_DIR": ""}])
def test_the_systems_store_does_not_know_the_server(
    servers: dict[str, str], empty: dict[str, str]
) -> None:
    assert "set caFile" in answer(servers, **empty)


def test_a_file_and_a_folder_of_the_environment(servers: dict[str, str], tmp_path: Path) -> None:
    assert answer(servers, SSL_CERT_FILE=servers["ca"]) == "200"
    assert answer(servers, SSL_CERT_DIR=folder_of(servers["ca"], tmp_path)) == "200"


def test_a_file_that_is_not_there_is_named(servers: dict[str, str]) -> None:
    message = answer(servers, SSL_CERT_FILE="/nowhere/ca.pem")
    assert "/nowhere/ca.pem" in message
    assert "SSL_CERT_FILE" in message


def test_the_programs_own_file_comes_first(servers: dict[str, str]) -> None:
    assert answer(servers, servers["ca"], SSL_CERT_FILE="/nowhere/ca.pem") == "200"
