"""For tests with unittest: recordings with the names of tests.

class Cities(unittest.TestCase):
    def test_find(self) -> None:
        with (
            use_recorder(self) as recorder,
            ntapi.Client("https://api.example.com", recorder=recorder) as client,
        ):
            ...
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from .files import FOLDER, recording_of_test, save
from .recorder import Recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Optional
    from unittest import TestCase

    from .recorder import RecordMode

__all__ = ["use_recorder"]


@contextlib.contextmanager
def use_recorder(
    case: TestCase,
    file: Optional[str] = None,
    *,
    secrets: Iterable[str] = (),
    mode: RecordMode = "once",
) -> Iterator[Recorder]:
    """A recorder for a `with` block in a test, which replays the file of the test or records it.

    The file is in the folder `recordings` beside the test, by default
    `<module>/<class>.<test>.json`. It is written at the end of the block, unless the block raises
    or a subtest in it has failed. `secrets` and `mode` are those of `Recorder`.

    Do not give it to `enterContext`, which ends it in the same way whether the test passes or not.
    """
    module = sys.modules[type(case).__module__]
    test_file = Path(module.__file__ or module.__name__)
    if file is None:
        # The same file as with the fixture of pytest.
        names = type(case).__name__, case._testMethodName
        path = recording_of_test(test_file, names, ".json")
    else:
        path = test_file.parent / FOLDER / file
    recorder = Recorder(path, secrets=secrets, mode=mode)
    yield recorder
    # False after a subtest has failed, which raises nothing.
    if getattr(getattr(case, "_outcome", None), "success", True):
        save(recorder, path)
