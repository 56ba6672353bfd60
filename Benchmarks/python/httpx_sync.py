"""httpx, blocking."""

import ssl

import httpx
from blocking import Get, run_blocking
from contract import Task, read_task


def main(task: Task) -> None:
    """One client for all threads."""
    context = ssl.create_default_context(cafile=task.ca) if task.ca else False
    client = httpx.Client(timeout=None, verify=context)

    def get() -> None:
        response = client.get(task.url)
        task.check(response.status_code, response.content)

    def make_get() -> Get:
        return get

    run_blocking(task, make_get)


if __name__ == "__main__":
    main(read_task())
