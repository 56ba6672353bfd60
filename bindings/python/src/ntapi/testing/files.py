"""Where the recordings of tests are."""

from __future__ import annotations

import re
from hashlib import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .recorder import Recorder

FOLDER = "recordings"
"""The folder beside the file of the test."""


def recording_of_test(test_file: Path, names: Iterable[str], suffix: str) -> Path:
    """recordings/<module>/<class>.<test><suffix>, beside the file of the test."""
    name = safe(".".join(names))
    return test_file.parent / FOLDER / safe(test_file.stem) / f"{name}{suffix}"


def safe(name: str) -> str:
    """A name of a file. The end of a changed name keeps it apart from others."""
    changed = re.sub(r"[^\w.\[\]-]", "_", name, flags=re.ASCII)[:150]
    if changed == name:
        return name
    return f"{changed}-{sha256(name.encode('utf-8', 'backslashreplace')).hexdigest()[:8]}"


def save(recorder: Recorder, path: Path) -> None:
    """Writes what the recorder of a test has recorded, if anything."""
    if recorder.count:
        path.parent.mkdir(parents=True, exist_ok=True)
        recorder.save()
