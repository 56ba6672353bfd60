"""The cache of a session, in memory and on disk, also with processes that are killed."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE, run_python
from ntapi import Cache, CachePolicy, SessionConfiguration, Source, Storage, codes


def session(url: str, **settings: Any) -> ntapi.Client:
    configuration = SessionConfiguration.ephemeral(proxy="", **settings)
    return ntapi.Client(url, configuration=configuration)


class Page:
    """A URL of one test, whose requests the server counts."""

    def __init__(self, **parameters: str) -> None:
        self.token = uuid.uuid4().hex
        names = {name: name.replace("h_", "h-").replace("_", "-") for name in parameters}
        self.args = [ntapi.url("token", self.token)]
        self.args += [ntapi.url(names[name], value) for name, value in parameters.items()]

    def get(self, client: ntapi.Client, *args: Any) -> ntapi.Response:
        return client.perform("cached", self.args, *args)

    def count(self, client: ntapi.Client) -> int:
        return int(client.send("count", ntapi.url("token", self.token)).json()["count"])


def fresh(**parameters: str) -> Page:
    return Page(h_Cache_Control="max-age=100", **parameters)


def test_no_store_neither_reads_nor_writes(servers: dict[str, str]) -> None:
    with session(servers["fault"]) as client:
        page = fresh()
        policies: list[Any] = [CachePolicy.NO_STORE, "protocol", "no_store", "protocol"]
        found = [page.get(client, ntapi.cache_policy(policy)).source for policy in policies]
        assert found == [Source.NETWORK] * 3 + [Source.CACHE]


def test_what_is_stored_outlives_a_refresh(servers: dict[str, str]) -> None:
    """A refreshed token belongs to the same user. A token that the program sets may be another
    user's.
    """
    with session(servers["fault"]) as client:
        page = fresh()
        name = ntapi.url("name", page.token)
        bypass = ntapi.option("bypass_authentication")

        def issue() -> str:
            return str(client.send("token/issue", name, bypass).json()["token"])

        client.authenticator = ntapi.Authenticator(lambda _: issue())
        assert page.get(client, name).source is Source.NETWORK
        client.send("token/expire", name, bypass)
        assert client.send("token/use", name).json()["header"]["authorization"].endswith("-2")
        assert page.get(client, name).source is Source.CACHE
        client.authenticator.set_token(issue())
        assert page.get(client, name).source is Source.NETWORK


def test_fresh_is_not_asked_for_again(servers: dict[str, str]) -> None:
    with session(servers["fault"]) as client:
        page = fresh(etag="x")
        first = page.get(client)
        assert first.source is Source.NETWORK
        assert not first.metrics.from_cache
        second = page.get(client)
        assert second.source is Source.CACHE
        assert second.metrics.from_cache
        assert second.data == first.data
        assert second.json() == first.json()
        assert int(second.headers["Age"]) < PATIENCE
        assert page.get(client, ntapi.cache_policy("reload_revalidating")).source is (
            Source.VALIDATED_CACHE
        )
        ignoring = ntapi.cache_policy(CachePolicy.RELOAD_IGNORING_CACHE)
        assert page.get(client, ignoring).source is Source.NETWORK
        assert page.count(client) == 3


def test_a_file_of_nginx_is_confirmed(servers: dict[str, str]) -> None:
    with session(servers["nginx"]) as client:
        first = client.send("small.json")
        confirmed = client.send("small.json", ntapi.header("Cache-Control", "no-cache"))
        assert (first.source, confirmed.source) == (Source.NETWORK, Source.VALIDATED_CACHE)
        assert confirmed.status == 200
        assert confirmed.json() == first.json()
        assert client.send("cached/small.json").source is Source.NETWORK
        assert client.send("cached/small.json").source is Source.CACHE
        compressed = [client.send("gzip/big-100k.json") for _ in range(2)]
        assert compressed[0].data == compressed[1].data
        assert compressed[0].headers["Content-Encoding"] == "gzip"


def test_conditions_and_ranges_of_the_caller(servers: dict[str, str]) -> None:
    """A fresh response answers these requests. Requests that the cache cannot judge go to the
    server.
    """
    with session(servers["fault"]) as client:
        page = fresh(etag="x")
        whole = page.get(client)

        def get(**headers: str) -> ntapi.Response:
            args = [ntapi.header(name.replace("_", "-"), headers[name]) for name in headers]
            options = ntapi.option("ignore_http_errors"), ntapi.option("raw_data")
            return page.get(client, *args, *options)

        same = get(If_None_Match='W/"x1"')
        assert (same.status, same.data, same.source) == (304, b"", Source.CACHE)
        assert same.metrics.from_cache
        assert same.headers["ETag"] == '"x1"'
        other = get(If_None_Match='"x2"', If_Modified_Since="Sun, 06 Nov 1994 08:49:37 GMT")
        assert (other.status, other.data, other.source) == (200, whole.data, Source.CACHE)
        part = get(Range="bytes=2-5", If_Range='"x1"')
        assert (part.status, part.data, part.source) == (206, whole.data[2:6], Source.CACHE)
        assert part.headers["Content-Range"] == f"bytes 2-5/{len(whole.data)}"
        assert part.metrics.from_cache
        beyond = get(Range="bytes=100000-")
        assert (beyond.status, beyond.source) == (416, Source.CACHE)
        assert beyond.headers["Content-Range"] == f"bytes */{len(whole.data)}"
        assert page.count(client) == 1
        assert get(Range="bytes=0-1,4-5").source is Source.NETWORK
        assert get(If_Match='"x1"').source is Source.NETWORK
        assert page.get(client).data == whole.data


def test_nothing_to_answer_with(servers: dict[str, str]) -> None:
    with session(servers["fault"], cache_policy=CachePolicy.RETURN_CACHED_DONT_LOAD) as client:
        page = fresh()
        response = page.get(client)
        assert response.status == 504
        assert response.error is not None
        assert response.error.code is codes.NOT_CACHED
        ignoring = page.get(client, ntapi.option("ignore_http_errors"))
        assert ignoring.error is not None
        assert ignoring.error.code is codes.NOT_CACHED
        assert page.get(client, ntapi.cache_policy("protocol")).error is None
        assert page.get(client).source is Source.CACHE


def test_asyncio(servers: dict[str, str]) -> None:
    async def main() -> list[Source]:
        configuration = SessionConfiguration.ephemeral(proxy="")
        async with ntapi.AsyncClient(servers["fault"], configuration=configuration) as client:
            page = fresh()
            await client.send("cached", page.args)
            return [(await client.send("cached", page.args)).source for _ in range(3)]

    assert asyncio.run(main()) == [Source.CACHE] * 3


def test_is_shared_asked_and_emptied(servers: dict[str, str]) -> None:
    cache = Cache(memory_capacity=1 << 20)
    page = fresh()
    with session(servers["fault"], cache=cache) as one, session(servers["fault"]) as other:
        assert page.get(one).source is Source.NETWORK
        assert page.get(other).source is Source.NETWORK
        with session(servers["fault"], cache=cache) as third:
            assert page.get(third).source is Source.CACHE
        lent = one.cache
        assert lent is not None
        assert lent.memory_usage == cache.memory_usage > 0
        assert (lent.memory_capacity, lent.disk_capacity, lent.disk_usage) == (1 << 20, 0, 0)
        url = page.get(one).url
        lent.remove(url)
        assert cache.memory_usage == 0
        assert page.get(one).source is Source.NETWORK
        cache.clear()
        assert page.get(one).source is Source.NETWORK
        with pytest.raises(ValueError, match="nonsense"):
            cache.remove("nonsense")
    with ntapi.Client(servers["fault"]) as without:
        assert without.cache is None
    with pytest.raises(ValueError, match="-1"):
        Cache(memory_capacity=-1)


def test_settings(servers: dict[str, str], tmp_path: Path) -> None:
    configuration = SessionConfiguration.default(
        proxy="",
        cache_folder=str(tmp_path / "c"),
        cache_disk_capacity=1 << 20,
        cache_memory_capacity=5000,
    )
    page = fresh()
    with ntapi.Client(servers["fault"], configuration=configuration) as client:
        cache = client.cache
        assert cache is not None
        assert (cache.memory_capacity, cache.disk_capacity) == (5000, 1 << 20)
        page.get(client)
        cache.save()
        assert 0 < cache.disk_usage < 1 << 20
        assert len(list((tmp_path / "c").iterdir())) == 2
    with session(servers["fault"], uses_cache=False) as client:
        page = fresh()
        assert [page.get(client).source for _ in range(2)] == [Source.NETWORK] * 2
    with session(servers["fault"], cache_disk_capacity=-1) as client:
        error = client.perform("ok").error
        assert error is not None
        assert "cacheDiskCapacity" in error.message


def test_the_program_says_what_is_stored(servers: dict[str, str], tmp_path: Path) -> None:
    cache = Cache(folder=tmp_path / "c")
    answers = {
        ntapi.Decision.proceed: (Source.CACHE, 2),
        ntapi.Decision.refuse: (Source.NETWORK, 0),
        ntapi.Decision.store_in_memory: (Source.CACHE, 0),
    }
    for answer, (source, files) in answers.items():

        class Asking(ntapi.Client):
            decision_kinds = ntapi.DecisionKind.CACHE

            def decide(self, decision: ntapi.Decision, answer: Any = answer) -> None:
                assert decision.kind is ntapi.DecisionKind.CACHE
                assert decision.storage is Storage.DISK
                assert decision.header("Cache-Control") == "max-age=100"
                assert answer(decision)
                assert not decision.proceed()

        configuration = SessionConfiguration.ephemeral(proxy="", cache=cache)
        cache.clear()
        page = fresh()
        with Asking(servers["fault"], configuration=configuration) as client:
            page.get(client)
            cache.save()
            assert page.get(client).source is source
            assert len(list((tmp_path / "c").glob("*"))) == files


# Gets pages in a default session, prints their sources, and ends in one of several ways.
PROGRAM = """
import os, sys
import ntapi
url, ending, *pages = sys.argv[1:]
configuration = ntapi.SessionConfiguration.default(proxy="", application_name="shared")
with ntapi.Client(url, configuration=configuration) as client:
    for page in pages:
        print(client.send(page).source.name)
    if ending == "drain":
        client.drain()
    if ending != "usual":
        sys.stdout.flush()
        os._exit(0)
"""


class Home:
    """A user's home directory, in which programs run."""

    def __init__(self, path: Path, servers: dict[str, str]) -> None:
        self.path = path
        self.url = servers["fault"]
        self.environment = {**os.environ, "HOME": str(path)}
        for name in ("CONFIG", "CACHE", "STATE", "DATA"):
            self.environment[f"XDG_{name}_HOME"] = str(path / name.lower())

    def run(self, ending: str, *pages: str) -> list[str]:
        done = run_python(PROGRAM, self.url, ending, *pages, env=self.environment)
        assert done.returncode == 0, done.stderr
        return done.stdout.split()

    @property
    def folder(self) -> Path:
        return self.path / "cache" / "ntapi" / "shared" / "responses"


@pytest.fixture
def home(tmp_path: Path, servers: dict[str, str]) -> Home:
    return Home(tmp_path, servers)


def page_of_its_own(size: int = 0) -> str:
    return f"cached?token={uuid.uuid4().hex}&h-Cache-Control=max-age%3D1000&size={size}"


def test_another_process_finds_it(home: Home) -> None:
    page = page_of_its_own()
    assert home.run("usual", page, page) == ["NETWORK", "CACHE"]
    assert len(list(home.folder.iterdir())) == 2
    assert home.run("usual", page) == ["CACHE"]
    other = page_of_its_own()
    assert home.run("drain", other) == ["NETWORK"]
    assert home.run("drain", other) == ["CACHE"]
    # The file names reveal nothing of the request, such as its URL.
    assert all(name.name.partition(".")[0].isalnum() for name in home.folder.iterdir())


def test_without_a_cache_home(home: Home) -> None:
    home.environment["XDG_CACHE_HOME"] = "relative"
    home.run("usual", page_of_its_own())
    assert (home.path / ".cache" / "ntapi" / "shared" / "responses").is_dir()


# Gets pages for ever, each with a unique body, and checks them.
WRITER = """
import sys
import ntapi
url, seed, *pages = sys.argv[1:]
import random
generator = random.Random(seed)
configuration = ntapi.SessionConfiguration.default(
    proxy="", application_name="shared", cache_memory_capacity=0, cache_disk_capacity=400_000)
client = ntapi.Client(url, configuration=configuration)
while True:
    page = generator.choice(pages)
    policy = generator.choice(["protocol", "reload_ignoring_cache", "reload_revalidating"])
    response = client.send(page, ntapi.cache_policy(policy))
    assert len(response.json()["pad"]) == int(page.rpartition("=")[2]), (page, response.source)
    if generator.random() < 0.05:
        client.send(page, ntapi.method("DELETE"))
    print(response.source.name, flush=True)
"""


def test_processes_that_are_killed_leave_nothing_that_is_wrong(home: Home) -> None:
    seed = int(os.environ.get("NTAPI_SEED", random.randrange(1, 10**9)))
    generator = random.Random(seed)
    pages = [page_of_its_own(size) for size in (10, 1000, 20_000, 60_000, 90_000) for _ in range(3)]
    sources: set[str] = set()
    for _ in range(10):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, home.url, str(generator.random()), *pages],
                env=home.environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(2)
        ]
        count = generator.randrange(1, 60)
        for writer in writers:
            assert writer.stdout is not None
            for _ in range(count):
                line = writer.stdout.readline()
                if not line:
                    writer.kill()
                    raise AssertionError((seed, writer.communicate()[1]))
                sources.add(line.strip())
        for writer in writers:
            writer.kill()
            _, errors = writer.communicate(timeout=PATIENCE)
            assert "Traceback" not in errors, (seed, errors)
        # Every file is complete. Together they take no more than the two processes may, plus what
        # this adds.
        found = home.run("usual", *pages)
        assert len(found) == len(pages), seed
        taken = sum(path.stat().st_size for path in home.folder.iterdir())
        assert taken < 1_500_000, seed
    assert sources == {"NETWORK", "CACHE"}, seed


def test_save_says_when_it_failed(servers: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    cache = ntapi.Cache(folder=tmp_path / "file" / "below")
    configuration = ntapi.SessionConfiguration.ephemeral(proxy="", cache=cache)
    with ntapi.Client(servers["fault"], configuration=configuration) as client:
        client.send("status/200", ntapi.url("h-Cache-Control", "max-age=100"))
        with pytest.raises(ntapi.ApiError, match="the cache was not written"):
            cache.save()
        cache.save()
