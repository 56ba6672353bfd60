"""Authentication: Digest challenges, tokens that expire, and challenges of any kind."""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from fault.exchange import Exchange
from fault.registry import scenario

HASHES: dict[str, Callable[[bytes], str]] = {
    "MD5": lambda text: hashlib.md5(text).hexdigest(),
    "SHA-256": lambda text: hashlib.sha256(text).hexdigest(),
    "SHA-512-256": lambda text: hashlib.new("sha512_256", text).hexdigest(),
}
PAIR = re.compile(r'(\w+)=(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')
nonces: set[str] = set()
"""The nonces that were issued."""


def digest_pairs(exchange: Exchange) -> dict[str, str]:
    """The pairs of an `Authorization: Digest` header, as Latin-1; empty if there is none."""
    scheme, _, rest = exchange.request.header("Authorization").partition(" ")
    if scheme.lower() != "digest":
        return {}
    return {
        name.lower(): re.sub(r"\\(.)", r"\1", quoted) if quoted else bare
        for name, quoted, bare in PAIR.findall(rest)
    }


def is_digest_right(exchange: Exchange, said: dict[str, str], algorithm: str) -> bool:
    """RFC 7616, 3.4.1. The client sends UTF-8."""
    digest = HASHES[algorithm.removesuffix("-sess")]

    def joined(*parts: str) -> str:
        return digest(":".join(parts).encode("latin-1"))

    user = exchange.text("user").encode().decode("latin-1")
    password = exchange.text("password").encode().decode("latin-1")
    nonce, cnonce, realm = (said.get(name, "") for name in ("nonce", "cnonce", "realm"))
    first = joined(user, realm, password)
    if algorithm.endswith("-sess"):
        first = joined(first, nonce, cnonce)
    second = joined(exchange.request.method, said.get("uri", ""))
    if said.get("qop") == "auth-int":
        body = digest(exchange.request.body)
        second = joined(exchange.request.method, said.get("uri", ""), body)
    if "qop" in said:
        wanted = joined(first, nonce, said.get("nc", ""), cnonce, said["qop"], second)
    else:
        wanted = joined(first, nonce, second)
    if exchange.text("form") == "userhash":
        user = joined(user, realm)
    return (
        said.get("username") == user
        and said.get("uri") == exchange.request.target
        and said.get("response") == wanted
    )


def digest_challenges(form: str, algorithm: str, nonce: str) -> list[bytes]:
    """The values of WWW-Authenticate, in an unusual form if one is named."""
    realm = f'the \\"{algorithm}\\" realm'

    def of(realm: str, encoding: str = "utf-8") -> bytes:
        text = f'Digest realm="{realm}", nonce="{nonce}", algorithm={algorithm}'
        return text.encode(encoding)

    digest = of(realm)
    blanks = f'digest   realm = "{realm}" ,nonce= "{nonce}",algorithm\t=\t{algorithm}'
    unknown = f'Digest realm="x", nonce="{nonce}", algorithm=SHA3-256'.encode()
    return {
        "blanks": [blanks.encode()],
        "order": [f'Digest algorithm={algorithm},nonce="{nonce}",realm="{realm}"'.encode()],
        "unknown": [unknown, digest],
        "unknown, in one line": [unknown + b", " + digest],
        "only unknown": [unknown],
        "behind Basic": [b'Basic realm="x"', digest],
        "Latin-1": [of("the réalm", "latin-1")],
        "UTF-8": [of("the réalm")],
        "opaque": [digest + b', opaque="a\\"b", domain="/ /x"'],
        "userhash": [digest + b", userhash=true"],
        "no algorithm": [f'Digest realm="{realm}", nonce="{nonce}"'.encode()],
    }.get(form, [digest])


@scenario("digest")
async def digest(exchange: Exchange) -> None:
    """/digest/MD5, SHA-256, SHA-512-256, -sess: ?user= &password= &qop=auth|auth-int|…|none
    &stale=N|always &close=1 &form= (see digest_challenges) &coding= of the 401.
    """
    algorithm = exchange.rest or "MD5"
    if token := exchange.text("token"):
        shown = exchange.request.shown() | {"listener": exchange.link.listener}
        exchange.state.seen[token].append(shown)
    said = digest_pairs(exchange)
    nonce = said.get("nonce", "")
    is_right = nonce in nonces and is_digest_right(exchange, said, algorithm)
    stale = exchange.text("stale")
    if is_right:
        is_stale = stale == "always"
        if stale.isdigit():
            is_stale = exchange.state.hit("stale " + exchange.text("id"), "") <= int(stale)
        if not is_stale:
            await exchange.echo()
            return
    fresh = secrets.token_hex(8)
    nonces.add(fresh)
    more = b""
    if (qop := exchange.text("qop", "auth")) != "none":
        more = f', qop="{qop}", charset=UTF-8'.encode()
    if is_right:
        more += b", stale=true"
    values = digest_challenges(exchange.text("form"), algorithm, fresh)
    fields = b"".join(b"WWW-Authenticate: " + value + more + b"\r\n" for value in values)
    keep = exchange.text("close") == ""
    body = b'{"challenged":true}'
    head = f"HTTP/1.1 401 Unauthorized\r\nContent-Length: {len(body)}\r\n".encode()
    if coding := exchange.text("coding"):
        head += f"Content-Encoding: {coding}\r\n".encode()
    if not keep or exchange.request.wants_close():
        head += b"Connection: close\r\n"
    bodiless = exchange.request.method == "HEAD"
    await exchange.send(head + fields + b"\r\n" + (b"" if bodiless else body))
    exchange.keep = keep


@scenario("challenge")
async def challenge(exchange: Exchange) -> None:
    """401 with each ?with=CHALLENGE, unless Authorization is ?unless=VALUE; then on to ?url=."""
    if (unless := exchange.text("unless")) and exchange.request.header("Authorization") == unless:
        if url := exchange.text("url"):
            await exchange.respond("{}", 302, [("Location", url)])
        else:
            await exchange.echo()
        return
    asked = [
        ("WWW-Authenticate", value) for name, value in exchange.request.pairs if name == "with"
    ]
    await exchange.respond('{"challenged":true}', exchange.number("status", 401), asked)


@dataclass
class Issuer:
    """The tokens of one ?name=."""

    current: str = ""
    issued: int = 0
    accepted: int = 0
    rejected: int = 0
    asked: int = 0
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)


issuers: dict[str, Issuer] = {}


@scenario("token")
async def token(exchange: Exchange) -> None:
    """Tokens of ?name=: issue (?status= ?bad=1), use (?together=N rejections ?scheme= ?header=), expire, stats."""
    issuer = issuers.setdefault(exchange.text("name"), Issuer())
    if exchange.rest == "issue":
        await issue(exchange, issuer)
    elif exchange.rest == "use":
        await use(exchange, issuer)
    elif exchange.rest == "expire":
        issuer.current = ""
        await exchange.respond("{}")
    else:
        shown = {
            name: getattr(issuer, name) for name in ("asked", "issued", "accepted", "rejected")
        }
        await exchange.respond_json(shown)


async def lets_in(exchange: Exchange) -> bool:
    """Asks for the token of ?name= (?once=1: it expires with its use), or for Authorization ?unless=VALUE with Basic.

    Returns whether the request may go on; otherwise it was answered.
    """
    said = exchange.request.header("Authorization")
    if name := exchange.text("name"):
        issuer = issuers.setdefault(name, Issuer())
        if issuer.current and said == f"Bearer {issuer.current}":
            issuer.accepted += 1
            issuer.current = "" if exchange.text("once") else issuer.current
            return True
        issuer.rejected += 1
        asked = 'Bearer realm="events", error="invalid_token"'
    elif exchange.text("unless", said) != said:
        asked = 'Basic realm="events"'
    else:
        return True
    await exchange.respond("{}", 401, [("WWW-Authenticate", asked)])
    return False


async def issue(exchange: Exchange, issuer: Issuer) -> None:
    """Makes a new token."""
    issuer.asked += 1
    status = exchange.number("status", 200)
    if status != 200:
        await exchange.respond('{"error":"no token for you"}', status)
        return
    issuer.issued += 1
    # An invalid token, to test a refresh that does not help.
    issuer.current = "" if exchange.text("bad") else f"{exchange.text('name')}-{issuer.issued}"
    shown = {"token": f"{exchange.text('name')}-{issuer.issued}", "lifetime": 3600}
    await exchange.respond_json(shown)


async def use(exchange: Exchange, issuer: Issuer) -> None:
    """Echoes a request with the current token. Rejects others, when ?together=N have come."""
    if key := exchange.text("token"):
        shown = exchange.request.shown() | {"listener": exchange.link.listener}
        exchange.state.seen[key].append(shown)
    scheme = exchange.text("scheme", "Bearer")
    wanted = f"{scheme} {issuer.current}".strip()
    if (
        issuer.current
        and exchange.request.header(exchange.text("header", "Authorization")) == wanted
    ):
        issuer.accepted += 1
        await exchange.echo()
        return
    issuer.rejected += 1
    async with issuer.changed:
        issuer.changed.notify_all()
        together = exchange.number("together", 0)
        await issuer.changed.wait_for(lambda: issuer.rejected >= together)
    error = exchange.text("error", "invalid_token")
    status = exchange.number("rejection", 401)
    asked = [("WWW-Authenticate", f'Bearer realm="api", error="{error}"')]
    await exchange.respond('{"error":"token"}', status, asked)
