"""Bodies pulled from Python: files, iterables and functions."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Iterable, Iterator

from ._callbacks import ReadFunction, RewindFunction
from ._signatures import DestroyFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._aliases import Chunk, StreamContent


class Source:
    """A stream's content behind one function, `read(size)`."""

    def __init__(self, content: StreamContent) -> None:
        self._content: Any = content
        source: Any = content
        self._start: Optional[int] = None
        self._iterator: Optional[Iterator[Chunk]] = None
        self._rest = memoryview(b"")
        self.error: Optional[BaseException] = None
        """What reading or rewinding raised; becomes the cause of the request's error."""
        if hasattr(content, "read"):
            self._pull: Callable[[int], Chunk] = source.read
            seekable = getattr(source, "seekable", None)
            if seekable is not None and seekable():
                self._start = source.tell()
        elif isinstance(content, Iterable):
            self._pull = self._next_chunk
        elif callable(content):
            self._pull = content
        else:
            raise TypeError(
                f"a file, iterable or function is expected, not {type(content).__name__}"
            )

    @property
    def can_rewind(self) -> bool:
        """Whether the content can be read a second time."""
        if self._start is not None:
            return True
        is_iterable = self._pull == self._next_chunk
        return is_iterable and not isinstance(self._content, Iterator)

    def read(self, size: int) -> memoryview:
        """At most `size` bytes; none at the end. Larger chunks are handed out in pieces."""
        if not self._rest:
            chunk = self._pull(size)
            if isinstance(chunk, str):
                raise TypeError("a stream has to give bytes, not str: open the file with mode 'rb'")
            self._rest = memoryview(chunk).cast("B")
        piece, self._rest = self._rest[:size], self._rest[size:]
        return piece

    def rewind(self) -> bool:
        """Starts again from where the content began."""
        if not self.can_rewind:
            return False
        self._rest = memoryview(b"")
        self._iterator = None
        if self._start is not None:
            self._content.seek(self._start)
        return True

    def _next_chunk(self, _: int) -> Chunk:
        if self._iterator is None:
            self._iterator = iter(self._content)
        # An empty chunk in the middle is not the end.
        return next((chunk for chunk in self._iterator if len(chunk)), b"")


# C knows a source by a token. It is in this table while its request runs, so that a late call finds
# nothing, not garbage.
_sources: dict[int, Source] = {}
_tokens = itertools.count(1)


def register_source(source: Source) -> int:
    """Makes the source known to C under the token that is returned."""
    token = next(_tokens)
    _sources[token] = source
    return token


def forget_source(token: int) -> None:
    """Ends what register_source began."""
    _sources.pop(token, None)


def source_error(tokens: Iterable[int]) -> Optional[BaseException]:
    """What one of these sources raised."""
    for token in tokens:
        source = _sources.get(token)
        if source is not None and source.error is not None:
            return source.error
    return None


def _reset_in_child() -> None:
    """In a forked child: requests that were begun in the parent belong to the parent."""
    _sources.clear()


os.register_at_fork(after_in_child=_reset_in_child)


def _read(token: int, buffer: int, capacity: int) -> int:
    """ntapi_read_fn for every source."""
    source = _sources.get(token)
    if source is None:
        return -1
    try:
        piece = source.read(capacity)
        if not piece.readonly or not piece.contiguous:
            piece = memoryview(bytes(piece))
        ctypes.memmove(buffer, bytes(piece), len(piece))
        return len(piece)
    except BaseException as error:
        # On a worker thread there is nobody to catch it: it travels with the request's error.
        source.error = error
        return -1


read_function = ReadFunction(_read)


def _rewind(token: int) -> bool:
    """ntapi_rewind_fn for every source."""
    source = _sources.get(token)
    if source is None:
        return False
    try:
        return source.rewind()
    except BaseException as error:
        source.error = error
        return False


rewind_function = RewindFunction(_rewind)


NO_REWIND = RewindFunction()
NO_DESTROY = DestroyFunction()
