"""The example programs, run as a newcomer runs them."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import ntapi
from conftest import PATIENCE, REPOSITORY

EXAMPLES = REPOSITORY / "bindings" / "python" / "examples"


def run_example(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )


def test_tour(servers: dict[str, str]) -> None:
    result = run_example("tour.py", servers["weather"])
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0] == f"ntapi {ntapi.library_version()} from Python"
    assert lines[-1] == "done: 20 requests, 2 errors as expected"
    assert lines[2] == "1  A search: url args, and defaults that every call gets"
    assert (
        f"   GET {servers['weather']}/data/2.5/find?appid=demo&units=metric&q=London&cnt=5" in lines
    )
    assert '   the server read: "Rain & sun, 50 % each" from Zoë' in lines
    full = "#" * 40
    assert [line for line in lines if "[" in line] == [
        f"   photo.png  [{full}] 100 %",
        f"   download   [{full}] 100 %",
    ]
    assert '   HTTP status 200, and yet: error "404": city not found' in lines
    assert "   executor   ran on the executor's thread" in lines
    assert sum(" ms  " in line for line in lines) == 10


def test_the_tour_gets_any_url(servers: dict[str, str]) -> None:
    url = f"{servers['fault']}/echo?a=1"
    result = run_example("tour.py", "--get", url)
    assert (result.returncode, result.stderr) == (0, "")
    first, second, *_ = result.stdout.splitlines()
    assert first == url
    assert second.startswith("status 200 after ")
    assert '"method"' in result.stdout


def test_the_tour_says_why_a_url_cannot_be_got(servers: dict[str, str]) -> None:
    for url in ("http://127.0.0.1:1/", "no url"):
        result = run_example("tour.py", "--get", url)
        assert (result.returncode, result.stdout) == (1, "")
        assert result.stderr.startswith("error: ")
        assert len(result.stderr.splitlines()) == 1
    assert run_example("tour.py").returncode == 2


@pytest.mark.parametrize(
    ("example", "server"), [("weather", "weather"), ("qanda", "qanda"), ("byteclub", "storage")]
)
def test_example_of_a_service(servers: dict[str, str], example: str, server: str) -> None:
    command = [sys.executable, str(REPOSITORY / "Tests" / "docs" / f"check_{example}.py")]
    program = EXAMPLES / example
    command += [sys.executable, str(program if program.is_dir() else program.with_suffix(".py"))]
    environment = os.environ | {f"NTAPI_TEST_{server.upper()}": servers[server]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("example", "server"),
    [
        ("weather", "weather"),
        ("qanda", "qanda"),
        ("byteclub", "storage"),
        ("transfer", "weather"),
        ("tour", "weather"),
        ("asyncio_weather", "weather"),
    ],
)
def test_odd_words(servers: dict[str, str], example: str, server: str) -> None:
    command = [sys.executable, str(REPOSITORY / "Tests" / "docs" / "check_odd_words.py"), example]
    program = EXAMPLES / example
    command += [sys.executable, str(program if program.is_dir() else program.with_suffix(".py"))]
    environment = os.environ | {f"NTAPI_TEST_{server.upper()}": servers[server]}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_transfer(servers: dict[str, str]) -> None:
    """With and without a terminal. The C program, if it is built, continues the download."""
    command = [sys.executable, str(REPOSITORY / "Tests" / "docs" / "check_transfer.py")]
    command += [sys.executable, str(EXAMPLES / "transfer.py")]
    in_c = REPOSITORY / "build" / "bindings" / "c" / "transfer"
    if in_c.exists():
        command += ["--", str(in_c)]
    environment = os.environ | {"NTAPI_TEST_SERVERS": json.dumps(servers)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_asyncio_weather(servers: dict[str, str]) -> None:
    result = run_example("asyncio_weather.py", servers["weather"])
    assert (result.returncode, result.stderr) == (0, "")
    assert "Nowhereville: city not found" in result.stdout
