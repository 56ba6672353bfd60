"""Interceptors: a cancel, a timeout or the end of a process ends them, and nothing is left."""

from __future__ import annotations

import threading
import weakref
from typing import Any

import pytest

import ntapi
from conftest import API_URL, PATIENCE, Unraisable, run_python, wait_for
from interception import Flow, Waiting
from ntapi import InterceptedCall, Interceptor, codes
from ntapi import _interceptions as interceptions
from ntapi.testing import Answer, ManualClock, Stub

# Cancel and time.


def test_a_cancel_ends_a_waiting_generator(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)
    responses: list[ntapi.Response] = []
    interceptors = [ntapi.call_interceptor(waiting.wait), ntapi.attempt_interceptor(waiting.wait)]
    with ntapi.Client(API_URL, stub=stub, clock=clock, interceptors=interceptors) as client:
        place = ntapi.response_thread(ntapi.BACKGROUND)
        request = client.begin("a", place, responses.append)
        wait_for(lambda: stub.requests)
        request.cancel()
        assert request.wait(PATIENCE)
    assert responses[0].error is not None
    assert responses[0].error.code is codes.CANCELLED
    assert waiting.ended == ["GeneratorExit"] * 2


def test_the_total_timeout_ends_a_waiting_generator(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)
    interceptors = [ntapi.call_interceptor(waiting.wait)]
    with ntapi.Client(API_URL, stub=stub, clock=clock, interceptors=interceptors) as client:
        place = ntapi.response_thread(ntapi.BACKGROUND)
        request = client.begin("a", [place, ntapi.timeout(5, "total")])
        wait_for(lambda: stub.requests)
        clock.advance(5)
        assert request.wait(PATIENCE)
        assert request.response is not None
        assert request.response.error is not None
        assert request.response.error.clock is ntapi.Clock.TOTAL
    # A call interceptor gets a timeout as any other failure, or is closed.
    assert waiting.over.wait(PATIENCE)
    assert waiting.ended in (["GeneratorExit"], ["answered"])


@pytest.mark.parametrize("scope", ["call", "attempt"])
def test_a_cancel_reaches_a_generator_that_runs(stub: Stub, scope: Any) -> None:
    """It is closed at its next yield, and nothing is sent."""
    running, goes_on, ended = threading.Event(), threading.Event(), threading.Event()

    def work(call: InterceptedCall) -> Flow:
        running.set()
        assert goes_on.wait(PATIENCE)
        try:
            yield call.request
        except GeneratorExit:
            ended.set()
            raise
        return None

    stub.on("GET")
    with ntapi.Client(API_URL, stub=stub, interceptors=[Interceptor(work, scope)]) as client:
        request = client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
        assert running.wait(PATIENCE)
        request.cancel()
        goes_on.set()
        assert ended.wait(PATIENCE)
        assert request.wait(PATIENCE)
    assert stub.requests == []


def test_what_it_raises_after_a_cancel_is_reported(stub: Stub, unraisable: Unraisable) -> None:
    def wait(call: InterceptedCall) -> Flow:
        try:
            yield call.request
        finally:
            raise ValueError("too late")

    stub.on("GET").answer(delay=60)
    clock = ManualClock()
    interceptors = [ntapi.call_interceptor(wait)]
    with ntapi.Client(API_URL, stub=stub, clock=clock, interceptors=interceptors) as client:
        request = client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
        wait_for(lambda: stub.requests)
        request.cancel()
        assert request.wait(PATIENCE)
        assert unraisable.arrived.wait(PATIENCE)
    assert [str(error) for error in unraisable.errors] == ["too late"]


def test_a_closing_client_ends_them(stub: Stub, clock: ManualClock) -> None:
    waiting = Waiting()
    stub.on("GET").answer(delay=60)
    interceptors = [ntapi.call_interceptor(waiting.wait)]
    client = ntapi.Client(API_URL, stub=stub, clock=clock, interceptors=interceptors)
    client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
    wait_for(lambda: stub.requests)
    client.close()
    assert waiting.over.wait(PATIENCE)
    assert waiting.ended == ["GeneratorExit"]


# What is left.


def test_a_client_goes_with_its_interceptors(stub: Stub) -> None:
    class Signing:
        def __init__(self) -> None:
            self.client = ntapi.Client(API_URL, stub=stub)
            self.client.interceptors = [ntapi.attempt_interceptor(self.sign)]

        def sign(self, call: InterceptedCall) -> None:
            call.request.headers["X-A"] = "1"

    stub.on("GET")
    signing = Signing()
    for _ in range(3):
        signing.client.interceptors = [ntapi.attempt_interceptor(signing.sign)]
        signing.client.send("a")
        signing.client.send("a", ntapi.interceptor(ntapi.attempt_interceptor(signing.sign)))
    ended = weakref.ref(signing)
    del signing
    wait_for(lambda: ended() is None)
    wait_for(
        lambda: "Signing.sign" not in str([use.interceptor for use in interceptions._uses.values()])
    )


def test_what_a_passage_held_goes_with_it(stub: Stub) -> None:
    held: list[Any] = []

    class Held:
        pass

    @ntapi.attempt_interceptor
    def hold(call: InterceptedCall) -> Flow:
        own = Held()
        held.append(weakref.ref(own))
        held.append(weakref.ref(call.request._owner))
        response = yield call.request
        held.append(weakref.ref(response._handle))
        return response

    stub.on("GET")
    with ntapi.Client(API_URL, stub=stub, interceptors=[hold]) as client:
        for _ in range(3):
            client.send("a")
    assert len(held) == 9
    wait_for(lambda: not any(each() for each in held))


def test_many_threads_while_they_are_replaced(stub: Stub) -> None:
    """Each request is signed, by one or the other."""
    rounds = 100

    def signing(name: str) -> Interceptor:
        def sign(call: InterceptedCall) -> Flow:
            call.request.headers["X-Signed"] = name
            yield call.request
            return None

        return ntapi.attempt_interceptor(sign)

    stub.on("GET").answer_with(lambda request: Answer(json=request.headers["X-Signed"]))
    with ntapi.Client(API_URL, stub=stub, interceptors=[signing("0")]) as client:
        results: list[Any] = []

        def work() -> None:
            for _ in range(rounds):
                results.append(client.send("a").json())

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        turn = 0
        while any(thread.is_alive() for thread in threads):
            turn += 1
            client.interceptors = [signing(str(turn))]
        for thread in threads:
            thread.join(PATIENCE)
    assert len(results) == 4 * rounds
    assert all(result.isdigit() for result in map(str, results))


PROGRAM = """
import sys, threading
import ntapi
from ntapi.testing import ManualClock, Stub

sent = threading.Event()

def wait(call):
    sent.set()
    try:
        yield call.request
    finally:
        print("ended", flush=True)

stub = Stub()
stub.on("GET").answer(delay=60)
client = ntapi.Client("http://api.test", stub=stub, clock=ManualClock())
client.interceptors = [ntapi.call_interceptor(wait)]
client.set_default("exitTimeout", 0)
client.begin("a", ntapi.response_thread(ntapi.BACKGROUND))
assert sent.wait(120)
"""


def test_the_end_of_the_process_ends_them() -> None:
    result = run_python(PROGRAM)
    assert (result.returncode, result.stdout, result.stderr) == (0, "ended\n", "")


FORKING = """
import os, sys, threading
import ntapi
from ntapi.testing import Stub

def sign(call):
    call.request.headers["X-A"] = "1"
    response = yield call.request
    return response

stub = Stub()
stub.on("GET").answer_with(lambda request: ntapi.testing.Answer(json=request.headers["X-A"]))
client = ntapi.Client("http://api.test", stub=stub, interceptors=[ntapi.attempt_interceptor(sign)])
assert client.send("a").json() == "1"
pid = os.fork()
if pid == 0:
    own = Stub()
    own.on("GET").answer_with(lambda request: ntapi.testing.Answer(json=request.headers["X-A"]))
    with ntapi.Client("http://api.test", stub=own) as child:
        child.interceptors = client.interceptors
        assert child.send("a").json() == "1"
    sys.stdout.flush()
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
assert client.send("a").json() == "1"
"""


def test_a_forked_child_has_its_own() -> None:
    result = run_python(FORKING)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
