"""The short way: a request whose caller waits for it is begun by one call into C, and owes its
response to nobody else.

Hooks, progress handlers and streams need more than that, and go the long way: `_building` and
`_delivery`.
"""

from __future__ import annotations

from ._library import lib
from ._logging import follow_levels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from ._aliases import Args
    from ._arg import Arg
    from ._client import BaseClient

_TEXTS = 256
commands: dict[str, bytes] = {}
"""Commands as C wants them: most programs have a few, and use them again and again."""


def c_command(command: str) -> bytes:
    """A command for C. Raises ApiError for one that C cannot hold."""
    follow_levels()
    known = commands.get(command) if type(command) is str else None
    if known is not None:
        return known
    from ._checks import check_string

    check_string(command, "the command")
    if "\0" in command:
        from ._errors import take_error

        raise take_error(None, "a text contains a NUL character")
    text = command.encode()
    if len(commands) < _TEXTS:
        commands[command] = text
    return text


def c_args(client: BaseClient, args: tuple[Args, ...]) -> Optional[int]:
    """A new C list of args; 0, which C reads as none, for an empty one, and None when the request
    has to go the long way. Raises ApiError for what C refuses.
    """
    if client._authenticator is not None:
        args = client._authenticator._adjust(args)
    from ._arg_list import append_args, gather_short

    flat: list[Arg] = []
    if not gather_short(args, flat):
        return None
    if not flat:
        return 0
    pointer: int = lib.ntapi_args_create()
    try:
        append_args(pointer, flat, [])
    except BaseException:
        lib.ntapi_args_free(pointer)
        raise
    return pointer
