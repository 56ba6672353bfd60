"""httpbin as a WSGI application for gunicorn, which wants bytes where httpbin gives bytearrays."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from httpbin import app  # type: ignore[import-untyped]
from werkzeug.wsgi import ClosingIterator


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """The same answers, each piece of them as bytes."""
    response = app(environ, start_response)
    return ClosingIterator(map(bytes, response), [getattr(response, "close", lambda: None)])
