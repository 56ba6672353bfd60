"""The handle to a request."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from ntapi.testing import Stub

URL = "http://api.test"


def test_a_suspended_request(fault: ntapi.Client) -> None:
    seen: list[ntapi.Response] = []
    request = fault.create_request("echo", ntapi.url("a", 1), seen.append)
    assert request.state is ntapi.RequestState.SUSPENDED
    assert not request.is_running
    request.description = "my request"
    request.priority = 0.75
    assert (request.description, request.priority) == ("my request", 0.75)
    request.description = None
    assert request.description is None
    with pytest.raises(ValueError, match="0 to 1"):
        request.priority = 2
    request.resume()
    assert request.is_running
    assert request.wait(PATIENCE)
    assert request.state is ntapi.RequestState.COMPLETED
    assert not request.is_running
    assert request.response is seen[0]
    assert len(seen) == 1
    assert not request.resume()


def test_to_resume_too_late_is_no_error(fault: ntapi.Client) -> None:
    seen: list[ntapi.Response] = []
    request = fault.create_request("hold", (), seen.append)
    assert request.resume()
    assert not request.resume()
    request.cancel()
    assert not request.resume()
    assert request.wait(PATIENCE)
    assert not request.resume()
    assert not request.suspend()
    other = fault.create_request("hold", (), seen.append)
    other.cancel()
    assert not other.resume()
    assert other.wait(PATIENCE)
    refused = fault.create_request("ok", ntapi.path("missing", "x\0"), seen.append)
    assert refused.resume()
    assert not refused.resume()
    assert refused.wait(PATIENCE)
    assert len(seen) == 3


def test_threads_that_resume_and_cancel_at_once(fault: ntapi.Client) -> None:
    """In any order, the handler is called once and no request is left pending."""
    raised: list[BaseException] = []
    seen: list[ntapi.Response] = []
    rounds = 300
    together = threading.Barrier(3)
    requests: list[ntapi.Request] = []

    def go(act: Callable[[ntapi.Request], object]) -> None:
        for number in range(rounds):
            together.wait(PATIENCE)
            try:
                act(requests[number])
            except BaseException as error:
                raised.append(error)

    acts: list[Callable[[ntapi.Request], object]] = [
        ntapi.Request.resume,
        ntapi.Request.resume,
        ntapi.Request.cancel,
    ]
    place = ntapi.response_thread(ntapi.BACKGROUND)
    requests += [fault.create_request("ok", place, seen.append) for _ in range(rounds)]
    threads = [threading.Thread(target=go, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert raised == []
    assert fault.drain(PATIENCE) == 0
    assert len(seen) == rounds
    assert {response.error and response.error.code for response in seen} <= {None, codes.CANCELLED}


def test_cancel_at_the_end_leaves_nothing(fault: ntapi.Client) -> None:
    """Another thread cancels at the moment at which the response comes."""
    for _ in range(300):
        request = fault.create_request("ok")
        thread = threading.Thread(target=request.cancel)
        request.resume()
        thread.start()
        assert request.wait(PATIENCE)
        thread.join()
    assert fault.drain(PATIENCE) == 0


def test_a_description_is_whole_whoever_reads_it(fault: ntapi.Client) -> None:
    """Eight threads read it while another sets it."""
    texts = {letter * 200 for letter in "abcdefgh"}
    request = fault.create_request("ok")
    request.description = "a" * 200
    wrong: list[Optional[str]] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            text = request.description
            if text not in texts:
                wrong.append(text)

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(2000):
        for text in texts:
            request.description = text
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_any_thread_may_read_a_text_that_others_change(fault: ntapi.Client) -> None:
    request = fault.create_request("echo")
    authenticator = ntapi.Authenticator(lambda refresh: None)
    texts = ["first", "the second one, which is longer than the first " * 9, "3"]
    wrong: list[object] = []

    def read(number: int) -> None:
        for index in range(3000):
            if number % 2 == 0:
                request.description = texts[(index + number) % 3]
                authenticator.set_token(texts[(index + number) % 3])
            try:
                found = {request.description, authenticator.token} - {None, *texts}
            except ValueError as error:
                found = {repr(error)}
            wrong.extend(found)

    request.description = texts[0]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=read, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_handles_to_the_same_request_are_equal(fault: ntapi.Client) -> None:
    request = fault.begin("echo")
    other = fault.begin("echo")
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.request == request
    assert hash(request.response.request) == hash(request)
    assert request != other
    assert request != 5
    assert {request.identifier, other.identifier} == {1, 2}
    assert "completed" in repr(request)


def test_counts(weather: ntapi.Client) -> None:
    request = weather.begin("upload", ntapi.data(b"x" * 1000))
    assert request.wait(PATIENCE)
    assert request.bytes_sent == request.bytes_expected_to_send == 1000
    assert request.bytes_received == request.bytes_expected_to_receive
    assert request.bytes_received > 0


def test_curl_command(fault: ntapi.Client) -> None:
    request = fault.create_request("echo", [ntapi.url("a", "b c"), ntapi.bearer("sesame")])
    command = request.curl_command
    assert command is not None
    assert command.startswith("curl ")
    assert "a=b%20c" in command
    assert "sesame" not in command


@pytest.mark.parametrize(
    "args",
    [
        [ntapi.url("q", "a b&[1-2]{x}"), ntapi.header("X-A", 'it\'s $(id) `id` "%s"')],
        [ntapi.form("a;b", "@/etc/hostname"), ntapi.form("c", "new\nline")],
        [ntapi.data(bytes(range(256)), "a/b"), ntapi.method("PUT")],
        [ntapi.method("POST")],
    ],
)
def test_curl_command_sends_the_same(fault: ntapi.Client, args: list[ntapi.Arg]) -> None:
    command = fault.create_request("echo/[1-3];,=", args).curl_command
    assert command is not None
    ours = fault.send("echo/[1-3];,=", *args).json()
    shell = subprocess.run(f"{command} --silent", shell=True, capture_output=True, check=True)
    theirs = json.loads(shell.stdout)
    assert sorted(ours["headers"]) == sorted(theirs["headers"])
    for key in ("method", "target", "body", "body_base64"):
        assert ours.get(key) == theirs.get(key)


def test_curl_command_sends_the_same_parts(fault: ntapi.Client, tmp_path: Path) -> None:
    file = tmp_path / 'a;b,c=d "e.txt'
    file.write_bytes(b"in the file")
    args = [
        ntapi.multipart("a=b;c", "x;y,z=\"'"),
        ntapi.multipart("d", b"it's; \\", filename='e;f,"g=.x'),
        ntapi.multipart_file("h", str(file)),
    ]
    command = fault.create_request("echo", args).curl_command
    assert command is not None
    shell = subprocess.run(f"{command} --silent", shell=True, capture_output=True, check=True)
    bodies = []
    for seen in (fault.send("echo", *args).json(), json.loads(shell.stdout)):
        boundary = seen["header"]["content-type"].partition("boundary=")[2]
        bodies.append(sorted(seen["body"].replace(boundary, "").split("\r\n")))
    assert bodies[0] == bodies[1]


def test_wait_runs_out_of_time(fault: ntapi.Client) -> None:
    request = fault.begin("hold")
    assert request.wait(0.01) is False
    request.cancel()
    assert request.wait(PATIENCE)


@pytest.mark.parametrize("place", [ntapi.MAIN, ntapi.BACKGROUND])
def test_cancel(fault: ntapi.Client, place: ntapi.Thread) -> None:
    seen: list[ntapi.Response] = []
    request = fault.begin("hold", ntapi.response_thread(place), seen.append)
    request.cancel()
    request.cancel()
    assert request.wait(PATIENCE)
    request.cancel()
    (response,) = seen
    assert response.error is not None
    assert response.error.code is codes.CANCELLED
    assert response.error.domain is ntapi.ErrorDomain.CANCELLED
    assert request.state is ntapi.RequestState.CANCELLED


def test_cancel_of_a_request_never_resumed_calls_its_handler(fault: ntapi.Client) -> None:
    seen: list[ntapi.Response] = []
    request = fault.create_request("echo", handler=seen.append)
    with pytest.raises(RuntimeError, match="never resumed"):
        request.wait(0)
    request.cancel()
    assert request.wait(PATIENCE)
    assert seen[0].error is not None
    assert seen[0].error.code is codes.CANCELLED


def test_a_request_never_resumed_ends_without_a_call(fault: ntapi.Client) -> None:
    fault.create_request("echo", handler=lambda _: pytest.fail("called"))
    assert fault.drain(0) == 0


def test_a_handler_cannot_wait_for_itself(fault: ntapi.Client) -> None:
    raised: list[RuntimeError] = []

    def handler(_: ntapi.Response) -> None:
        with pytest.raises(RuntimeError, match="its own") as caught:
            request.wait()
        raised.append(caught.value)

    request = fault.begin("echo", handler=handler)
    assert request.wait(PATIENCE)
    assert raised


def test_two_threads_wait_for_one_request(fault: ntapi.Client) -> None:
    release = threading.Event()
    request = fault.begin(
        "echo", ntapi.response_thread(ntapi.BACKGROUND), lambda _: release.wait(PATIENCE)
    )
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda: results.append(request.wait(PATIENCE))) for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join()
    assert results == [True, True]


def test_close(servers: dict[str, str]) -> None:
    seen: list[ntapi.Response] = []
    client = ntapi.Client(servers["fault"])
    client.begin("hold", handler=seen.append)
    client.close()
    client.close()
    assert client.drain(PATIENCE) == 0
    (response,) = seen
    assert response.error is not None
    assert response.error.code is codes.CANCELLED
    refused = client.perform("echo").error
    assert refused is not None


def test_the_end_of_a_with_block_calls_every_handler(servers: dict[str, str]) -> None:
    seen: list[str] = []
    with ntapi.Client(servers["fault"]) as client:
        for place in (ntapi.MAIN, ntapi.BACKGROUND, ntapi.CURRENT):
            client.begin("hold", ntapi.response_thread(place), lambda _: seen.append("called"))
    assert len(seen) == 3


@pytest.mark.parametrize(
    "begin",
    [
        lambda client, a, b, seen: client.begin("echo", a, b, handler=seen),
        lambda client, a, b, seen: client.begin("echo", a, [b], seen),
        lambda client, a, b, seen: client.begin("echo", [a, b], seen),
        lambda client, a, b, seen: client.begin("echo", (a, b), handler=seen),
        lambda client, a, b, seen: client.begin("echo", seen, [a, None, b]),
        lambda client, a, b, seen: client.begin(ntapi.base_url(f"{URL}/echo"), a, b, seen),
        lambda client, a, b, seen: client.create_request("echo", a, b, handler=seen),
        lambda client, a, b, seen: client.create_request("echo", [a, None, b], seen),
        lambda client, a, b, seen: client.create_request(
            [ntapi.base_url(f"{URL}/echo"), a], b, seen
        ),
    ],
)
def test_the_shapes_of_args(stub: Stub, begin: Any) -> None:
    """All methods accept args in the same forms, also as a list, and with a handler among them."""
    stub.on("GET", "echo?a=1&b=2").answer(200)
    seen: list[ntapi.Response] = []
    with ntapi.Client(URL, stub=stub) as client:
        request = begin(client, ntapi.url("a", 1), ntapi.url("b", 2), seen.append)
        request.resume()
        assert request.wait(PATIENCE)
    assert [response.error for response in seen] == [None]
