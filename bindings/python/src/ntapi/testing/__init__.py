"""What tests of programs that use ntapi need: answers from memory, time that stands still, and
recordings of what servers said.
"""

from __future__ import annotations

from .._enums import StubFault
from .doubles import Answer, ManualClock, Recorder, Stub, StubRequest, StubRule

__all__ = [
    "Answer",
    "ManualClock",
    "Recorder",
    "Stub",
    "StubFault",
    "StubRequest",
    "StubRule",
]
