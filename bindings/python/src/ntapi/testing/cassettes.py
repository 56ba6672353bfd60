"""The interactions of a cassette of vcrpy, as the exchanges of a recording, and back."""

from __future__ import annotations

import re
from http import HTTPStatus

from . import cassette_bodies as bodies
from .codings import decoded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Optional

_OF_CONNECTION = {
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "transfer-encoding",
}
"""Headers that do not fit a body that is decoded and comes from memory. Recordings have none."""
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+: [^\x00\r\n]*")


class CassetteError(ValueError):
    """Says what is wrong, without the name of the file."""


def recording_of(cassette: object) -> dict[str, Any]:
    """A recording with the exchanges of a cassette. Raises CassetteError."""
    if not isinstance(cassette, dict) or not isinstance(cassette.get("interactions"), list):
        raise CassetteError("it is no cassette of vcrpy 1.0 or later: it has no interactions")
    exchanges = []
    for number, interaction in enumerate(cassette["interactions"], 1):
        try:
            exchanges.append(_exchange(interaction))
        except CassetteError as error:
            raise CassetteError(f"exchange {number}, {error}") from error.__cause__
    # A stub asks the last rule first: put those that match any body at the beginning.
    exchanges.sort(key=lambda exchange: exchange["request"].get("body") != {"redacted": True})
    return {"format": "ntapi-recording", "version": 1, "exchanges": exchanges}


def cassette_of(recording: dict[str, Any]) -> dict[str, Any]:
    """A cassette with the exchanges of a recording."""
    return {"interactions": [_interaction(each) for each in recording["exchanges"]], "version": 1}


# From a cassette.


def _exchange(interaction: object) -> dict[str, Any]:
    if not isinstance(interaction, dict):
        raise CassetteError("which is not a mapping")
    exchange: dict[str, Any] = {"request": _request(interaction.get("request"))}
    fault, response = interaction.get("fault"), interaction.get("response")
    if fault is not None:
        exchange["fault"] = fault
    if response is not None or fault is None:
        exchange["response"] = _response(response, exchange["request"]["method"])
    return exchange


def _request(request: object) -> dict[str, Any]:
    if not isinstance(request, dict):
        raise CassetteError("request is missing or not a mapping")
    method, uri = request.get("method"), request.get("uri")
    if not isinstance(method, str) or not method:
        raise CassetteError("request.method is missing")
    if not isinstance(uri, str) or "://" not in uri:
        raise CassetteError("request.uri is missing or not a URL")
    # The other headers are not compared.
    types = _values(_lines(request.get("headers"), "request.headers"), "content-type")
    content = request.get("body")
    if content is None or isinstance(content, (str, bytes)):
        body = bodies.sent(_bytes(content, "request.body"), next(iter(types), ""))
    else:
        body = bodies.sent_value(content)
    return _with({"method": method, "url": uri.partition("#")[0]}, body=body)


def _response(response: object, method: str) -> dict[str, Any]:
    if not isinstance(response, dict):
        raise CassetteError("response is missing or not a mapping")
    status, content = response.get("status"), response.get("body")
    if "status_code" in response:
        # How vcrpy before 6.0 wrote the answers of httpx.
        status, content = {"code": response["status_code"]}, response.get("content")
    code = status.get("code") if isinstance(status, dict) else None
    if not isinstance(code, int) or not 200 <= code <= 999:
        raise CassetteError("response.status.code is missing or not a status from 200 to 999")
    if isinstance(content, dict):
        content = content.get("string")
    lines = _lines(response.get("headers"), "response.headers")
    body = bodies.received(_decoded(content, _values(lines, "content-encoding")))
    left_out = _OF_CONNECTION
    if method == "HEAD" or code == 304:
        # These headers describe a body that is not sent.
        left_out = _OF_CONNECTION - {"content-encoding", "content-length"}
    kept = [line for line in lines if line[0].lower() not in left_out]
    version = _version(response.get("http_version"))
    trailers = _lines(response.get("trailers"), "response.trailers")
    return _with({"status": code}, httpVersion=version, headers=kept, body=body, trailers=trailers)


def _decoded(content: object, codings: Iterable[str]) -> bytes:
    body = _bytes(content, "response.body")
    for coding in reversed(",".join(codings).split(",")):
        try:
            decoded_body = decoded(body, coding)
        except ImportError as error:
            if isinstance(content, str):
                # Text is not compressed: vcrpy has kept what aiohttp had decoded.
                continue
            raise CassetteError(f"response.body is compressed with {coding}: {error}") from error
        if decoded_body is not None:
            body = decoded_body
    return body


def _lines(headers: object, what: str) -> list[list[str]]:
    """Header lines, from the value or the list of values of each name."""
    if headers is None:
        return []
    if not isinstance(headers, dict):
        raise CassetteError(f"{what} is not a mapping")
    lines = []
    for name, values in headers.items():
        for value in values if isinstance(values, (list, tuple)) else [values]:
            # Old servers fold long lines.
            line = [_text(name), re.sub(r"\s*[\r\n]+\s*", " ", _text(value)).strip()]
            if not _HEADER.fullmatch(": ".join(line)):
                raise CassetteError(f"{what}: {line[0]!r} cannot be a header")
            lines.append(line)
    return lines


def _values(lines: Iterable[list[str]], name: str) -> list[str]:
    return [value for other, value in lines if other.lower() == name]


def _text(value: object) -> str:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value.decode("latin-1")
    return "" if value is None else str(value)


def _bytes(content: object, what: str) -> bytes:
    if content is None:
        return b""
    if isinstance(content, bytes):
        return content
    if not isinstance(content, str):
        raise CassetteError(f"{what} is neither text nor bytes")
    try:
        return content.encode()
    except UnicodeEncodeError as error:
        raise CassetteError(f"{what} is not Unicode: {error.reason}") from None


def _version(value: object) -> Optional[float]:
    """2.0 for "HTTP/2"; None for 1.1, which recordings leave out."""
    found = re.fullmatch(r"(?:HTTP/)?([123](?:\.\d)?)", str(value))
    version = float(found[1]) if found else 1.1
    return None if version == 1.1 else version


def _with(members: dict[str, Any], **more: object) -> dict[str, Any]:
    """The members, and those of `more` that are not empty."""
    return {**members, **{name: value for name, value in more.items() if value}}


# To a cassette.


def _interaction(exchange: dict[str, Any]) -> dict[str, Any]:
    request, answer = exchange["request"], exchange.get("response")
    headers = _mapping(request.get("headers", ()))
    content = None
    if "body" in request:
        content, content_type = bodies.content_of(request["body"])
        known = [name for name in headers if name.lower() == "content-type"]
        # A form has a boundary of its own in the file.
        if content_type is not None and (not known or content_type.startswith(bodies.MULTIPART)):
            headers[known[0] if known else "Content-Type"] = [content_type]
    interaction: dict[str, Any] = {
        "request": {
            "method": request["method"],
            "uri": request["url"],
            "body": content,
            "headers": headers,
        },
        "response": None if answer is None else _answer(answer),
    }
    if "fault" in exchange:
        interaction["fault"] = exchange["fault"]
    return interaction


def _answer(answer: dict[str, Any]) -> dict[str, Any]:
    code = int(answer["status"])
    content = bodies.content_of(answer["body"])[0] if "body" in answer else ""
    version = float(answer.get("httpVersion", 1.1))
    response = {
        "status": {"code": code, "message": _PHRASES.get(code, "")},
        "headers": _mapping(answer.get("headers", ())),
        "body": {"string": content},
        "http_version": f"HTTP/{version:g}" if version != 1 else "HTTP/1.0",
    }
    return _with(response, trailers=_mapping(answer.get("trailers", ())))


_PHRASES = {status.value: status.phrase for status in HTTPStatus}


def _mapping(lines: Iterable[list[str]]) -> dict[str, list[str]]:
    """The values of each header, by the first spelling of its name.

    If a value is not UTF-8, its line has a third member, the bytes. vcrpy keeps only text.
    """
    names: dict[str, str] = {}
    headers: dict[str, list[str]] = {}
    for name, value, *_ in lines:
        headers.setdefault(names.setdefault(name.lower(), name), []).append(value)
    return headers
