"""pyreqwest, blocking."""

from pathlib import Path

from blocking import Get, run_blocking
from contract import Task, read_task
from pyreqwest.client import SyncClientBuilder


def main(task: Task) -> None:
    """One client for all threads."""
    builder = SyncClientBuilder()
    if task.ca:
        builder = builder.add_root_certificate_pem(Path(task.ca).read_bytes())
    client = builder.build()

    def get() -> None:
        response = client.get(task.url).build().send()
        if task.parsed:
            task.check_json(response.status, response.json())
        else:
            task.check(response.status, bytes(response.bytes()))

    def make_get() -> Get:
        return get

    run_blocking(task, make_get)


if __name__ == "__main__":
    main(read_task())
