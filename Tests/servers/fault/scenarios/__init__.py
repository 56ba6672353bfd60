"""The scenarios, one module per theme."""

from fault.scenarios import (
    auth,
    caches,
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
    caches,
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
