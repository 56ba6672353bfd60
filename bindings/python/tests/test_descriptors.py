"""Idle connections leave file descriptors to the program, and a connect finds one."""

from __future__ import annotations

import pytest

from conftest import run_python

PREAMBLE = """
import os, resource, sys, threading
import ntapi
LIMIT = 256
resource.setrlimit(resource.RLIMIT_NOFILE, (LIMIT, LIMIT))
port = sys.argv[1].rpartition(":")[2]

def session():
    configuration = ntapi.SessionConfiguration.ephemeral(
        proxy="", connect_to=f"::127.0.0.1:{port}"
    )
    return ntapi.Client(host(0), configuration=configuration)

def host(number):
    return f"http://h{number}.test:{port}/"

def used():
    return len(os.listdir("/proc/self/fd")) - 1

def take_all():
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        return taken
"""
PERFORM = """
def ask(client, base, command):
    return client.perform("", ntapi.base_url(base + command))
"""
BEGIN = """
def ask(client, base, command):
    answered = threading.Event()
    seen = []
    def handle(response):
        seen.append(response)
        answered.set()
    background = ntapi.response_thread(ntapi.BACKGROUND)
    client.begin("", ntapi.base_url(base + command), background, handle)
    assert answered.wait(120)
    return seen[0]
"""
WAYS = pytest.mark.parametrize("way", [PERFORM, BEGIN], ids=["perform", "begin"])


def run(servers: dict[str, str], *code: str) -> None:
    done = run_python("".join([PREAMBLE, *code]), servers["fault"])
    assert done.returncode == 0, done.stderr


@WAYS
def test_idle_connections_have_a_share(servers: dict[str, str], way: str) -> None:
    """Two sessions with many hosts each: half of the descriptors remain free."""
    run(
        servers,
        way,
        """
for client in (session(), session()):
    for number in range(LIMIT):
        response = ask(client, host(number), "ok")
        assert response.status == 200, response.error
    assert used() < LIMIT // 2 + 40, used()
        """,
    )


@WAYS
def test_idle_connections_end_for_a_new_one(servers: dict[str, str], way: str) -> None:
    """The program holds every descriptor that idle connections do not."""
    run(
        servers,
        way,
        """
client = session()
for number in range(40):
    assert ask(client, host(number), "ok").status == 200
first = ask(client, host(0), "echo").json()["connection"]
taken = take_all()
for number in range(100, 110):
    response = ask(client, host(number), "ok")
    assert response.status == 200, response.error
# The newest connections are kept.
response = ask(client, host(0), "echo")
assert response.json()["connection"] == first
# With free descriptors, no connection ends for another one.
for descriptor in taken:
    os.close(descriptor)
before = used()
for number in range(200, 210):
    assert ask(client, host(number), "ok").status == 200
assert used() == before + 10, (before, used())
        """,
    )


@WAYS
def test_the_reason_is_named(servers: dict[str, str], way: str) -> None:
    """Nothing is idle, and no descriptor is left."""
    run(
        servers,
        way,
        """
client = session()
# The thread has its mailbox, and no connection remains.
response = ask(client, host(0), "close-delimited")
assert response.status == 200, response.error
taken = take_all()
response = ask(client, host(0), "ok")
assert response.error is not None
assert f"limit is {LIMIT} (RLIMIT_NOFILE)" in str(response.error), response.error
for descriptor in taken:
    os.close(descriptor)
assert ask(client, host(0), "ok").status == 200
        """,
    )


@pytest.mark.parametrize("free", range(5))
def test_the_first_request_of_a_thread_needs_no_mailbox(servers: dict[str, str], free: int) -> None:
    """Not enough descriptors are free for one."""
    run(
        servers,
        PERFORM,
        f"""
client = session()
assert ask(client, host(0), "close-delimited").status == 200
taken = take_all()
# The error of a connect without descriptors, whose modules are imported now.
assert ask(client, host(0), "ok").error is not None
for descriptor in taken[:{free}]:
    os.close(descriptor)
seen = []
def work():
    for _ in range(2):
        seen.append(ask(client, host(0), "ok"))
    for descriptor in taken[{free}:]:
        os.close(descriptor)
    seen.append(ask(client, host(0), "ok"))
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert len(seen) == 3
for response in seen[:2]:
    words = f"limit is {{LIMIT}} (RLIMIT_NOFILE)"
    assert response.status == 200 or words in str(response.error), response.error
assert seen[2].status == 200, seen[2].error
        """,
    )


def test_a_connect_names_the_reason(servers: dict[str, str]) -> None:
    """The only connection is in use."""
    run(
        servers,
        BEGIN,
        """
client = session()
received, ended = threading.Event(), threading.Event()
held = client.begin(
    "",
    ntapi.base_url(host(0) + "stall/in-body"),
    ntapi.response_thread(ntapi.BACKGROUND),
    lambda _: ended.set(),
    data_handler=lambda _: received.set(),
)
assert received.wait(120)
taken = take_all()
response = ask(client, host(2), "ok")
assert response.error is not None
assert response.error.retryable
assert f"no connection: the process has no file descriptor left: its limit is {LIMIT}" in str(
    response.error
), response.error
held.cancel()
assert ended.wait(120)
        """,
    )
