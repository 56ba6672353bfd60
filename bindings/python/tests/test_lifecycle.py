"""Ends of processes and objects in any order, forks, signals, and memory."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import opcode
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, Callable

import pytest

import ntapi
from conftest import PATIENCE, Unraisable, run_python
from ntapi._bridge.library import lib
from ntapi._runtime.threads import main_mailbox


@pytest.mark.parametrize("place", ["MAIN", "BACKGROUND", "CURRENT"])
def test_exit_calls_every_handler(servers: dict[str, str], place: str) -> None:
    """Each handler runs before the process ends. The process waits for nothing else."""
    code = """
import sys, ntapi
client = ntapi.Client(sys.argv[1])
client.set_default("exit_timeout", 0)
for _ in range(5):
    client.begin("hold", ntapi.response_thread(ntapi.Thread[sys.argv[2]]),
                 lambda response: print(response.error.code, flush=True))
"""
    result = run_python(code, servers["fault"], place)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["request cancelled"] * 5


@pytest.mark.parametrize("place", ["MAIN", "BACKGROUND", "CURRENT"])
@pytest.mark.parametrize("end", ["exit", "block", "loop"])
def test_what_was_begun_finishes(servers: dict[str, str], end: str, place: str) -> None:
    """Requests finish at the end of the process, and of the client's block."""
    code = """
import asyncio, sys, ntapi
end, place = sys.argv[2:]

def begin(client):
    client.set_default("exit_timeout", 60)
    args = [ntapi.url("ms", 200), ntapi.response_thread(ntapi.Thread[place])]
    for _ in range(3):
        client.begin("late", args, lambda response: print(response.status, flush=True))
    client.begin("hold", [], lambda response: print(response.error.code, flush=True)).suspend()

async def loop():
    async with ntapi.AsyncClient(sys.argv[1]) as client:
        begin(client)
    print("left", flush=True)

if end == "exit":
    begin(ntapi.Client(sys.argv[1]))
elif end == "block":
    with ntapi.Client(sys.argv[1]) as client:
        begin(client)
    print("left", flush=True)
else:
    asyncio.run(loop())
"""
    result = run_python(code, servers["fault"], end, place)
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert sorted(lines[:4]) == ["200", "200", "200", "request cancelled"]
    assert lines[4:] == ([] if end == "exit" else ["left"])


@pytest.mark.parametrize("end", ["block", "loop"])
def test_an_exception_ends_a_block_at_once(servers: dict[str, str], end: str) -> None:
    """Running requests are cancelled."""
    errors: list[Any] = []

    def begin(client: Any) -> None:
        client.set_default("exit_timeout", 60)
        client.begin("hold", (), lambda response: errors.append(response.error))
        raise KeyError("the program's")

    def block() -> None:
        with ntapi.Client(servers["fault"]) as client:
            begin(client)

    async def loop() -> None:
        async with ntapi.AsyncClient(servers["fault"]) as client:
            begin(client)

    with pytest.raises(KeyError, match="the program's"):
        block() if end == "block" else asyncio.run(loop())
    assert [error.code for error in errors] == [ntapi.codes.CANCELLED]


@pytest.mark.parametrize("call", ["perform", "begin"])
def test_a_stopped_process_takes_what_came_meanwhile(call: str) -> None:
    """After Ctrl-Z, or a pause of the container: the timeouts ran out, but the answer had come
    meanwhile.
    """
    code = """
import sys, ntapi
client = ntapi.Client(sys.argv[1])
if sys.argv[2] == "perform":
    response = client.perform("", ntapi.timeout(3))
else:
    request = client.begin("", ntapi.timeout(3))
    request.wait()
    response = request.response
print(response.error or response.json())
"""
    answer = b'HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n"here"'
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        command = [sys.executable, "-c", code, url, call]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            connection, _ = listener.accept()
            with connection:
                assert connection.recv(65536).startswith(b"GET / ")
                child.send_signal(signal.SIGSTOP)
                assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
                # The time that passes while it is stopped.
                assert select.select([connection], [], [], 3.1) == ([], [], [])
                connection.sendall(answer)
                child.send_signal(signal.SIGCONT)
                assert child.communicate(timeout=PATIENCE)[0] == "here\n"


def test_exit_with_threads_and_loops_that_never_end(servers: dict[str, str]) -> None:
    code = """
import asyncio, sys, threading, ntapi
client = ntapi.Client(sys.argv[1])
started = threading.Barrier(4)
def blocked():
    started.wait()
    client.perform("hold")
def asleep():
    client.begin("hold", ntapi.response_thread(ntapi.CURRENT), lambda r: print(r.error.code))
    started.wait()
    threading.Event().wait()
def looping():
    async def main():
        other = ntapi.AsyncClient(sys.argv[1])
        other.begin("hold", (), lambda r: print(r.error.code))
        started.wait()
        await other.perform("hold")
    asyncio.run(main())
for target in (blocked, asleep, looping):
    threading.Thread(target=target, daemon=True).start()
started.wait()
"""
    result = run_python(code, servers["fault"])
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("request cancelled") == 2, result.stderr


def test_exit_by_an_exception_and_in_odd_moments(servers: dict[str, str]) -> None:
    code = """
import atexit, sys, ntapi
client = ntapi.Client(sys.argv[1], log_flags=ntapi.LogFlags.ALL)
class Keeper:
    def __del__(self):
        client.close()
keeper = Keeper()
atexit.register(lambda: print(client.send("echo").status))
client.begin("hold", ntapi.response_thread(ntapi.BACKGROUND))
streaming = client.begin("upload", ntapi.stream(lambda size: b"x" * 10))
raise ValueError("the end")
"""
    result = run_python(code, servers["fault"])
    assert result.returncode == 1
    assert "ValueError: the end" in result.stderr
    assert "Fatal" not in result.stderr
    assert result.stdout.strip() == "200"


def test_fork(servers: dict[str, str]) -> None:
    """A child uses its parent's client. The parent's requests stay with the parent."""
    code = """
import os, sys, ntapi
client = ntapi.Client(sys.argv[1])
client.send("echo")
mine = []
held = client.begin("hold", (), mine.append)
client.begin("echo", ntapi.response_thread(ntapi.BACKGROUND)).wait()
child = os.fork()
if child == 0:
    assert ntapi.drain(0) == 0
    statuses = []
    place = ntapi.response_thread(ntapi.BACKGROUND)
    assert client.begin("echo", place, lambda r: statuses.append(r.status)).wait(20)
    statuses.append(client.send("echo").status)
    statuses.append(ntapi.Client(sys.argv[1]).send("echo").status)
    assert statuses == [200, 200, 200], statuses
    assert mine == []
    sys.exit(7)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
assert client.send("echo").status == 200
held.cancel()
assert held.wait(20)
assert len(mine) == 1
"""
    result = run_python(code, servers["fault"])
    assert (result.returncode, result.stderr) == (0, "")


def test_fork_of_a_thread_and_of_a_loop(servers: dict[str, str]) -> None:
    code = """
import asyncio, os, sys, threading, ntapi
client = ntapi.Client(sys.argv[1])
def work():
    client.send("echo")
    child = os.fork()
    status = client.send("echo").status
    if child == 0:
        os._exit(0 if status == 200 else 1)
    assert os.waitpid(child, 0)[1] == 0
thread = threading.Thread(target=work)
thread.start()
thread.join()
async def main():
    async with ntapi.AsyncClient(sys.argv[1]) as other:
        return (await other.send("echo")).status
assert asyncio.run(main()) == 200
child = os.fork()
if child == 0:
    os._exit(0 if asyncio.run(main()) == 200 else 1)
assert os.waitpid(child, 0)[1] == 0
print("done")
"""
    result = run_python(code, servers["fault"])
    assert (result.stdout, result.returncode) == ("done\n", 0), result.stderr


def test_fork_while_another_thread_holds_a_lock(servers: dict[str, str]) -> None:
    """In the child, Python deletes what other threads owned before the package knows of the fork.
    That does not wait for what another thread of the parent was doing.
    """
    code = """
import os, signal, sys, threading, ntapi
from ntapi._runtime import threads
client = ntapi.Client(sys.argv[1])
ready, done = threading.Barrier(3), threading.Event()
def owns_a_mailbox():
    request = client.begin("hold", ntapi.response_thread(ntapi.CURRENT), print)
    ready.wait()
    done.wait()
    request.cancel()
    request.wait(60)
def holds_the_lock():
    with threads._lock:
        ready.wait()
        done.wait()
workers = [threading.Thread(target=each) for each in (owns_a_mailbox, holds_the_lock)]
for worker in workers:
    worker.start()
ready.wait()
child = os.fork()
if child == 0:
    os._exit(0 if client.send("echo").status == 200 else 1)
alarm = threading.Timer(60, os.kill, (child, signal.SIGKILL))
alarm.start()
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
alarm.cancel()
done.set()
for worker in workers:
    worker.join()
assert status == 0, status
"""
    result = run_python(code, servers["fault"])
    assert result.returncode == 0, result.stderr


FORKS = """
import os, signal, sys, threading, ntapi
client = ntapi.Client(sys.argv[1])
TRIALS = 5
def fork_once(*_):
    global child, parent, calls
    calls += os.getpid() != parent
    if child is None and os.getpid() == parent:
        child = os.fork()
        if child == 0:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGALRM])
            signal.alarm(60)
def decide(decision):
    fork_once()
    decision.proceed()
def reads(size):
    fork_once()
    return b""
HANDLERS = [
    dict(handler=fork_once), dict(download_progress=fork_once),
    dict(data_handler=fork_once), dict(decision_handler=decide),
]
def new_trial():
    global child, parent, calls
    child, parent, calls = None, os.getpid(), 0
def check_child():
    assert child, child
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0, os.waitstatus_to_exitcode(status)
"""
"""Handlers that fork once in a trial, and the expected end of their child."""


@pytest.mark.parametrize(
    "wait",
    [
        'client.perform("late", ntapi.url("ms", 30))',
        'client.send("late", ntapi.url("ms", 30))',
        "request.wait()",
        "client.drain()",
        "ntapi.drain()",
        "mailbox.run_until(lambda: request._outcome.is_done)",
        "run_by_hand()",
    ],
)
def test_fork_in_a_handler_while_a_call_waits(servers: dict[str, str], wait: str) -> None:
    """The child does not continue the call. The parent, and the child's own requests, lose
    nothing.
    """
    code = f"""
{FORKS}
import select
def run_by_hand():
    while child is None:
        select.select([mailbox], [], [])
        mailbox.drain()
mailbox = ntapi.mailbox()
for handlers in HANDLERS * TRIALS:
    new_trial()
    responses = []
    inner = handlers.get("handler", lambda response: None)
    others = {{name: value for name, value in handlers.items() if name != "handler"}}
    def handler(response):
        responses.append(response)
        inner(response)
    request = client.begin("echo", (), handler, **others)
    try:
        result = {wait}
        assert request.wait(60)
    except RuntimeError as error:
        assert os.getpid() != parent and "forked" in str(error), error
        assert calls == 0 and client.drain(0) == 0 and ntapi.drain(0) == 0
        assert client.send("echo").status == 200
        assert ntapi.Client(sys.argv[1]).send("echo").status == 200
        os._exit(0)
    if os.getpid() != parent:
        os._exit(1)
    assert getattr(result, "error", None) is None, result
    check_child()
    assert len(responses) == 1 and responses[0].error is None, responses
"""
    result = run_python(code, servers["fault"])
    assert (result.returncode, result.stderr) == (0, "")


def test_fork_in_a_handler_of_the_background(servers: dict[str, str]) -> None:
    """The child has nothing to return to: it ends with its only thread."""
    code = f"""
{FORKS}
for handlers in HANDLERS * TRIALS:
    new_trial()
    inner = handlers.get("handler", lambda response: None)
    others = {{name: value for name, value in handlers.items() if name != "handler"}}
    responses = []
    def handler(response):
        responses.append(response)
        inner(response)
    kinds = ["response", "download_progress", "data", "decision"]
    place = [getattr(ntapi, kind + "_thread")(ntapi.BACKGROUND) for kind in kinds]
    assert client.begin("echo", place, handler, **others).wait(60)
    check_child()
    assert len(responses) == 1 and responses[0].error is None, responses
for _ in range(TRIALS):
    new_trial()
    assert client.perform("record", ntapi.url("token", str(_)), ntapi.stream(reads)).error is None
    check_child()
"""
    result = run_python(code, servers["fault"])
    assert (result.returncode, result.stderr) == (0, "")


@contextlib.contextmanager
def signalled(
    number: int, on_signal: Callable[..., None], may_begin: Callable[[], bool] = lambda: True
) -> Iterator[None]:
    """Sends a signal to this process again and again, as soon as it may.

    Once is not enough: Python misses a signal that comes between its check for signals and the
    system call that waits.
    """
    finished = threading.Event()

    def shoot() -> None:
        while not may_begin():
            time.sleep(0)
        while not finished.wait(0.02):
            os.kill(os.getpid(), number)

    previous = signal.signal(number, on_signal)
    thread = threading.Thread(target=shoot)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
        signal.signal(number, previous)


def interrupted_in(wait: Callable[[], object]) -> None:
    """Sends SIGINT to this process while its main thread is in the wait."""
    armed = [True]

    def on_signal(*_: object) -> None:
        if armed:
            armed.clear()
            raise KeyboardInterrupt

    shooting = signalled(signal.SIGINT, on_signal, lambda: main_mailbox().is_being_drained)
    with shooting, pytest.raises(KeyboardInterrupt):
        wait()


def test_ctrl_c_in_a_wait(fault: ntapi.Client) -> None:
    interrupted_in(lambda: fault.perform("hold"))
    # C, too, has nothing left of the request.
    assert lib.ntapi_client_drain(fault._handle.pointer, PATIENCE) == 0
    request = fault.begin("hold")
    interrupted_in(request.wait)
    interrupted_in(fault.drain)
    interrupted_in(ntapi.run)
    request.cancel()
    assert fault.drain(PATIENCE) == 0
    assert fault.send("echo").status == 200


def test_a_signal_handler_performs_a_request_of_its_own(fault: ntapi.Client) -> None:
    """The handler runs in the middle of another request; the two answers are not mixed up."""
    answers: list[Any] = []

    def on_signal(*_: object) -> None:
        if not answers:
            answers.append(fault.perform("echo").json())

    with signalled(signal.SIGUSR1, on_signal):
        for _ in range(3):
            # Repeat until a signal came in time: a busy machine may be late.
            while not answers:
                assert fault.perform("late", ntapi.url("ms", 300)).json() == {"late": True}
            assert answers.pop()["target"] == "/echo"


@pytest.mark.parametrize("command", ["echo", "status/404"])
@pytest.mark.parametrize("shooter", ["thread", "timer"])
def test_ctrl_c_at_any_moment_loses_no_handler(
    fault: ntapi.Client, unraisable: Unraisable, command: str, shooter: str
) -> None:
    """Signals come at random moments: each handler is called nevertheless, and once."""
    calls: dict[int, int] = {}
    armed: list[int] = []
    interrupts: list[int] = []
    finished = threading.Event()

    class Interrupt(BaseException):
        pass

    def on_signal(*_: object) -> None:
        if armed:
            interrupts.append(armed.pop())
            raise Interrupt

    def shoot() -> None:
        generator = random.Random(5)
        while not finished.wait(generator.random() / 500):
            if shooter == "thread":
                os.kill(os.getpid(), signal.SIGALRM)
            else:
                # Also while the main thread holds the interpreter.
                signal.setitimer(signal.ITIMER_REAL, generator.random() / 1000 + 1e-6)

    def count(number: int) -> None:
        calls[number] = calls.get(number, 0) + 1

    previous = signal.signal(signal.SIGALRM, on_signal)
    thread = threading.Thread(target=shoot)
    thread.start()
    try:
        for number in range(300):
            fault.begin(command, (), lambda _, number=number: count(number))
            try:
                armed.append(number)
                ntapi.run(0.001)
                armed.clear()
            except Interrupt:
                pass
        armed.clear()
        assert fault.drain(PATIENCE) == 0
    finally:
        finished.set()
        thread.join()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert interrupts
    assert max(calls.values()) == 1
    # A signal at the first instruction of a handler makes it look as if it had not been called.
    assert len(calls) >= 300 - len(interrupts)


class Interrupt(BaseException):
    """What a signal handler raises."""


class Refusing(ntapi.Client):
    """A client whose requests cannot be built."""

    def build_request(self, request: ntapi.HttpRequest, /) -> None:
        raise ntapi.ApiError("refused")


@pytest.mark.skipif(
    sys.implementation.name != "cpython" or sys.version_info < (3, 11),
    reason="other versions run signal handlers at other moments",
)
@pytest.mark.parametrize("drains", [False, True], ids=["run", "drain"])
@pytest.mark.parametrize("kind", ["event", "job", "failure"])
def test_ctrl_c_at_each_moment_of_a_delivery(
    servers: dict[str, str], unraisable: Unraisable, kind: str, drains: bool
) -> None:
    """Python runs signal handlers after certain instructions. An exception comes after each of them
    in turn while a response is delivered: its handler is called, and the request ends.
    """
    names = ["CALL", "CALL_FUNCTION_EX", "CALL_KW", "RESUME", "JUMP_BACKWARD"]
    moments = [opcode.opmap[name] for name in names if name in opcode.opmap]
    mailbox = main_mailbox()
    make = Refusing if kind == "failure" else ntapi.Client
    client = make(servers["fault"])

    def interrupt_at(number: int) -> str:
        """Returns the function that was interrupted; "" if there are fewer moments."""
        count, place = 0, ""
        latest: dict[FrameType, int] = {}
        calls: list[ntapi.Response] = []
        # The job waits after an event whose delivery was interrupted.
        is_job = kind != "job"

        def at_instruction(frame: FrameType, event: str, _: object) -> Any:
            nonlocal count, place
            if event == "opcode" and not place:
                count += is_job and latest.get(frame) in moments
                if count == number:
                    place = frame.f_code.co_name
                    raise Interrupt
                latest[frame] = frame.f_code.co_code[frame.f_lasti]
            return at_instruction

        def at_call(frame: FrameType, *_: object) -> Any:
            nonlocal is_job
            name = os.path.basename(frame.f_code.co_filename)
            if place or name not in ("mailbox.py", "delivery.py", "_handlers.py"):
                return None
            if not is_job and frame.f_code.co_name == "_run_first":
                is_job = True
                raise Interrupt
            frame.f_trace_opcodes = True
            return at_instruction

        request = client.begin("ok", (), calls.append)
        while not calls and not place:
            assert select.select([mailbox], [], [], PATIENCE)[0]
            sys.settrace(at_call)
            try:
                mailbox.drain() if drains else mailbox.run(0)
            except Interrupt:
                pass
            finally:
                sys.settrace(None)
        assert request.wait(PATIENCE) or not calls
        assert client.drain(PATIENCE) == 0
        # An interrupt at the first instruction of a handler makes it look as if it had not been
        # called.
        assert len(calls) == 1 or (place == "_answer" and not calls)
        return place

    with client:
        number = 1
        while interrupt_at(number):
            number += 1
    # Python 3.13 has fewer of these instructions than 3.11.
    assert number > 5


def test_ends_in_any_order(servers: dict[str, str]) -> None:
    generator = random.Random(7)
    for _ in range(30):
        client = ntapi.Client(servers["fault"])
        response = client.perform("echo")
        request = client.begin("hold")
        things = [client, response, request, response.request, response.headers]
        del client, response, request
        generator.shuffle(things)
        pending = [thing for thing in things if isinstance(thing, ntapi.Request)]
        for thing in pending:
            thing.cancel()
        del pending, thing
        while things:
            things.pop()
            gc.collect()
    assert ntapi.drain(PATIENCE) == 0


def test_collection_while_requests_run(fault: ntapi.Client) -> None:
    stop = threading.Event()

    def collect() -> None:
        while not stop.is_set():
            gc.collect()

    thread = threading.Thread(target=collect)
    thread.start()
    counted: list[int] = []
    try:
        for _ in range(100):
            fault.begin(
                "echo", ntapi.response_thread(ntapi.BACKGROUND), lambda r: counted.append(1)
            )
            client = ntapi.AsyncClient("http://127.0.0.1:1")
            client.set_default("unit", lambda key: key)
            assert fault.send("echo", ntapi.stream([b"x"])).status == 200
    finally:
        stop.set()
        thread.join()
    assert fault.drain(PATIENCE) == 0
    assert len(counted) == 100


def test_no_growth(fault: ntapi.Client) -> None:
    """A thousand requests leave less memory behind than one request needs."""
    tracemalloc = pytest.importorskip("tracemalloc", reason="PyPy does not have it")

    def work() -> None:
        for number in range(500):
            fault.send("echo", ntapi.url("n", number), ntapi.stream([b"x"]))
            fault.begin("echo", (), lambda _: None).wait(PATIENCE)

    work()
    gc.collect()
    tracemalloc.start()
    try:
        work()
        gc.collect()
        before = tracemalloc.take_snapshot()
        work()
        gc.collect()
        grown = sum(
            difference.size_diff
            for difference in tracemalloc.take_snapshot().compare_to(before, "filename")
            if "ntapi" in str(difference.traceback)
        )
    finally:
        tracemalloc.stop()
    assert grown < 20_000


def test_descriptors_are_given_back(servers: dict[str, str]) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    def work() -> None:
        with ntapi.Client(servers["fault"]) as client:
            assert client.send("echo").status == 200

    def many() -> int:
        for _ in range(20):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        gc.collect()
        return descriptors()

    first = many()
    assert many() <= first + 5


BLOCKED = """
import atexit, sys, threading, time

# Called after what NTApi registers.
atexit.register(lambda: print(f"{time.monotonic() - begun:.1f} s", flush=True))
import ntapi
import ntapi._client
from ntapi.testing import Stub

way, place = sys.argv[1], getattr(ntapi, sys.argv[2])
blocked = threading.Semaphore(0)

def block(*_):
    blocked.release()
    time.sleep(600)

def body():
    block()
    yield b""

stub = Stub()
stub.on(None).answer(404, json=1)
handlers, options = {}, {}
if way == "interceptor":
    options["interceptors"] = [ntapi.call_interceptor(block)]
elif way == "stub":
    stub.on(None).answer_with(block)
elif way.startswith(("data_", "dec")):
    stub.on(None).answer(200, json=1)
if way.endswith("_handler"):
    handlers[way] = block
hooks = {way: block} if way in ntapi._client._HOOKS else {}
client = type("Client", (ntapi.Client,), hooks)("https://api.test", stub=stub, **options)
client.set_default("exitTimeout", 0)
for _ in range(2):
    args = [ntapi.response_thread(place), ntapi.stream(body()) if way == "body" else ()]
    client.begin("a", args, lambda response: print("called", flush=True), **handlers)
# The background has one thread.
for _ in range(2 if way in ("interceptor", "stub", "body") else 1):
    assert blocked.acquire(timeout=120)
begun = time.monotonic()
"""
ANYWHERE = ["interceptor", "body", "stub"]
IN_THE_BACKGROUND = [
    *ANYWHERE,
    "decide",
    "decision_handler",
    "data_handler",
    "data_received",
    "parse_json",
    "map_service_error",
    "map_error",
    "metrics_collected",
    "request_completed",
]


@pytest.mark.parametrize(
    ("place", "way"),
    [*(("MAIN", way) for way in ANYWHERE), *(("BACKGROUND", way) for way in IN_THE_BACKGROUND)],
)
def test_at_exit_code_that_blocks_holds_up_no_handler(place: str, way: str) -> None:
    """Each handler is called, and the process ends. A busy machine may sometimes need longer."""
    seconds = 0.0
    for _ in range(3):
        result = run_python(BLOCKED, way, place)
        assert (result.returncode, result.stderr) == (0, "")
        *called, time_it_took = result.stdout.splitlines()
        assert called == ["called", "called"]
        seconds = float(time_it_took.split()[0])
        if seconds < 6:
            return
    pytest.fail(f"the process took {seconds} s to end")
