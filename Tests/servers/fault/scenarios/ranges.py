"""A file that is fetched in parts, and servers that do this wrong in every way."""

from __future__ import annotations

import re
from email.utils import formatdate

from fault.exchange import Exchange
from fault.registry import scenario

LAST_MODIFIED = 1_700_000_000
Tags = list[tuple[str, str]]


def content(version: int, size: int) -> bytes:
    """A file in which every four bytes contain their position and the version."""
    words = (size + 3) // 4
    return b"".join((at * 16 + version % 16).to_bytes(4, "big") for at in range(words))[:size]


def validators(how: str, version: int) -> Tags:
    """The headers by which a client recognizes the same file."""
    modified = formatdate(LAST_MODIFIED + version, usegmt=True)
    both = [("ETag", f'"v{version}"'), ("Last-Modified", modified)]
    sets: dict[str, Tags] = {
        "weak": [("ETag", f'W/"v{version}"')],
        "date": [("Last-Modified", modified), ("Date", formatdate(usegmt=True))],
        "fresh-date": [("Last-Modified", modified), ("Date", modified)],
        "none": [],
        "latin-1": [("ETag", f'"\udce9{version}"')],
        "utf-8": [("ETag", f'"é{version}"')],
    }
    return sets.get(how, both)


async def send_part(exchange: Exchange, how: str, body: bytes, first: int, tags: Tags) -> None:
    """A 206, right or wrong."""
    total = len(body)
    last = min(total, first + max(1, exchange.number("part", total))) - 1
    shown = first + 1 if how == "shifted" else first
    told = total + 1 if how == "other-total" else total
    headers = [*tags, ("Content-Range", f"bytes {shown}-{last}/{told}")]
    if how == "no-range":
        headers = tags
    if how == "encoded":
        headers.append(("Content-Encoding", "gzip"))
    await exchange.respond(body[shown : last + 1], 206, headers)


@scenario("range")
async def range_(exchange: Exchange) -> None:
    """A file of ?size= bytes in ?version=; the first answer breaks after ?cut=, those to a request with
    X-Again do not. /range/HOW: weak, date, fresh-date, none, latin-1, utf-8, no-ranges; ignored,
    shifted, other-total, no-range, encoded, error; ?part= bytes in a 206 at most. Recorded under
    ?token=.
    """
    how = exchange.rest
    version, size = exchange.number("version", 1), exchange.number("size", 100_000)
    if token := exchange.text("token"):
        seen = exchange.request.shown()
        exchange.state.seen[token].append(seen)
        # This changes between two requests. It cannot be in the URL, because the URL of a download
        # stays the same.
        version += exchange.number("changes", 0) * (len(exchange.state.seen[token]) - 1)
    body = content(version, size)
    tags: Tags = validators(how, version)
    headers = [*tags, ("Accept-Ranges", "none" if how == "no-ranges" else "bytes")]
    asked = re.fullmatch(r"bytes=(\d+)-", exchange.request.header("Range"))
    condition = (
        exchange.request.header("If-Range").encode("latin-1").decode("utf-8", "surrogateescape")
    )
    is_same = condition in [value for _, value in tags] or not condition
    if asked and how == "error":
        await exchange.respond_json({"error": "later"}, 503)
    elif asked and is_same and how != "ignored":
        first = int(asked[1])
        if first >= size:
            await exchange.respond("", 416, [*tags, ("Content-Range", f"bytes */{size}")])
        else:
            await send_part(exchange, how, body, first, tags)
    else:
        is_first = not exchange.request.header("X-Again")
        cut = exchange.number("cut", size) if is_first else size
        fields = "".join(f"{name}: {value}\r\n" for name, value in headers)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n{fields}\r\n"
        await exchange.send(head.encode("utf-8", "surrogateescape"))
        await exchange.send(body[:cut])
        exchange.keep = cut >= size
