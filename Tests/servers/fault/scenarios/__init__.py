"""The scenarios, one module per theme."""

from fault.scenarios import (
    cuts,
    encodings,
    framing,
    heads,
    interim,
    jsons,
    keepalive,
    plain,
    randomly,
    redirects,
    slow,
)

THEMES = [
    cuts,
    encodings,
    framing,
    heads,
    interim,
    jsons,
    keepalive,
    plain,
    randomly,
    redirects,
    slow,
]
