"""The metrics of attempts."""

from __future__ import annotations

from opentelemetry.metrics import get_meter

from .._bridge.library import lib
from ._options import ACTIVE, DURATION, REQUEST_SIZE, RESPONSE_SIZE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from opentelemetry.context import Context
    from opentelemetry.metrics import Histogram, UpDownCounter
    from opentelemetry.util.types import AttributeValue

    from ._options import Options

SCOPE = ("ntapi.opentelemetry", lib.ntapi_version().decode())
"""Name and version of what makes the spans and metrics."""
SCHEMA = "https://opentelemetry.io/schemas/1.44.0"
"""The version of the conventions."""
_BOUNDARIES = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)


class Metrics:
    """The instruments that the options name."""

    def __init__(self, options: Options) -> None:
        meter = get_meter(*SCOPE, options.meter_provider, SCHEMA)
        self._duration: Optional[Histogram] = None
        self._sent: Optional[Histogram] = None
        self._received: Optional[Histogram] = None
        self._active: Optional[UpDownCounter] = None
        if DURATION in options.metrics:
            self._duration = meter.create_histogram(
                DURATION,
                unit="s",
                description="Duration of HTTP client requests.",
                explicit_bucket_boundaries_advisory=_BOUNDARIES,
            )
        if REQUEST_SIZE in options.metrics:
            text = "Size of HTTP client request bodies."
            self._sent = meter.create_histogram(REQUEST_SIZE, unit="By", description=text)
        if RESPONSE_SIZE in options.metrics:
            text = "Size of HTTP client response bodies."
            self._received = meter.create_histogram(RESPONSE_SIZE, unit="By", description=text)
        if ACTIVE in options.metrics:
            text = "Number of active HTTP requests."
            self._active = meter.create_up_down_counter(ACTIVE, unit="{request}", description=text)

    def count_active(self, change: int, attributes: dict[str, AttributeValue]) -> None:
        """An attempt begins (1) or ends (-1)."""
        if self._active is not None:
            self._active.add(change, attributes)

    def record(
        self,
        attributes: dict[str, AttributeValue],
        size_attributes: dict[str, AttributeValue],
        *,
        seconds: float,
        sent: int,
        received: Optional[int],
        context: Context,
    ) -> None:
        """An attempt has ended. `sent` and `received` are bytes of bodies; `received` is None
        without an answer.
        """
        if self._duration is not None:
            self._duration.record(seconds, attributes, context)
        if self._sent is not None:
            self._sent.record(sent, size_attributes, context)
        if self._received is not None and received is not None:
            self._received.record(received, size_attributes, context)
