"""A program at a terminal of its own, for the tests of the examples."""

from __future__ import annotations

import codecs
import os
import pty
import re
import select
import time

PATIENCE = 120.0


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, command: list[str], environment: dict[str, str] | None = None) -> None:
        self.text = ""
        # A character may come in two pieces.
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.execvpe(command[0], command, os.environ if environment is None else environment)

    def read_until(self, pattern: str) -> re.Match[str]:
        """Waits until the program has shown something new that matches, and forgets everything
        before that.
        """
        deadline = time.monotonic() + PATIENCE
        while not (match := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text!r}"
            assert self.read(), f"ended without {pattern!r}: {self.text!r}"
        self.text = self.text[match.end() :]
        return match

    def type(self, text: str) -> None:
        os.write(self.descriptor, text.encode())

    def end(self) -> tuple[int, str]:
        """The exit code, and the rest of the output."""
        while self.read():
            pass
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1]), self.text

    def read(self) -> bool:
        """Reads what is shown next; False when the program has ended."""
        if not select.select([self.descriptor], [], [], PATIENCE)[0]:
            return False
        try:
            piece = os.read(self.descriptor, 65536)
        except OSError:
            # This is how Linux reports that the program has ended.
            return False
        self.text += self.decoder.decode(piece)
        return bool(piece)
