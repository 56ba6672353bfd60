"""Records what a client and its servers say to each other."""

from __future__ import annotations

import ctypes
import os

from .._bridge.args import c_text
from .._bridge.library import Handle, lib
from .._bridge.signatures import Status
from .._checks import check_string
from .._errors import take_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Optional, Union

    from .._types import Self


class Recorder:
    """Records what a client and its servers say to each other, to be given again by a `Stub`.

        with Recorder("tests/find.json") as recorder:
            client = ntapi.Client("https://api.example.com", recorder=recorder)
            client.send("find", ntapi.url("q", "London"))

    One entry for each exchange, redirects too, so that a replay takes the same way. Secrets do not
    get into the file: Authorization, the values of cookies and of headers with secret names, what
    args marked as secret, and what has a secret name in a query, a form, the parts of a multipart
    body or JSON, in answers too. What stands elsewhere, in text say, is not found: look at the file
    before you share it. The `with` block writes the file at its end, unless it raises.
    """

    def __init__(self, path: Union[str, os.PathLike[str]], *, secrets: Iterable[str] = ()) -> None:
        """Makes a recorder.

        `secrets` are names of headers, pairs, parts and JSON members that are secret, too.
        """
        if isinstance(secrets, str):
            raise TypeError("secrets has to be a list of names, not one string")
        self.path = os.fspath(path)
        check_string(self.path, "the path")
        self._handle = Handle(lib.ntapi_recorder_create(c_text(self.path)), lib.ntapi_recorder_free)
        for name in secrets:
            check_string(name, "the name of a secret")
            lib.ntapi_recorder_add_secret(self._handle.pointer, c_text(name))

    def __repr__(self) -> str:
        return f"<ntapi.testing.Recorder {self.path!r}, {self.count} exchanges>"

    @property
    def count(self) -> int:
        """How many exchanges are whole."""
        return int(lib.ntapi_recorder_count(self._handle.pointer))

    def save(self) -> None:
        """Writes the file, in one step: it is the old one or the new one. Raises an ApiError."""
        error = ctypes.c_void_p()
        status = lib.ntapi_recorder_save(self._handle.pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the recording was not written")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if error is None:
            self.save()
