"""OAuth 1.0 in three steps (RFC 5849): a request token, the user's consent, an access token."""

from __future__ import annotations

import contextlib
import os
import subprocess
from dataclasses import dataclass
from typing import Optional
from urllib.parse import parse_qs, quote

import ntapi

KEY = os.environ.get("BYTECLUB_KEY") or "byteclub"
SECRET = os.environ.get("BYTECLUB_SECRET") or "club secret"
"""What the service knows the application by."""

PATIENCE = 300.0
"""Seconds that the user has to say yes."""
UNTIL_ALLOWED = ntapi.RetryPolicy(attempts=1000, base=1, cap=1, statuses=[401])
"""The service says 401 as long as the user has not answered."""


@dataclass
class Token:
    """What a request is signed with: a request token, and later an access token."""

    token: str = ""
    secret: str = ""

    @property
    def header(self) -> str:
        """The signature in its simplest form, PLAINTEXT (RFC 5849, 3.4.4)."""
        fields = {
            "oauth_version": "1.0",
            "oauth_signature_method": "PLAINTEXT",
            "oauth_consumer_key": KEY,
            "oauth_token": self.token,
            "oauth_signature": f"{quote(SECRET, '')}&{quote(self.secret, '')}",
        }
        return "OAuth " + ", ".join(
            f'{name}="{quote(text, "")}"' for name, text in fields.items() if text
        )


class TokenService(ntapi.Service[Token]):
    """Answers a form: oauth_token=…&oauth_token_secret=…"""

    method = "POST"

    def parameters(self) -> ntapi.Args:
        return ntapi.option("raw_data")

    def make_response(self, response: ntapi.Response) -> Token:
        fields = parse_qs(response.text)
        if not {"oauth_token", "oauth_token_secret"} <= fields.keys():
            text = "this is no service of OAuth 1.0: is the URL right?"
            raise ntapi.ApiError("no token", text)
        return Token(fields["oauth_token"][0], fields["oauth_token_secret"][0])


class RequestToken(TokenService):
    """The first step: a token that the user is asked to allow."""

    command = "1/oauth/request_token"


class AccessToken(TokenService):
    """The third step: the token that was allowed becomes one that is good for all calls.

    Asks until the user has answered. The key says that it is the same question each time.
    """

    command = "1/oauth/access_token"

    def parameters(self) -> ntapi.Args:
        patience = ntapi.timeout(PATIENCE, "total")
        return [
            super().parameters(),
            ntapi.retry(UNTIL_ALLOWED),
            ntapi.idempotency_key(),
            patience,
        ]


def consent_page(url: str, token: Token) -> str:
    """The second step is the user's, in a browser."""
    return f"{url.rstrip('/')}/1/oauth/authorize?oauth_token={quote(token.token, '')}"


def open_browser(page: str) -> None:
    """Where there is a display; otherwise users open the page themselves."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        silent = subprocess.DEVNULL
        with contextlib.suppress(OSError):
            subprocess.Popen(["xdg-open", page], stdin=silent, stdout=silent, stderr=silent)


def explanation(error: ntapi.ApiError) -> Optional[str]:
    """What is said of the errors of a log-in alone."""
    if error.http_status in (401, 403):
        return f"the service does not let Byte Club in: {error.message}"
    return "this is no file storage: is the URL right?" if error.http_status == 404 else None
