"""What stands in for time and the network in a test of a client."""

from __future__ import annotations

from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._clock import ManualClock
    from ._handles import Handle
    from ._recorder import Recorder
    from ._stub import Stub


class TestDoubles:
    """The part of a client that tests use; see `ntapi.testing`."""

    __test__ = False  # not a test of pytest's

    _handle: Handle
    _doubles: dict[str, Any]

    def _use_doubles(
        self, clock: Optional[ManualClock], stub: Optional[Stub], recorder: Optional[Recorder]
    ) -> None:
        if clock is not None:
            self.clock = clock
        if stub is not None:
            self.stub = stub
        if recorder is not None:
            self.recorder = recorder

    def _set_double(self, name: str, double: Any, set_it: Callable[[Any, Any], Any]) -> None:
        pointer = None if double is None else double._handle.pointer
        set_it(self._handle.pointer, pointer)
        # Kept: its functions are Python's.
        self._doubles[name] = double

    @property
    def clock(self) -> Optional[ManualClock]:
        """A test's clock, by which requests wait; None, as at first, is the system's.

        For requests begun from now on. The client's authenticator goes by it, too.
        """
        return self._doubles.get("clock")

    @clock.setter
    def clock(self, clock: Optional[ManualClock]) -> None:
        self._set_double("clock", clock, lib.ntapi_client_set_clock)

    @property
    def stub(self) -> Optional[Stub]:
        """What answers the client's requests in place of the network; None, as at first, is that.

        For requests begun from now on.
        """
        return self._doubles.get("stub")

    @stub.setter
    def stub(self, stub: Optional[Stub]) -> None:
        self._set_double("stub", stub, lib.ntapi_client_set_stub)

    @property
    def recorder(self) -> Optional[Recorder]:
        """What records the client's exchanges; None, as at first, is nobody.

        For requests begun from now on.
        """
        return self._doubles.get("recorder")

    @recorder.setter
    def recorder(self, recorder: Optional[Recorder]) -> None:
        self._set_double("recorder", recorder, lib.ntapi_client_set_recorder)
