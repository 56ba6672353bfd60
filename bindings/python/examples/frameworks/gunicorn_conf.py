"""gunicorn with --preload: the master imports the app and forks its workers afterwards. So the hook
`post_fork` makes the client of each worker, and `worker_exit` closes it.

API_URL=http://127.0.0.1:PORT gunicorn --config gunicorn_conf.py preloaded_app:app
"""

import os
from typing import Any

import ntapi

preload_app = True
workers = 2


def post_fork(server: Any, worker: Any) -> None:
    client = ntapi.Client(os.environ["API_URL"], args=ntapi.url("appid", "demo"))
    worker.app.wsgi().extensions["weather"] = client


def worker_exit(server: Any, worker: Any) -> None:
    worker.app.wsgi().extensions["weather"].close()
