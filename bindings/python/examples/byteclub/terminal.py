"""What the terminal shows: progress, activity, pictures, an editor."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Callable, NamedTuple, Optional

is_terminal = os.isatty(1)


class Activity:
    """A sign that the network is at work, as a phone has it beside the clock."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0

    def begin(self) -> None:
        self._count(1)

    def end(self) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        with self.lock:
            was_running = self.running > 0
            self.running += change
            if is_terminal and was_running != (self.running > 0):
                print("\r" if was_running else "\r⇅", end="\x1b[K", flush=True)


def draw(count: int, total: Optional[int]) -> None:
    """A progress bar, at a terminal."""
    if is_terminal and total:
        percent = min(count * 100 // total, 100)
        print(f"\r[{'#' * (percent // 5):<20}] {percent} %", end="\x1b[K", flush=True)


def finish(text: str) -> None:
    """The line in the place of the bar."""
    print(f"\r{text}\x1b[K" if is_terminal else text, flush=True)


def complain(text: object) -> None:
    """An error, where the terminal is free for it."""
    if is_terminal:
        print("\r", end="\x1b[K", flush=True)
    print(f"error: {text}", file=sys.stderr)


class Display(NamedTuple):
    """How a terminal shows pictures: which kind of them, of which size, and by what text."""

    kind: str
    size: str
    text: Callable[[bytes], str]


def inline(picture: bytes) -> str:
    """The sequence of iTerm."""
    text = base64.b64encode(picture).decode()
    return f"\x1b]1337;File=inline=1;size={len(picture)};height=4:{text}\x07"


def graphics(picture: bytes) -> str:
    """The sequences of kitty, which takes a picture in pieces."""
    text = base64.b64encode(picture).decode()
    pieces = [text[at : at + 4096] for at in range(0, len(text), 4096)]
    sequences = []
    for number, piece in enumerate(pieces):
        how = "a=T,f=100,r=4," if number == 0 else ""
        more = int(number + 1 < len(pieces))
        sequences.append(f"\x1b_G{how}m={more};{piece}\x1b\\")
    return "".join(sequences)


def half_blocks(picture: bytes) -> str:
    """Two pixels in each letter: its upper half and its lower one, in 256 colours."""
    head = re.match(rb"P6\s(\d{1,4})\s(\d{1,4})\s255\s", picture)
    if not head:
        return "(a picture that this terminal cannot show)"
    width, height, start = int(head[1]), int(head[2]), head.end()

    def colour(x: int, y: int) -> int:
        at = start + 3 * (y * width + x)
        red, green, blue = (round(value * 5 / 255) for value in picture[at : at + 3])
        return 16 + 36 * red + 6 * green + blue

    if len(picture) < start + 3 * width * height:
        return "(half a picture)"
    # A pixel stands for two of a row, and of two rows: 32 of them are 16 letters and 8 lines.
    return "\n".join(
        "".join(f"\x1b[38;5;{colour(x, y)};48;5;{colour(x, y + 2)}m▀" for x in range(0, width, 2))
        + "\x1b[0m"
        for y in range(0, height - 2, 4)
    )


def display() -> Optional[Display]:
    """The best that this terminal has; None when it shows letters only."""
    terminal = os.environ.get("TERM", "")
    if not is_terminal:
        return None
    if os.environ.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm"):
        return Display("image/png", "s", inline)
    if terminal in ("xterm-kitty", "xterm-ghostty"):
        return Display("image/png", "s", graphics)
    if "256color" in terminal or os.environ.get("COLORTERM"):
        return Display("image/x-portable-pixmap", "xs", half_blocks)
    return None


def edited(text: str) -> Optional[str]:
    """Lets people change a text in their editor; None when that has failed."""
    editor = os.environ.get("EDITOR", "vi")
    with tempfile.TemporaryDirectory(prefix="byteclub-") as folder:
        path = Path(folder) / "note"
        path.write_text(text, encoding="utf-8")
        if subprocess.run(f"{editor} {path}", shell=True, check=False).returncode != 0:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
