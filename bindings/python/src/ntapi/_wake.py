"""A file descriptor that one thread makes readable to wake another."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable


class Waker:
    """A pipe that holds at most a few bytes: readable from `wake` until `clear`.

    Its end closes it: whoever may wake holds on to it.
    """

    __slots__ = ("_read", "_write")

    def __init__(self) -> None:
        self._read = self._write = -1
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __del__(self, _close: Callable[[int], None] = os.close) -> None:
        for descriptor in (self._read, self._write):
            if descriptor >= 0:
                _close(descriptor)

    def fileno(self) -> int:
        return self._read

    def wake(self) -> None:
        """Makes it readable. From any thread."""
        try:
            os.write(self._write, b"!")
        except BlockingIOError:
            # Full: it is readable already.
            pass

    def clear(self) -> None:
        """Makes it unreadable until the next wake."""
        try:
            while len(os.read(self._read, 512)) == 512:
                pass
        except BlockingIOError:
            pass
