"""Connections that break between two requests, after which a client may send again."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from fault.exchange import Exchange
from fault.registry import scenario


@scenario("keepalive-close")
async def keepalive_close(exchange: Exchange) -> None:
    """Answers with keep-alive; the connection dies on reading its next request (?how=reset)."""
    await exchange.respond_json(
        {"connection": exchange.link.number}, headers=[("Connection", "keep-alive")]
    )
    exchange.link.doomed = exchange.text("how", "close")


@scenario("keepalive-drop")
async def keepalive_drop(exchange: Exchange) -> None:
    """Answers with keep-alive and closes at once, as a server does whose patience ran out."""
    await exchange.respond_json(
        {"connection": exchange.link.number}, headers=[("Connection", "keep-alive")]
    )
    exchange.keep = False


@scenario("keepalive-count")
async def keepalive_count(exchange: Exchange) -> None:
    """Counts the request under ?token=T, also where /keepalive-close lets the connection die."""
    hits = exchange.state.hit(exchange.text("token"), exchange.request.method)
    await exchange.respond_json({"count": hits, "connection": exchange.link.number})


@scenario("connection-close")
async def connection_close(exchange: Exchange) -> None:
    """A proper answer that says Connection: close, and does."""
    await exchange.respond('{"ok":true}', keep=False)


SMUGGLED = b'HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n{"smuggled":true}'
asked_for: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
sent: defaultdict[str, asyncio.Event] = defaultdict(asyncio.Event)
speaking: dict[str, asyncio.Task[None]] = {}


@scenario("unasked-later")
async def unasked_later(exchange: Exchange) -> None:
    """A proper answer; a second one that nobody asked for comes when /unasked-now?token=T is asked."""
    token = exchange.text("token")

    async def speak() -> None:
        await asked_for[token].wait()
        exchange.link.writer.write(SMUGGLED)
        sent[token].set()

    speaking[token] = asyncio.create_task(speak())
    await exchange.respond_json({"connection": exchange.link.number})


@scenario("unasked-now")
async def unasked_now(exchange: Exchange) -> None:
    """Lets /unasked-later?token=T send its second answer, and answers when that is on its way."""
    token = exchange.text("token")
    asked_for[token].set()
    await sent[token].wait()
    await exchange.respond_json({})


@scenario("unasked")
async def unasked(exchange: Exchange) -> None:
    """A proper answer followed by a second one that nobody asked for."""
    await exchange.respond('{"ok":true}')
    await exchange.send(SMUGGLED)
