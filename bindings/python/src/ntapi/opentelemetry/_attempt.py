"""An attempt with its span and its metrics."""

from __future__ import annotations

from time import perf_counter_ns, time_ns

from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

from ._attributes import (
    VERSIONS,
    error_type,
    full_url,
    server_of,
    template_of,
    without_queries,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, Tracer
    from opentelemetry.util.types import AttributeValue

    from .._errors import ApiError
    from .._headers import Headers
    from .._observers import Observation
    from ._metrics import Metrics
    from ._options import Options


class Attempt:
    """An attempt, from its beginning to its end."""

    def __init__(
        self,
        observed: Observation,
        parent: Context,
        tracer: Tracer,
        metrics: Metrics,
        options: Options,
    ) -> None:
        self._metrics = metrics
        self._options = options
        method, url = observed.method or "", observed.url or ""
        name = method if method in options.methods else "_OTHER"
        address, port = server_of(url, observed.headers.get("Host"))
        template = template_of(observed.command, url)
        self._common: dict[str, AttributeValue] = {
            "http.request.method": name,
            "server.address": address,
            "server.port": port,
        }
        """The attributes that the span and its metrics share."""
        self._template: dict[str, AttributeValue] = {"url.template": template} if template else {}
        """Required on metrics that are not stable yet, and opt-in elsewhere."""
        attributes = {**self._common, "url.full": full_url(url, options.url_query)}
        if name != method:
            attributes["http.request.method_original"] = method
            name = "HTTP"
        if observed.attempt > 1:
            attributes["http.request.resend_count"] = observed.attempt - 1
        if options.url_template:
            attributes.update(self._template)
        attributes.update(_headers("request", options.request_headers, observed.headers))
        self._began = time_ns()
        self._clock = perf_counter_ns()
        self._span = tracer.start_span(
            f"{name} {template}" if template else name,
            parent,
            SpanKind.CLIENT,
            attributes,
            start_time=self._began,
        )
        self.context = set_span_in_context(self._span, parent)
        """The context in which the span is the current one."""
        metrics.count_active(1, {**self._common, **self._template})

    def stop(self, observed: Observation) -> None:
        """The attempt is over. `end` follows once it is known whether its outcome is an error."""
        # Not the clock of the day, which may be set in between.
        self._nanoseconds = perf_counter_ns() - self._clock
        self._metrics.count_active(-1, {**self._common, **self._template})
        self._sent, self._received = observed.bytes_sent, None
        attributes = _headers("response", self._options.response_headers, observed.headers)
        if observed.address:
            attributes["network.peer.address"] = observed.address
            # The path of a Unix socket has no port.
            if observed.port and observed.address[0] not in "/@":
                attributes["network.peer.port"] = observed.port
        if observed.status:
            self._received = observed.bytes_received
            answer: dict[str, AttributeValue] = {"http.response.status_code": observed.status}
            if observed.http_version in VERSIONS:
                answer["network.protocol.version"] = VERSIONS[observed.http_version]
            self._common.update(answer)
            attributes.update(answer)
        self._span.set_attributes(attributes)

    def end(self, error: Optional[ApiError], status: int) -> None:
        """Ends the span at the time of `stop`, and counts the attempt."""
        kind = error_type(status, error)
        set_error(self._span, kind, error, self._options)
        if kind is not None:
            self._common["error.type"] = kind
        self._span.end(self._began + self._nanoseconds)
        common, more = self._common, {**self._common, **self._template}
        self._metrics.record(
            more if self._options.url_template else common,
            more,
            seconds=self._nanoseconds / 1e9,
            sent=self._sent,
            received=self._received,
            context=self.context,
        )


def set_error(span: Span, kind: Optional[str], error: Optional[ApiError], options: Options) -> None:
    """Sets `error.type` and the status. A status of HTTP needs no description."""
    if kind is not None:
        span.set_attribute("error.type", kind)
        text = None if error is None or kind.isdigit() else error.message
        if text is not None and not options.url_query:
            text = without_queries(text)
        span.set_status(Status(StatusCode.ERROR, text))


def _headers(which: str, names: tuple[str, ...], headers: Headers) -> dict[str, AttributeValue]:
    return {
        f"http.{which}.header.{name}": tuple(headers.get_all(name))
        for name in names
        if name in headers
    }
