"""Responses that caches share by a store, also those of other processes."""

from __future__ import annotations

import asyncio
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import weakref
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE, Unraisable
from ntapi.fleet import FileStore, Redis
from ntapi.testing import MemoryStore
from redis_servers import eventually, redis_server

LEASE = 1.0
KILLS = int(os.environ.get("NTAPI_KILLS", "3"))
SEED = int(os.environ.get("NTAPI_SEED") or random.randrange(1 << 32))


class Pages(ThreadingHTTPServer):
    """Counts how often each page is loaded, and may kill the process that loads one."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.lock = threading.Lock()
        self.loads: Counter[str] = Counter()
        self.kills: Optional[str] = None
        """The page whose next process is killed."""
        self.begun, self.goes_on = threading.Event(), threading.Event()
        """For the next request for /held: whether it has come, and whether it may go on."""
        self.killed: list[int] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: object) -> None:
        """Says nothing of clients that were killed."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Pages

    def do_GET(self) -> None:
        with self.server.lock:
            self.server.loads[self.path] += 1
            body = f'"{self.path} {self.server.loads[self.path]}"'.encode()
            if self.server.kills == self.path:
                self.server.kills = None
                os.kill(int(self.headers["Process"]), signal.SIGKILL)
                self.server.killed.append(int(self.headers["Process"]))
        if self.path == "/held":
            self.server.begun.set()
            assert self.server.goes_on.wait(PATIENCE)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Cache-Control", "max-age=1000")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self) -> None:
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@contextmanager
def running() -> Iterator[Pages]:
    with Pages() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def shop(url: str, store: ntapi.Store, key: str, **options: Any) -> ntapi.Client:
    """A client whose cache shares its responses in a store, like one of another process."""
    cache = ntapi.Cache()
    cache.share(store, key, **{"store_timeout": PATIENCE, **options})
    configuration = ntapi.SessionConfiguration.ephemeral(cache=cache, proxy="")
    args = [ntapi.header("Process", str(os.getpid()))]
    return ntapi.Client(url, configuration=configuration, args=args)


PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from ntapi.fleet import Redis
from test_shared_caches import LEASE, shop
with shop(sys.argv[2], Redis(sys.argv[3]), sys.argv[4], lease=LEASE) as client:
    for line in sys.stdin:
        print(client.get(line.strip()).json(), flush=True)
"""


class Process:
    """A process that gets pages."""

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), *words]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, page: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(f"{page}\n")
        self.process.stdin.flush()

    def text(self) -> str:
        """What it got; empty if it has ended."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()


def test_one_process_loads_for_all(servers: dict[str, str]) -> None:
    """Four processes that need each page at once. Now and then, the one that loads it is killed."""
    print(f"NTAPI_SEED={SEED} NTAPI_KILLS={KILLS}")
    chance = random.Random(SEED)
    with running() as server:
        words = (server.url, servers["redis_url"], f"pages {SEED}")
        processes = [Process(*words) for _ in range(4)]
        try:
            for number in range(10 + KILLS):
                page = f"/page{number}"
                is_killed = number >= 10
                if is_killed:
                    server.kills = page
                chance.shuffle(processes)
                for process in processes:
                    process.ask(page)
                texts = [process.text() for process in processes]
                if is_killed:
                    assert sorted(texts) == ["", *[f"{page} 2"] * 3]
                    dead = processes.pop(texts.index(""))
                    assert dead.process.wait(PATIENCE) == -signal.SIGKILL
                    assert dead.process.pid == server.killed[-1]
                    processes.append(Process(*words))
                else:
                    assert texts == [f"{page} 1"] * 4
        finally:
            for process in processes:
                process.process.kill()
                process.process.communicate()
        assert sum(server.loads.values()) == 10 + 2 * KILLS


SHORT = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import ntapi
from ntapi.fleet import Redis
from test_shared_caches import Folder, Table, shop
if sys.argv[5] == "after a request":
    ntapi.Client(sys.argv[2]).get("/other")
is_own = sys.argv[5] == "a store in Python"
store = Table(Folder(Path(sys.argv[3]))) if is_own else Redis(sys.argv[3])
client = shop(sys.argv[2], store, sys.argv[4])
if sys.argv[5] == "a child":
    client.get("/parent")
    child = os.fork()
    if child:
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(client.get("/x").json())
"""


@pytest.mark.parametrize("way", ["alone", "after a request", "a child", "a store in Python"])
def test_a_process_that_ends_at_once(servers: dict[str, str], tmp_path: Path, way: str) -> None:
    """It stores what it has loaded first. Otherwise, others would wait for it."""
    with running() as server:
        place = str(tmp_path) if way == "a store in Python" else servers["redis_url"]
        words = (server.url, place, f"short {SEED} {way}", way)
        for _ in range(5):
            command = [sys.executable, "-c", SHORT, str(Path(__file__).parent), *words]
            assert subprocess.check_output(command, text=True) == "/x 1\n"
        assert server.loads["/x"] == 1


def test_a_store_that_comes_and_goes(tmp_path: Path) -> None:
    with running() as server, redis_server(tmp_path) as redis:
        store = Redis(redis.url)
        with (
            shop(server.url, store, "a", store_timeout=1) as one,
            shop(server.url, store, "a", store_timeout=1) as other,
        ):
            assert one.get("/x").json() == "/x 1"
            eventually(lambda: b"keys=2," in redis.ask("INFO", "keyspace"))
            assert other.get("/x").json() == "/x 1"
            redis.process.kill()
            redis.process.wait()
            for client in (one, other):
                assert client.get("/x").json() == "/x 1"
                assert client.get(f"/y{id(client)}").status == 200
            redis.start()

            def is_shared() -> bool:
                """Whether a page that one client has loaded is not loaded again by the other."""
                page = f"/z{random.random()}"
                before = one.get(page).json()
                return bool(other.get(page).json() == before and server.loads[page] == 1)

            eventually(is_shared)
            assert one.delete("/x").status == 204
            eventually(lambda: shop_text(server.url, store) == "/x 2")


def test_what_was_on_its_way_while_another_changed_it(tmp_path: Path) -> None:
    with running() as server, redis_server(tmp_path) as redis:
        store = Redis(redis.url)
        with shop(server.url, store, "a") as one, shop(server.url, store, "a") as other:
            old = one.begin("/held")
            assert server.begun.wait(PATIENCE)
            assert other.delete("/held").status == 204
            eventually(lambda: b":removed" in redis.ask("KEYS", "*"))
            server.goes_on.set()
            assert old.wait(PATIENCE)
            assert old.response is not None
            assert old.response.json() == "/held 1"
        for _ in range(2):
            assert shop_text(server.url, store, "/held") == "/held 2"
        assert server.loads["/held"] == 2


def test_a_full_store_forgets_what_was_changed(tmp_path: Path) -> None:
    with running() as server, redis_server(tmp_path) as redis:
        store = Redis(redis.url)
        assert shop_text(server.url, store) == "/x 1"
        assert shop_text(server.url, store) == "/x 1"
        redis.ask("CONFIG", "SET", "maxmemory", "1")
        with shop(server.url, store, "a") as other:
            assert other.delete("/x").status == 204
        assert b":responses" not in redis.ask("KEYS", "*")


def shop_text(url: str, store: ntapi.Store, page: str = "/x") -> str:
    with shop(url, store, "a") as client:
        return str(client.get(page).json())


class Folder(dict[str, bytes]):
    """Values that are files, so that processes share them."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            {urlsafe_b64decode(f.name).decode(): f.read_bytes() for f in path.iterdir()}
        )
        self.path = path

    def __setitem__(self, key: str, value: bytes) -> None:
        (self.path / urlsafe_b64encode(key.encode()).decode()).write_bytes(value)
        super().__setitem__(key, value)


class Table(ntapi.Store):
    """A store of the program's own. Everybody gets a turn."""

    def __init__(self, values: Optional[dict[str, bytes]] = None) -> None:
        self.values = {} if values is None else values
        self.removed: list[str] = []

    def run(self, script: ntapi.StoreScript, keys: list[str], arguments: list[str]) -> list[str]:
        if script.name == "ntapi.turn.1":
            assert len(keys) == 2
            return ["done", "0"]
        assert script.name == "ntapi.record.1"
        if arguments[0] == "store":
            self.values[keys[0]] = self.values.pop(keys[2])
        else:
            self.remove(keys[0])
        return ["done"]

    def get(self, key: str) -> Optional[bytes]:
        return self.values.get(key)

    def set(self, key: str, value: bytes, seconds: float) -> None:
        assert seconds == 60 if ":new:" in key else 995 < seconds <= 1000
        self.values[key] = value

    def remove(self, key: str) -> None:
        self.values.pop(key, None)
        self.removed.append(key)


def use(store: Table) -> tuple[ntapi.Client, weakref.ref[Table]]:
    """Shares a response by a store, to which the test keeps no reference."""
    with running() as server:
        one = shop(server.url, store, "a")
        assert one.get("/x").json() == "/x 1"
        eventually(lambda: any(key.endswith(":responses") for key in store.values))
        assert len(store.values) == 2
        assert all(key.startswith("ntapi:1:{a:") for key in store.values)
        with shop(server.url, store, "a") as other:
            assert other.get("/x").json() == "/x 1"
            assert other.delete("/x").status == 204
        eventually(lambda: len(store.removed) >= 1)
    return one, weakref.ref(store)


def test_a_store_of_the_program() -> None:
    one, known = use(Table())
    gc.collect()
    assert known() is not None  # the cache keeps it
    one.close()
    del one
    gc.collect()
    eventually(lambda: known() is None)


class Wrong(Table):
    def get(self, key: str) -> Any:
        return "text"


@pytest.mark.parametrize(
    ("kind", "mistake"), [(Wrong, TypeError), (ntapi.Store, NotImplementedError)]
)
def test_a_store_that_is_wrong(
    kind: type[ntapi.Store], mistake: type[Exception], unraisable: Unraisable
) -> None:
    with running() as server, shop(server.url, kind(), "a") as one:
        assert one.get("/x").json() == "/x 1"
        assert one.get("/x").json() == "/x 1"
    assert {type(error) for error in unraisable.errors} == {mistake}


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    cache, store = ntapi.Cache(), MemoryStore()
    for options, problem in (
        ({"key": "a{"}, "no braces"),
        ({"key": ""}, "1 to 200 bytes"),
        ({"store_timeout": 0}, "store_timeout has to be above 0"),
        ({"lease": 0.01}, "lease is 0.01"),
    ):
        given: dict[str, Any] = {"key": "a", **options}
        with pytest.raises(ValueError, match=problem):
            cache.share(store, **given)
    with pytest.raises(TypeError, match=r"has to be an ntapi\.Store"):
        cache.share(5, "a")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="key"):
        cache.share(store, 5)  # type: ignore[arg-type]
    for library in (store, FileStore(tmp_path / "a")):
        with pytest.raises(NotImplementedError, match="only the library uses"):
            library.get("a")
        with pytest.raises(NotImplementedError, match="only the library uses"):
            library.set("a", b"", 1)
        with pytest.raises(NotImplementedError, match="only the library uses"):
            library.remove("a")


class OnLoop(Table):
    """A store that needs the program's loop for each answer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self.loop = loop
        self.is_closing = threading.Event()

    def set(self, key: str, value: bytes, seconds: float) -> None:
        assert self.is_closing.wait(PATIENCE)
        asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(PATIENCE)
        super().set(key, value, seconds)


@pytest.mark.parametrize("end", ["close", "drain"])
def test_an_end_on_a_loop_does_not_block_it(end: str) -> None:
    """It waits until the store has what was loaded, and the store needs the loop for that."""

    async def main(url: str) -> bool:
        store = OnLoop(asyncio.get_running_loop())
        cache = ntapi.Cache()
        cache.share(store, "pages", store_timeout=PATIENCE)
        configuration = ntapi.SessionConfiguration.ephemeral(cache=cache, proxy="")
        async with ntapi.AsyncClient(url, configuration=configuration) as client:
            await client.send("page")
            store.is_closing.set()
            await (client.close() if end == "close" else client.drain())
        return any(":new:" not in key for key in store.values)

    with running() as pages:
        assert asyncio.run(asyncio.wait_for(main(pages.url), PATIENCE))


def test_a_close_that_nobody_waits_for_closes() -> None:
    """Neither does it need a thread of the program's executor."""

    async def main(url: str) -> None:
        loop, goes_on = asyncio.get_running_loop(), threading.Event()
        loop.set_default_executor(ThreadPoolExecutor(1))
        busy = loop.run_in_executor(None, goes_on.wait)
        configuration = ntapi.SessionConfiguration.ephemeral(proxy="")
        client = ntapi.AsyncClient(url, configuration=configuration)
        try:
            task = asyncio.create_task(client.perform("held"))
            await asyncio.sleep(0)
            closing = asyncio.create_task(client.close())
            await asyncio.sleep(0)
            closing.cancel()
            error = (await task).error
            assert error is not None
            assert error.code is ntapi.codes.CANCELLED
            # The thread may still cancel requests.
            with pytest.raises(ntapi.ApiError, match="the client is closed"):
                await client.send("page")
        finally:
            # Otherwise the end of the loop would wait for that thread.
            goes_on.set()
        await busy

    with running() as pages:
        asyncio.run(asyncio.wait_for(main(pages.url), PATIENCE))
        pages.goes_on.set()
