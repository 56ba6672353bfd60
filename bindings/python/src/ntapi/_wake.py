"""A file descriptor that one thread makes readable to wake another."""

from __future__ import annotations

import os


class Waker:
    """A pipe that holds at most a few bytes: readable from `wake` until `clear`."""

    __slots__ = ("_read", "_write")

    def __init__(self) -> None:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def fileno(self) -> int:
        return self._read

    def wake(self) -> None:
        """Makes it readable. From any thread, also after close."""
        try:
            os.write(self._write, b"!")
        except (BlockingIOError, OSError):
            # Full: it is readable already. Closed: nobody waits any more.
            pass

    def clear(self) -> None:
        """Makes it unreadable until the next wake."""
        try:
            while len(os.read(self._read, 512)) == 512:
                pass
        except (BlockingIOError, OSError):
            pass

    def close(self) -> None:
        # A wake that races with this must not write into a stranger's descriptor: forget them
        # first.
        read, self._read = self._read, -1
        write, self._write = self._write, -1
        for descriptor in (read, write):
            if descriptor >= 0:
                os.close(descriptor)
