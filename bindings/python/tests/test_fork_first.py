"""Forks while another thread uses a part of the package, or of the library, for the first time.

A child gets half of a module, a type or a constant if it is forked while another thread makes it,
and each is made only once. So each trial is a new interpreter.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from conftest import run_python

TRIALS = int(os.environ.get("NTAPI_FORKS", "20"))
"""How many trials of each kind."""

SCENES = """
import asyncio, os, random, signal, sys, tempfile, threading, time
from dataclasses import dataclass

# Python finds it on first use, under a lock that a child would inherit.
tempfile.gettempdir()

def performs():
    with ntapi.Client(URL) as client:
        assert client.send("ok").status == 200

def begins():
    with ntapi.Client(URL) as client:
        taken = []
        assert client.begin("ok", ntapi.response_thread(ntapi.BACKGROUND), taken.append).wait(60)
        assert taken[0].status == 200

def awaits():
    async def main():
        async with ntapi.AsyncClient(URL) as client:
            assert (await client.send("ok")).status == 200
    asyncio.run(main())

def downloads():
    with tempfile.TemporaryDirectory() as folder, ntapi.Client(URL) as client:
        assert client.send("ok", ntapi.download(folder + "/file")).status == 200

def streams():
    with ntapi.Client(URL) as client, client.lines("lines", ntapi.url("count", 5)) as lines:
        assert len(list(lines)) >= 5

def intercepts():
    @ntapi.attempt_interceptor
    def mark(call):
        call.request.headers["X-Mark"] = "1"
        yield call.request
    with ntapi.Client(URL) as client:
        assert client.send("ok", ntapi.interceptor(mark)).status == 200

@dataclass
class City:
    name: str
    days: "list[int]"

def decodes():
    assert ntapi.decode(City, {"name": "Bern", "days": [1, 2]}) == City("Bern", [1, 2])

def caches():
    with ntapi.Client(URL, configuration=ntapi.SessionConfiguration.ephemeral()) as client:
        token = ntapi.url("token", f"fork-{os.getpid()}")
        for source in ("network", "cache"):
            response = client.send("cached", ntapi.url("h-Cache-Control", "max-age=100"), token)
            assert response.source.name.lower() == source, response.error

SCENES = [performs, begins, awaits, downloads, streams, intercepts, decodes, caches]
"""

TRIAL = """
URL, seed = sys.argv[1], int(sys.argv[2])
chance = random.Random(seed)
scenes = chance.sample(SCENES, 3)
pause = chance.uniform(0, 0.05 if imports_there else 0.02)
# Switch so often that another thread goes on between any two steps of a fork.
sys.setswitchinterval(chance.choice([0.005, 1e-6]))
failures = []
def play(scene):
    try:
        scene()
    except BaseException as error:
        failures.append(f"{scene.__name__}: {error!r}")
        raise
def run_child():
    signal.alarm(60)
    for scene in scenes:
        play(scene)
    performs()
threads = [threading.Thread(target=play, args=(scene,)) for scene in scenes[:2]]
"""

BY_FORK = """
for thread in threads:
    thread.start()
end = time.monotonic() + pause
while time.monotonic() < end:
    pass
child = os.fork()
if child == 0:
    try:
        run_child()
    except BaseException:
        os._exit(1)
    os._exit(0)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
for thread in threads:
    thread.join()
assert status == 0 and not failures, (status, failures)
"""

BY_MULTIPROCESSING = """
import multiprocessing
process = multiprocessing.get_context("fork").Process(target=run_child)
for thread in threads:
    thread.start()
end = time.monotonic() + pause
while time.monotonic() < end:
    pass
process.start()
process.join()
for thread in threads:
    thread.join()
assert process.exitcode == 0 and not failures, (process.exitcode, failures)
"""

IMPORTED = "import ntapi\nimports_there = False\n"

# Before that, Python has locked the package, and nothing of it has run.
IMPORTED_THERE = """
import os, sys, threading
imports_there = True
def load():
    global ntapi
    import ntapi
loader = threading.Thread(target=load)
loader.start()
while "ntapi._bridge.library" not in sys.modules and loader.is_alive():
    os.sched_yield()
class Later:
    def __getattr__(self, name):
        import ntapi
        return getattr(ntapi, name)
ntapi = Later()
"""


@pytest.mark.parametrize("way", [BY_FORK, BY_MULTIPROCESSING], ids=["fork", "multiprocessing"])
@pytest.mark.parametrize("place", [IMPORTED, IMPORTED_THERE], ids=["imported", "importing"])
def test_fork_at_the_first_use(servers: dict[str, str], place: str, way: str) -> None:
    """The child can do what a thread of the parent was doing."""
    seed = int(os.environ.get("NTAPI_SEED", time.time_ns() % 2**32))
    print(f"seed {seed}")
    chance = random.Random(seed)
    for _ in range(TRIALS):
        number = chance.randrange(2**32)
        result = run_python(place + SCENES + TRIAL + way, servers["fault"], str(number))
        assert result.returncode == 0, f"trial {number}: {result.stderr}"


SLOW_IMPORT = """
import os, signal, sys, threading
import ntapi
path = sys.argv[1]
sys.path.insert(0, path)
with open(path + "/slow.py", "w") as module:
    module.write("import sys; sys.began(); done = True")
began, goes_on = threading.Event(), threading.Event()
def wait():
    began.set()
    goes_on.wait()
sys.began = wait
thread = threading.Thread(target=lambda: __import__("slow"))
thread.start()
began.wait()
child = os.fork()
if child == 0:
    signal.alarm(60)
    sys.began = lambda: None
    import slow
    os._exit(0 if slow.done else 1)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
goes_on.set()
thread.join()
assert status == 0 and sys.modules["slow"].done, status
"""


def test_fork_during_an_import_that_waits_for_it(tmp_path: Path) -> None:
    """The child imports the module anew, and the parent's import goes on."""
    result = run_python(SLOW_IMPORT, str(tmp_path))
    assert result.returncode == 0, result.stderr
