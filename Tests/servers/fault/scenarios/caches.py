"""Answers for caches, with any headers, and with the number of requests for them."""

from __future__ import annotations

import time
from email.utils import formatdate

from fault.exchange import Exchange
from fault.registry import scenario
from fault.scenarios.auth import lets_in


@scenario("cached")
async def cached(exchange: Exchange) -> None:
    """JSON with how often ?token=T was asked for; ?h-NAME= are headers (@-60 is a date a minute ago); ?etag= and ?date=
    are confirmed with 304, until ?changes=N requests; ?statuses=200,503 one after the other; ?name= asks for a token."""
    token = exchange.text("token")
    request = exchange.request
    exchange.state.seen[token].append(request.shown())
    hits = exchange.state.hit(token, request.method)
    if not await lets_in(exchange):
        return
    statuses = [int(text) for text in exchange.text("statuses", "200").split(",")]
    status = statuses[min(hits, len(statuses)) - 1]
    if status == 0:
        exchange.reset()
    headers = [(name[2:], dated(value)) for name, value in request.pairs if name[:2] == "h-"]
    version = 1 if hits <= exchange.number("changes", 1 << 30) else 2
    etag = exchange.text("etag") and f'"{exchange.text("etag")}{version}"'
    date = exchange.text("date") and dated(exchange.text("date"))
    headers += [("ETag", etag)] if etag else []
    headers += [("Last-Modified", date)] if date else []
    asked = request.header("If-None-Match") or request.header("If-Modified-Since")
    if status == 200 and asked and asked in (etag, date):
        status = 304
    value = {"count": hits, "version": version, "header": request.shown()["header"]}
    value["pad"] = "x" * exchange.number("size", 0)
    await exchange.respond_json(value, status, headers)


@scenario("cached-slowly")
async def cached_slowly(exchange: Exchange) -> None:
    """As /cached, but from the second request on it waits for /let?token=T."""
    if exchange.state.hits[exchange.text("token")].total() > 0:
        await exchange.state.let[exchange.text("token")].wait()
    await cached(exchange)


@scenario("let")
async def let(exchange: Exchange) -> None:
    """Lets /cached-slowly?token=T and /early-answer?token=T go on."""
    exchange.state.let[exchange.text("token")].set()
    await exchange.respond_json({})


def dated(value: str) -> str:
    """The text; for "@-60" the date that many seconds from now."""
    return formatdate(time.time() + float(value[1:]), usegmt=True) if value[:1] == "@" else value
