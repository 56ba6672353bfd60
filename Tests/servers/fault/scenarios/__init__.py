"""The scenarios, one module per theme."""

from fault.scenarios import (
    auth,
    cookies,
    cuts,
    encodings,
    framing,
    heads,
    interim,
    jsons,
    keepalive,
    plain,
    randomly,
    ranges,
    redirects,
    slow,
    streams,
)

THEMES = [
    auth,
    cookies,
    cuts,
    encodings,
    framing,
    heads,
    interim,
    jsons,
    keepalive,
    plain,
    randomly,
    ranges,
    redirects,
    slow,
    streams,
]
