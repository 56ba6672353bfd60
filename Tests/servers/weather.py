"""The demo API server: `python3 weather.py [PORT]` prints its base URL and serves.

It needs only Python 3.9 or later. It listens on 127.0.0.1, on a free port unless one is given,
prints the base URL as the first line of standard output, and ends on Ctrl-C or SIGTERM. If standard
input is a pipe, it also ends with that, so that it does not outlive the program that started it.
"""

from __future__ import annotations

import sys

from serving import serve
from weather_app import accounts, api, extras, live, notes, orders
from weather_app.handler import WeatherServer

ROUTE_MODULES = (accounts, api, extras, live, notes, orders)
"""Their import registers the routes."""


if __name__ == "__main__":
    serve(WeatherServer(int(sys.argv[1]) if len(sys.argv) > 1 else 0))
