"""Runs a blocking client: one request after the other, or as many threads as requests at once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable

from contract import Task

# Performs one request and checks its response.
Get = Callable[[], None]


def run_alone(get: Get, count: int) -> None:
    """One request after the other."""
    for _ in range(count):
        get()


def run_threads(gets: list[Get], count: int) -> None:
    """Each thread performs one request after the other until all are done."""
    numbers = itertools.count()
    failures: list[Exception] = []

    def work(get: Get) -> None:
        try:
            while next(numbers) < count and not failures:
                get()
        except Exception as error:  # noqa: BLE001 (raised again by the main thread)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(get,)) for get in gets]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def run_blocking(task: Task, make_get: Callable[[], Get]) -> None:
    """Warms up, measures and reports; `make_get` makes what one thread needs."""
    gets = [make_get() for _ in range(task.at_once)]

    def run(count: int) -> None:
        if task.at_once == 1:
            run_alone(gets[0], count)
        else:
            run_threads(gets, count)

    run(task.warmup)
    task.start_meters()
    run(task.count)
    task.report(task.count)
