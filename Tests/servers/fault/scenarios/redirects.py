"""Redirects: every code, loops, chains, other origins, and URLs that a client must not follow."""

from __future__ import annotations

from urllib.parse import quote

from fault.exchange import Exchange
from fault.registry import scenario

LOCATIONS = {
    "echo": "/echo?from=redirect",
    "self": "/redirect/self",
    "a": "/redirect/b",
    "b": "/redirect/a",
    "file": "file:///etc/hostname",
    "ftp": "ftp://127.0.0.1/x",
    "gopher": "gopher://127.0.0.1/x",
    "javascript": "javascript:alert(1)",
    "malformed": "http://[::1",
    "bad-port": "http://127.0.0.1:99999/echo",
    "no-host": "http:///echo",
    "crlf-encoded": "/echo?x=%0D%0AX-Injected:%20yes",
    "space": "/echo?x=a b",
    "utf-8": "/echo?x=caf\u00e9",
    "fragment": "/echo?x=1#part",
    "parent": "../echo?from=parent",
    "sibling": "echo",
    "query": "?next=1",
    "empty": "",
}
"""Locations that do not depend on the listener, by the path below /redirect/."""


def location(exchange: Exchange) -> str:
    """Where /redirect/<case> leads."""
    urls, case = exchange.state.urls, exchange.rest
    if case == "query":
        return "" if exchange.text("next") else LOCATIONS[case]
    if case == "host":
        return urls["fault"].replace("127.0.0.1", "localhost") + "/echo?from=host"
    if case == "authority":
        return "//" + urls["fault"].partition("//")[2] + "/echo?from=authority"
    if case == "absolute":
        return urls["fault"] + "/echo?from=absolute"
    if case == "other":
        return urls["fault_other"] + "/record?token=" + quote(exchange.text("token"))
    if case == "downgrade":
        return urls["fault"] + "/echo?from=downgrade"
    if case == "upgrade":
        return urls["fault_tls"] + "/echo?from=upgrade"
    if case == "userinfo":
        return urls["fault"].replace("//", "//eve:secret@") + "/echo?from=userinfo"
    if case == "to":
        return exchange.text("url")
    return LOCATIONS.get(case, LOCATIONS["echo"])


@scenario("redirect")
async def redirect(exchange: Exchange) -> None:
    """To /redirect/<case> (echo, self, a, b, other, downgrade, file, ...; to?url=); ?status=302."""
    if exchange.rest == "query" and exchange.text("next"):
        await exchange.echo()
        return
    if exchange.rest == "latin-1":
        await exchange.send(
            b"HTTP/1.1 302 Found\r\nLocation: /echo?x=caf\xe9\r\nContent-Length: 0\r\n\r\n"
        )
        return
    await go(exchange, location(exchange))


@scenario("chain")
async def chain(exchange: Exchange) -> None:
    """/chain/N redirects N times, then echoes; ?status=302."""
    left = int(exchange.rest) if exchange.rest.isdigit() else 0
    if left == 0:
        await exchange.echo()
    else:
        status = exchange.number("status", 302)
        await go(exchange, f"/chain/{left - 1}?status={status}")


@scenario("no-location")
async def no_location(exchange: Exchange) -> None:
    """A redirect without Location; ?status=302."""
    await exchange.respond('{"ok":false}', exchange.number("status", 302))


@scenario("two-locations")
async def two_locations(exchange: Exchange) -> None:
    """A redirect with two Location headers that differ."""
    both = [("Location", "/echo?from=first"), ("Location", "/echo?from=second")]
    await exchange.respond("{}", exchange.number("status", 302), both)


async def go(exchange: Exchange, target: str) -> None:
    """Sends the redirect itself, with a body that a careless client would take for JSON."""
    status = exchange.number("status", 302)
    await exchange.respond('{"moved":true}', status, [("Location", target)])
