"""Builds and runs the programs of docs/frameworks.md for Hummingbird and NIO.

python3 Tests/docs/check_frameworks.py

`make test-frameworks` calls it. The builds are in .build/frameworks, because `make test` builds the
core with other options.

Where the packages cannot be fetched, nothing runs, and a line says so.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit
from urllib.request import ProxyHandler, build_opener

from checks import run_checks
from terminal import PATIENCE

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "bindings/swift/examples/frameworks"


class Api(ThreadingHTTPServer):
    """The API that the programs ask for the weather. It tells what the tests wait for."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.ports: set[int] = set()
        """Those of its clients: one is one connection."""
        self.waiting: queue.Queue[str] = queue.Queue()
        """Cities whose answers wait for the test."""
        self.answer_late = threading.Event()
        self.hung_up: queue.Queue[str] = queue.Queue()
        """Cities whose client did not wait for the answer."""


def wait_for(found: queue.Queue[str], city: str) -> None:
    """Waits until the API has told about this city."""
    try:
        assert found.get(timeout=PATIENCE) == city
    except queue.Empty:
        raise AssertionError(f"nothing of {city}") from None


class _Handler(BaseHTTPRequestHandler):
    server: Api
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        city = parse_qs(urlsplit(self.path).query)["q"][0]
        self.server.ports.add(self.client_address[1])
        if city in ("never", "late"):
            self.server.waiting.put(city)
        if city == "never":
            with contextlib.suppress(OSError):
                self.connection.recv(1)
            self.close_connection = True
            self.server.hung_up.put(city)
            return
        if city == "late":
            assert self.server.answer_late.wait(PATIENCE)
        body = json.dumps({"name": city}).encode()
        self.send_response(404 if city == "Nowhere" else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing."""


class Program:
    """A running program and its API."""

    def __init__(self, path: Path, *words: str) -> None:
        self.api = Api()
        threading.Thread(target=self.api.serve_forever, args=(0.01,), daemon=True).start()
        self.process = subprocess.Popen(
            [str(path), self.api.url, *words],
            env=os.environ | {"no_proxy": "127.0.0.1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.port = 0

    def read_port(self, mark: str) -> None:
        """Reads its output until a line ends with the mark and the port."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if mark in line:
                self.port = int(line.rpartition(mark)[2])
                return
        raise AssertionError(f"it ended without {mark!r}")

    def end(self) -> str:
        """Closes its standard input and waits for its end. Returns what else it has printed."""
        printed = self.process.communicate(timeout=PATIENCE)[0]
        assert self.process.returncode == 0, f"status {self.process.returncode}: {printed}"
        return printed

    def stop(self) -> None:
        """Stops what is left."""
        self.process.kill()
        self.process.communicate()
        self.api.shutdown()
        self.api.server_close()


@contextlib.contextmanager
def hummingbird(folder: Path) -> Iterator[Program]:
    """The running web server."""
    program = Program(folder / "hummingbird-app", "0")
    try:
        program.read_port("listening on 127.0.0.1:")
        yield program
    finally:
        program.stop()


@contextlib.contextmanager
def nio(folder: Path) -> Iterator[Program]:
    """The running server of lines."""
    program = Program(folder / "nio-server")
    try:
        program.read_port("port ")
        yield program
    finally:
        program.stop()


def ask(program: Program, path: str) -> dict[str, Any]:
    """Gets JSON on a connection of its own, past proxies of the environment."""
    opener = build_opener(ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{program.port}/{path}", timeout=PATIENCE) as response:
        answer: dict[str, Any] = json.load(response)
    return answer


def connect(program: Program) -> socket.socket:
    """A connection to the program."""
    return socket.create_connection(("127.0.0.1", program.port), PATIENCE)


def wait_until_it_refuses(program: Program) -> None:
    """Waits until it listens no more."""
    with contextlib.suppress(OSError):
        while True:
            # What was accepted by the system alone is closed with the listening socket.
            with connect(program) as connection:
                connection.recv(1)


def hummingbird_shares_one_client(folder: Path) -> None:
    with hummingbird(folder) as program:
        for city in ("Oslo", "Rome"):
            assert ask(program, f"weather/{city}") == {"name": city}
        assert len(program.api.ports) == 1, program.api.ports


def hummingbird_turns_an_error_into_a_bad_gateway(folder: Path) -> None:
    with hummingbird(folder) as program:
        try:
            answer = ask(program, "weather/Nowhere")
        except HTTPError as error:
            assert error.code == 502, error
            assert "404" in error.read().decode()
        else:
            raise AssertionError(f"answered {answer}")


def hummingbird_cancels_the_request_of_a_client_that_hangs_up(folder: Path) -> None:
    with hummingbird(folder) as program:
        with connect(program) as connection:
            connection.sendall(b"GET /report/never HTTP/1.1\r\nHost: test\r\n\r\n")
            wait_for(program.api.waiting, "never")
        wait_for(program.api.hung_up, "never")


def hummingbird_answers_before_it_ends(folder: Path) -> None:
    with hummingbird(folder) as program, ThreadPoolExecutor() as pool:
        answer = pool.submit(ask, program, "weather/late")
        wait_for(program.api.waiting, "late")
        program.process.send_signal(signal.SIGTERM)
        wait_until_it_refuses(program)
        program.api.answer_late.set()
        assert answer.result(PATIENCE) == {"name": "late"}
        program.end()


def nio_answers_on_the_event_loop(folder: Path) -> None:
    """On another thread, the handler would trap."""
    with nio(folder) as program, connect(program) as connection:
        lines = connection.makefile("rw")
        lines.write("Oslo\nRome\nCairo\n")
        lines.flush()
        assert {lines.readline() for _ in range(3)} == {"Oslo\n", "Rome\n", "Cairo\n"}
        lines.write("Nowhere\n")
        lines.flush()
        assert "404" in lines.readline()


def nio_cancels_the_requests_of_a_client_that_hangs_up(folder: Path) -> None:
    with nio(folder) as program:
        with connect(program) as connection:
            connection.sendall(b"never\n")
            wait_for(program.api.waiting, "never")
        wait_for(program.api.hung_up, "never")


def nio_calls_the_handlers_before_its_loops_end(folder: Path) -> None:
    with nio(folder) as program, connect(program) as connection:
        connection.sendall(b"never\n")
        wait_for(program.api.waiting, "never")
        program.end()
        assert "cancelled" in connection.makefile().readline()


def main() -> int:
    """Builds the programs and checks them."""
    scratch = ROOT / ".build/frameworks"
    options = ["--package-path", str(PACKAGE), "--scratch-path", str(scratch)]
    resolve = ["swift", "package", *options, "resolve"]
    resolved = subprocess.run(resolve, capture_output=True, text=True, check=False)
    if resolved.returncode != 0:
        print(f"{resolved.stderr}not run: Hummingbird and NIO cannot be fetched")
        return 0
    if subprocess.run(["swift", "build", *options], check=False).returncode != 0:
        return 1
    checks = [
        hummingbird_shares_one_client,
        hummingbird_turns_an_error_into_a_bad_gateway,
        hummingbird_cancels_the_request_of_a_client_that_hangs_up,
        hummingbird_answers_before_it_ends,
        nio_answers_on_the_event_loop,
        nio_cancels_the_requests_of_a_client_that_hangs_up,
        nio_calls_the_handlers_before_its_loops_end,
    ]
    return run_checks(checks, lambda _: scratch / "debug")


if __name__ == "__main__":
    sys.exit(main())
