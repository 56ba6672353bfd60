"""For tests of programs that use ntapi: answers from memory, a clock that stands still, and
recordings of servers; and a server on a real port, for any client.
"""

from __future__ import annotations

from .._bridge.enums import StubFault
from .answers import Answer
from .clock import ManualClock
from .doubles import Stub, StubRequest, StubRule
from .recorder import Recorder
from .stores import MemoryStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .server import Server as Server

__all__ = [
    "Answer",
    "ManualClock",
    "MemoryStore",
    "Recorder",
    "Stub",
    "StubFault",
    "StubRequest",
    "StubRule",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name != "Server":
            from .._advice import missing_name

            raise missing_name(__name__, name, [*__all__, "Server"])
        # It needs other libraries, and is imported on first use.
        value = globals()[name] = __import__(f"{__name__}.server", fromlist=[name]).Server
        return value
