"""Stores that the processes of a fleet share.

`Redis` needs the library libntapi-redis: `pip install "ntapi[redis]"`, or Debian's libntapi-redis0.
"""

from __future__ import annotations

import ctypes
import os

from ._args import c_text
from ._bridge import callbacks, redis
from ._bridge.library import Handle, lib
from ._errors import take_error
from ._runtime.checks import check_string, check_timeout, even_without_init
from ._stores import LibraryStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional, Union

__all__ = ["FileStore", "Redis"]


class FileStore(LibraryStore):
    """A store in a file, for processes of one host that share a token.

        authenticator.share(ntapi.fleet.FileStore("/var/lib/shop/tokens.json"), "partner")

    The file is readable by its owner only, and is replaced as a whole. Beside it is a file whose
    name ends in ".lock". It keeps tokens only: for limits and caches, use a server.
    """

    def __init__(self, path: Union[str, os.PathLike[str]]) -> None:
        """`path` is the path of the file. It and its folder are made with the first token."""
        self._path = os.path.abspath(os.fspath(path))
        pointer = lib.ntapi_file_store_create(c_text(self._path))
        if not pointer:
            raise ValueError(f"{path!r} cannot be the path of a file for tokens")
        self._c_store = Handle(pointer, lib.ntapi_store_free)

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.fleet.FileStore {self._path}>"


class Redis(LibraryStore):
    """A store on a Redis or Valkey server.

        store = ntapi.fleet.Redis("rediss://:password@redis.example:6379/0")
        limiter = ntapi.RateLimiter.of(ntapi.RateLimit(10), store=store, key="partner")

    It connects when it is first asked, and again after a failure. In a forked child it has a
    connection of its own. Sentinels and Redis Clusters are refused when it connects.
    """

    def __init__(
        self,
        url: str,
        *,
        username: Optional[str] = None,
        password: Optional[str] = None,
        ca_file: Optional[str] = None,
        client_certificate: Optional[str] = None,
        client_key: Optional[str] = None,
        timeout: float = 5.0,
        encryption_keys: Optional[str] = None,
    ) -> None:
        """`url` is "redis://HOST:PORT/DATABASE"; "rediss:" uses TLS, and verifies the server's
        certificate; "unix:///PATH?db=DATABASE" is a Unix socket.

        `username` and `password` replace those of the URL. `ca_file` is a PEM file of trusted
        certificates, in place of the system's store; `client_certificate` and `client_key` are PEM
        files, too. After `timeout` seconds without a connection or a reply it connects anew.

        With `encryption_keys` the server cannot read tokens and responses, and caches also share
        responses to requests with credentials. The keys are base64 of 32 bytes each, with blanks
        between: `openssl rand -base64 32` makes one. The first one encrypts (XAES-256-GCM); all
        decrypt. All processes need the same keys.

        Raises ValueError for a wrong URL or key, and for a file that cannot be read.
        """
        check_string(url, "url")
        texts = {
            "username": username,
            "password": password,
            "ca_file": ca_file,
            "client_certificate": client_certificate,
            "client_key": client_key,
        }
        for name, text in (*texts.items(), ("encryption_keys", encryption_keys)):
            if text is not None:
                check_string(text, name)
        check_timeout(timeout)
        options = callbacks.RedisOptions(
            ctypes.sizeof(callbacks.RedisOptions),
            c_text(url),
            *(None if text is None else c_text(text) for text in texts.values()),
            timeout,
            None if encryption_keys is None else c_text(encryption_keys),
        )
        error = ctypes.c_void_p()
        create = redis.library().ntapi_redis_store_create
        pointer = create(ctypes.byref(options), ctypes.byref(error))
        if not pointer:
            raise ValueError(take_error(error.value, "the options are wrong").message)
        self._c_store = Handle(pointer, lib.ntapi_store_free)
        scheme, _, rest = url.partition("://")
        authority, slash, path = rest.partition("/")
        self._shown = f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"

    @even_without_init
    def __repr__(self) -> str:
        return f"<ntapi.fleet.Redis {self._shown}>"
