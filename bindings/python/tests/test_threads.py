"""Handlers run in their places, in order; the response handler exactly once and last."""

from __future__ import annotations

import concurrent.futures
import gc
import logging
import select
import threading
import time
from typing import Any, Callable

import pytest

import ntapi
from conftest import PATIENCE, Unraisable
from ntapi.testing import Stub

EVERYWHERE = ["main", "background", "current", "executor", "mailbox"]


class Thread(threading.Thread):
    """A thread whose exception is raised by join."""

    def __init__(self, target: Callable[[], Any], name: str = "worker") -> None:
        super().__init__(name=name)
        self.function = target
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            self.function()
        except BaseException as error:
            self.error = error

    def finish(self) -> None:
        self.join(3 * PATIENCE)
        assert not self.is_alive()
        if self.error is not None:
            raise self.error


def in_thread(function: Callable[[], Any], name: str = "worker") -> None:
    thread = Thread(function, name)
    thread.start()
    thread.finish()


def name_of_this_thread() -> str:
    return threading.current_thread().name


def test_main_is_the_default(fault: ntapi.Client) -> None:
    names: list[str] = []
    in_thread(lambda: fault.begin("echo", (), lambda _: names.append(name_of_this_thread())))
    assert names == []
    assert fault.drain(PATIENCE) == 0
    assert names == ["MainThread"]


def test_background(fault: ntapi.Client) -> None:
    names: list[str] = []
    place = ntapi.response_thread(ntapi.BACKGROUND)
    request = fault.begin("echo", place, lambda _: names.append(name_of_this_thread()))
    assert request.wait(PATIENCE)
    assert names == ["ntapi-background"]


def test_current(fault: ntapi.Client) -> None:
    names: list[str] = []

    def handler(_: ntapi.Response) -> None:
        names.append(name_of_this_thread())
        ntapi.stop()

    def work() -> None:
        fault.begin("echo", ntapi.response_thread(ntapi.CURRENT), handler)
        assert ntapi.run(PATIENCE) is True

    in_thread(work)
    assert names == ["worker"]


def test_current_on_the_main_thread_is_main(fault: ntapi.Client) -> None:
    names: list[str] = []
    place = ntapi.response_thread(ntapi.CURRENT)
    assert fault.begin("echo", place, lambda _: names.append(name_of_this_thread())).wait(PATIENCE)
    assert names == ["MainThread"]


def test_executor(fault: ntapi.Client) -> None:
    names: list[str] = []
    with concurrent.futures.ThreadPoolExecutor(3, thread_name_prefix="pool") as pool:
        place = ntapi.response_thread(pool)
        requests = [
            fault.begin("echo", place, lambda _: names.append(name_of_this_thread()))
            for _ in range(9)
        ]
        for request in requests:
            assert request.wait(PATIENCE)
    assert len(names) == 9
    assert all(name.startswith("pool") for name in names)


def test_a_function_as_executor(fault: ntapi.Client) -> None:
    jobs: list[Callable[[], object]] = []
    submitted = threading.Event()

    def submit(job: Callable[[], object]) -> None:
        jobs.append(job)
        submitted.set()

    seen: list[ntapi.Response] = []
    request = fault.begin("echo", ntapi.response_thread(submit), seen.append)
    assert submitted.wait(PATIENCE)
    assert seen == []
    jobs[0]()
    assert len(seen) == 1
    assert request.wait(0)


def test_an_executor_that_refuses_does_not_break_the_promise(
    fault: ntapi.Client, caplog: pytest.LogCaptureFixture
) -> None:
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.shutdown()
    names: list[str] = []
    place = ntapi.response_thread(pool)
    request = fault.begin("echo", place, lambda _: names.append(name_of_this_thread()))
    assert request.wait(PATIENCE)
    assert names == ["ntapi-background"]
    assert "refuses" in caplog.text


def test_an_executor_that_cancels_does_not_break_the_promise(fault: ntapi.Client) -> None:
    pool = concurrent.futures.ThreadPoolExecutor(1)
    busy = threading.Event()
    release = threading.Event()
    submitted = threading.Event()

    def submit(job: Callable[[], object]) -> Any:
        future = pool.submit(job)
        submitted.set()
        return future

    pool.submit(lambda: (busy.set(), release.wait(PATIENCE)))
    assert busy.wait(PATIENCE)
    names: list[str] = []
    place = ntapi.response_thread(submit)
    request = fault.begin("echo", place, lambda _: names.append(name_of_this_thread()))
    assert submitted.wait(PATIENCE)
    pool.shutdown(wait=False, cancel_futures=True)
    release.set()
    assert request.wait(PATIENCE)
    assert names == ["ntapi-background"]


def test_a_mailbox_of_ones_own(fault: ntapi.Client) -> None:
    mailbox = ntapi.Mailbox()
    seen: list[ntapi.Response] = []
    fault.begin("echo", ntapi.response_thread(mailbox), seen.append)
    poll = select.poll()
    poll.register(mailbox.fileno(), select.POLLIN)
    assert poll.poll(PATIENCE * 1000)
    assert seen == []
    assert mailbox.drain() == 1
    assert len(seen) == 1
    assert poll.poll(0) == []
    assert mailbox.drain() == 0
    mailbox.post(lambda: seen.clear())
    assert poll.poll(PATIENCE * 1000)
    assert mailbox.run(0) is False
    assert seen == []


def test_a_mailbox_belongs_to_one_thread() -> None:
    mine = ntapi.mailbox()

    def work() -> None:
        with pytest.raises(RuntimeError, match="another thread"):
            mine.drain()

    in_thread(work)


def test_stop_without_run_ends_the_next_one() -> None:
    def work() -> None:
        assert ntapi.run(0) is False
        ntapi.stop()
        assert ntapi.run(PATIENCE) is True
        assert ntapi.run(0) is False

    in_thread(work)


def test_a_wake_between_the_look_and_the_sleep_is_not_lost() -> None:
    """Another thread ends the wait right after the waiting thread has checked whether it is
    over.
    """
    mailbox = ntapi.Mailbox()
    asked: list[bool] = []

    def is_over() -> bool:
        asked.append(bool(asked))
        mailbox.wake()
        return asked[-1]

    before = time.monotonic()
    assert mailbox.run_until(is_over, PATIENCE) is True
    assert time.monotonic() - before < PATIENCE / 2
    assert asked == [False, True]


def test_a_thread_that_ends_before_its_response(
    fault: ntapi.Client, caplog: pytest.LogCaptureFixture
) -> None:
    names: list[str] = []
    requests: list[ntapi.Request] = []
    place = ntapi.response_thread(ntapi.CURRENT)

    def work() -> None:
        requests.append(
            fault.begin("late?ms=50", place, lambda _: names.append(name_of_this_thread()))
        )

    in_thread(work)
    assert requests[0].wait(PATIENCE)
    assert names == ["ntapi-background"]
    assert "a thread has ended" in caplog.text


@pytest.mark.parametrize("response_place", EVERYWHERE)
@pytest.mark.parametrize("progress_place", EVERYWHERE)
def test_every_pair_of_places(
    weather: ntapi.Client, response_place: str, progress_place: str
) -> None:
    """Progress begins with 0 and ends with the total. No progress handler runs during or after the
    response handler. Each runs in its place.
    """
    log: list[tuple[str, str, tuple[Any, ...]]] = []
    running = threading.Semaphore()
    size = 300_000

    def handler(kind: str) -> Callable[..., None]:
        def run(*arguments: Any) -> None:
            assert running.acquire(blocking=False), "two handlers of one request at once"
            log.append((kind, name_of_this_thread(), arguments))
            running.release()

        return run

    def work() -> None:
        mailbox = ntapi.Mailbox()
        places: dict[str, Any] = {
            "main": ntapi.MAIN,
            "background": ntapi.BACKGROUND,
            "current": ntapi.CURRENT,
            "executor": pool,
            "mailbox": mailbox,
        }
        request = weather.begin(
            "download",
            [
                ntapi.url("size", size),
                ntapi.option("raw_data"),
                ntapi.response_thread(places[response_place]),
                ntapi.download_progress_thread(places[progress_place]),
            ],
            handler("response"),
            download_progress=handler("progress"),
        )
        while not request.wait(0.001):
            mailbox.drain()

    with concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="pool") as pool:
        thread = Thread(work)
        thread.start()
        while thread.is_alive():
            ntapi.run(0.001)
        thread.finish()
    names = {
        "main": "MainThread",
        "background": "ntapi-background",
        "current": "worker",
        "executor": "pool",
        "mailbox": "worker",
    }
    kinds = [kind for kind, _, _ in log]
    assert kinds.count("response") == 1
    assert kinds[-1] == "response"
    progress = [arguments for kind, _, arguments in log if kind == "progress"]
    assert progress[0] == (0, size)
    assert progress[-1] == (size, size)
    assert progress == sorted(progress)
    for kind, name, _ in log:
        assert name.startswith(names[response_place if kind == "response" else progress_place])


def test_upload_progress(weather: ntapi.Client) -> None:
    seen: list[tuple[int, int | None]] = []
    size = 500_000
    weather.send("upload", ntapi.data(b"x" * size), upload_progress=lambda *now: seen.append(now))
    assert seen[0] == (0, size)
    assert seen[-1] == (size, size)


@pytest.mark.parametrize("limit", [64, 8])
def test_perform_runs_the_callers_handlers_meanwhile(fault: ntapi.Client, limit: int) -> None:
    """Also if the network thread is busy with an exchange that uses all of a few connections."""
    fault.set_default("maximumConnectionsPerHost", limit)
    order: list[str] = []
    fault.begin("echo", (), lambda _: order.append("first"))
    fault.send("late?ms=100")
    assert order == ["first"]


def test_a_thread_that_follows_another_runs_its_handlers_meanwhile(fault: ntapi.Client) -> None:
    """Its mailbox has the descriptor number of a closed mailbox."""
    order: list[str] = []

    def work() -> None:
        fault.begin("echo", ntapi.response_thread(ntapi.CURRENT), lambda _: order.append("handler"))
        fault.send("late?ms=300")
        order.append("response")

    for _ in range(3):
        thread = Thread(work)
        thread.start()
        thread.finish()
        del thread
        gc.collect()
    assert order == ["handler", "response"] * 3


def test_handlers_may_perform_and_begin(fault: ntapi.Client) -> None:
    results: list[int] = []

    def handler(_: ntapi.Response) -> None:
        results.append(fault.send("echo").status)
        fault.begin("echo", (), lambda response: results.append(response.status))

    for _ in range(3):
        fault.begin("echo", (), handler)
    assert fault.drain(PATIENCE) == 0
    assert results == [200] * 6


def test_a_handler_that_runs_its_mailbox_returns_before_the_next_one(
    weather: ntapi.Client,
) -> None:
    events: list[str] = []

    def progress(count: int, _: int | None) -> None:
        events.append(f"{count} begins")
        if count == 0:
            # Meanwhile more events come, at least the response, and this thread's mailbox is run.
            assert weather.send("download", small).status == 200
            ntapi.drain_mailbox()
        events.append(f"{count} ends")

    small = [ntapi.url("size", 10), ntapi.option("raw_data")]
    args = [ntapi.url("size", 300_000), ntapi.option("raw_data")]
    request = weather.begin(
        "download", args, lambda _: events.append("response"), download_progress=progress
    )
    assert request.wait(PATIENCE)
    assert events[:2] == ["0 begins", "0 ends"]
    assert events[-3:] == ["300000 begins", "300000 ends", "response"]


def test_drain_in_a_handler_does_not_wait_for_itself(fault: ntapi.Client) -> None:
    left: list[int] = []
    fault.begin("echo", (), lambda _: left.extend((fault.drain(PATIENCE), ntapi.drain(PATIENCE))))
    fault.begin("late?ms=30")
    assert fault.drain(PATIENCE) == 0
    assert left == [0, 0]


def test_drain_in_a_handler_does_not_wait_for_the_perform_that_runs_it(fault: ntapi.Client) -> None:
    left: list[int] = []

    def handler(_: ntapi.Response) -> None:
        left.extend((fault.drain(PATIENCE), ntapi.drain(PATIENCE)))

    fault.begin("echo", (), handler)
    assert fault.perform("late?ms=100").status == 200
    assert left == [0, 0]


def test_an_exception_in_a_handler_is_reported_and_harms_nothing(
    fault: ntapi.Client, unraisable: Unraisable
) -> None:
    def failing(*_: Any) -> None:
        raise ValueError("boom")

    for place in (ntapi.MAIN, ntapi.BACKGROUND):
        request = fault.begin(
            "echo", ntapi.response_thread(place), failing, download_progress=failing
        )
        assert request.wait(PATIENCE)
    assert {str(error) for error in unraisable.errors} == {"boom"}
    assert len(unraisable.errors) >= 4
    assert all("failing" in name for name in unraisable.objects)
    assert fault.send("echo").status == 200


def test_system_exit_passes_through_on_the_main_thread(
    fault: ntapi.Client, unraisable: Unraisable
) -> None:
    def leave(_: ntapi.Response) -> None:
        raise SystemExit(3)

    fault.begin("echo", (), leave)
    with pytest.raises(SystemExit):
        fault.drain(PATIENCE)
    assert fault.drain(PATIENCE) == 0
    assert unraisable.errors == []
    assert fault.begin("echo", ntapi.response_thread(ntapi.BACKGROUND), leave).wait(PATIENCE)
    assert unraisable.arrived.wait(PATIENCE)
    assert isinstance(unraisable.errors[0], SystemExit)


@pytest.mark.parametrize("limit", [64, 8])
def test_many_threads_at_once(
    fault: ntapi.Client, caplog: pytest.LogCaptureFixture, limit: int
) -> None:
    fault.set_default("maximumConnectionsPerHost", limit)
    caplog.set_level(logging.ERROR)
    counted: list[int] = []

    def work() -> None:
        for index in range(20):
            assert fault.send("echo", ntapi.url("n", index)).json()["args"]["n"] == str(index)
            fault.begin(
                "echo", ntapi.response_thread(ntapi.CURRENT), lambda r: counted.append(r.status)
            )
        assert ntapi.run(0) is False

    threads = [Thread(work) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.finish()
    assert fault.drain(PATIENCE) == 0
    assert counted == [200] * 200


@pytest.mark.parametrize("name", ["response", "data_handler", "decision_handler", "interceptor"])
@pytest.mark.parametrize("place", ["main", "background"])
def test_nobody_waits_for_the_own_request(
    stub: Stub, unraisable: Unraisable, name: str, place: str
) -> None:
    """With any handle: the one that `begin` returned, or that of the response."""
    stub.on(None).answer(json=1)
    refused: list[str] = []
    begun = threading.Event()
    requests: list[ntapi.Request] = []

    def wait(given: Any) -> None:
        assert begun.wait(PATIENCE)
        handles = [requests[0]]
        if name == "response":
            handles.append(given.request)
        elif name == "interceptor":
            handles.append(given.api_request)
        elif name == "decision_handler":
            handles.append(given.request)
        for handle in handles:
            with pytest.raises(RuntimeError, match="its own request"):
                handle.wait(PATIENCE)
            refused.append(name)

    interceptors = [ntapi.call_interceptor(wait)] if name == "interceptor" else []
    handlers: dict[str, Any] = {} if name in ("response", "interceptor") else {name: wait}
    thread = {"main": ntapi.MAIN, "background": ntapi.BACKGROUND}[place]
    with ntapi.Client("https://api.test", stub=stub, interceptors=interceptors) as client:
        handler = wait if name == "response" else None
        args = ntapi.response_thread(thread)
        requests.append(client.begin("a", args, handler, **handlers))
        begun.set()
        assert requests[0].wait(PATIENCE)
    assert refused == [name] * (1 if name == "data_handler" else 2)
    assert unraisable.errors == []


def test_a_thread_that_waits_does_not_spin_while_another_wakes_it() -> None:
    mailbox = ntapi.Mailbox()
    # Simulate another thread that has not set its flag yet: it needs Python's lock for that.
    mailbox._waker.wake()
    assert not mailbox.run_until(lambda: False, 0.01)
    assert not select.select([mailbox], [], [], 0)[0]
