"""The short way: a request whose caller waits for it is begun by one call into C, and owes its
response to nobody else.

Hooks, progress handlers and streams need more than that, and go the long way: `_building` and
`_delivery`.
"""

from __future__ import annotations

from ._arg import Arg, flatten
from ._arg_list import append_args, c_text
from ._checks import check_string
from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._aliases import Args

_LONG = frozenset({"stream", "download", "resume"})
"""Kinds of args that keep something for whoever waits: a source, a file to go on with."""
_TEXTS = 256
_texts: dict[str, bytes] = {}
"""Commands as C wants them: most programs have a few, and use them again and again."""


def c_command(command: str) -> bytes:
    """A command for C. Raises ApiError for one that C cannot hold."""
    known = _texts.get(command) if type(command) is str else None
    if known is not None:
        return known
    check_string(command, "the command")
    text = c_text(command) or b""
    if len(_texts) < _TEXTS:
        _texts[command] = text
    return text


def short_args(args: tuple[Args, ...]) -> Optional[list[Arg]]:
    """The args, in one flat list; None when they have to go the long way."""
    if not args:
        return []
    flat = flatten(args)
    for arg in flat:
        if arg.kind in _LONG:
            return None
    return flat


def c_args(args: list[Arg]) -> Optional[int]:
    """A new C list of args; None, which C reads as none, for an empty one. Raises ApiError for what
    C refuses.
    """
    if not args:
        return None
    pointer: int = lib.ntapi_args_create()
    try:
        append_args(pointer, args, [])
    except BaseException:
        lib.ntapi_args_free(pointer)
        raise
    return pointer
