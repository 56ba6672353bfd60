"""URLs and header lines as a log may show them: what is secret is the library's decision."""

from __future__ import annotations

from ._arg import Arg
from ._arg_list import describe

_LEADING = frozenset({"location", "content-location", "referer", "refresh", "link"})
"""Headers whose value is a URL, or has one."""


def shown_url(url: str) -> str:
    """A URL without passwords, and with the values of secret pairs redacted."""
    text = describe(Arg("base_url", (url,)))
    start, end = text.find('("'), text.rfind('")')
    return text[start + 2 : end] if 0 < start < end else "<redacted>"


def shown_line(name: str, value: str) -> tuple[str, str]:
    """A header line, its value redacted when the name says that it is secret."""
    text = describe(Arg("header", (name, value)))
    if text.endswith(", <redacted>)"):
        return name, "<redacted>"
    return name, shown_url(value) if name.lower() in _LEADING else value
