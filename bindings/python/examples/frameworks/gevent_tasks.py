"""gevent: patch first. Then a greenlet that waits for a request lets the others run.

python gevent_tasks.py http://127.0.0.1:PORT
"""

from gevent import monkey

monkey.patch_all()

import sys  # noqa: E402

import gevent  # noqa: E402

import ntapi  # noqa: E402

with ntapi.Client(sys.argv[1], args=ntapi.url("appid", "demo")) as client:
    greenlets = [
        gevent.spawn(client.get, "data/2.5/weather", ntapi.url("q", city))
        for city in ("Oslo", "Rome", "Cairo")
    ]
    for greenlet in greenlets:
        print(greenlet.get().decode(str, "name"))
