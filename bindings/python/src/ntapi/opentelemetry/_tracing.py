"""The observer that makes spans and metrics, and sends each attempt's context to its server."""

from __future__ import annotations

from time import time_ns

from opentelemetry import propagate, trace
from opentelemetry.context import get_current
from opentelemetry.instrumentation.utils import is_http_instrumentation_enabled
from opentelemetry.trace import SpanKind

from .. import codes
from .._observers import Observer
from ._attempt import Attempt, set_error
from ._attributes import error_type
from ._metrics import SCHEMA, SCOPE, Metrics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from opentelemetry.context import Context
    from opentelemetry.trace import Span

    from .._headers import Headers
    from .._observers import Observation
    from ._options import Options


class _Call:
    """A request."""

    def __init__(self, context: Context) -> None:
        self.context = context
        """The context of its attempts: that of the caller, or that of the request's span."""
        self.began = time_ns()
        self.span: Optional[Span] = None
        self.attempts: dict[int, Attempt] = {}
        self.redirected: Optional[tuple[Attempt, int]] = None
        """The last attempt and its status, if that is a redirect. The next event shows whether it
        is followed or an error.
        """
        self.is_left = False
        """Whether another observer or another library makes its spans."""


_running: dict[str, _Call] = {}
"""The requests of the observer of all clients, by name."""


class Tracing(Observer):
    """Makes a CLIENT span of each attempt, with its metrics. With `is_own` it observes a single
    client, and takes over that client's requests from the observer of all clients, which is told
    first.
    """

    def __init__(self, options: Options, is_own: bool = False) -> None:
        self._options = options
        self._is_own = is_own
        self._tracer = trace.get_tracer(*SCOPE, options.tracer_provider, SCHEMA)
        self._metrics = Metrics(options)

    def begun(self, observed: Observation) -> Optional[_Call]:
        other = _running.pop(observed.request, None)
        if other is not None:
            other.is_left = True
        if not is_http_instrumentation_enabled() or _is_of_http(trace.get_current_span()):
            return None
        call = _Call(get_current())
        if not self._is_own:
            _running[observed.request] = call
        return call

    def attempt_begins(
        self, call: Optional[_Call], observed: Observation
    ) -> Optional[dict[str, str]]:
        if call is None or call.is_left:
            return None
        if observed.attempt == 1 and _is_sent_above(call.context, observed.headers):
            call.is_left = True
            return None
        self._end_redirected(call, observed)
        url = observed.url or ""
        if self._options.excludes(url):
            return None
        self._begin_call(call)
        attempt = Attempt(observed, call.context, self._tracer, self._metrics, self._options)
        # Before the propagator, which may raise.
        call.attempts[observed.attempt] = attempt
        headers: dict[str, str] = {}
        if self._options.sends_to(url):
            propagate.inject(headers, attempt.context)
        return headers

    def attempt_ends(self, call: Optional[_Call], observed: Observation) -> None:
        attempt = None if call is None else call.attempts.pop(observed.attempt, None)
        if call is None or attempt is None:
            return
        attempt.stop(observed)
        if 300 <= observed.status < 400 and observed.error is None:
            call.redirected = attempt, observed.status
        else:
            attempt.end(observed.error, observed.status)

    def ended(self, call: Optional[_Call], observed: Observation) -> None:
        if not self._is_own:
            _running.pop(observed.request, None)
        if call is None or call.is_left:
            return
        self._end_redirected(call, observed)
        if not self._options.excludes(observed.url or ""):
            self._begin_call(call)
        if call.span is not None:
            error = observed.error
            kind = None if error is None else error_type(observed.status, error)
            set_error(call.span, kind, error, self._options)
            call.span.end()

    def _begin_call(self, call: _Call) -> None:
        """Begins the span of the request, if the options ask for one. `begun` is too early: the
        client may have an observer of its own, which hears of the request later.
        """
        if self._options.call_spans and call.span is None:
            call.span = self._tracer.start_span(
                "ntapi.request", call.context, SpanKind.INTERNAL, start_time=call.began
            )
            call.context = trace.set_span_in_context(call.span, call.context)

    def _end_redirected(self, call: _Call, observed: Observation) -> None:
        if call.redirected is not None:
            attempt, status = call.redirected
            call.redirected = None
            error = observed.error
            is_loop = error is not None and error.code is codes.TOO_MANY_REDIRECTS
            attempt.end(error if is_loop else None, status)


def _is_of_http(span: Span) -> bool:
    """Whether it is the span of another HTTP library, under which NTApi is a transport."""
    # Only the SDK's spans can be read.
    attributes = getattr(span, "attributes", None) or {}
    return (
        span.is_recording()
        and getattr(span, "kind", None) is SpanKind.CLIENT
        and ("http.request.method" in attributes or "http.method" in attributes)
    )


def _is_sent_above(context: Context, headers: Headers) -> bool:
    """Whether the request already has the headers of the current span, which is not sampled and
    cannot be read. If so, another HTTP library has made that span.
    """
    span = trace.get_current_span(context)
    if span.is_recording() or not span.get_span_context().is_valid:
        return False
    wanted: dict[str, str] = {}
    propagate.inject(wanted, context)
    return bool(wanted) and all(headers.get(name) == value for name, value in wanted.items())
