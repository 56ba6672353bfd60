"""The mock server in a process of its own, as other languages use it; and the fixture of pytest."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable

import pytest

pytest.importorskip("h2")
pytest.importorskip("trustme")

from conftest import PATIENCE, REPOSITORY, wait_for
from mock_server_wire import curl
from ntapi.testing.server._wire import Wire

pytest_plugins = ["pytester"]
COMMAND = [sys.executable, "-m", "ntapi.testing.server"]


class Process:
    """A server's process, and its control channel."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.ready = self.read()
        self.url: str = self.ready["url"]

    def read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def do(self, name: str, **members: Any) -> dict[str, Any]:
        """Sends a command, and reads the next line."""
        self.write(json.dumps({"do": name, **members}))
        return self.read()

    def end(self) -> tuple[int, str]:
        """Closes the channel. Returns the exit code and what was reported."""
        _, problems = self._process.communicate(timeout=PATIENCE)
        return self._process.returncode, problems


@contextmanager
def served(*options: Any) -> Iterator[Process]:
    with subprocess.Popen(
        [*COMMAND, *map(str, options)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield Process(process)
        finally:
            if process.poll() is None:
                process.kill()


def test_rules_from_a_file(tmp_path: Path) -> None:
    rules = {
        "queue": [{"status": 503, "headers": {"X-A": "1"}}],
        "rules": [
            {"method": "GET", "url": "find?q=London", "answers": [{"json": {"name": "London"}}]},
            {
                "method": "POST",
                "contains": "x",
                "answers": [{"base64": "AP8=", "fault": {"kind": "reset", "place": "end"}}],
                "used_up": True,
            },
        ],
    }
    (tmp_path / "rules.json").write_text(json.dumps(rules), encoding="utf-8")
    with served(tmp_path / "rules.json") as server:
        assert server.ready == {
            "url": f"http://127.0.0.1:{server.ready['port']}",
            "port": server.ready["port"],
            "ca": None,
            "client_certificate": None,
        }
        assert b"X-A: 1" in curl(f"{server.url}/find?q=London").stdout
        assert curl(f"{server.url}/find?q=London").stdout.endswith(b'{"name":"London"}')
        assert curl("-d", "xyz", f"{server.url}/p").stdout.endswith(b"\r\n\r\n\0\xff")
        assert server.end() == (0, "")


def test_a_recording_in_a_process(tmp_path: Path) -> None:
    exchange = {
        "request": {"method": "GET", "url": "https://api.test/find?q=London"},
        "response": {"status": 200, "body": {"json": {"name": "London"}}},
    }
    recording = {"format": "ntapi-recording", "version": 1, "exchanges": [exchange]}
    (tmp_path / "r.json").write_text(json.dumps(recording), encoding="utf-8")
    with served("--recording", tmp_path / "r.json") as server:
        assert curl(f"{server.url}/find?q=London").stdout.endswith(b'{"name":"London"}')
        # One more than was recorded.
        assert curl(f"{server.url}/find?q=London").stdout.startswith(b"HTTP/1.1 501")
        assert server.end()[0] == 1


def test_commands_and_latches() -> None:
    with served() as server:
        answer = {"text": "late", "hold": "gate"}
        assert server.do("enqueue", answer=answer, id=7) == {"id": 7, "ok": True}
        client = subprocess.Popen(["curl", "-sS", f"{server.url}/x"], stdout=subprocess.PIPE)
        assert server.do("wait_for_latch", latch="gate") == {"ok": True}
        request = server.do("take_request")["request"]
        assert (request["method"], request["target"], request["text"]) == ("GET", "/x", "")
        assert (request["connection"], request["exchange"], request["outcome"]) == (1, 1, None)
        assert ["Accept", "*/*"] in request["headers"]
        assert server.do("release", latch="gate") == {"ok": True}
        assert client.communicate(timeout=PATIENCE)[0] == b"late"
        assert [each["url"] for each in server.do("requests")["requests"]] == [f"{server.url}/x"]
        assert server.do("verify") == {"ok": True}
        assert server.end() == (0, "")


def test_a_wait_does_not_hold_up_other_commands() -> None:
    with served() as server:
        server.write('{"do": "take_request", "id": "request"}')
        assert server.do("on", answers=[{"text": "hi"}], id="on") == {"id": "on", "ok": True}
        assert curl(f"{server.url}/x").stdout.endswith(b"hi")
        assert server.read()["request"]["is_matched"]
        assert server.end()[0] == 0


def test_tls_in_a_process() -> None:
    with served("--tls", "--client-certificates", "required", "--no-http2") as server:
        server.do("enqueue", answer={})
        trust = ["--cacert", server.ready["ca"], f"{server.url}/x"]
        assert curl(*trust).returncode != 0
        wait_for(lambda: server.do("failed_handshakes")["failed_handshakes"])
        done = curl("--cert", server.ready["client_certificate"], *trust)
        assert done.stdout.startswith(b"HTTP/1.1 200 OK")
        assert server.do("take_request")["request"]["tls"]["client_certificate"]["subject"]
        assert server.do("fail_connections", kind="alert") == {"ok": True}
        assert curl("--cert", server.ready["client_certificate"], *trust).returncode == 35
        assert server.end()[0] == 0


MISTAKES = [
    ("{", "this line is not JSON"),
    ("[]", '"do" is one of enqueue,'),
    ('{"do": "answer"}', 'not "answer"'),
    ('{"do": "enqueue", "answer": {"body": ""}}', "json=, text= or data="),
    ('{"do": "enqueue", "answer": {"fault": {"kind": "drop"}}}', "the kind of a fault is one of"),
    ('{"do": "enqueue", "answer": {"fault": "noise"}}', 'silence, connection_lost, not "noise"'),
    ('{"do": "enqueue", "answer": {"base64": "*"}}', "base64"),
    ('{"do": "release"}', "latch"),
    ('{"do": "take_request", "timeout": 0}', "has not come in 0 s"),
    ('{"do": "on", "path": "/x"}', "path"),
]


def test_a_mistake_is_answered_with_an_error() -> None:
    with served() as server:
        for line, message in MISTAKES:
            server.write(line)
            answer = server.read()
            assert message in answer["error"], answer
        assert server.end() == (0, "")


def test_the_exit_code_says_what_was_not_met() -> None:
    with served() as server:
        curl(f"{server.url}/x")
        assert "no stub has matched GET" in server.do("verify")["error"]
        code, problems = server.end()
    assert code == 1
    assert problems.startswith("ntapi.testing.server: no stub has matched GET")


def test_wrong_rules(tmp_path: Path) -> None:
    path = tmp_path / "rules.json"
    for text, message in [
        ("{", "Expecting"),
        ('{"answers": []}', 'an object with "queue" and "rules"'),
        ('{"rules": [{"answers": [{"fault": {"kind": "x"}}]}]}', "the kind of a fault"),
    ]:
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [*COMMAND, str(path)], capture_output=True, text=True, check=False, input=""
        )
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
        assert "Traceback" not in done.stderr


def test_in_the_background_of_a_script_it_runs_until_a_signal() -> None:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["url"]
        assert curl(f"{url}/x").stdout.startswith(b"HTTP/1.1 501")
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 1


# The sample in C of the page.

TWO_SERVERS = """
ntapi_json *ntapi_json_parse(const char *text, size_t length, ntapi_error **error) { return NULL; }
bool ntapi_json_bool(const ntapi_json *json, const char *path, bool fallback) { return true; }
const char *ntapi_json_string(const ntapi_json *json, const char *path) { return NULL; }

int main(void) {
    mock first, second;
    mock_start(&first);
    mock_start(&second);
    int status = mock_end(&first);
    return status | mock_end(&second);
}
"""


def test_the_first_of_two_servers_ends(tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    page = (REPOSITORY / "docs" / "mock-server.md").read_text(encoding="utf-8")
    sample = page.partition("```c\n")[2].partition("int main(void)")[0]
    source, program = tmp_path / "two.c", tmp_path / "two"
    source.write_text(sample + TWO_SERVERS, encoding="utf-8")
    include = f"-I{REPOSITORY / 'include'}"
    subprocess.run([compiler, "-w", include, str(source), "-o", str(program)], check=True)
    python = tmp_path / "python3"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        [str(program)], env={**os.environ, "PATH": path}, timeout=PATIENCE, check=False
    )
    assert done.returncode == 0


# The fixture of pytest.

TEST = """
    import urllib.request
    import pytest

    def get(url):
        with urllib.request.urlopen(url) as answer:
            return answer.read()

    def test_passes(ntapi_server):
        ntapi_server.stub.on("GET", "x").answer(text="hello")
        assert get(f"{ntapi_server.url}/x") == b"hello"

    def test_left(ntapi_server):
        ntapi_server.stub.on("GET", "y")

    @pytest.mark.ntapi_server(tls=True)
    def test_tls(ntapi_server):
        assert ntapi_server.url.startswith("https:")
        assert ntapi_server.ca_path.exists()
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return lambda: pytester.runpytest_subprocess(
        "-p", "pytest_ntapi", "-p", "no:cacheprovider", "-W", "error", "--strict-markers"
    )


def test_the_fixture(pytester: pytest.Pytester, run: Callable[..., Any]) -> None:
    pytester.makepyfile(test_it=TEST)
    result = run()
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*GET y was never requested*"])


def test_a_close_that_is_cancelled_closes_the_socket() -> None:
    """A server that closes cancels the connections that are about to end."""

    async def main(address: tuple[str, int], listener: socket.socket) -> None:
        with socket.create_connection(address):
            accepted, _ = listener.accept()
            accepted.setblocking(False)
            wire = Wire(accepted)
            closing = asyncio.ensure_future(wire.close())
            while not wire._is_closed:
                await asyncio.sleep(0)
            closing.cancel()
            await asyncio.wait([closing])
            assert closing.cancelled()
            assert accepted.fileno() == -1

    with socket.create_server(("127.0.0.1", 0)) as listener:
        asyncio.run(main(listener.getsockname(), listener))
