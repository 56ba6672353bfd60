"""Ours, blocking; in threads when several at once are asked for."""

import ntapi
from blocking import Get, run_blocking
from contract import Task, read_task


def main(task: Task) -> None:
    """One client for all threads."""
    client = ntapi.Client(task.base)
    if task.ca:
        client.set_default("caFile", task.ca)
        client.set_default("httpVersion", task.options["http"])
    command = task.options["path"]
    raw = ntapi.option("raw_data")

    def get_json() -> None:
        response = client.send(command)
        task.check_json(response.status, response.json())

    def get_raw() -> None:
        response = client.send(command, raw)
        task.check(response.status, response.data)

    def make_get() -> Get:
        return get_json if task.parsed else get_raw

    run_blocking(task, make_get)


if __name__ == "__main__":
    main(read_task())
