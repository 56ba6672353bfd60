"""The instrumentor, which programs call and `opentelemetry-instrument` finds."""

from __future__ import annotations

import logging
from weakref import WeakKeyDictionary

from opentelemetry.instrumentation import instrumentor

from .._client import BaseClient
from .._observers import add_observer, remove_observer
from .._runtime.checks import type_name
from ._options import Options
from ._tracing import Tracing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import Any, Optional

_log = logging.getLogger("ntapi.opentelemetry")
_clients: WeakKeyDictionary[BaseClient, Tracing] = WeakKeyDictionary()
"""The clients that are instrumented on their own."""


# mypy reads nothing of that module, because it says "type: ignore" at its top.
class NTApiInstrumentor(instrumentor.BaseInstrumentor):  # type: ignore[name-defined, misc, unused-ignore]
    """Makes a CLIENT span for each attempt of a request, the metrics, and the headers that carry
    the context to the server, for all clients or for single ones.

    `instrument` and `instrument_client` take these keywords, all optional:

    - `tracer_provider`, `meter_provider`: the global ones, if they are not given.
    - `call_spans`: True for another span, of kind INTERNAL and named "ntapi.request", for the whole
      request. It is the parent of the attempts' spans.
    - `url_query`: False removes the query from the attribute `url.full`, and ends the description
      of an error before the first one.
    - `url_template`: True for the attribute `url.template`.
    - `request_headers`, `response_headers`: names of headers that become attributes. If they are
      not given: those in OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_REQUEST and _RESPONSE,
      separated by commas.
    - `excluded_urls`: regular expressions, as a list or separated by commas. An attempt in whose
      URL one is found has no span, no metrics and no headers. If it is not given:
      OTEL_PYTHON_NTAPI_EXCLUDED_URLS, else OTEL_PYTHON_EXCLUDED_URLS.
    - `propagate_to`: the origins that get the headers, each as "https://host:port" or as a host;
      or a function that takes an origin and returns whether it gets them. By default all do.
    - `exclude_origins`: origins that never get them, written in the same way.
    - `metrics`: names of the metrics: "http.client.request.duration", which is the default,
      "http.client.request.body.size", "http.client.response.body.size" and
      "http.client.active_requests". () for none.

    A wrong keyword raises TypeError, a wrong value TypeError or ValueError.
    """

    _tracing: Optional[Tracing] = None

    def instrumentation_dependencies(self) -> Collection[str]:
        """None: it is a part of the package that it instruments."""
        return ()

    def _instrument(self, **options: Any) -> None:
        tracing = Tracing(Options(**options))
        add_observer(tracing)
        self._tracing = tracing

    def _uninstrument(self, **_: Any) -> None:
        if self._tracing is not None:
            remove_observer(self._tracing)
            self._tracing = None

    @staticmethod
    def instrument_client(client: BaseClient, **options: Any) -> None:
        """Instruments one client, blocking or async, with options of its own. For its requests they
        replace those of `instrument`. Requests that have begun are not affected.
        """
        if not isinstance(client, BaseClient):
            raise TypeError(f"a client is expected, not {type_name(client)}")
        if client in _clients:
            _log.warning("an ntapi client is to be instrumented, and already is")
            return
        tracing = Tracing(Options(**options), is_own=True)
        client.add_observer(tracing)
        _clients[client] = tracing

    @staticmethod
    def uninstrument_client(client: BaseClient) -> None:
        """Ends `instrument_client`. Requests that have begun still get their spans."""
        tracing = _clients.pop(client, None)
        if tracing is None:
            _log.warning("an ntapi client is to be uninstrumented, and is not instrumented")
            return
        client.remove_observer(tracing)
