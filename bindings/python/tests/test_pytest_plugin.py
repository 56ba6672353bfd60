"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable

import pytest

from conftest import REPOSITORY

with contextlib.suppress(ImportError):
    # pytester forgets what a test imports first, and the part of PyYAML in C does not work twice.
    import yaml  # noqa: F401

pytest_plugins = ["pytester"]

Run = Callable[..., pytest.RunResult]

ASK = """
    import os
    import ntapi

    def ask(recorder, *commands):
        with ntapi.Client(os.environ["SERVER"], recorder=recorder) as client:
            return [client.send(command).json()["number"] for command in commands]
"""
"""The beginning of a module of tests. The server numbers its answers."""
TEST_ASK = f"""{ASK}
    def test_ask(ntapi_recorder):
        commands = os.environ["COMMANDS"].split()
        assert ask(ntapi_recorder, *commands) == eval(os.environ["NUMBERS"])
"""


class Server(ThreadingHTTPServer):
    """Numbers its answers."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.number = 0
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        assert isinstance(self.server, Server)
        self.server.number += 1
        answer = {"number": self.server.number, "token": "from-the-server", "name": "London"}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing."""


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest with the plugin in a new process; keywords are environment variables."""
    # The package may be installed or only be on the path.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(*options: str, **variables: str) -> pytest.RunResult:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        plugins = ["-p", "pytest_ntapi", "-p", "no:cacheprovider"]
        return pytester.runpytest_subprocess(*plugins, "-W", "error", *options)

    return run


@pytest.fixture
def ask(run: Run, server: Server) -> Run:
    """Runs `TEST_ASK`."""

    def ask(mode: str, commands: str, numbers: str) -> pytest.RunResult:
        return run(f"--record-mode={mode}", SERVER=server.url, COMMANDS=commands, NUMBERS=numbers)

    return ask


def recorded(path: Path) -> list[str]:
    """The URLs of a recording, from the last slash."""
    exchanges = json.loads(path.read_text())["exchanges"]
    return [exchange["request"]["url"].rpartition("/")[2] for exchange in exchanges]


def files(folder: Path) -> set[str]:
    """The files below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


# Loading.


def test_the_package_declares_the_plugin() -> None:
    tomllib = pytest.importorskip("tomllib", reason="from Python 3.11 on")
    project = tomllib.loads((REPOSITORY / "bindings/python/pyproject.toml").read_text())
    assert project["project"]["entry-points"]["pytest11"] == {"pytest_ntapi": "pytest_ntapi"}
    assert "pytest_ntapi" in project["tool"]["setuptools"]["py-modules"]


def test_ntapi_is_imported_by_the_fixtures_only(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_before():
            assert "pytest_ntapi" in sys.modules
            assert "ntapi" not in sys.modules

        def test_with_a_fixture(ntapi_clock):
            assert "ntapi" in sys.modules
        """
    )
    run().assert_outcomes(passed=2)


def test_help_names_fixtures_marker_and_option(run: Run) -> None:
    assert "ntapi_recording(file)" in run("--markers").stdout.str()
    help_text = run("--help").stdout.str()
    assert "--record-mode={none,once,new_episodes,all}" in help_text
    assert "--har=DIR" in help_text
    fixtures = run("--fixtures").stdout.str()
    for name in ("ntapi_stub", "ntapi_clock", "ntapi_recorder", "ntapi_recording_secrets"):
        assert name in fixtures


def test_the_page_is_right(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    page = (REPOSITORY / "docs/testing.md").read_text()
    sections = page.partition("\n## With pytest\n")[2].partition("\n## Handles")[0]
    first, marked, secrets, cases = (
        code.replace("https://api.example.com", server.url)
        for code in re.findall("```python\n(.*?)```", sections, re.DOTALL)
    )
    # Each program of a page continues the one before.
    imports = "import pytest\nfrom ntapi.testing import Recorder\n"
    pytester.makepyfile(test_first=first, test_marked=imports + marked, test_cases=cases)
    pytester.makeconftest("import pytest\n" + secrets)
    run("--record-mode=once").assert_outcomes(passed=6)
    assert files(pytester.path / "recordings") == {
        "test_first/test_answers_of_the_server.json",
        "test_cases/Cities.test_answers_of_the_server.json",
    }
    assert server.number == 2
    run().assert_outcomes(passed=6)
    assert server.number == 2


# The stub and the clock.


def test_a_stub_is_verified(pytester: pytest.Pytester, run: Run) -> None:
    pytester.makepyfile(
        """
        import ntapi
        import pytest

        @pytest.fixture
        def client(ntapi_stub, ntapi_clock):
            with ntapi.Client("https://api.test", stub=ntapi_stub, clock=ntapi_clock) as client:
                yield client

        def test_used(client, ntapi_stub, ntapi_clock):
            ntapi_stub.on("GET", "a").answer(json=[1], delay=5)
            responses = []
            place = ntapi.response_thread(ntapi.BACKGROUND)
            request = client.begin("a", place, handler=responses.append)
            assert ntapi_clock.wait_for_sleepers()
            ntapi_clock.advance(5)
            assert request.wait()
            assert responses[0].json() == [1]

        def test_unused(client, ntapi_stub):
            ntapi_stub.on("GET", "never")

        def test_unmatched(client):
            client.perform("surprise")

        def test_that_fails_for_another_reason(client, ntapi_stub):
            ntapi_stub.on("GET", "neither")
            raise RuntimeError("this one")
        """
    )
    result = run()
    result.assert_outcomes(passed=3, errors=2, failed=1)
    output = result.stdout.str()
    assert "GET never was never requested" in output
    assert "no stub has matched GET https://api.test/surprise" in output
    assert "neither was never requested" not in output
    assert "During handling" not in output


# Recordings.


def test_none_replays_only(pytester: pytest.Pytester, ask: Run, server: Server) -> None:
    pytester.makepyfile(test_it=TEST_ASK)
    result = ask("none", "a", "[1]")
    result.assert_outcomes(failed=1)
    assert "--record-mode=once" in result.stdout.str()
    assert server.number == 0
    assert not (pytester.path / "recordings").exists()


def test_none_is_the_default(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    pytester.makepyfile(test_it=TEST_ASK)
    run(SERVER=server.url, COMMANDS="a", NUMBERS="[1]").assert_outcomes(failed=1)
    assert server.number == 0


def test_once_records_and_then_replays(pytester: pytest.Pytester, ask: Run, server: Server) -> None:
    pytester.makepyfile(test_it=TEST_ASK)
    file = pytester.path / "recordings/test_it/test_ask.json"
    ask("once", "a b a", "[1, 2, 3]").assert_outcomes(passed=1)
    assert recorded(file) == ["a", "b", "a"]
    before = file.read_bytes()

    ask("once", "a b a", "[1, 2, 3]").assert_outcomes(passed=1)
    ask("none", "a a", "[1, 3]").assert_outcomes(passed=1)
    result = ask("once", "a c", "[1, 4]")
    result.assert_outcomes(failed=1)
    assert "--record-mode=new_episodes" in result.stdout.str()
    assert server.number == 3
    assert file.read_bytes() == before
    assert files(pytester.path / "recordings") == {"test_it/test_ask.json"}


def test_new_episodes_adds(pytester: pytest.Pytester, ask: Run, server: Server) -> None:
    pytester.makepyfile(test_it=TEST_ASK)
    file = pytester.path / "recordings/test_it/test_ask.json"
    ask("new_episodes", "a b", "[1, 2]").assert_outcomes(passed=1)
    ask("new_episodes", "c a a", "[3, 1, 4]").assert_outcomes(passed=1)
    # Exchanges that were not requested again stay.
    assert recorded(file) == ["a", "b", "c", "a"]
    ask("none", "a b c a", "[1, 2, 3, 4]").assert_outcomes(passed=1)
    ask("new_episodes", "a b c a", "[1, 2, 3, 4]").assert_outcomes(passed=1)
    assert server.number == 4
    assert files(pytester.path / "recordings") == {"test_it/test_ask.json"}


def test_all_records_anew(pytester: pytest.Pytester, ask: Run) -> None:
    pytester.makepyfile(test_it=TEST_ASK)
    file = pytester.path / "recordings/test_it/test_ask.json"
    ask("all", "a b", "[1, 2]").assert_outcomes(passed=1)
    ask("all", "a", "[3]").assert_outcomes(passed=1)
    assert recorded(file) == ["a"]
    ask("none", "a", "[3]").assert_outcomes(passed=1)


def test_a_test_that_fails_writes_nothing(pytester: pytest.Pytester, ask: Run) -> None:
    pytester.makepyfile(test_it=TEST_ASK)
    ask("once", "a", "[100]").assert_outcomes(failed=1)
    ask("once", "", "[]").assert_outcomes(passed=1)
    assert not (pytester.path / "recordings").exists()


@pytest.mark.skipif(not hasattr(pytest, "Subtests"), reason="subtests are new in pytest 9")
def test_a_test_whose_subtest_fails_has_failed(
    pytester: pytest.Pytester, run: Run, server: Server
) -> None:
    pytester.makepyfile(
        test_it=f"""{ASK}
    import pytest
    import unittest

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def use(self, ntapi_recorder):
            self.recorder = ntapi_recorder

        def test_case(self):
            for number in (1, 2):
                with self.subTest(number=number):
                    assert ask(self.recorder, "a") == [-number]

    def test_recorder(ntapi_recorder, subtests):
        for number in (100, -1):
            with subtests.test():
                assert ask(ntapi_recorder, "a") != [number] and number > 0

    def test_stub(ntapi_stub, subtests):
        ntapi_stub.on("GET", "failed")
        with subtests.test():
            raise RuntimeError("this one")

    def test_skip(ntapi_recorder, subtests):
        with subtests.test():
            pytest.skip("not here")
        assert ask(ntapi_recorder, "a")

    def test_skip_with_a_stub(ntapi_stub, subtests):
        ntapi_stub.on("GET", "skipped")
        with subtests.test():
            pytest.skip("not here")
    """
    )
    result = run("--record-mode=once", SERVER=server.url)
    assert files(pytester.path / "recordings") == {"test_it/test_skip.json"}
    output = result.stdout.str()
    assert "GET skipped was never requested" in output
    assert "failed was never requested" not in output


def test_a_broken_file_is_named(pytester: pytest.Pytester, ask: Run) -> None:
    pytester.makepyfile(test_it=TEST_ASK)
    file = pytester.path / "recordings/test_it/test_ask.json"
    file.parent.mkdir(parents=True)
    file.write_text("[]")
    result = ask("none", "a", "[1]")
    result.assert_outcomes(errors=1)
    result.stdout.re_match_lines([r".*test_ask\.json.*it is neither a recording"])


def test_names_of_files(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    pytester.makepyfile(
        test_it=f"""{ASK}
    import pytest
    import unittest

    class TestGroup:
        class TestInner:
            def test_method(self, ntapi_recorder):
                assert ask(ntapi_recorder, "a")

    class Case(unittest.TestCase):
        @pytest.fixture(autouse=True)
        def use(self, ntapi_recorder):
            self.recorder = ntapi_recorder

        def test_case(self):
            assert ask(self.recorder, "a")

    @pytest.mark.parametrize("name", ["plain", "a/b", "a:b", "../..", "x" * 300, "ü"])
    def test_each(ntapi_recorder, name):
        assert ask(ntapi_recorder, "a")
    """
    )
    run("--record-mode=once", SERVER=server.url).assert_outcomes(passed=8)
    names = files(pytester.path / "recordings/test_it")
    assert len(names) == 8
    assert {
        "TestGroup.TestInner.test_method.json",
        "Case.test_case.json",
        "test_each[plain].json",
    } < names
    assert {name.rpartition("-")[0] for name in names} > {"test_each[a_b]", "test_each[.._..]"}
    run("--record-mode=none", SERVER=server.url).assert_outcomes(passed=8)
    assert server.number == 8


def test_a_marker_names_the_file(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    pytester.makepyfile(
        test_it=f"""{ASK}
    import pytest

    @pytest.mark.ntapi_recording("cities/london.json")
    def test_first(ntapi_recorder):
        assert ask(ntapi_recorder, "a") == [1]

    @pytest.mark.ntapi_recording("cities/london.json")
    def test_second(ntapi_recorder):
        assert ask(ntapi_recorder, "a", "b") == [1, 2]

    @pytest.mark.ntapi_recording
    def test_wrong(ntapi_recorder):
        pass
    """
    )
    result = run("--record-mode=new_episodes", "--strict-markers", SERVER=server.url)
    result.assert_outcomes(passed=2, errors=1)
    assert '@pytest.mark.ntapi_recording("file.json")' in result.stdout.str()
    assert files(pytester.path / "recordings") == {"cities/london.json"}
    run("-k", "not wrong", SERVER=server.url).assert_outcomes(passed=2)


def test_cassettes_of_vcrpy(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    pytest.importorskip("yaml")
    variables = {"SERVER": server.url, "COMMANDS": "a", "NUMBERS": "[1]"}
    pytester.makepyfile(test_it=TEST_ASK)
    pytester.makeini("[pytest]\nntapi_recording_format = yaml")
    run("--record-mode=once", **variables).assert_outcomes(passed=1)
    assert files(pytester.path / "recordings") == {"test_it/test_ask.yaml"}
    text = (pytester.path / "recordings/test_it/test_ask.yaml").read_text()
    assert text.startswith("interactions:\n- request:\n")
    assert "from-the-server" not in text
    run(**variables).assert_outcomes(passed=1)
    assert server.number == 1
    pytester.makeini("[pytest]\nntapi_recording_format = toml")
    result = run(**variables)
    result.assert_outcomes(errors=1)
    assert "ntapi_recording_format is json or yaml, not 'toml'" in result.stdout.str()


def test_secrets_are_not_written(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def ntapi_recording_secrets():
            return ["x-own"]
        """
    )
    pytester.makepyfile(
        test_it="""
        import os
        from pathlib import Path
        import ntapi

        ARGS = (
            ntapi.bearer("hush-bearer"),
            ntapi.header("X-API-Key", "hush-key"),
            ntapi.header("X-Own", "hush-own"),
            ntapi.header("X-Plain", "hush-marked").secret(),
            ntapi.url("plain", "hush-url").secret(),
            ntapi.url("api_key", "hush-named"),
            ntapi.json({"password": "hush-json", "open": "shown"}),
        )

        def written():
            files = Path(__file__).with_name("recordings").rglob("*")
            return {path: path.read_bytes() for path in files if path.is_file()}

        def test_it(ntapi_recorder):
            before = written()
            with ntapi.Client(os.environ["SERVER"], recorder=ntapi_recorder) as client:
                for _ in range(int(os.environ["COUNT"])):
                    client.send("a", *ARGS)
            # Secrets are redacted before anything is written.
            assert written() == before
        """
    )
    folder = pytester.path / "recordings/test_it"
    for mode, count in ("once", 1), ("new_episodes", 2), ("all", 1), ("none", 1):
        result = run(f"--record-mode={mode}", SERVER=server.url, COUNT=str(count))
        result.assert_outcomes(passed=1)
        assert files(folder) == {"test_it.json"}
        text = (folder / "test_it.json").read_text()
        assert text.count("shown") == count
        assert "hush-" not in text
        assert "from-the-server" not in text


# HAR files.


def test_each_test_has_a_har(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    (pytester.path / "sub").mkdir()
    (pytester.path / "sub" / "test_it.py").write_text(
        ASK.replace("\n    ", "\n")
        + """
import pytest

@pytest.fixture
def ntapi_recording_secrets():
    return ["name"]

@pytest.mark.parametrize("name", ["a/b", "c"])
def test_with_traffic(name):
    ask(None, name)

def test_that_fails():
    ask(None, "a")
    raise AssertionError

def test_without():
    pass
"""
    )
    # The folder is not taken for a path with tests.
    result = run("--har", "traffic", "--record-mode", "none", SERVER=server.url)
    result.assert_outcomes(passed=3, failed=1)
    found = files(pytester.path / "traffic")
    changed = {name for name in found if name.startswith("sub/test_it/test_with_traffic[a_b]-")}
    assert len(changed) == 1
    assert found - changed == {
        "sub/test_it/test_with_traffic[c].har",
        "sub/test_it/test_that_fails.har",
    }
    for name in found:
        text = (pytester.path / "traffic" / name).read_text()
        assert len(json.loads(text)["log"]["entries"]) == 1
        assert "London" not in text
        assert "from-the-server" not in text


# The option of another plugin.

TAKEN = """
    def pytest_addoption(parser):
        parser.getgroup("recording").addoption("--record-mode", {})
"""


def test_the_option_of_another_plugin_is_used(
    pytester: pytest.Pytester, ask: Run, run: Run, server: Server
) -> None:
    pytester.makeconftest(TAKEN.format("default=None"))
    pytester.makepyfile(test_it=TEST_ASK)
    run(SERVER=server.url, COMMANDS="a", NUMBERS="[1]").assert_outcomes(failed=1)
    assert server.number == 0
    ask("once", "a", "[1]").assert_outcomes(passed=1)
    ask("none", "a", "[1]").assert_outcomes(passed=1)
    ask("all", "a", "[2]").assert_outcomes(passed=1)
    # pytest-recording's word for recording anew.
    ask("rewrite", "a", "[3]").assert_outcomes(passed=1)
    result = ask("sometimes", "a", "[1]")
    result.assert_outcomes(errors=1)
    assert "--record-mode=sometimes is not one of none, once" in result.stdout.str()


def test_an_option_with_another_name_inside(
    pytester: pytest.Pytester, ask: Run, run: Run, server: Server
) -> None:
    choices = "dest='tapes', choices=['once'], default='once'"
    pytester.makeconftest(TAKEN.format(choices))
    pytester.makepyfile(test_it=TEST_ASK)
    run(SERVER=server.url, COMMANDS="a", NUMBERS="[1]").assert_outcomes(passed=1)
    assert ask("none", "a", "[1]").ret == pytest.ExitCode.USAGE_ERROR


def test_a_plugin_that_is_loaded_later_may_have_the_option(
    pytester: pytest.Pytester, run: Run, server: Server
) -> None:
    pytester.makepyfile(test_it=TEST_ASK, other_plugin=TAKEN.format("default='once'"))
    result = run("-p", "other_plugin", SERVER=server.url, COMMANDS="a", NUMBERS="[1]")
    result.assert_outcomes(passed=1)


@pytest.mark.skipif(
    pytest.version_tuple < (7, 3), reason="it does not look for conftest files in testpaths"
)
def test_the_mode_as_a_word_of_its_own(pytester: pytest.Pytester, run: Run, server: Server) -> None:
    """The conftest file in `testpaths`, which adds an option, is found all the same."""
    pytester.makeini("[pytest]\ntestpaths = inner")
    inner = pytester.mkpydir("inner")
    (inner / "conftest.py").write_text("def pytest_addoption(parser): parser.addoption('--own')")
    pytester.makepyfile(**{"inner/test_it": TEST_ASK})
    variables = {"SERVER": server.url, "COMMANDS": "a", "NUMBERS": "[1]"}
    run("--record-mode", "once", "--own=1", **variables).assert_outcomes(passed=1)
    assert files(inner / "recordings") == {"test_it/test_ask.json"}
