"""No server outlives the program that started it, however that program ends."""

from __future__ import annotations

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

HERE = Path(__file__).parent
Program = subprocess.Popen[bytes]


def launch(*arguments: str) -> Program:
    """Starts one of the programs with pipes."""
    command = [sys.executable, *arguments]
    return subprocess.Popen(command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def open_connections(table: dict[str, str]) -> list[socket.socket]:
    """A connection to each server that accepts one. It ends with the server."""
    links = []
    for name in ("weather", "storage", "fault", "httpbin", "nginx", "proxy"):
        link = socket.create_connection(("127.0.0.1", urlsplit(table[name]).port or 0), 10)
        link.sendall(b"GET /404 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert link.recv(10)
        links.append(link)
    return links


def close_input(process: Program) -> None:
    """Ends standard input."""
    assert process.stdin
    process.stdin.close()


@pytest.mark.parametrize(
    "end",
    [close_input, Program.terminate, Program.kill, lambda process: process.send_signal(2)],
    ids=["end of input", "SIGTERM", "SIGKILL", "SIGINT"],
)
def test_all_servers_end_with_the_runner(end: Callable[[Program], None]) -> None:
    with launch("run.py") as process:
        assert process.stdout
        table = json.loads(process.stdout.readline())
        links = open_connections(table)
        end(process)
        process.wait(timeout=120)
        for link in links:
            try:
                while link.recv(65536):
                    pass
            except ConnectionResetError:
                pass
            link.close()
        shutil.rmtree(Path(table["tmp"]).parent, ignore_errors=True)


def test_the_command_gets_the_table_and_its_status_is_ours() -> None:
    script = 'test -n "$NTAPI_TEST_SERVERS" && echo $NTAPI_TEST_WEATHER && exit 7'
    with launch("run.py", "--only", "weather", "--", "sh", "-c", script) as process:
        output, _ = process.communicate(timeout=120)
    assert output.startswith(b"http://127.0.0.1:")
    assert process.returncode == 7


def test_a_killed_command_has_the_shells_status() -> None:
    with launch("run.py", "--only", "weather", "--", "sh", "-c", "kill -9 $$") as process:
        assert process.wait(timeout=120) == 128 + signal.SIGKILL


def test_weather_alone_ends_with_its_input() -> None:
    with launch("weather.py") as process:
        assert process.stdout and process.stdin
        assert process.stdout.readline().startswith(b"http://127.0.0.1:")
        process.stdin.close()
        assert process.wait(timeout=120) == 0


def test_weather_listens_on_the_given_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with launch("weather.py", str(port)) as process:
        assert process.stdout and process.stdin
        assert process.stdout.readline() == b"http://127.0.0.1:%d\n" % port
        process.stdin.close()
        assert process.wait(timeout=120) == 0


PROGRAMS = (
    "weather.py",
    "qanda.py",
    "storage.py",
    "proxy.py",
    "-m fault",
    "run.py --only weather",
)


@pytest.mark.parametrize("kind", ["</dev/null", "<&-", "<empty", ""])
def test_servers_stay_when_input_is_no_pipe(kind: str, tmp_path: Path) -> None:
    """Scripts and containers have no input, and a terminal's input does not show the end of a
    program.
    """
    (tmp_path / "empty").touch()
    ours, theirs = os.openpty()
    processes = [
        subprocess.Popen(
            [
                "sh",
                "-c",
                f"exec {sys.executable} {program} {kind.replace('empty', str(tmp_path / 'empty'))}",
            ],
            cwd=HERE,
            stdin=theirs,
            stdout=subprocess.PIPE,
        )
        for program in PROGRAMS
    ]
    ends = [os.pidfd_open(process.pid) for process in processes]
    os.write(ours, b"\x04")  # the end of input at a terminal
    try:
        ports = []
        for process in processes:
            assert process.stdout
            line = process.stdout.readline().decode()
            found = re.search(r"http://[\w.]+:(\d+)", line)
            assert found, (process.args, line)
            ports.append(int(found[1]))
        # There is no event to wait for. A server that ends with its input ends immediately.
        ended = select.select(ends, [], [], 1)[0]
        assert not ended, [processes[ends.index(end)].args for end in ended]
        for port in ports:
            with socket.create_connection(("127.0.0.1", port), 10) as link:
                link.sendall(b"GET /404 HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert link.recv(10)
    finally:
        for process in processes:
            process.terminate()
        assert [process.wait(timeout=120) for process in processes] == [0] * len(processes)
        for process in processes:
            assert process.stdout
            process.stdout.close()
        for descriptor in (*ends, ours, theirs):
            os.close(descriptor)


def test_weather_needs_no_packages() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    check = "import weather, sys; assert not [m for m in sys.modules if m in ('httpbin', 'flask')]"
    subprocess.run([sys.executable, "-S", "-c", check], cwd=HERE, env=environment, check=True)
