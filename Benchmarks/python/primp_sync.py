"""primp, blocking."""

import primp
from blocking import Get, run_blocking
from contract import Task, read_task


def main(task: Task) -> None:
    """One client for all threads."""
    client = primp.Client(ca_cert_file=task.ca)

    def get() -> None:
        response = client.get(task.url)
        if task.parsed:
            task.check_json(response.status_code, response.json())
        else:
            task.check(response.status_code, response.content)

    def make_get() -> Get:
        return get

    run_blocking(task, make_get)


if __name__ == "__main__":
    main(read_task())
