"""check_python.py: what it must find, and what it must accept."""

from __future__ import annotations

import pytest
from check_python import circles, imports, upward

NAMES = [
    "",
    "_bridge",
    "_bridge.library",
    "_runtime",
    "_runtime.mailbox",
    "_client",
    "decoding",
    "decoding.values",
]


def above(module: str, text: str) -> list[str]:
    """The modules of higher floors that a module with this text imports."""
    texts = {**dict.fromkeys(NAMES, ""), module: text}
    return [each.imported for each in upward(list(imports(texts)))]


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("_bridge.library", "from .. import _client", ["_client"]),
        ("_bridge.library", "from .._client import Client", ["_client"]),
        (
            "_bridge.library",
            "def f():\n    from .._runtime.mailbox import Mailbox",
            ["_runtime.mailbox"],
        ),
        (
            "_bridge.library",
            "if TYPE_CHECKING:\n    from .._runtime import mailbox",
            ["_runtime.mailbox"],
        ),
        ("_bridge.library", "from .. import __version__", [""]),
        ("_bridge.library", "import ntapi._client", ["_client"]),
        ("_bridge.library", "from ntapi._client import Client", ["_client"]),
        ("_runtime.mailbox", "from ..decoding.values import URL", ["decoding.values"]),
        (
            "_runtime.mailbox",
            "try:\n    pass\nexcept E:\n    from .._client import Client",
            ["_client"],
        ),
        ("_runtime.mailbox", "from .._bridge.library import lib", []),
        ("_runtime.mailbox", "from ._client import Client", []),
        ("_client", "from ._runtime import mailbox\nfrom ._bridge.library import lib", []),
        ("_client", "from .decoding import values\nimport json", []),
        ("", "from ._client import Client", []),
    ],
)
def test_upward(module: str, text: str, found: list[str]) -> None:
    assert above(module, text) == found


def test_circles() -> None:
    texts = {
        "a": "from . import b",
        "b": "def f():\n    from .c import x",
        "c": "from .a import y",
        "d": "from .a import y\nif TYPE_CHECKING:\n    from . import e",
        "e": "from . import d",
    }
    assert circles(list(imports(texts))) == [["a", "b", "c"]]
    assert circles(list(imports({**texts, "b": ""}))) == []


def test_a_circle_through_a_package() -> None:
    texts = {
        "p": "from .inner import x",
        "p.inner": "from ..other import y",
        "other": "from .p import x",
    }
    assert circles(list(imports(texts))) == [["other", "p", "p.inner"]]
