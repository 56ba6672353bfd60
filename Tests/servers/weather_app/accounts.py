"""Calls that need authentication: by a token that has to be fetched, or by user and password."""

from __future__ import annotations

import base64
import secrets
from urllib.parse import parse_qsl

from weather_app.handler import Handler, route

REFRESH_TOKEN = "ann's own"
MEMBER = "Basic " + base64.b64encode(b"ann:sesame").decode("ascii")
tokens: set[str] = set()
"""The issued tokens."""


@route("/token", "POST")
def token(handler: Handler) -> None:
    """A new access token for the form field `refresh_token`."""
    fields = dict(parse_qsl(handler.whole_body().decode("utf-8", "replace")))
    if fields.get("refresh_token") != REFRESH_TOKEN:
        return handler.answer_json({"error": "invalid_grant"}, 400)
    fresh = secrets.token_hex(16)
    tokens.add(fresh)
    handler.answer_json({"access_token": fresh, "expires_in": 3600, "token_type": "Bearer"})


@route("/account", "GET")
def account(handler: Handler) -> None:
    """The account of a token."""
    scheme, _, shown = handler.headers.get("Authorization", "").partition(" ")
    if scheme == "Bearer" and shown in tokens:
        return handler.answer_json({"name": "Ann", "city": "London"})
    challenge = 'Bearer realm="account", error="invalid_token"'
    handler.answer(b"{}", "application/json", 401, {"WWW-Authenticate": challenge})


@route("/members", "GET")
def members(handler: Handler) -> None:
    """Needs a user and a password."""
    if handler.headers.get("Authorization") == MEMBER:
        return handler.answer_json({"welcome": "Ann"})
    handler.answer(b"{}", "application/json", 401, {"WWW-Authenticate": 'Basic realm="members"'})
