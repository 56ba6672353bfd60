"""Python runs this at its start, when this folder is in PYTHONPATH: tests then take the plain way of `ntapi._bridge.cpython`."""

import sys

# As in a build without the global lock.
sys._is_gil_enabled = lambda: False  # type: ignore[attr-defined]
