"""What the transports share: how a library's request becomes a request of NTApi."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from .. import arg
from .._args import append_args, c_args, c_text, flatten
from .._bridge.cpython import quick
from .._bridge.enums import Clock
from .._bridge.library import Handle, lib
from .._errors import ApiError
from .._pull import AsyncPull, pull
from .._runtime import registry
from ._answers import AsyncWhole, Head, Whole, head_of, with_head
from ._bodies import AsyncBody, Body, SyncBody
from ._failures import Failure, failure_of, refused

if TYPE_CHECKING:
    from collections.abc import AsyncIterable

    from .._args import Arg
    from .._client import BaseClient
    from .._stream import AsyncStream, Stream
    from ._answers import Answer, AsyncAnswer, Line, SyncAnswer

    Content = Union[bytes, Iterable[bytes], AsyncIterable[bytes], None]


class Timeouts(NamedTuple):
    """Seconds; None for no limit."""

    connect: Optional[float] = None
    read: Optional[float] = None
    write: Optional[float] = None
    pool: Optional[float] = None


def _timeout_args(timeouts: Timeouts, has_body: bool) -> tuple[Arg, ...]:
    """NTApi has one clock for silence in both directions. With a body, the longer of the two limits
    counts, so that nothing ends sooner than the program wants.
    """
    connect, read, write, pool = (
        # NTApi refuses a timeout of 0.
        float("inf") if seconds is None else max(seconds, 0.001)
        for seconds in timeouts
    )
    idle = max(read, write) if has_body else read
    return (
        arg.timeout(idle, Clock.IDLE),
        arg.timeout(connect, Clock.CONNECT),
        arg.timeout(pool, Clock.QUEUE),
    )


_PLAIN = (
    arg.option("plain_exchange"),
    # The library itself limits the time of an exchange, if it has such a limit.
    arg.timeout(float("inf"), Clock.ATTEMPT),
    arg.timeout(float("inf"), Clock.TOTAL),
)
_WITH_MANNERS = (
    arg.option("ignore_http_errors"),
    arg.option("raw_data"),
    arg.option("maximum_redirects", 0),
)


class _Usual:
    """The args that many requests share, for Python and for C."""

    def __init__(self, args: Iterable[Any]) -> None:
        self.args = flatten(args)
        self._handle = Handle(lib.ntapi_args_create(), lib.ntapi_args_free)
        append_args(self.pointer, self.args, [])

    @property
    def pointer(self) -> Any:
        """The C list."""
        return self._handle.pointer


@lru_cache(maxsize=64)
def _usual(is_plain: bool, timeouts: Timeouts, has_body: bool, args: tuple[Arg, ...]) -> _Usual:
    return _Usual([_PLAIN if is_plain else _WITH_MANNERS, _timeout_args(timeouts, has_body), args])


_create_message = quick("ntapi_args_create_message")


_OF_COMPRESSED = frozenset({b"content-encoding", b"content-length"})


class Call:
    """A request that a library wants to send. Raises ApiError for one that NTApi cannot send.

    `host` is the host and port of the URL, as in a Host header. `args` are more args.
    """

    def __init__(
        self,
        client: BaseClient,
        method: str,
        url: str,
        host: bytes,
        lines: Iterable[Line],
        content: Content,
        timeouts: Timeouts,
        args: tuple[Arg, ...] = (),
        *,
        is_plain: bool,
    ) -> None:
        if method == "CONNECT":
            raise refused("CONNECT opens a tunnel; it is no request of its own")
        self._client = client
        self._is_https = url.startswith("https:")
        self._decodes = not is_plain and bool(client.get_default("decompression", True))
        self._may_be_cached = (
            not is_plain and method in ("GET", "HEAD") and client.cache is not None
        )
        """A stream is neither stored nor answered from a cache."""
        texts = [c_text(method) or b"", c_text(url) or b""]
        length, is_chunked = self._read(host, lines, texts)
        self._texts = b"\0".join(texts)
        """Method, URL, and the names and values of the header lines."""
        self._count = len(texts)
        if not self._texts.isascii() or self._texts.count(0) != self._count - 1:
            for text in texts:
                _check(text)
        self._body: Union[bytes, SyncBody, AsyncBody, None] = None
        self._is_streamed = is_chunked
        has_body = not (content is None or (content == b"" and length is None and not is_chunked))
        self._usual = _usual(is_plain, timeouts, has_body, args)
        if has_body:
            self._set_body(content, length)

    def _read(
        self, host: bytes, lines: Iterable[Line], texts: list[bytes]
    ) -> tuple[Optional[int], bool]:
        """Adds the header lines to `texts`, except those that frame the body: NTApi writes them.
        Returns the length of the body, if given, and whether to send it chunked.
        """
        length: Optional[int] = None
        is_chunked = False
        for name, value in lines:
            lower = name.lower()
            if lower == b"host":
                # NTApi writes it itself. A different Host is sent as given.
                if value.lower() == host.lower():
                    continue
            elif lower == b"content-length":
                if not value.isdigit() or length not in (None, int(value)):
                    raise refused(f"{value!r} is no length of a body")
                length = int(value)
                continue
            elif lower == b"transfer-encoding":
                if value.lower() != b"chunked":
                    raise refused(f"the transfer coding {value!r} is not supported")
                is_chunked = True
                continue
            elif lower == b"accept-encoding" and self._decodes and value != b"identity":
                # NTApi itself asks for the codings that it decodes.
                continue
            elif lower == b"accept" and value == b"text/event-stream":
                self._may_be_cached = False
            elif lower == b"upgrade":
                raise refused("NTApi cannot hand over its connection, which Upgrade asks for")
            texts += (name, value)
        return length, is_chunked

    def _set_body(self, content: Any, length: Optional[int]) -> None:
        if isinstance(content, bytes):
            if length not in (None, len(content)):
                raise refused(
                    f"the body has {len(content)} bytes, and Content-Length says {length}"
                )
            self._body = content
            return
        is_async = self._client._has_loop and hasattr(content, "__aiter__")
        self._length = None if self._is_streamed else length
        self._is_streamed = True
        self._body = (AsyncBody if is_async else SyncBody)(content, self._length)

    def _args(self) -> list[Any]:
        """All args, for a request that runs functions of Python."""
        method, url, *texts = self._texts.decode().split("\0")
        lines = [arg.add_header(*line) for line in zip(texts[::2], texts[1::2])]
        args: list[Any] = [self._usual.args, arg.method(method), arg.base_url(url), lines]
        body = self._body
        if isinstance(body, (SyncBody, AsyncBody)):
            args.append(arg.stream(body, self._length))
        elif body is not None:
            args.append(arg.stream([body]) if self._is_streamed else arg.data(body))
        return args

    def _c_args(self) -> Optional[int]:
        """A new C list of all args, in few calls; None for a request that runs functions of
        Python.
        """
        client = self._client
        if not client._may_start_fast or registry.is_exiting or self._is_streamed:
            return None
        if client._authenticator is not None:
            return c_args(client, (self._args(),))
        pointer: Optional[int] = _create_message(self._usual.pointer, self._texts, self._count)
        if not pointer:
            raise MemoryError
        if isinstance(self._body, bytes):
            lib.ntapi_args_data(pointer, self._body, len(self._body), None)
        return pointer

    def open(self, is_whole: bool = False) -> SyncAnswer:
        """Sends it, and waits for the head of the answer, or for all of it. Raises ApiError."""
        client: Any = self._client
        if is_whole or self._may_be_cached:
            return Whole(with_head(client.perform(self._args())))
        args = self._c_args()
        if args is None:
            stream: Stream[bytes] = client.stream(self._args()).__enter__()
            return stream
        pulled = pull(client, args)
        if pulled.response is not None:
            # It has ended without a body to read.
            return Whole(with_head(pulled.response))
        return pulled

    async def open_async(self, is_whole: bool = False) -> AsyncAnswer:
        """As `open`, for an AsyncClient."""
        client: Any = self._client
        if is_whole or self._may_be_cached:
            return AsyncWhole(with_head(await client.perform(self._args())))
        args = self._c_args()
        if args is None:
            stream: AsyncStream[bytes] = await client.stream(self._args()).__aenter__()
            return stream
        pulled = AsyncPull(client, args)
        await pulled.open()
        if pulled.response is not None and not pulled.head:
            return AsyncWhole(with_head(pulled.response))
        return pulled

    def head_of(self, answer: Answer) -> Head:
        """The head of an answer. If NTApi decompresses the body, the lines that describe the
        compressed body are left out.
        """
        head = head_of(answer)
        if self._decodes and any(name.lower() == b"content-encoding" for name, _ in head.lines):
            lines = [line for line in head.lines if line[0].lower() not in _OF_COMPRESSED]
            return head._replace(lines=lines)
        return head

    def failure_of(self, error: ApiError, stream: Optional[Answer] = None) -> Failure:
        """The kind of an error of this call. If the library's own body raised, raises that
        exception. `stream` is the answer's, once there is one.
        """
        body = self._body
        if isinstance(body, Body) and body.error is not None:
            if isinstance(body.error, ApiError):
                return Failure.LOCAL_PROTOCOL
            raise body.error
        if error.clock is Clock.IDLE and stream is None and self._is_connecting(error):
            # NTApi's clock for silence also runs while it connects.
            return Failure.CONNECT_TIMEOUT
        failure = failure_of(error, stream is None and self._is_sending(error))
        if failure is Failure.DECODING and not self._decodes:
            # The transfer coding is unknown.
            return Failure.REMOTE_PROTOCOL
        return failure

    def _is_connecting(self, error: ApiError) -> bool:
        if error.response is None:
            return False
        metrics = error.response.metrics
        ready = metrics.tls if self._is_https else metrics.connect
        return not metrics.connection_reused and not ready

    def _is_sending(self, error: ApiError) -> bool:
        body = self._body
        if body is None or error.response is None:
            return False
        sent = error.response.request.bytes_sent
        if isinstance(body, Body):
            return not body.has_ended or sent < body.given
        return sent < len(body)


def _check(text: bytes) -> None:
    if b"\0" in text:
        raise refused(f"the text {text!r} contains a NUL character")
    try:
        text.decode()
    except UnicodeDecodeError:
        raise refused(f"the text {text!r} is not UTF-8") from None


def backoff(retries: int) -> Iterator[float]:
    """The seconds before each further attempt to connect."""
    for count in range(retries):
        yield 0.0 if count == 0 else 0.5 * 2 ** (count - 1)
