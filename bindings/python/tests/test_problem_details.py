"""Problem details (RFC 9457) in errors. Tests/conformance has what all languages share."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from typing import Any, Optional

import pytest

import ntapi
from ntapi.testing import Stub

TYPE = {"Content-Type": "application/problem+json"}
PROBLEM: dict[str, Any] = {
    "type": "https://example.com/no-credit",
    "title": "No credit",
    "status": 402,
    "detail": "It costs 50.",
    "instance": "/orders/7",
    "balance": 30,
    "accounts": ["a", {"b": None}],
}
START = "HTTP 402 Payment Required for GET http://api.test/x"


def error_of(
    stub: Stub, body: Any, status: int = 402, kind: type[ntapi.Client] = ntapi.Client
) -> ntapi.ApiError:
    text = body if isinstance(body, str) else json.dumps(body)
    stub.on("GET").answer(status, text=text, headers=TYPE)
    with kind("http://api.test", stub=stub, log_flags=ntapi.LogFlags.NONE) as client:
        error = client.perform("x").error
    assert error is not None
    return error


def test_all_members(stub: Stub) -> None:
    problem = error_of(stub, PROBLEM).problem
    assert problem == ntapi.ProblemDetails(
        "https://example.com/no-credit",
        "No credit",
        402,
        "It costs 50.",
        "/orders/7",
        {"balance": 30, "accounts": ["a", {"b": None}]},
    )
    with pytest.raises(dataclasses.FrozenInstanceError):
        problem.title = "x"  # type: ignore[misc]


def test_members_of_a_wrong_type_are_absent(stub: Stub) -> None:
    wrong = {"type": None, "title": 1, "status": True, "detail": [], "instance": {}, "more": [1]}
    assert error_of(stub, wrong).problem == ntapi.ProblemDetails(extensions={"more": [1]})


def test_other_answers_have_none(stub: Stub) -> None:
    for body in ("[]", "null", "<p>", ""):
        assert error_of(stub, body).problem is None
    stub.on("GET", "other").answer(402, json=PROBLEM)
    stub.on("GET", "good").answer(200, json=PROBLEM, headers=TYPE)
    with ntapi.Client("http://api.test", stub=stub) as client:
        other = client.perform("other").error
        assert other is not None
        assert other.problem is None
        assert client.send("good").json() == PROBLEM


def test_the_text_of_the_error_says_it_once(stub: Stub) -> None:
    error = error_of(stub, PROBLEM)
    assert str(error) == error.message == f"{START}: No credit: It costs 50."
    # Neither a title nor a detail: the words of other services.
    error = error_of(stub, {"message": "no"})
    assert error.message == START
    assert str(error) == f"{START}: no"


class Service(ntapi.Client):
    new: Optional[ntapi.ApiError] = None
    seen: Optional[ntapi.ProblemDetails] = None

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        if response.error is not None:
            type(self).seen = response.error.problem
        return ntapi.ApiError("own", "mine")


class Mapping(ntapi.Client):
    def map_error(self, error: ntapi.ApiError, response: ntapi.Response) -> ntapi.ApiError:
        return ntapi.ApiError("own", "mine")


class Setting(ntapi.Client):
    def map_service_error(self, response: ntapi.Response) -> ntapi.ApiError:
        return ntapi.ApiError("own", problem=ntapi.ProblemDetails(title="other"))


@pytest.mark.parametrize("kind", [Service, Mapping])
def test_the_errors_of_hooks_keep_it(stub: Stub, kind: type[ntapi.Client]) -> None:
    error = error_of(stub, PROBLEM, kind=kind)
    assert str(error) == "mine"
    assert error.problem is not None
    assert error.problem.title == "No credit"


def test_hooks_see_it_and_may_set_another(stub: Stub) -> None:
    error_of(stub, PROBLEM, kind=Service)
    assert Service.seen is not None
    assert Service.seen.detail == "It costs 50."
    problem = error_of(stub, PROBLEM, kind=Setting).problem
    assert problem == ntapi.ProblemDetails(title="other")


def test_an_error_of_the_service_in_a_good_answer_has_it(stub: Stub) -> None:
    problem = error_of(stub, PROBLEM, status=200, kind=Service).problem
    assert problem is not None
    assert problem.extensions["balance"] == 30
    assert error_of(stub, "[1]", status=200, kind=Service).problem is None


def test_a_stream_has_it(stub: Stub) -> None:
    stub.on("GET").answer(402, json=PROBLEM, headers=TYPE)
    with (
        ntapi.Client("http://api.test", stub=stub) as client,
        pytest.raises(ntapi.ApiError) as caught,
    ):
        list(client.stream("x"))
    assert caught.value.problem is not None
    assert caught.value.message == f"{START}: No credit: It costs 50."


@pytest.mark.parametrize("levels", [1, 2000])
def test_copies_have_it(stub: Stub, levels: int) -> None:
    text = '{"title": "No credit", "deep": ' + "[" * levels + "]" * levels + "}"
    error = error_of(stub, text)
    for other in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error), copy.copy(error)):
        assert other.problem.title == "No credit"
        depth, value = 0, other.problem.extensions["deep"]
        while value:
            depth, value = depth + 1, value[0]
        assert depth == levels - 1
        assert str(other) == str(error)


def test_only_a_problem_imports_its_module() -> None:
    """dataclasses takes longer to import than a request takes."""
    program = """if True:
        import sys
        import ntapi
        from ntapi.testing import Stub
        stub = Stub()
        headers = {"Content-Type": "application/problem+json"}
        stub.on("GET", "a").answer(402, json={"title": "x"})
        stub.on("GET", "b").answer(402, text="{}", headers=headers)
        client = ntapi.Client("http://api.test", stub=stub, log_flags=ntapi.LogFlags.NONE)
        for command in "ab":
            error = client.perform(command).error
            print("ntapi._problem" in sys.modules)
    """
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("False\nTrue\n", "")
