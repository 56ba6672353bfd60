"""What a program says about traces and metrics, in keywords and environment variables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

from .._runtime.checks import type_name
from ._attributes import server_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Optional, Union

    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import TracerProvider

DURATION = "http.client.request.duration"
REQUEST_SIZE = "http.client.request.body.size"
RESPONSE_SIZE = "http.client.response.body.size"
ACTIVE = "http.client.active_requests"
METRICS = (DURATION, REQUEST_SIZE, RESPONSE_SIZE, ACTIVE)

# RFC 9110, 5789 and 10008.
_METHODS = "CONNECT,DELETE,GET,HEAD,OPTIONS,PATCH,POST,PUT,QUERY,TRACE"
_HEADERS = "OTEL_INSTRUMENTATION_HTTP_CAPTURE_HEADERS_CLIENT_"


class Options:
    """The keywords of `NTApiInstrumentor.instrument`, checked."""

    def __init__(
        self,
        *,
        tracer_provider: Optional[TracerProvider] = None,
        meter_provider: Optional[MeterProvider] = None,
        call_spans: bool = False,
        url_query: bool = True,
        url_template: bool = False,
        request_headers: Optional[Iterable[str]] = None,
        response_headers: Optional[Iterable[str]] = None,
        excluded_urls: Union[str, Iterable[str], None] = None,
        propagate_to: Union[Callable[[str], bool], Iterable[str], None] = None,
        exclude_origins: Iterable[str] = (),
        metrics: Iterable[str] = (DURATION,),
    ) -> None:
        self.tracer_provider = tracer_provider
        self.meter_provider = meter_provider
        self.call_spans = call_spans
        self.url_query = url_query
        self.url_template = url_template
        self.request_headers = _header_names("request_headers", request_headers)
        self.response_headers = _header_names("response_headers", response_headers)
        self.methods = _methods()
        self._excluded = _pattern(excluded_urls)
        self._allows = propagate_to if callable(propagate_to) else None
        self._allowed: Optional[frozenset[str]] = None
        if propagate_to is not None and not callable(propagate_to):
            self._allowed = _origins("propagate_to", propagate_to)
        self._forbidden = _origins("exclude_origins", exclude_origins)
        self.metrics = _names("metrics", metrics)
        for name in self.metrics:
            if name not in METRICS:
                raise ValueError(f"there is no metric {name!r}; there are {', '.join(METRICS)}")

    def excludes(self, url: str) -> bool:
        """Whether the attempt has neither a span nor metrics."""
        return self._excluded is not None and self._excluded.search(url) is not None

    def sends_to(self, url: str) -> bool:
        """Whether the server may get the headers with the context."""
        if not self._forbidden and self._allows is None and self._allowed is None:
            return True
        host, port = server_of(url)
        origin = _origin(urlsplit(url).scheme, host, port)
        if not self._forbidden.isdisjoint((origin, host)):
            return False
        if self._allows is not None:
            return bool(self._allows(origin))
        return self._allowed is None or not self._allowed.isdisjoint((origin, host))


def _names(option: str, names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, (str, bytes)) or not isinstance(names, Iterable):
        raise TypeError(f"{option} has to be a list of texts, not {type_name(names)}")
    listed = tuple(names)
    for name in listed:
        if not isinstance(name, str):
            raise TypeError(f"{option} has to be a list of texts, not of {type_name(name)}")
    return listed


def _split(text: str) -> list[str]:
    return [part for part in (part.strip() for part in text.split(",")) if part]


def _methods() -> frozenset[str]:
    """The methods that may be the value of an attribute."""
    return frozenset(_split(os.environ.get("OTEL_INSTRUMENTATION_HTTP_KNOWN_METHODS") or _METHODS))


def _header_names(option: str, names: Optional[Iterable[str]]) -> tuple[str, ...]:
    if names is None:
        names = _split(os.environ.get(_HEADERS + option.partition("_")[0].upper(), ""))
    return tuple(name.lower() for name in _names(option, names))


def _pattern(urls: Union[str, Iterable[str], None]) -> Optional[re.Pattern[str]]:
    if urls is None:
        name = "OTEL_PYTHON_NTAPI_EXCLUDED_URLS"
        urls = os.environ.get(name, os.environ.get("OTEL_PYTHON_EXCLUDED_URLS", ""))
    patterns = _split(urls) if isinstance(urls, str) else _names("excluded_urls", urls)
    try:
        return re.compile("|".join(patterns)) if patterns else None
    except re.error as error:
        raise ValueError(f"excluded_urls: no regular expression: {error}") from error


def _origins(option: str, origins: Iterable[str]) -> frozenset[str]:
    """Origins with their port, and hosts, in lower case."""
    return frozenset(_origin_or_host(option, text) for text in _names(option, origins))


def _origin_or_host(option: str, text: str) -> str:
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        host, port = server_of(parts.geturl())
        is_host = not parts.scheme and parts.port is None
        if host and parts.path in ("", "/") and (parts.scheme in ("http", "https") or is_host):
            return host if is_host else _origin(parts.scheme, host, port)
    except ValueError:
        pass
    raise ValueError(f"{option}: {text!r} is neither an origin, https://host:port, nor a host")


def _origin(scheme: str, host: str, port: int) -> str:
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
