"""What tests of programs that use ntapi need: answers from memory, time that stands still, and
recordings of what servers said.
"""

from __future__ import annotations

from ._clock import ManualClock
from ._enums import StubFault
from ._recorder import Recorder
from ._stub import Stub, StubRequest, StubRule
from ._stub_answer import Answer

__all__ = [
    "Answer",
    "ManualClock",
    "Recorder",
    "Stub",
    "StubFault",
    "StubRequest",
    "StubRule",
]
