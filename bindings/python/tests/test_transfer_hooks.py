"""The hooks that see the progress and the data of every request of a client."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import Thread
from ntapi.testing import Stub

BODY = b"x" * 300_000


class Watching(ntapi.Client):
    """Records all events in order."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.events: list[tuple[str, int, Optional[int]]] = []
        self.pieces: list[bytes] = []
        self.threads: set[str] = set()
        self.commands: set[int] = set()

    def note(self, event: str, count: int, total: Optional[int] = None) -> None:
        self.events.append((event, count, total))
        self.threads.add(threading.current_thread().name)

    def upload_progressed(self, request: ntapi.Request, count: int, total: Optional[int]) -> None:
        self.note("sent", count, total)
        self.commands.add(request.identifier)

    def download_progressed(self, request: ntapi.Request, count: int, total: Optional[int]) -> None:
        self.note("received", count, total)

    def data_received(self, request: ntapi.Request, data: bytes) -> None:
        self.note("data", len(data))
        self.pieces.append(data)

    def of(self, event: str) -> list[tuple[int, Optional[int]]]:
        return [(count, total) for name, count, total in self.events if name == event]


def test_every_request_is_seen_and_its_response_keeps_its_body(servers: dict[str, str]) -> None:
    with Watching(servers["fault"]) as client:
        response = client.send("mirror", ntapi.data(BODY), ntapi.option("raw_data"))
        assert response.data == BODY
        assert b"".join(client.pieces) == BODY
        assert client.of("sent")[0] == (0, len(BODY))
        assert client.of("sent")[-1] == (len(BODY), len(BODY))
        assert client.of("received")[-1] == (len(BODY), len(BODY))
        assert client.threads == {"MainThread"}
        client.pieces.clear()
        answer = client.send("echo", ntapi.json({"a": 1}))
        assert answer.json()["method"] == "POST"
        assert b"".join(client.pieces) == answer.data
    assert len(client.commands) == 2


def test_the_requests_own_handlers_run_after_the_hooks(servers: dict[str, str]) -> None:
    with Watching(servers["fault"]) as client:
        response = client.send(
            "mirror",
            ntapi.data(BODY),
            upload_progress=lambda count, total: client.note("own sent", count, total),
            download_progress=lambda count, total: client.note("own received", count, total),
            data_handler=lambda data: client.note("own data", len(data)),
        )
    # The request has a data handler, which gets the body.
    assert response.data == b""
    for event in ("sent", "received", "data"):
        assert client.of(event)
        assert client.of(event) == client.of(f"own {event}")
        places = [i for i, (name, *_) in enumerate(client.events) if name == event]
        assert all(client.events[place + 1][0] == f"own {event}" for place in places)


def test_they_run_where_the_handlers_run(servers: dict[str, str]) -> None:
    with Watching(servers["fault"]) as client:
        client.begin(
            "mirror",
            [ntapi.data(BODY), ntapi.response_thread(Thread.BACKGROUND)],
            lambda _: client.note("response", 0),
            data_handler=lambda _: client.note("own data", 0),
        ).wait(PATIENCE)
        assert client.of("response") == [(0, None)]
        assert client.events[-1][0] == "response"


def test_only_what_is_overridden_is_asked_for(servers: dict[str, str]) -> None:
    class Sending(ntapi.Client):
        sent: list[int]

        def upload_progressed(
            self, request: ntapi.Request, count: int, total: Optional[int]
        ) -> None:
            self.sent.append(count)

    with Sending(servers["fault"]) as client:
        client.sent = []
        assert client.send("mirror", ntapi.data(BODY), ntapi.option("raw_data")).data == BODY
        assert client.sent[-1] == len(BODY)


def test_streams_and_files(servers: dict[str, str], tmp_path: Path) -> None:
    with Watching(servers["fault"]) as client:
        assert len(list(client.lines("lines?count=5"))) == 5
        assert b"".join(client.pieces).count(b"\n") == 5
        client.pieces.clear()
        response = client.send("zeros?size=10000", ntapi.download(tmp_path / "zeros"))
        assert response.file is not None
        assert client.pieces == []
        assert client.of("received")[-1] == (10_000, 10_000)


def test_an_error_keeps_its_body_to_itself(servers: dict[str, str]) -> None:
    with Watching(servers["fault"]) as client:
        response = client.perform("status/404")
        assert response.json()["status"] == 404
        assert client.pieces == []


def test_what_the_cache_answers_is_seen(stub: Stub) -> None:
    stub.on("GET", "a").answer(json={"n": 1}, headers={"Cache-Control": "max-age=60"})
    configuration = ntapi.SessionConfiguration.ephemeral()
    with Watching("https://api.example", configuration=configuration, stub=stub) as client:
        first = client.send("a")
        second = client.send("a")
        assert (first.source, second.source) == (ntapi.Source.NETWORK, ntapi.Source.CACHE)
        assert client.pieces == [first.data, second.data]


def test_in_asyncio(servers: dict[str, str]) -> None:
    class Watched(ntapi.AsyncClient):
        pieces: list[bytes]

        def data_received(self, request: ntapi.Request, data: bytes) -> None:
            asyncio.get_running_loop()
            self.pieces.append(data)

    async def main() -> None:
        async with Watched(servers["fault"]) as client:
            client.pieces = []
            response = await client.send("echo")
            assert b"".join(client.pieces) == response.data
            assert response.json()["method"] == "GET"

    asyncio.run(main())


# Progress handlers that are set by the hook for started requests.


class Starting(ntapi.Client):
    """Gives each request a progress handler."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.sent: list[tuple[int, Optional[int]]] = []
        self.received: list[tuple[int, Optional[int]]] = []
        self.threads: set[str] = set()

    def request_started(self, request: ntapi.Request) -> None:
        request.set_upload_progress(lambda *progress: self.sent.append(progress))
        request.set_download_progress(self.receive)

    def receive(self, count: int, total: Optional[int]) -> None:
        self.received.append((count, total))
        self.threads.add(threading.current_thread().name)


def test_progress_handlers_may_be_set_when_a_request_starts(servers: dict[str, str]) -> None:
    with Starting(servers["fault"]) as client:
        assert client.send("mirror", ntapi.data(BODY), ntapi.option("raw_data")).data == BODY
        assert client.sent[0] == (0, len(BODY))
        assert client.sent[-1] == client.received[-1] == (len(BODY), len(BODY))
        assert client.threads == {"MainThread"}


def test_they_run_where_the_args_say(servers: dict[str, str]) -> None:
    responses: list[ntapi.Response] = []
    args = [
        ntapi.data(BODY),
        ntapi.option("raw_data"),
        ntapi.download_progress_thread(Thread.BACKGROUND),
    ]
    with Starting(servers["fault"]) as client:
        client.begin("mirror", args, responses.append).wait(PATIENCE)
        assert responses[0].data == BODY
        assert client.received[-1] == (len(BODY), len(BODY))
        assert client.threads
        assert "MainThread" not in client.threads


def test_once_it_is_sent_it_is_too_late(servers: dict[str, str]) -> None:
    with ntapi.Client(servers["fault"]) as client:
        request = client.create_request("stall/before", (), lambda _: None)
        request.set_upload_progress(print)
        request.set_upload_progress(None)
        request.resume()
        with pytest.raises(RuntimeError, match="the request is sent"):
            request.set_download_progress(print)
        request.cancel()
        with pytest.raises(TypeError):
            client.create_request("ok").set_upload_progress(1)  # type: ignore[arg-type]
