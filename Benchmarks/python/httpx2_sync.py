"""httpx2, blocking: over its own transport, over NTApi's, and over two that show what its parts cost."""

from collections.abc import Callable, Iterator

import httpx2
from answers import HEADERS, answer_of
from blocking import Get, run_blocking
from contract import Task, read_task


class Body(httpx2.SyncByteStream):
    """A body of one piece."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece

    def __iter__(self) -> Iterator[bytes]:
        yield self.piece


class Fixed(httpx2.BaseTransport):
    """Answers with fixed headers, and looks at no request."""

    def __init__(self, fetch: Callable[[], bytes]) -> None:
        self.fetch = fetch

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The same to each request."""
        return httpx2.Response(200, headers=HEADERS, stream=Body(self.fetch()))


def transport_of(task: Task) -> httpx2.BaseTransport:
    """The transport that the command line asks for."""
    name = task.options.get("transport")
    limits = httpx2.Limits(max_connections=task.at_once, max_keepalive_connections=task.at_once)
    if name == "nothing":
        answer = answer_of(task)
        return Fixed(lambda: answer)
    if name == "least":
        import ntapi

        client = ntapi.Client(task.url)
        raw = ntapi.option("raw_data")
        return Fixed(lambda: client.send(raw).data)
    if name == "ntapi":
        from ntapi.transports import HTTPX2

        return HTTPX2(limits=limits)
    return httpx2.HTTPTransport(limits=limits)


def main(task: Task) -> None:
    """One client for all threads, with the usual settings."""
    client = httpx2.Client(transport=transport_of(task))

    def get() -> None:
        response = client.get(task.url)
        task.check(response.status_code, response.content)

    def read() -> None:
        with client.stream("GET", task.url) as response:
            task.check_size(response.status_code, sum(map(len, response.iter_raw())))

    def make_get() -> Get:
        return read if task.workload == "stream" else get

    run_blocking(task, make_get)


if __name__ == "__main__":
    main(read_task())
