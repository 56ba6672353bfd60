"""The server's thread: the loop, the port, and what connections share."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import deque

from ._connection import Connection
from ._log import Log
from ._source import Source
from ._wire import Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ..clock import ManualClock
    from ..doubles import Stub
    from ._certificates import Certificates

_PAUSE = 0.1
"""Seconds until the server tries again to accept a connection."""


class Queue:
    """Answers for the next requests, whatever these are. Each is a stub of one answer."""

    def __init__(self) -> None:
        self.answers: deque[tuple[Stub, bool]] = deque()
        self.connects: deque[Stub] = deque()

    def early(self) -> Optional[Stub]:
        """Takes the next answer if it does not wait for the request's body."""
        return self.answers.popleft()[0] if self.answers and self.answers[0][1] else None

    def next(self) -> Optional[Stub]:
        """Takes the next answer."""
        return self.answers.popleft()[0] if self.answers else None

    def connect(self) -> Optional[Stub]:
        """Takes the next answer for CONNECT."""
        return self.connects.popleft() if self.connects else None


class Serving:
    """What runs from start to close."""

    def __init__(
        self,
        stub: Stub,
        queue: Queue,
        log: Log,
        certificates: Optional[Certificates],
        clock: Optional[ManualClock],
        *,
        has_http2: bool,
    ) -> None:
        self.stub = stub
        self.queue = queue
        self.log = log
        self.certificates = certificates
        self.has_http2 = has_http2
        self.failed_handshakes: list[str] = []
        self.connection_faults: deque[str] = deque()
        self.tunnels: dict[object, str] = {}
        """The hosts that clients have named with CONNECT, by the address from which the tunnel
        comes.
        """
        self.is_closed = False
        self._clock = clock
        # The system chooses a port that nobody has.
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.setblocking(False)
        self.port: int = self._listener.getsockname()[1]
        self.authority = f"127.0.0.1:{self.port}"
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._is_ready = threading.Event()
        self._failure: Optional[BaseException] = None
        self._wires: dict[asyncio.Task[None], Wire] = {}
        self._thread = threading.Thread(
            target=self._run, name=f"ntapi server {self.port}", daemon=True
        )
        self._thread.start()
        self._is_ready.wait()
        if self._failure is not None:
            self._listener.close()
            raise self._failure

    def close(self) -> None:
        """Ends all connections, and waits for the thread."""
        self.is_closed = True
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    def connection_fault(self) -> Optional[str]:
        """How the next connection has to fail; None if it does not have to."""
        return self.connection_faults.popleft() if self.connection_faults else None

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._failure = error
            self.log.add_problem(f"the server has failed: {error!r}")
        finally:
            self._is_ready.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._closing = asyncio.Event()
        self.source = Source(self._clock)
        accepting = self._loop.create_task(self._accept())
        accepting.add_done_callback(self._ended)
        self._is_ready.set()
        await self._closing.wait()
        left, wires = [accepting, *self._wires], list(self._wires.values())
        for task in left:
            task.cancel()
        await asyncio.wait(left)
        # A task that is cancelled before its first step has closed nothing.
        for wire in wires:
            await wire.close()
        self._listener.close()
        await self.source.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        number = 0
        has_failed = False
        while True:
            try:
                accepted, peer = await loop.sock_accept(self._listener)
            except OSError as error:
                # The process may have too many open files. The client waits in the queue of the
                # port.
                if not has_failed:
                    self.log.add_problem(f"a connection cannot be accepted yet: {error}")
                has_failed = True
                await self._pause()
                continue
            has_failed = False
            number += 1
            wire = Wire(accepted)
            task = loop.create_task(Connection(self, wire, number, peer).serve())
            self._wires[task] = wire
            task.add_done_callback(self._ended)

    async def _pause(self) -> None:
        """Waits until a connection of this server ends, which frees a file, or for a short time:
        nothing tells when the program closes another file.
        """
        running = [*self._wires, asyncio.ensure_future(asyncio.sleep(_PAUSE))]
        try:
            await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
        finally:
            running[-1].cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._wires.pop(task, None)
        if not task.cancelled() and task.exception() is not None:
            self.log.add_problem(f"the server has failed: {task.exception()!r}")
