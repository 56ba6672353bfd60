"""AWS Signature Version 4 as an interceptor, for the tests."""

from __future__ import annotations

import hashlib
import hmac
from datetime import datetime, timezone
from typing import Callable, Optional
from urllib.parse import quote, urlsplit

import ntapi


def _hash(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _now() -> datetime:
    return datetime.now(timezone.utc)


class SignatureV4:
    """Signs requests with a key; `SignatureV4(...).interceptor` belongs to a client."""

    def __init__(
        self,
        access_key: str,
        secret_key: str,
        region: str,
        service: str,
        *,
        token: Optional[str] = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        self.access_key = access_key
        self.secret_key = secret_key
        self.region = region
        self.service = service
        self.token = token
        self.now = now
        self.interceptor = ntapi.attempt_interceptor(self.intercept)

    def intercept(self, call: ntapi.InterceptedCall) -> None:
        """Signs each attempt anew, and nothing that goes to another origin."""
        if call.is_own_origin:
            self.sign(call.request)

    def sign(self, request: ntapi.HTTPRequest) -> None:
        """Adds the headers of the signature."""
        moment = self.now().strftime("%Y%m%dT%H%M%SZ")
        if request.body_kind not in (ntapi.BodyKind.NONE, ntapi.BodyKind.BYTES):
            raise ValueError("only bytes can be signed")
        payload = hashlib.sha256(request.body or b"").hexdigest()
        request.headers["X-Amz-Date"] = moment
        if self.token is not None:
            request.headers["X-Amz-Security-Token"] = self.token
        if self.service == "s3":
            request.headers["X-Amz-Content-Sha256"] = payload
        url = urlsplit(request.url)
        signed = {"host": url.netloc}
        for name, value in request.headers.items():
            if name.lower() == "content-type" or name.lower().startswith("x-amz-"):
                signed[name.lower()] = " ".join(value.split())
        names = ";".join(sorted(signed))
        path = url.path or "/"
        lines = [
            request.method,
            # Only S3 has names with dots and slashes of their own.
            path if self.service == "s3" else quote(_normalized(path), safe="/~"),
            "&".join(f"{name}={value}" for name, value in sorted(_pairs(url.query))),
            *(f"{name}:{value}" for name, value in sorted(signed.items())),
            "",
            names,
            payload,
        ]
        scope = f"{moment[:8]}/{self.region}/{self.service}/aws4_request"
        canonical = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{canonical}"
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = _hash(key, part)
        request.headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.access_key}/{scope}, SignedHeaders={names}, "
            f"Signature={_hash(key, text).hex()}"
        )


def _pairs(query: str) -> list[tuple[str, str]]:
    pairs = (pair.partition("=") for pair in query.split("&") if query)
    return [(name, value) for name, _, value in pairs]


def _normalized(path: str) -> str:
    """Without empty segments; NTApi sends no dot segments."""
    text = "/".join(segment for segment in path.split("/") if segment)
    end = "/" if path.endswith("/") and text else ""
    return f"/{text}{end}"
