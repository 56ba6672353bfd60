"""The recorder: it writes the exchanges of a client to a file, and replays them in later runs."""

from __future__ import annotations

import ctypes
import os

from .. import codes
from .._advice import unknown_keyword
from .._args import c_text
from .._bridge.enums import ErrorDomain
from .._bridge.library import Handle, lib
from .._bridge.signatures import Status
from .._errors import ApiError, take_error
from .._runtime.checks import NeedsInit, check_string, even_without_init, refuse_copy
from .cassette_files import cassette_text, is_cassette
from .doubles import Stub
from .replay import explaining

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import TracebackType
    from typing import Literal, NoReturn, Optional, Union

    from .._interceptors import Interceptor
    from .._types import Self

    RecordMode = Literal["none", "once", "new_episodes", "all"]

MODES = ("none", "once", "new_episodes", "all")
_NEW_EPISODES = 3
"""NTAPI_RECORD_MODE_NEW_EPISODES."""

_SECRETS = "secrets=, with names of headers, pairs, parts and JSON members"
_OF_VCRPY = {
    "allow_playback_repeats": "Client(stub=Stub.from_recording(path, repeats_last=True))",
    "filter_headers": _SECRETS,
    "filter_post_data_parameters": _SECRETS,
    "filter_query_parameters": _SECRETS,
    "record_mode": "mode=",
    "serializer": "a path that ends in .json or .yaml",
}
"""What to write in place of a keyword of vcrpy."""


class Recorder(NeedsInit):
    """Records the exchanges of a client with its servers, for a `Stub` to replay.

        with Recorder("tests/find.json") as recorder:
            client = ntapi.Client("https://api.example.com", recorder=recorder)
            client.send("find", ntapi.url("q", "London"))

    A path that ends with `.har` makes a HAR 1.2, which browsers import, with times and sizes. Every
    other path makes a recording, which is the same in each run. Both can be replayed.

    Each exchange has an entry, also each redirect, so that a replay takes the same steps. These
    secrets are not written to the file: Authorization, the values of cookies and of headers with
    secret names, what args have marked as secret, and values with a secret name in queries, forms,
    multipart bodies and JSON, also in answers. Secrets elsewhere, such as in plain text, are not
    found: read the file before you share it. The `with` block writes the file at its end, unless it
    raises.

    A file with the suffix .yaml or .yml is a cassette, which vcrpy reads and writes, too. It needs
    the package PyYAML.

    With a `mode`, the recorder also replays, so that one test records in its first run and needs no
    server later.
    """

    def __init__(
        self,
        path: Union[str, os.PathLike[str]],
        *,
        secrets: Iterable[str] = (),
        mode: RecordMode = "all",
        all_clients: bool = False,
        **unknown: NoReturn,
    ) -> None:
        """Makes a recorder.

        `secrets` are names of headers, pairs, parts and JSON members that are secret, too. The
        modes:

        - "all": records every exchange, and replaces the file.
        - "once": records if there is no file, and otherwise only replays it.
        - "none": only replays.
        - "new_episodes": replays what is in the file, and adds the other exchanges to it.

        With `all_clients`, it records every client in the process: see the attribute of that name.

        A client whose recorder only replays has its stub replaced. A request that is not in the
        recording then fails with the code "no stub". If the file that is to be replayed is invalid,
        raises an ApiError that names the wrong exchange.
        """
        if unknown:
            raise unknown_keyword(Recorder.__init__, unknown, "a recorder", _OF_VCRPY)
        if isinstance(secrets, str):
            raise TypeError("secrets has to be a list of names, not one string")
        if mode not in MODES:
            raise ValueError(f"a mode is one of {', '.join(MODES)}, not {mode!r}")
        if all_clients and mode != "all":
            raise ValueError("all_clients only records: it has to be with the mode 'all'")
        self.path: str = os.fspath(path)
        check_string(self.path, "the path")
        self._mode = mode
        self._is_cassette = is_cassette(self.path)
        is_there = os.path.exists(self.path)
        self._stub: Optional[Stub] = None
        """The stub of its clients, if it only replays."""
        self._interceptors: tuple[Interceptor, ...] = ()
        """Its clients have these interceptors inside their own."""
        self._kept = ""
        """The text of the cassette, if new exchanges are added to it."""
        if mode == "none" or (mode == "once" and is_there):
            self._stub = Stub.from_recording(self.path) if is_there else Stub()
            self._interceptors = (explaining(self.path, is_there),)
        adds = mode == "new_episodes" and is_there
        self._handle = Handle(self._make(adds), lib.ntapi_recorder_free)
        for name in secrets:
            check_string(name, "the name of a secret")
            lib.ntapi_recorder_add_secret(self._handle.pointer, c_text(name))
        self._all_clients = False
        if all_clients:
            self.all_clients = True

    def _make(self, adds: bool) -> int:
        """Makes the library's recorder. `adds` says whether it adds to a file."""
        made: int
        if self._is_cassette and adds:
            known = Stub.from_recording(self.path)
            with open(self.path, encoding="utf-8") as file:
                self._kept = file.read()
            # The library writes its own format, beside the cassette.
            target = c_text(self._beside)
            made = lib.ntapi_recorder_create_replaying(target, known._handle.pointer)
        elif adds:
            error, path = ctypes.c_void_p(), c_text(self.path)
            made = lib.ntapi_recorder_open(path, _NEW_EPISODES, ctypes.byref(error))
            if not made:
                raise take_error(error.value, "the recording cannot be read")
        else:
            made = lib.ntapi_recorder_create(
                c_text(self._beside if self._is_cassette else self.path)
            )
        return made

    @property
    def _beside(self) -> str:
        return f"{self.path}.new"

    def __reduce__(self) -> NoReturn:
        refuse_copy(self, "make one in each process, with a file of its own")

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.testing.Recorder {self.path!r}, {self.count} exchanges>"

    @property
    def count(self) -> int:
        """The number of complete exchanges that were recorded. Replayed ones do not count."""
        return int(lib.ntapi_recorder_count(self._handle.pointer))

    @property
    def all_clients(self) -> bool:
        """Whether it records the exchanges of every client in the process that begin from now on,
        in addition to the clients' own recorders. The process keeps the recorder while this is
        true; a `with` block sets it to False at its end.
        """
        return self._all_clients

    @all_clients.setter
    def all_clients(self, value: bool) -> None:
        lib.ntapi_recorder_record_all(self._handle.pointer, value)
        self._all_clients = value

    def save(self) -> None:
        """Writes the file in one step: other programs see the old one or the new one. Raises an
        ApiError if writing fails.

        A recorder that only replays writes nothing, and neither does one that has recorded nothing,
        except in the mode "all".
        """
        if self._stub is not None or (self._mode != "all" and not self.count):
            return
        error = ctypes.c_void_p()
        status = lib.ntapi_recorder_save(self._handle.pointer, ctypes.byref(error))
        if status != Status.OK:
            raise take_error(error.value, "the recording was not written")
        if self._is_cassette:
            self._finish()

    def _finish(self) -> None:
        """Replaces the cassette by its text and the new exchanges."""
        try:
            with open(self._beside, encoding="utf-8") as file:
                new = file.read()
            with open(self._beside, "w", encoding="utf-8") as file:
                file.write(cassette_text(self._kept, new))
            os.replace(self._beside, self.path)
        except OSError as error:
            os.unlink(self._beside)
            message = f"the recording {self.path!r} was not written: {error}"
            raise ApiError(codes.INVALID_REQUEST, message, domain=ErrorDomain.REQUEST) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if self._all_clients:
            self.all_clients = False
        if error is None:
            self.save()
