"""OAuth 1.0 in three steps (RFC 5849, 2): a request token, the user's consent, an access token.

The consent page accepts any name, which is the account.
"""

from __future__ import annotations

import html
import secrets
import threading
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlencode

from storage_app.handler import StorageHandler, call
from storage_app.store import Refused

PAGE = """<!DOCTYPE html>
<html lang="en"><meta charset="utf-8"><title>Byte Club</title>
<body style="font: 1.1em sans-serif; max-width: 30em; margin: 4em auto">
{content}
</body></html>
"""
FORM = """<h1>Byte Club</h1>
<p>The application <b>Byte Club</b> would like to see and change the files of your account.</p>
<form method="post" action="/1/oauth/authorize">
<input type="hidden" name="oauth_token" value="{token}">
<p><label>Your name: <input name="name" value="ann" required></label></p>
<p><button name="consent" value="allow">Allow</button>
<button name="consent" value="deny">Deny</button></p>
</form>
"""


@dataclass
class Consents:
    """The request tokens, and the answers of their users."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    asked: dict[str, str | None] = field(default_factory=dict)
    """The account, by request token; None until the user has allowed it."""


CONSENTS = Consents()


def answer_token(handler: StorageHandler, token: str, **more: str) -> None:
    pairs = {"oauth_token_secret": token[::-1], "oauth_token": token, **more}
    handler.answer(urlencode(pairs).encode(), "application/x-www-form-urlencoded")


def answer_page(handler: StorageHandler, content: str, status: int = 200) -> None:
    page = PAGE.format(content=content).encode()
    handler.answer(page, "text/html; charset=utf-8", status)


@call("POST", "oauth/request_token")
def request_token(handler: StorageHandler, _: str) -> None:
    handler.signed_token(is_optional=True)
    token = secrets.token_hex(8)
    with CONSENTS.lock:
        CONSENTS.asked[token] = None
    answer_token(handler, token)


@call("GET", "oauth/authorize")
def ask(handler: StorageHandler, _: str) -> None:
    token = handler.value("oauth_token")
    if token not in CONSENTS.asked:
        return answer_page(handler, "<h1>This link is not valid any more.</h1>", 404)
    answer_page(handler, FORM.format(token=html.escape(token)))


@call("POST", "oauth/authorize")
def authorize(handler: StorageHandler, _: str) -> None:
    fields = dict(parse_qsl(handler.whole_body().decode("utf-8", "replace")))
    token, name = fields.get("oauth_token", ""), fields.get("name", "")
    is_allowed = fields.get("consent") == "allow" and name != ""
    with CONSENTS.lock:
        if token not in CONSENTS.asked:
            is_allowed = False
        elif is_allowed:
            CONSENTS.asked[token] = name
        else:
            del CONSENTS.asked[token]
    text = "Byte Club goes on in your terminal." if is_allowed else "Byte Club was not let in."
    answer_page(handler, f"<h1>{text}</h1><p>You may close this page.</p>")


@call("POST", "oauth/access_token")
def access_token(handler: StorageHandler, _: str) -> None:
    """401 until the user has allowed it, 403 once it was denied."""
    token = handler.signed_token()
    with CONSENTS.lock:
        if token not in CONSENTS.asked:
            raise Refused(403, "the user has said no")
        name = CONSENTS.asked[token]
        if name is None:
            raise Refused(401, "the user has not answered")
        del CONSENTS.asked[token]
    access = secrets.token_hex(8)
    handler.server.owners[access] = name
    answer_token(handler, access, uid=str(sum(name.encode())))
