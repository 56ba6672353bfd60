"""The helpers for unittest, in runs of unittest of their own."""

from __future__ import annotations

import importlib.util
import json
import sys
import textwrap
import unittest
from pathlib import Path
from typing import Callable

import pytest

from ntapi.testing import Stub

pytest_plugins = ["pytester"]

Run = Callable[..., unittest.TestResult]

HEAD = """
    import unittest
    import ntapi
    from ntapi.testing import Stub
    from ntapi.testing.unittest import use_recorder

    SERVER = None  # a Stub, when there is one

    def client(**doubles):
        return ntapi.Client("http://api.test", **doubles)

    def ask(recorder, command="a"):
        # A recorder that only replays takes the place of this stub.
        with ntapi.Client("http://api.test", stub=SERVER or Stub(), recorder=recorder) as client:
            return client.send(command).json()
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the tests of a module with this text, which stands below `HEAD`."""

    def run(text: str, server: Stub | None = None) -> unittest.TestResult:
        path = tmp_path / "test_it.py"
        path.write_text(textwrap.dedent(HEAD) + textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location("test_it", path)
        assert spec
        assert spec.loader
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "test_it", module)
        spec.loader.exec_module(module)
        module.SERVER = server
        result = unittest.TestResult()
        unittest.defaultTestLoader.loadTestsFromModule(module).run(result)
        return result

    return run


def numbering() -> Stub:
    """Stands for a server that answers."""
    stub = Stub()
    stub.on(None).answer(json=[1]).answer(json=[2])
    return stub


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*.[jy]*") if path.is_file()}


def names(problems: list[tuple[unittest.TestCase, str]]) -> list[str]:
    return sorted(case.id().rpartition(".")[2] for case, _ in problems)


STUBS = """
    class Stubs(unittest.TestCase):
        def test_used(self):
            with Stub() as stub, client(stub=stub) as api:
                stub.on("GET", "a").answer(json=[1])
                self.assertEqual(api.send("a").json(), [1])

        def test_unused(self):
            with Stub() as stub:
                stub.on("GET", "never")

        def test_unmatched(self):
            with Stub() as stub, client(stub=stub) as api:
                api.perform("surprise")

        def test_that_fails_for_another_reason(self):
            with Stub() as stub:
                stub.on("GET", "neither")
                self.fail("this one")

        def test_that_raises(self):
            with Stub() as stub:
                stub.on("GET", "neither")
                raise RuntimeError("this one")

    class SetUp(unittest.TestCase):
        def setUp(self):
            self.stub = Stub()
            self.addCleanup(self.stub.verify)
            self.stub.on("GET", "a")

        def test_set_up(self):
            client(stub=self.stub).perform("a")

        def test_set_up_unused(self):
            pass

    class Async(unittest.IsolatedAsyncioTestCase):
        async def asyncSetUp(self):
            self.stub = Stub()
            self.addCleanup(self.stub.verify)
            self.stub.on("GET", "a").answer(json=[1])
            self.client = ntapi.AsyncClient("http://api.test", stub=self.stub)
            self.addAsyncCleanup(self.client.close)

        async def test_async(self):
            self.assertEqual((await self.client.send("a")).json(), [1])

        async def test_async_unused(self):
            pass
"""


def test_an_unused_rule_is_a_failure(run: Run) -> None:
    result = run(STUBS)
    assert result.testsRun == 9
    assert names(result.failures) == [
        "test_async_unused",
        "test_set_up_unused",
        "test_that_fails_for_another_reason",
        "test_unmatched",
        "test_unused",
    ]
    assert names(result.errors) == ["test_that_raises"]
    shown = "".join(text for _, text in result.failures)
    assert shown.count("GET never was never requested") == 1
    assert shown.count("no stub has matched GET http://api.test/surprise") == 1
    assert "neither was never requested" not in shown


RECORDERS = """
    class Recorders(unittest.TestCase):
        def test_of_its_own(self):
            with use_recorder(self) as recorder:
                self.assertEqual(ask(recorder), [1])

        def test_with_a_file(self):
            with use_recorder(self, "cities/london.yaml") as recorder:
                self.assertEqual(ask(recorder), [2])

        def test_without_a_request(self):
            with use_recorder(self) as recorder:
                self.assertEqual(recorder.count, 0)

    class Async(unittest.IsolatedAsyncioTestCase):
        async def test_async(self):
            with use_recorder(self, secrets=["mine"]) as recorder:
                async with ntapi.AsyncClient(
                    "http://api.test", stub=SERVER or Stub(), recorder=recorder
                ) as client:
                    self.assertTrue((await client.send("a", ntapi.url("mine", "hush"))).json())
"""


def test_a_test_records_once_and_then_replays(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    server = Stub()
    server.on(None).answer(json=[9]).answer(json=[1]).answer(json=[2])
    for stub in server, None:
        result = run(RECORDERS, stub)
        assert result.testsRun == 4
        assert result.wasSuccessful(), [*result.failures, *result.errors]
        assert files(tmp_path / "recordings") == {
            "test_it/Recorders.test_of_its_own.json",
            "cities/london.yaml",
            "test_it/Async.test_async.json",
        }
    server.verify()
    text = (tmp_path / "recordings/test_it/Async.test_async.json").read_text()
    assert "hush" not in text
    assert len(json.loads(text)["exchanges"]) == 1


def test_a_test_that_does_not_pass_writes_nothing(run: Run, tmp_path: Path) -> None:
    text = """
    class Recorders(unittest.TestCase):
        def test_that_fails(self):
            with use_recorder(self) as recorder:
                ask(recorder)
                self.fail("this one")

        def test_that_raises(self):
            with use_recorder(self) as recorder:
                ask(recorder)
                raise RuntimeError("this one")

        def test_with_a_part_that_fails(self):
            with use_recorder(self) as recorder:
                ask(recorder)
                with self.subTest():
                    self.fail("this one")

        def test_skipped(self):
            with use_recorder(self) as recorder:
                ask(recorder)
                self.skipTest("no")

        @unittest.expectedFailure
        def test_expected(self):
            with use_recorder(self) as recorder:
                ask(recorder)
                self.fail("as expected")
    """
    result = run(text, numbering())
    assert (len(result.failures), len(result.errors), len(result.skipped)) == (2, 1, 1)
    assert not files(tmp_path / "recordings")


def test_the_same_files_under_pytest(pytester: pytest.Pytester) -> None:
    text = HEAD.replace("SERVER = None", "SERVER = Stub(); SERVER.on(None).answer(json=[1])")
    case = """
    class Recorders(unittest.TestCase):
        def test_it(self):
            with use_recorder(self) as recorder:
                ask(recorder)

        def test_that_fails(self):
            with Stub() as stub:
                stub.on("GET", "never")
    """
    pytester.makepyfile(test_it=textwrap.dedent(text) + textwrap.dedent(case))
    result = pytester.runpytest("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    assert files(pytester.path / "recordings") == {"test_it/Recorders.test_it.json"}


def test_a_request_that_is_not_recorded_is_an_error_that_says_how(run: Run) -> None:
    result = run(
        """
    class Recorders(unittest.TestCase):
        def test_it(self):
            with use_recorder(self, mode="none") as recorder:
                ask(recorder)
    """
    )
    assert 'give the recorder mode="once"' in result.errors[0][1]
