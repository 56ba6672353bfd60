"""The demo API server: `python3 weather.py` prints its base URL and serves until stdin ends.

Needs nothing but Python 3.9 or later. It listens on a free port of 127.0.0.1, prints the base URL
as the first line of standard output, and ends by itself at the end of standard input or on
SIGTERM, so that it never outlives the program that started it.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

from weather_app import accounts, api, extras, live, orders
from weather_app.handler import WeatherServer

ROUTE_MODULES = (accounts, api, extras, live, orders)
"""Their import registers the routes."""


def run(server: WeatherServer) -> None:
    """Serves on a thread of its own; this one waits for a reason to end."""
    done = threading.Event()

    def wait_for_end_of_input() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        done.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    threading.Thread(target=wait_for_end_of_input, daemon=True).start()
    print(server.url, flush=True)
    done.wait()
    server.stopping.set()
    server.shutdown()


if __name__ == "__main__":
    run(WeatherServer())
