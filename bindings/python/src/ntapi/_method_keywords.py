"""The keywords of requests and httpx that `get`, `post`, `put`, `patch` and `delete` take: each
becomes args.
"""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator, Mapping

from . import arg
from ._args import text_of
from ._runtime.checks import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from ._args import Arg
    from ._types import Handlers


def split(keywords: Mapping[str, Any]) -> tuple[list[Arg], Handlers]:
    """The args that keywords become, and the handlers among them. Raises TypeError for others."""
    handlers: Any = {name: value for name, value in keywords.items() if name not in _ARGS_OF}
    if handlers:
        from ._build import HANDLER_KEYWORDS

        known = (*HANDLER_KEYWORDS, *_ARGS_OF)
        if any(name not in known for name in handlers):
            from ._keywords import keyword_error

            raise keyword_error(handlers, known, of_client=False)
    given = {name: value for name, value in keywords.items() if value is not None}
    return [each for name in _ARGS_OF if name in given for each in _ARGS_OF[name](given)], handlers


def _params(given: Mapping[str, Any]) -> Iterator[Arg]:
    advice = 'write params={"name": value}, or the query in the command, "find?name=value"'
    for name, value in _pairs(given, "params", advice):
        yield arg.url(name, value)


def _headers(given: Mapping[str, Any]) -> Iterator[Arg]:
    seen: set[str] = set()
    for name, value in _pairs(given, "headers", 'write headers={"Name": value}'):
        # The first header of a name replaces that of the client; the others are added.
        yield (arg.add_header if str(name).lower() in seen else arg.header)(name, value)
        seen.add(str(name).lower())


def _data(given: Mapping[str, Any]) -> Iterator[Arg]:
    data = given["data"]
    if not isinstance(data, (list, tuple)) and not hasattr(data, "items"):
        yield from _body(data, "data")
        return
    for name, value in _pairs(given, "data", 'write data={"name": value}, or json= for JSON'):
        if not given.get("files"):
            yield arg.form(name, value)
            continue
        for each in value if isinstance(value, (list, tuple)) else [value]:
            yield arg.multipart(name, text_of(each, "multipart", name))


def _body(content: Any, keyword: str) -> Iterator[Arg]:
    if isinstance(content, (str, bytes, bytearray, memoryview)):
        yield arg.data(content)
    elif not hasattr(content, "items") and (
        callable(content)
        or any(hasattr(content, name) for name in ("read", "__iter__", "__aiter__"))
    ):
        yield arg.stream(content)
    else:
        what = "bytes, text, a file or pieces of bytes"
        is_path = isinstance(content, os.PathLike)
        advice = "write the arg ntapi.file(path)" if is_path else "write json= to send it as JSON"
        raise _mistake(keyword, what, content, advice)


def _files(given: Mapping[str, Any]) -> Iterator[Arg]:
    for name, value in _pairs(given, "files", 'write files={"name": content}'):
        if value is not None:
            yield _part(name, value)


def _part(name: str, value: Any) -> Arg:
    """The part for a file. If no file name is given, it gets the file's, or else `name`."""
    content, content_type = value, None
    if isinstance(value, tuple):
        if len(value) not in (2, 3):
            # A fourth member would be the headers of the part.
            raise _mistake("files", _FILES, value, "write (file name, content, content type)")
        filename, content, content_type = (*value, None)[:3]
    else:
        own = os.fspath(value) if isinstance(value, os.PathLike) else getattr(value, "name", None)
        filename = (os.path.basename(own) if isinstance(own, str) else "") or name
    path = content if isinstance(content, os.PathLike) else _path_of(content)
    if path is not None:
        return arg.multipart_file(name, path, filename=filename or "", content_type=content_type)
    if hasattr(content, "read"):
        content = content.read()
    if not isinstance(content, (str, bytes, bytearray, memoryview)):
        raise _mistake("files", _FILES, content, 'write files={"name": open(path, "rb")}')
    if isinstance(content, str) and not filename and not content_type:
        return arg.multipart(name, content)
    return arg.multipart(name, content, filename=filename or "", content_type=content_type)


_FILES = "bytes, text, a file, a path, or a tuple of file name, one of these and content type"


def _path_of(file: Any) -> Optional[str]:
    """The path of an open file, if the path and the file have the same content. Such a file is
    streamed from disk. Other files, such as BytesIO, are read.
    """
    if not isinstance(file, io.BufferedReader) or not isinstance(file.raw, io.FileIO):
        return None
    path = file.name
    try:
        opened, there = os.fstat(file.fileno()), os.stat(path)
        is_whole = stat.S_ISREG(opened.st_mode) and opened.st_size > 0 and file.tell() == 0
    except OSError:
        return None
    return path if isinstance(path, str) and is_whole and os.path.samestat(opened, there) else None


def _auth(given: Mapping[str, Any]) -> Iterator[Arg]:
    auth = given["auth"]
    if isinstance(auth, tuple) and len(auth) == 2:
        yield arg.basic_auth(*auth)
        return
    from ._auth import Authenticator

    advice = "write the arg ntapi.bearer(token), or ntapi.digest_auth(user, password) for Digest"
    if isinstance(auth, Authenticator):
        advice = "make the client with authenticator=..."
    raise _mistake("auth", "a tuple (user, password)", auth, advice)


def _timeout(given: Mapping[str, Any]) -> Iterator[Arg]:
    timeout = given["timeout"]
    if isinstance(timeout, tuple) and len(timeout) == 2:
        yield arg.timeout(timeout[0], "connect")
        timeout = timeout[1]
    elif not isinstance(timeout, (int, float)) and not hasattr(timeout, "total_seconds"):
        what = "a number of seconds, or a tuple (connect, idle)"
        advice = 'write an arg for each clock, such as ntapi.timeout(5, "total")'
        raise _mistake("timeout", what, timeout, advice)
    yield arg.timeout(timeout)


_ARGS_OF: dict[str, Callable[[Mapping[str, Any]], Iterator[Arg]]] = {
    "params": _params,
    "headers": _headers,
    "json": lambda given: iter((arg.json(given["json"]),)),
    "data": _data,
    "content": lambda given: _body(given["content"], "content"),
    "files": _files,
    "auth": _auth,
    "timeout": _timeout,
}


def _pairs(given: Mapping[str, Any], keyword: str, advice: str) -> Iterator[tuple[str, Any]]:
    """The pairs of a mapping, also of one with repeated names, or of an iterable of pairs."""
    value = given[keyword]
    # httpx's and other mappings with repeated names have `multi_items`.
    items = getattr(value, "multi_items", None) or getattr(value, "items", None)
    if items is not None:
        value = items()
    elif isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise _mistake(keyword, "a mapping or pairs", value, advice)
    for pair in value:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise _mistake(keyword, "a mapping or pairs", pair, advice)
        yield pair[0], pair[1]


def _mistake(keyword: str, what: str, value: object, advice: str) -> TypeError:
    # Only the type is shown: the value may be a secret.
    return TypeError(f"{keyword}= takes {what}, not {type_name(value)}; {advice}")
