"""Python runs this at its start, when this folder is in PYTHONPATH. Tests then use the path of
`ntapi._bridge.cpython` without CPython's own functions.
"""

import sys

# This looks like a build without the global lock.
sys._is_gil_enabled = lambda: False  # type: ignore[attr-defined]
