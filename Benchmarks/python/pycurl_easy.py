"""pycurl with easy handles, each used again and again; a thread each when several at once are asked for."""

from io import BytesIO

import pycurl
from blocking import Get, run_blocking
from contract import Task, read_task


def main(task: Task) -> None:
    """A handle for each thread, its options set once."""

    def make_get() -> Get:
        easy = pycurl.Curl()
        easy.setopt(pycurl.URL, task.url)
        easy.setopt(pycurl.NOSIGNAL, 1)
        if task.ca:
            easy.setopt(pycurl.CAINFO, task.ca)

        def get() -> None:
            body = BytesIO()
            easy.setopt(pycurl.WRITEDATA, body)
            easy.perform()
            task.check(easy.getinfo(pycurl.RESPONSE_CODE), body.getvalue())

        return get

    run_blocking(task, make_get)


if __name__ == "__main__":
    main(read_task())
