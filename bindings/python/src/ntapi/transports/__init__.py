"""Transports that put NTApi under other HTTP libraries, and so under the SDKs that use them.

    import httpx2
    import ntapi.transports
    import openai

    client = openai.OpenAI(http_client=httpx2.Client(transport=ntapi.transports.HTTPX2()))

Each is imported on first use, and needs its library only then.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._httpx import HTTPX as HTTPX
    from ._httpx import AsyncHTTPX as AsyncHTTPX
    from ._httpx2 import HTTPX2 as HTTPX2
    from ._httpx2 import AsyncHTTPX2 as AsyncHTTPX2
    from ._requests import RequestsAdapter as RequestsAdapter
    from ._stripe import StripeHTTPClient as StripeHTTPClient

_LIBRARY_OF = {
    "AsyncHTTPX": "httpx",
    "AsyncHTTPX2": "httpx2",
    "HTTPX": "httpx",
    "HTTPX2": "httpx2",
    "RequestsAdapter": "requests",
    "StripeHTTPClient": "stripe",
}

if not TYPE_CHECKING:
    __all__ = sorted(_LIBRARY_OF)

    def __getattr__(name: str) -> Any:
        library = _LIBRARY_OF.get(name)
        if library is None:
            from .._advice import missing_name

            raise missing_name(__name__, name, __all__)
        try:
            module = __import__(f"{__name__}._{library}", fromlist=[name])
        except ModuleNotFoundError as error:
            if error.name != library:
                raise
            condition = " (Python 3.11 or later)" if library == "httpx2" else ""
            raise ImportError(
                f"ntapi.transports.{name} needs {library}{condition}: pip install {library}",
                name=library,
            ) from error
        value = globals()[name] = getattr(module, name)
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
