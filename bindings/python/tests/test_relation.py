"""Disturbances do not change the outcome of a request.

Each request is made once undisturbed; then again and again by several threads, while others disturb
it at random moments. Status, bytes and checksum have to be the same, and the handler runs exactly
once. The seed is printed; NTAPI_SEED sets it, and NTAPI_SECONDS the duration. NTAPI_DISTURB lists
the disturbances, such as "suspend,fork", or after a minus those to leave out.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import io
import os
import random
import select
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import ntapi

DISTURBANCES = [
    "suspend",
    "priority",
    "read",
    "others",
    "cache",
    "log",
    "fork",
    "signal",
    "collect",
    "slow",
    "nested",
]
HOSTS = ["nginx", "nginx_tls", "nginx_tls1", "nginx_narrow"]
FILES = ["small.json", "big-100k.json", "gzip/big-100k.json", "pattern-8M.bin", "404"]
WAYS = ["perform", "begin", "streamed", "iterated", "download"]
UPLOADS = ["upload bytes", "upload file", "upload stream"]
UPLOAD = bytes(97 + (i * i // 7 + i) % 26 for i in range(300_000))
PATIENCE = 120.0

Outcome = tuple[int, Optional[str], int, str]
Target = tuple[str, str, str]
"""A host, a method and a file; "upload" for requests that send one."""


def outcome(response: ntapi.Response, body: bytes) -> Outcome:
    code = None if response.error is None else str(response.error.code)
    return (response.status, code, len(body), hashlib.sha256(body).hexdigest())


class Relation:
    """The clients, the running requests, and the outcomes."""

    def __init__(self, servers: dict[str, str], folder: Path, seed: int) -> None:
        self.servers = servers
        self.folder = folder
        self.seed = seed
        self.disturbs: set[str] = set()
        self.clients = {host: [self.client(host, kind) for kind in range(4)] for host in HOSTS}
        self.live: dict[int, ntapi.Request] = {}
        """By thread."""
        self.problems: list[str] = []
        self.is_over = threading.Event()
        self.completed = 0
        self.upload = folder / "upload"
        self.upload.write_bytes(UPLOAD)

    def client(self, host: str, kind: int) -> ntapi.Client:
        settings: dict[str, Any] = {"proxy": "", "ca_file": self.servers["ca"]}
        if kind == 2:
            settings["maximum_connections_per_host"] = 2
        if kind == 3:
            settings["http_version"] = "1.1"
            settings["retry"] = ntapi.RetryPolicy(attempts=3)
        quiet = ntapi.LogFlags.NONE
        if kind == 0:
            client = ntapi.Client(self.servers[host], log_flags=quiet)
            client.set_default("caFile", self.servers["ca"])
            return client
        configuration = ntapi.SessionConfiguration.ephemeral(**settings)
        return ntapi.Client(self.servers[host], configuration=configuration, log_flags=quiet)

    def handler_is_disturbed(self, dice: random.Random, client: ntapi.Client) -> None:
        if "slow" in self.disturbs and dice.random() < 0.1:
            time.sleep(dice.random() * 0.003)
        if "nested" in self.disturbs and dice.random() < 0.05:
            # Two streams of the client with two connections may have both of them.
            host = next(host for host, clients in self.clients.items() if client in clients)
            assert self.clients[host][0].perform("ping").status == 200

    def make(self, target: Target, client: ntapi.Client, dice: random.Random) -> Outcome:
        """Makes a request and returns its outcome."""
        _, way, file = target
        raw = ntapi.option("raw_data")
        body = bytearray()
        responses: list[ntapi.Response] = []

        def take(data: bytes) -> None:
            self.handler_is_disturbed(dice, client)
            body.extend(data)

        def handle(response: ntapi.Response) -> None:
            self.handler_is_disturbed(dice, client)
            responses.append(response)

        if way == "perform":
            response = client.perform(file, raw)
            return outcome(response, response.data)
        if way == "iterated":
            return self.iterate(client, file, raw)
        args: list[Any] = [raw, ntapi.response_thread(ntapi.BACKGROUND)]
        path = self.folder / f"{threading.get_ident()}"
        others: dict[str, Any] = {}
        if way == "download":
            args.append(ntapi.download(path))
        elif way == "streamed":
            args.append(ntapi.data_thread(ntapi.BACKGROUND))
            others["data_handler"] = take
        elif way == "upload bytes":
            args.append(ntapi.data(UPLOAD, "text/plain"))
        elif way == "upload file":
            args.append(ntapi.file(self.upload, "text/plain"))
        elif way == "upload stream":
            args.append(ntapi.stream(io.BytesIO(UPLOAD), len(UPLOAD), "text/plain"))
        request = client.begin(file, args, handle, **others)
        self.live[threading.get_ident()] = request
        begun = time.monotonic()
        # A disturbance may have left it suspended.
        while not request.wait(0.2):
            with contextlib.suppress(RuntimeError):
                request.resume()
            assert time.monotonic() - begun < PATIENCE, f"{target}: held for ever"
        del self.live[threading.get_ident()]
        assert len(responses) == 1, f"{target}: the handler ran {len(responses)} times"
        response = responses[0]
        if way == "download" and response.error is None:
            body.extend(path.read_bytes())
            path.unlink()
        elif way != "streamed" or response.error is not None:
            body.extend(response.data)
        return outcome(response, bytes(body))

    @staticmethod
    def iterate(client: ntapi.Client, file: str, raw: Any) -> Outcome:
        body = bytearray()
        try:
            with client.stream(file, raw) as chunks:
                status = chunks.status
                for chunk in chunks:
                    body.extend(chunk)
        except ntapi.ApiError as error:
            return (error.http_status or 0, str(error.code), 0, "")
        return (status or 0, None, len(body), hashlib.sha256(body).hexdigest())

    # Threads.

    def drive(self, number: int, expected: dict[Target, Outcome]) -> None:
        dice = random.Random(self.seed * 1000 + number)
        targets = list(expected)
        while not self.is_over.is_set() and len(self.problems) < 10:
            target = dice.choice(targets)
            if target[2] == "pattern-8M.bin" and dice.random() < 0.9:
                continue
            client = dice.choice(self.clients[target[0]])
            try:
                seen = self.make(target, client, dice)
            except BaseException as error:
                self.problems.append(f"{target}: {error!r}")
                continue
            self.completed += 1
            if seen != expected[target]:
                self.problems.append(f"{target}: {seen} instead of {expected[target]}")

    def disturb(self, number: int) -> None:
        dice = random.Random(self.seed * 1000 + 500 + number)
        while not self.is_over.is_set():
            kind = dice.choice(DISTURBANCES)
            if kind in self.disturbs:
                try:
                    self.disturb_by(kind, dice)
                except BaseException as error:
                    self.problems.append(f"{kind}: {error!r}")
                    return
            time.sleep(dice.random() * 0.001)

    def disturb_by(self, kind: str, dice: random.Random) -> None:
        host = dice.choice(HOSTS)
        client = dice.choice(self.clients[host])
        live = list(self.live.values())
        request = dice.choice(live) if live else None
        if kind == "suspend" and request is not None:
            for _ in range(dice.randint(1, 4)):
                request.suspend()
                if dice.random() < 0.5:
                    time.sleep(dice.random() * 0.002)
                if dice.random() < 0.9:
                    with contextlib.suppress(RuntimeError):
                        request.resume()
        elif kind == "priority" and request is not None:
            request.priority = dice.random()
        elif kind == "read" and request is not None:
            request.description = "mine"
            for name in ("state", "bytes_sent", "bytes_received", "description", "curl_command"):
                getattr(request, name)
            repr(request)
            _ = request.received_headers, request.resume_data, request.response
        elif kind == "others":
            with self.client(host, dice.randint(0, 1)) as other:
                begun = other.begin("big-100k.json", ntapi.response_thread(ntapi.BACKGROUND))
                if dice.random() < 0.5:
                    begun.cancel()
        elif kind == "cache" and client.cache is not None:
            client.cache.clear()
        elif kind == "log":
            client.log_flags = dice.choice([ntapi.LogFlags.NONE, ntapi.LogFlags.ERROR])
        elif kind == "fork" and dice.random() < 0.1:
            child = os.fork()
            if child == 0:
                os._exit(0)
            self.wait_for_child(child)
        elif kind == "signal":
            os.kill(os.getpid(), signal.SIGUSR1)
        elif kind == "collect" and dice.random() < 0.2:
            gc.collect()

    def wait_for_child(self, child: int) -> None:
        """Waits for a child that ends at once; one that hangs fails the test."""
        descriptor = os.pidfd_open(child)
        has_ended = bool(select.select([descriptor], [], [], 20)[0])
        os.close(descriptor)
        if not has_ended:
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        assert has_ended, "the child hangs; CPython 3.11 itself can, before os.fork returns"
        assert status == 0


@contextlib.contextmanager
def running(functions: list[Callable[[], None]]) -> Iterator[None]:
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join()


def chosen() -> set[str]:
    text = os.environ.get("NTAPI_DISTURB")
    if text is None:
        return set(DISTURBANCES)
    named = set(text.lstrip("-").split(","))
    return set(DISTURBANCES) - named if text.startswith("-") else named


def test_outcomes_stay_the_same(servers: dict[str, str], tmp_path: Path) -> None:
    seed = int(os.environ.get("NTAPI_SEED", time.time_ns() // 1000 % 2**32))
    print(f"seed {seed}")
    relation = Relation(servers, tmp_path, seed)
    expected: dict[Target, Outcome] = {}
    for host in HOSTS:
        targets = [(host, way, file) for way in WAYS for file in FILES]
        targets += [(host, way, "upload") for way in UPLOADS]
        for target in targets:
            expected[target] = relation.make(target, relation.clients[host][0], random.Random(1))
            assert expected[target][0] == (404 if target[2] == "404" else 200), (target, expected)
    relation.disturbs = chosen()
    previous = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        drivers = [lambda n=n: relation.drive(n, expected) for n in range(8)]
        disturbers = [lambda n=n: relation.disturb(n) for n in range(3)]
        with running(drivers + disturbers):
            deadline = time.monotonic() + float(os.environ.get("NTAPI_SECONDS", "3"))
            while time.monotonic() < deadline and len(relation.problems) < 10:
                relation.is_over.wait(0.05)
            relation.is_over.set()
    finally:
        signal.signal(signal.SIGUSR1, previous)
    for clients in relation.clients.values():
        for client in clients:
            client.close()
    print(f"{relation.completed} requests, seed {seed}")
    assert relation.problems == [], f"seed {seed}: " + "\n".join(relation.problems[:20])
