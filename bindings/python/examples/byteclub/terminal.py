"""What the terminal shows: a progress bar, pictures, an editor."""

from __future__ import annotations

import base64
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Optional

is_terminal = sys.stdout.isatty()
shows_pictures = is_terminal and os.environ.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm")


def draw(count: int, total: Optional[int]) -> None:
    """A progress bar, at a terminal."""
    if is_terminal and total:
        percent = count * 100 // total
        print(f"\r[{'#' * (percent // 5):<20}] {percent} %", end="\x1b[K", flush=True)


def finish(text: str) -> None:
    """The line in the place of the bar."""
    print(f"\r{text}\x1b[K" if is_terminal else text)


def show(picture: bytes) -> None:
    """Shows a picture where the terminal has the sequence of iTerm for it."""
    text = base64.b64encode(picture).decode()
    print(f"\x1b]1337;File=inline=1;size={len(picture)};height=4:{text}\x07")


def edited(text: str) -> Optional[str]:
    """Lets people change a text in their editor; None when that has failed."""
    editor = os.environ.get("EDITOR", "vi")
    with tempfile.TemporaryDirectory(prefix="byteclub-") as folder:
        path = Path(folder) / "note"
        path.write_text(text)
        if subprocess.run(f"{editor} {path}", shell=True, check=False).returncode != 0:
            return None
        return path.read_text()
