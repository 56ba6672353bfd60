"""Traces and metrics for OpenTelemetry: a span for each attempt, by the stable HTTP conventions.

    from ntapi.opentelemetry import NTApiInstrumentor

    NTApiInstrumentor().instrument()

`opentelemetry-instrument python app.py` does this without a change of the program. The module needs
opentelemetry-api and opentelemetry-instrumentation: `pip install "ntapi[opentelemetry]"`.
"""

from __future__ import annotations

try:
    from ._instrumentor import NTApiInstrumentor
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] != "opentelemetry":
        raise
    raise ImportError(
        "ntapi.opentelemetry needs opentelemetry-api and opentelemetry-instrumentation:"
        ' pip install "ntapi[opentelemetry]"',
        name=error.name,
    ) from error

__all__ = ["NTApiInstrumentor"]
