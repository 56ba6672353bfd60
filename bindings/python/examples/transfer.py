"""Downloads into a file, or uploads a file, and shows how far it is, how fast and how long yet.

python transfer.py get URL FILE
python transfer.py put FILE URL

Enter pauses, and Enter goes on. Ctrl-C stops; the same command then goes on with a download where
it was stopped, even after a crash: once a second FILE.resume is written, which says how.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

import ntapi
from ntapi import codes


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB"):
        if count < 999.95:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def duration(seconds: float) -> str:
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Meter:
    """How fast it has been in the last few seconds."""

    WINDOW = 5.0

    def __init__(self) -> None:
        self.samples: deque[tuple[float, int]] = deque()

    def add(self, count: int) -> None:
        now = time.monotonic()
        if self.samples and now - self.samples[-1][0] < 0.1:
            return
        self.samples.append((now, count))
        while now - self.samples[0][0] > self.WINDOW:
            self.samples.popleft()

    def rate(self) -> float:
        """Bytes per second; 0 while it is too early to say."""
        if len(self.samples) < 2:
            return 0
        (begun, before), (ended, after) = self.samples[0], self.samples[-1]
        return (after - before) / (ended - begun)

    def restart(self) -> None:
        self.samples.clear()


class Display:
    """A line that is drawn over and over; where that is no terminal, a new line each second."""

    def __init__(self) -> None:
        self.count = 0
        self.total: Optional[int] = None
        self.is_paused = False
        self.meter = Meter()
        self.is_terminal = os.isatty(1)
        self.interval = 0.1 if self.is_terminal else 1.0
        self.next = 0.0

    def progress(self, count: int, total: Optional[int]) -> None:
        """The request's progress handler."""
        self.count, self.total = count, total

    def pause(self, is_paused: bool) -> None:
        self.is_paused = is_paused
        self.meter.restart()
        self.next = 0

    def line(self) -> str:
        rate = self.meter.rate()
        words = [size(self.count)]
        if self.total:
            percent = min(self.count * 100 // self.total, 100)
            bar = f"[{'#' * (percent // 5):<20}] " if self.is_terminal else ""
            words = [f"{bar}{percent:3} %", f"{size(self.count)} of {size(self.total)}"]
        if self.is_paused:
            words.append("paused, Enter goes on")
        elif rate > 0:
            words.append(f"{size(rate)}/s")
            if self.total:
                words.append(f"{duration((self.total - self.count) / rate)} left")
        return "  ".join(words)

    def draw(self) -> None:
        # What was there before is no measure of how fast the rest comes.
        if self.count > 0 and not self.is_paused:
            self.meter.add(self.count)
        now = time.monotonic()
        if now < self.next:
            return
        self.next = now + self.interval
        if self.is_terminal:
            # Back to the start of the line, and what is left of a longer one goes.
            print(f"\r{self.line()}\x1b[K", end="", flush=True)
        else:
            print(self.line(), flush=True)

    def end(self, text: str) -> None:
        print(f"\r{text}\x1b[K" if self.is_terminal else text)


class Saved:
    """FILE.resume: the URL, and what is needed to go on."""

    def __init__(self, file: str, url: str) -> None:
        self.path = Path(f"{file}.resume")
        self.url = url

    def load(self) -> Optional[str]:
        try:
            url, data = self.path.read_text().splitlines()
        except (OSError, ValueError):
            return None
        if url == self.url:
            return data
        with contextlib.suppress(ValueError):
            ntapi.discard_resume_data(data)
        return None

    def save(self, resume_data: Optional[str]) -> None:
        """Writes it, or removes it when there is nothing to go on from.

        A crash on the way leaves the one from before.
        """
        new = Path(f"{self.path}.new")
        # Where no file can be, the download itself has said so.
        with contextlib.suppress(OSError):
            if resume_data is None:
                new.unlink(missing_ok=True)
                self.path.unlink(missing_ok=True)
            else:
                new.write_text(f"{self.url}\n{resume_data}\n")
                new.replace(self.path)


def follow(
    request: ntapi.Request,
    responses: list[ntapi.Response],
    display: Display,
    saved: Optional[Saved],
) -> None:
    """Runs the handlers, listens to the keyboard and draws, until the response is there."""
    mailbox = ntapi.mailbox()
    keyboard = sys.stdin
    watched: list[Any] = [mailbox, keyboard] if keyboard else [mailbox]
    saved_at = time.monotonic()
    while not responses:
        readable, _, _ = select.select(watched, [], [], display.interval)
        if keyboard in readable:
            if not os.read(keyboard.fileno(), 4096):
                # Nobody types.
                watched.remove(keyboard)
            elif display.is_paused:
                display.pause(False)
                request.resume()
            elif request.suspend():
                display.pause(True)
        mailbox.drain()
        if not responses:
            display.draw()
        if saved and not responses and time.monotonic() - saved_at >= 1:
            saved.save(request.resume_data)
            saved_at = time.monotonic()


def transfer(url: str, file: str, is_download: bool) -> int:
    """Begins the request, follows it and tells how it ended."""
    display = Display()
    responses: list[ntapi.Response] = []
    saved = Saved(file, url) if is_download else None
    args: ntapi.Args = [ntapi.file(file), ntapi.method("PUT")]
    if saved:
        resume_data = saved.load()
        args = ntapi.resume(resume_data) if resume_data else ntapi.download(file)
    with ntapi.Client(url, log_flags=ntapi.LogFlags.NONE) as client:
        # They run on the main thread, in `follow`.
        request = client.begin(
            args,
            handler=responses.append,
            download_progress=display.progress if is_download else None,
            upload_progress=None if is_download else display.progress,
        )
        try:
            follow(request, responses, display, saved)
        except KeyboardInterrupt:
            request.cancel()
            request.wait()
    (response,) = responses
    if saved:
        saved.save(response.resume_data)
    if response.error is None:
        display.end(f"{file}: {size(display.count)} in {duration(response.elapsed)}")
        return 0
    again = "; the same command goes on" if response.resume_data else ""
    display.end(f"{file}: stopped at {size(display.count)}{again}")
    if response.error.code is codes.CANCELLED:
        return 130
    print(f"error: {response.error}", file=sys.stderr)
    return 1


def main(arguments: Sequence[str]) -> int:
    try:
        if len(arguments) == 3 and arguments[0] == "get":
            return transfer(arguments[1], arguments[2], True)
        if len(arguments) == 3 and arguments[0] == "put":
            return transfer(arguments[2], arguments[1], False)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # A second one, which does not wait for the first.
        return 130
    print("usage: transfer.py get URL FILE | put FILE URL", file=sys.stderr)
    return 2


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so `| head` ends it, as it does other programs
    sys.exit(main(sys.argv[1:]))
