"""Requests that are suspended while they run."""

from __future__ import annotations

import hashlib
import os
import random
import socket
import threading
from pathlib import Path
from typing import Callable, Optional
from urllib.parse import urlsplit

import pytest

import ntapi
from conftest import IDLE_TIMEOUT, LONGER_THAN_IDLE, PATIENCE
from ntapi.testing import Answer, Server, Stub, StubRequest
from transfers import DRIP, ENDLESS, Pieces


def settled(value: Callable[[], int], fault: ntapi.Client) -> int:
    """Waits until a value no longer changes, because a command has taken effect."""
    before = -1
    while (now := value()) != before:
        before = now
        fault.send("late", ntapi.url("ms", 300))
    return now


def wait_longer_than_idle(fault: ntapi.Client) -> None:
    """An answer that takes longer than the idle timeout."""
    fault.send("late", ntapi.url("ms", int(LONGER_THAN_IDLE * 1000)))


def test_a_suspended_request_moves_no_byte_and_goes_on(fault: ntapi.Client) -> None:
    pieces = Pieces()

    def take(piece: bytes) -> None:
        # Suspend here: on a busy machine, the body might be over later.
        if not pieces.pieces:
            assert request.suspend()
        pieces(piece)

    place = ntapi.response_thread(ntapi.BACKGROUND)
    args = [*DRIP, ntapi.url("size", 2_000_000), ntapi.timeout(IDLE_TIMEOUT), place]
    request = fault.create_request("drip", args, data_handler=take)
    assert not request.suspend()
    request.resume()
    assert pieces.moved.wait(PATIENCE)
    assert request.state is ntapi.RequestState.SUSPENDED
    assert request.is_running
    assert not request.suspend()
    before = settled(lambda: len(pieces.pieces), fault)
    wait_longer_than_idle(fault)
    assert len(pieces.pieces) == before
    request.resume()
    assert request.state is ntapi.RequestState.RUNNING
    assert not request.resume()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.error is None
    assert len(pieces.content) == 2_000_000
    assert not request.suspend()


def test_a_suspended_upload_sends_no_byte_and_goes_on(
    weather: ntapi.Client, fault: ntapi.Client, tmp_path: Path
) -> None:
    content = random.Random(5).randbytes(6 << 20)
    path = tmp_path / "body"
    path.write_bytes(content)
    moved = threading.Event()

    def progress(count: int, _: Optional[int]) -> None:
        if count > 0 and not moved.is_set() and request.suspend():
            moved.set()

    args = [
        ntapi.url("rate", 12 << 20),
        ntapi.file(path, "application/octet-stream"),
        ntapi.timeout(IDLE_TIMEOUT),
        ntapi.upload_progress_thread(ntapi.BACKGROUND),
    ]
    request = weather.create_request("upload", args, upload_progress=progress)
    request.resume()
    assert moved.wait(PATIENCE)
    before = settled(lambda: request.bytes_sent, fault)
    wait_longer_than_idle(fault)
    assert request.is_running
    assert request.bytes_sent == before < len(content)
    request.resume()
    assert request.wait(PATIENCE)
    assert request.response is not None
    assert request.response.json()["sha256"] == hashlib.sha256(content).hexdigest()


def test_a_suspended_request_is_cancelled(fault: ntapi.Client) -> None:
    pieces = Pieces()
    place = ntapi.data_thread(ntapi.BACKGROUND)
    request = fault.begin("drip", [*ENDLESS, place], data_handler=pieces)
    assert pieces.moved.wait(PATIENCE)
    assert request.suspend()
    request.cancel()
    assert request.wait(PATIENCE)
    assert request.state is ntapi.RequestState.CANCELLED
    # A resume that comes too late is no error. A second one returns False.
    request.resume()
    assert not request.resume()


def test_a_request_that_cannot_be_built_is_not_suspended(fault: ntapi.Client) -> None:
    request = fault.begin("echo", ntapi.multipart("a", b"", extension="\0"))
    assert request.identifier == 0
    assert not request.suspend()
    assert request.bytes_decoded == 0
    assert request.received_status is None
    assert request.wait(PATIENCE)


def pass_on(source: socket.socket, target: socket.socket, moved: threading.Event) -> None:
    while data := source.recv(1 << 16):
        target.sendall(data)
        moved.set()
    target.shutdown(socket.SHUT_WR)


@pytest.mark.parametrize("name", ["nginx_tls", "nginx_tls1"])
def test_the_fourth_handshake_may_finish(servers: dict[str, str], name: str) -> None:
    """A suspension interrupts the handshake. If every one did, the request might never be sent."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        configuration = ntapi.SessionConfiguration.ephemeral(ca_file=servers["ca"])
        url = f"https://localhost:{listener.getsockname()[1]}"
        with ntapi.Client(url, configuration=configuration) as client:
            request = client.create_request("small.json")

            def connected() -> tuple[socket.socket, bytes]:
                """The connection of the request, and what begins its handshake."""
                assert request.resume()
                connection, _ = listener.accept()
                connection.settimeout(PATIENCE)
                return connection, connection.recv(1 << 16)

            for _ in range(3):
                connection, hello = connected()
                assert hello
                assert request.suspend()
                with connection:
                    while connection.recv(1 << 16):
                        pass
            connection, hello = connected()
            assert request.suspend()
            with (
                connection,
                socket.create_connection(("localhost", urlsplit(servers[name]).port)) as server,
            ):
                server.sendall(hello)
                answered, finished = threading.Event(), threading.Event()
                threads = [
                    threading.Thread(target=pass_on, args=(server, connection, answered)),
                    threading.Thread(target=pass_on, args=(connection, server, finished)),
                ]
                for thread in threads:
                    thread.start()
                # The client continues the handshake while the request is suspended.
                assert answered.wait(PATIENCE)
                assert finished.wait(PATIENCE)
                assert request.state is ntapi.RequestState.SUSPENDED
                assert request.resume()
                assert request.wait(PATIENCE)
                assert request.response is not None
                assert request.response.error is None
                assert request.response.status == 200
                client.close()
                for thread in threads:
                    thread.join(PATIENCE)
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_digest_over_http2_is_suspended_at_random_moments() -> None:
    """A suspension between the challenge and its answer does not begin anew."""
    challenge = 'Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256'

    def answer(request: StubRequest) -> Answer:
        if "authorization" in request.headers:
            return Answer(text=request.text)
        return Answer(401, headers={"WWW-Authenticate": challenge})

    stub = Stub()
    stub.on("POST", "notes").answer_with(answer)
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    args = [
        ntapi.digest_auth("ann", "pw"),
        ntapi.option("raw_data"),
        ntapi.response_thread(ntapi.BACKGROUND),
    ]
    server = Server(stub, tls=True)
    with server as url, ntapi.Client(url) as client:
        client.set_default("caFile", str(server.ca_path))
        for round_number in range(50):
            request = client.create_request("notes", args, ntapi.form("a", round_number))
            request.resume()
            while request.is_running:
                for _ in range(moments.randrange(200)):
                    os.sched_yield()
                request.suspend()
                request.resume()
            assert request.wait(PATIENCE)
            response = request.response
            assert response is not None
            assert response.error is None, f"seed {seed}: {response.error}"
            assert response.data == f"a={round_number}".encode()
            assert response.metrics.http_version == 2.0
    challenged = [each for each in server.requests if "authorization" not in each.headers]
    assert len(challenged) == 50, f"seed {seed}"
