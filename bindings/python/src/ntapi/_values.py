"""JSON values from the core, which hands them over in the form of a pickle."""

from __future__ import annotations

from io import BytesIO

try:
    # What pickle itself uses; to import that would take as long as to import half of this package.
    from _pickle import Unpickler
except ImportError:
    from pickle import Unpickler

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


class _Values(Unpickler):
    """Makes values and nothing else.

    The core writes opcodes for values alone. Were it ever mistaken, text of a server would be taken
    for opcodes: then no name is looked up and nothing is called, whatever it says.
    """

    def find_class(self, module: str, name: str) -> NoReturn:
        """Refuses what a pickle could import."""
        raise ValueError(f"a JSON value cannot need {module}.{name}")

    def persistent_load(self, identifier: object) -> NoReturn:
        """Refuses what a pickle could refer to."""
        raise ValueError(f"a JSON value cannot refer to {identifier!r}")


def load(data: bytes) -> Any:
    """The value in a pickle of the core's."""
    return _Values(BytesIO(data)).load()
