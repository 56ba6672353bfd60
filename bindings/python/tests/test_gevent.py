"""gevent: its monkey.patch_all() turns Python's threads into greenlets."""

from __future__ import annotations

import pytest

from conftest import run_python

PATCH = "from gevent import monkey; monkey.patch_all()"


def check(code: str, *arguments: str) -> None:
    result = run_python(code, *arguments)
    assert result.returncode == 0, result.stderr
    assert (result.stdout, result.stderr) == ("fine\n", "")


@pytest.mark.parametrize("order", [f"{PATCH}\nimport ntapi", f"import ntapi\n{PATCH}"])
def test_requests_are_answered_and_handlers_run(servers: dict[str, str], order: str) -> None:
    code = f"""
{order}
import sys, threading, _thread
url = sys.argv[1]
seen = []
with ntapi.Client(url) as client:
    assert client.send("ok").status == 200
    assert client.perform("status/500").error.http_status == 500
    names = lambda _: seen.append(monkey.get_original("_thread", "get_ident")())
    for place in ntapi.MAIN, ntapi.CURRENT, ntapi.BACKGROUND:
        request = client.begin("ok", ntapi.response_thread(place), names)
        assert request.wait(120)
    main = monkey.get_original("_thread", "get_ident")()
    assert seen[0] == seen[1] == main != seen[2], seen
    with client.stream("ok", ntapi.url("size", 100000)) as chunks:
        assert b"".join(chunks) == client.send("ok", ntapi.url("size", 100000)).data
    client.authenticator = ntapi.Authenticator(lambda _: "new", token="old", statuses=[418])
    assert client.perform("status/418").status == 418
    assert client.authenticator.token == "new"
    client.begin("ok", ntapi.response_thread(lambda job: threading.Thread(target=job).start()))
    assert client.drain(120) == 0
print("fine")
"""
    check(code, servers["fault"])


def test_who_waits_lets_the_others_run(servers: dict[str, str]) -> None:
    """The server answers when all requests have come: one request at a time would wait for ever."""
    code = f"""
{PATCH}
import gevent, sys, uuid
import ntapi
name = uuid.uuid4().hex
count = 40
with ntapi.Client(sys.argv[1]) as client:
    client.set_default("maximumConnectionsPerHost", count)
    args = [ntapi.url("name", name), ntapi.url("together", count), ntapi.timeout(120, "total")]
    greenlets = [gevent.spawn(client.perform, "token/use", args) for _ in range(count)]
    gevent.joinall(greenlets, timeout=180)
    assert [greenlet.value.status for greenlet in greenlets] == [401] * count
print("fine")
"""
    check(code, servers["fault"])


def test_a_server_of_the_same_program_answers() -> None:
    """It is a greenlet of the same thread, as in the tests of programs that use gevent."""
    code = f"""
{PATCH}
import gevent, random, sys
from gevent.pywsgi import WSGIServer
import ntapi

def application(environ, start_response):
    gevent.sleep(random.random() / 100)
    start_response("200 OK", [("Content-Type", "application/json")])
    return [b'{{"path": "%s"}}' % environ["PATH_INFO"].encode()]

server = WSGIServer(("127.0.0.1", 0), application, log=None)
server.start()
wrong = []
with ntapi.Client(f"http://127.0.0.1:{{server.server_port}}") as client:
    def work(number):
        for step in range(20):
            path = f"{{number}}/{{step}}"
            if client.send(path, ntapi.timeout(120)).json()["path"] != f"/{{path}}":
                wrong.append(path)
    gevent.joinall([gevent.spawn(work, number) for number in range(20)], timeout=180,
                   raise_error=True)
    try:
        with gevent.Timeout(0.0):
            client.send("late")
    except gevent.Timeout:
        pass
    else:
        raise AssertionError
    assert client.drain(120) == 0
assert not wrong
print("fine")
"""
    check(code)


def test_gevents_own_thread_pool(servers: dict[str, str]) -> None:
    code = f"""
{PATCH}
import gevent, sys
import ntapi
with ntapi.Client(sys.argv[1]) as client:
    pool = gevent.get_hub().threadpool
    results = [pool.spawn(client.send, "ok") for _ in range(20)]
    assert [result.get(timeout=120).status for result in results] == [200] * 20
print("fine")
"""
    check(code, servers["fault"])


def test_gevents_own_thread_pool_finds_everything_imported(servers: dict[str, str]) -> None:
    """Imports use gevent's locks, too. A real thread that waits for one may wait for ever."""
    code = f"""
{PATCH}
import gevent, sys
import ntapi
with ntapi.Client(sys.argv[1]) as client:
    pool = gevent.get_hub().threadpool
    pool.spawn(int).get(timeout=120)
    before = set(sys.modules)

    def work():
        assert client.send("ok", ntapi.url("size", 9), ntapi.timeout(120)).json() is not None
        assert client.perform("status/500").error.http_status == 500
        with client.stream("ok") as chunks:
            assert list(chunks)
        client.begin("ok", ntapi.response_thread(ntapi.BACKGROUND)).wait(120)
        repr(client)

    pool.spawn(work).get(timeout=120)
    assert set(sys.modules) == before, set(sys.modules) - before
print("fine")
"""
    check(code, servers["fault"])


def test_no_library_of_the_transports_and_of_the_mock_server_is_needed(
    servers: dict[str, str],
) -> None:
    code = f"""
{PATCH}
import sys
for name in ("h2", "httpx", "httpx2", "requests", "stripe", "trustme"):
    sys.modules[name] = None  # as if it were not installed
import ntapi
with ntapi.Client(sys.argv[1]) as client:
    assert client.send("ok").status == 200
assert not any(name.startswith(("ntapi.testing", "ntapi.transports")) for name in sys.modules)
print("fine")
"""
    check(code, servers["fault"])


def test_many_first_requests_at_once_in_gevents_thread_pool(servers: dict[str, str]) -> None:
    """Each thread makes its first client; the threads switch often."""
    code = f"""
{PATCH}
import gevent, sys
import ntapi
sys.setswitchinterval(0.00001)

def work():
    with ntapi.Client(sys.argv[1]) as client:
        return client.send("ok").status

pool = gevent.get_hub().threadpool
results = [pool.spawn(work) for _ in range(20)]
assert [result.get(timeout=120) for result in results] == [200] * 20
print("fine")
"""
    check(code, servers["fault"])


def test_a_lock_wakes_another_thread_of_gevents_pool_after_a_request(
    servers: dict[str, str],
) -> None:
    """If the thread that had the lock has a loop, gevent lets that loop wake the others. But a
    thread of the pool no longer runs its loop.
    """
    code = f"""
{PATCH}
import gevent, sys, threading
import ntapi
pause = lambda: monkey.get_original("time", "sleep")(0.001)
ident = monkey.get_original("_thread", "get_ident")
lock = threading.Lock()
holds, waits = [], []

def hold():
    assert client.send("ok").status == 200
    with lock:
        holds.append(ident())
        while not waits or sys._current_frames()[waits[0]].f_code.co_name != "acquire":
            pause()

def wait():
    while not holds:
        pause()
    waits.append(ident())
    with lock:
        return "has it"

with ntapi.Client(sys.argv[1]) as client:
    pool = gevent.get_hub().threadpool
    holder, waiter = pool.spawn(hold), pool.spawn(wait)
    holder.get(timeout=120)
    try:
        assert waiter.get(timeout=120) == "has it"
    except gevent.Timeout:
        # A thread that hangs would keep the process from ending.
        sys.stderr.write("nobody woke it")
        sys.stderr.flush()
        monkey.get_original("os", "_exit")(1)
print("fine")
"""
    check(code, servers["fault"])


def test_a_thread_of_gevents_pool_with_greenlets_runs_them(servers: dict[str, str]) -> None:
    code = f"""
{PATCH}
import gevent, sys
import ntapi
with ntapi.Client(sys.argv[1]) as client:

    def work():
        ran = []
        gevent.spawn(ran.append, 1)
        assert client.send("late?ms=300").status == 200
        return ran

    assert gevent.get_hub().threadpool.spawn(work).get(timeout=120) == [1]
print("fine")
"""
    check(code, servers["fault"])


def test_interceptors_run_while_greenlets_wait(servers: dict[str, str]) -> None:
    code = f"""
{PATCH}
import gevent, sys
import ntapi

def sign(call):
    call.request.headers["X-Signature"] = str(call.api_request.identifier)
    response = yield call.request
    return response

interceptors = [ntapi.attempt_interceptor(sign)]
with ntapi.Client(sys.argv[1], interceptors=interceptors) as client:
    greenlets = [gevent.spawn(client.send, "echo") for _ in range(20)]
    gevent.joinall(greenlets, timeout=180)
    headers = [line for greenlet in greenlets for line in greenlet.value.json()["headers"]]
    signatures = {{value for name, value in headers if name.lower() == "x-signature"}}
    assert len(signatures) == 20, signatures
print("fine")
"""
    check(code, servers["fault"])
