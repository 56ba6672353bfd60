"""Celery: each process of the pool makes its client after the fork, and closes it at its end.
`atexit` does not run in such a process.

API_URL=http://127.0.0.1:PORT BROKER=FOLDER celery --app celery_app worker --concurrency 2
"""

import os
from typing import Any, Optional

from celery import Celery
from celery.signals import worker_process_init, worker_process_shutdown

import ntapi

folder = os.environ["BROKER"]  # in place of a real broker
app = Celery("weather", broker="filesystem://", backend=f"file://{folder}")
app.conf.broker_transport_options = {
    "data_folder_in": folder,
    "data_folder_out": folder,
    "control_folder": f"{folder}/control",
}
client: Optional[ntapi.Client] = None


@worker_process_init.connect
def open_client(**_: Any) -> None:
    global client
    client = ntapi.Client(os.environ["API_URL"], args=ntapi.url("appid", "demo"))


@worker_process_shutdown.connect
def close_client(**_: Any) -> None:
    if client is not None:
        client.close()


@app.task(autoretry_for=[ntapi.ApiError], max_retries=3)
def weather(city: str) -> dict[str, Any]:
    assert client is not None
    response = client.get("data/2.5/weather", ntapi.url("q", city))
    return {"city": response.decode(str, "name"), "process": os.getpid()}
