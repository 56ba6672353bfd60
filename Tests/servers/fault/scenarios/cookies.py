"""Cookies with any attributes, also on the way to another place."""

from __future__ import annotations

from fault.exchange import Exchange
from fault.registry import scenario


@scenario("set-cookie")
async def set_cookie(exchange: Exchange) -> None:
    """Sends each ?set= as a Set-Cookie line; with ?to= it is a redirect; tells the Cookie header."""
    pairs = exchange.request.pairs
    headers = [("Set-Cookie", value) for name, value in pairs if name == "set"]
    target = exchange.text("to")
    if target:
        headers.append(("Location", target))
    shown = {"cookie": exchange.request.header("Cookie")}
    await exchange.respond_json(shown, 302 if target else 200, headers)
