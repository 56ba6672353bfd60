"""Runs a blocking client: one request after the other, or as many threads as requests at once."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

from contract import Task

# Performs one request and checks its response.
Get = Callable[[], None]


def run_alone(get: Get, count: int) -> None:
    """One request after the other."""
    for _ in range(count):
        get()


def run_threads(gets: list[Get], count: int) -> list[float]:
    """Each thread performs one request after the other until all are done. Returns how long each request took."""
    numbers = itertools.count()
    waits: list[float] = []
    failures: list[Exception] = []

    def work(get: Get) -> None:
        try:
            while next(numbers) < count and not failures:
                begun = time.perf_counter()
                get()
                waits.append(time.perf_counter() - begun)
        except Exception as error:  # noqa: BLE001 (raised again by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(get,)) for get in gets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return waits


def slowest_percent(waits: list[float]) -> float:
    """What the fastest of the slowest percent took."""
    return sorted(waits)[len(waits) * 99 // 100]


def run_blocking(task: Task, make_get: Callable[[], Get]) -> None:
    """Warms up, measures and reports; `make_get` makes what one thread needs."""
    gets = [make_get() for _ in range(task.at_once)]

    def run(count: int) -> list[float]:
        if task.at_once > 1:
            return run_threads(gets, count)
        run_alone(gets[0], count)
        return []

    run(task.warmup)
    task.start_meters()
    waits = run(task.count)
    if waits:
        task.extra["late_seconds"] = slowest_percent(waits)
    task.report(task.count)
