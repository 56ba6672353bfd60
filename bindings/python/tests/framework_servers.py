"""Servers of web frameworks as processes, and an API below them that knows its connections."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from conftest import PATIENCE, REPOSITORY, wait_for

PROGRAMS = REPOSITORY / "bindings" / "python" / "examples" / "frameworks"


class Upstream(ThreadingHTTPServer):
    """The API that the programs ask for the weather. `ports` has the client's port of the
    connection on which each city was asked for: a port is one connection.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.ports: dict[str, int] = {}
        self.pair = threading.Barrier(2)
        """Two requests for cities whose names begin with `pair` wait here for each other."""


class _Handler(BaseHTTPRequestHandler):
    server: Upstream
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        city = parse_qs(urlsplit(self.path).query)["q"][0]
        self.server.ports[city] = self.client_address[1]
        if city.startswith("pair"):
            self.server.pair.wait(PATIENCE)
        body = json.dumps({"name": city}).encode()
        self.send_response(404 if city == "Nowhere" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


class Server:
    """A running server. Its stderr goes to `log`. A web server listens at `url`."""

    def __init__(self, process: subprocess.Popen[str], url: str = "") -> None:
        self.process = process
        self.url = url
        self.log = ""

    def read_until(self, text: str) -> None:
        """Reads the log until a line contains the text."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log += line
            if text in line:
                return
        raise AssertionError(f"the server ended without {text}:\n{self.log}")

    def end(self) -> int:
        """Sends SIGTERM and waits for the end. Returns the exit status; the log is complete."""
        self.process.send_signal(signal.SIGTERM)
        self.log += self.process.communicate(timeout=PATIENCE)[1]
        return self.process.returncode


@contextmanager
def running(*command: str, folder: Path = PROGRAMS, **environment: str) -> Iterator[Server]:
    """Starts `python -m command` in a process group of its own, which ends with the block.

    In the command, {fd} is a listening socket: requests wait in it until the workers are there.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        words = [word.format(fd=listening.fileno()) for word in command]
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=folder,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            pass_fds=[listening.fileno()],
        )
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    try:
        yield Server(process, url)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ask(url: str) -> dict[str, Any]:
    """Gets JSON on a connection of its own."""
    with urlopen(url, timeout=PATIENCE) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


@contextmanager
def stopped(process: int) -> Iterator[None]:
    """Stops a process of the server. Meanwhile another one answers."""
    os.kill(process, signal.SIGSTOP)
    wait_for(lambda: Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] == "T")
    try:
        yield
    finally:
        os.kill(process, signal.SIGCONT)


def check_two_processes(url: str, upstream: Upstream) -> None:
    """Asks two workers several times: each has one connection to the API, and they share none."""
    answers = [ask(f"{url}/Oslo")]
    with stopped(answers[0]["process"]):
        answers += [ask(f"{url}/Rome{number}") for number in range(3)]
    with stopped(answers[1]["process"]):
        answers += [ask(f"{url}/Cairo{number}") for number in range(3)]
    ports: dict[int, set[int]] = {}
    for answer in answers:
        ports.setdefault(answer["process"], set()).add(upstream.ports[answer["city"]])
    assert [len(each) for each in ports.values()] == [1, 1]
    assert len(set.union(*ports.values())) == 2
