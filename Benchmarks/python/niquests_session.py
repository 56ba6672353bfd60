"""niquests: a session for each thread."""

import niquests
from blocking import Get, run_blocking
from contract import Task, read_task


def main(task: Task) -> None:
    """Sessions keep their connections."""

    def make_get() -> Get:
        session = niquests.Session()
        if task.ca:
            session.verify = task.ca

        def get() -> None:
            response = session.get(task.url)
            assert response.content is not None
            task.check(response.status_code or 0, response.content)

        return get

    run_blocking(task, make_get)


if __name__ == "__main__":
    main(read_task())
