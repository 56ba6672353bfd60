"""Correct answers, echoes, counters and records, to compare the other themes with."""

from __future__ import annotations

import base64

from fault.exchange import Exchange
from fault.registry import SCENARIOS, scenario
from fault.scenarios.cuts import PLACES


@scenario("")
async def index(exchange: Exchange) -> None:
    """This list, and the base URL of each listener."""
    listed = {f"/{name}": entry.doc for name, entry in sorted(SCENARIOS.items())}
    await exchange.respond_json({"scenarios": listed, "listeners": exchange.state.urls})


@scenario("ok")
async def ok(exchange: Exchange) -> None:
    """JSON {"ok":true,"pad":"xxx"} of about ?size=N bytes."""
    pad = "x" * max(0, exchange.number("size", 0) - 22)
    await exchange.respond(f'{{"ok":true,"pad":"{pad}"}}')


@scenario("status")
async def status(exchange: Exchange) -> None:
    """A proper response /status/NNN with a JSON body; ?message= goes into it."""
    code = int(exchange.rest) if exchange.rest.isdigit() else 200
    value = {"status": code, "message": exchange.text("message", "as asked")}
    headers = [(name[2:], value) for name, value in exchange.request.pairs if name[:2] == "h-"]
    await exchange.respond_json(value, code, headers)


@scenario("headers")
async def headers(exchange: Exchange) -> None:
    """Answers with each query pair as a response header, repeats and order kept."""
    await exchange.respond('{"ok":true}', headers=exchange.request.pairs)


@scenario("echo")
async def echo(exchange: Exchange) -> None:
    """The request as JSON: method, query, headers, body, and who saw it."""
    await exchange.echo()


@scenario("echo-raw")
async def echo_raw(exchange: Exchange) -> None:
    """The request's head as it was on the wire (Latin-1 text) and its body in base64."""
    request = exchange.request
    body = base64.b64encode(request.body).decode("ascii")
    await exchange.respond_json({"head": request.head.decode("latin-1"), "body_base64": body})


@scenario("own-lines")
async def own_lines(exchange: Exchange) -> None:
    """The lines of the request's head but the first one and Host, as text."""
    lines = exchange.request.head.decode("latin-1").splitlines()[1:]
    text = "".join(f"{line}\n" for line in lines if line and not line.startswith("Host:"))
    await exchange.respond(text, headers=[("Content-Type", "text/plain")])


@scenario("mirror")
async def mirror(exchange: Exchange) -> None:
    """The request's body, as it came, for the response's."""
    await exchange.respond(exchange.request.body)


@scenario("record")
async def record(exchange: Exchange) -> None:
    """Remembers the request under ?token=T for /seen, then echoes it."""
    shown = exchange.request.shown()
    shown["listener"] = exchange.link.listener
    exchange.state.seen[exchange.text("token")].append(shown)
    await exchange.echo()


@scenario("seen")
async def seen(exchange: Exchange) -> None:
    """The requests that any listener recorded under ?token=T."""
    requests = exchange.state.seen.get(exchange.text("token"), [])
    await exchange.respond_json({"count": len(requests), "requests": requests})


@scenario("count-hit")
async def count_hit(exchange: Exchange) -> None:
    """Counts the request under ?token=T and answers with the number so far."""
    hits = exchange.state.hit(exchange.text("token"), exchange.request.method)
    await exchange.respond_json({"count": hits})


@scenario("count")
async def count(exchange: Exchange) -> None:
    """How many requests ?token=T has, in all and by method."""
    await exchange.respond_json(exchange.state.count(exchange.text("token")))


@scenario("fail-first")
async def fail_first(exchange: Exchange) -> None:
    """?status=503 for the first ?times=1 requests of ?token=T, with ?retry-after= and each ?h-NAME= as headers, then 200.
    With status 0 the connection breaks where ?cut= says, as in /reset. Remembered for /seen. With ?counter= that header
    of the request is the number, and nothing is remembered.
    """
    if counter := exchange.text("counter"):
        hits = int(exchange.request.header(counter) or 0)
    else:
        hits = exchange.state.hit(exchange.text("token"), exchange.request.method)
        exchange.state.seen[exchange.text("token")].append(exchange.request.shown())
    if hits > exchange.number("times", 1):
        await exchange.respond_json({"count": hits})
        return
    after = exchange.text("retry-after")
    if exchange.number("status", 503) == 0:
        await exchange.send(PLACES[exchange.text("cut", "before")])
        exchange.reset()
    more = [(name[2:], value) for name, value in exchange.request.pairs if name[:2] == "h-"]
    more += [("Retry-After", after)] if after else []
    await exchange.respond_json({"count": hits}, exchange.number("status", 503), more)


@scenario("expect")
async def expect(exchange: Exchange) -> None:
    """Never sends 100 Continue; says which Expect header came and the body's size."""
    request = exchange.request
    await exchange.respond_json({"expect": request.header("Expect"), "size": len(request.body)})


@scenario("cookies")
async def cookies(exchange: Exchange) -> None:
    """Sets each query pair as a cookie (Path=/) and tells the Cookie header it got."""
    sent = [("Set-Cookie", f"{name}={value}; Path=/") for name, value in exchange.request.pairs]
    await exchange.respond_json({"cookie": exchange.request.header("Cookie")}, headers=sent)
