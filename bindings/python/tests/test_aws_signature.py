"""AWS Signature Version 4 as an interceptor, compared with Amazon's own library."""

from __future__ import annotations

import asyncio
import os
from datetime import datetime, timezone
from typing import Any

import pytest

import ntapi
from aws_signature import SignatureV4
from ntapi.testing import Stub, StubRequest

boto3 = pytest.importorskip("boto3")
pytest.importorskip("moto")

import botocore.auth  # noqa: E402
from botocore.awsrequest import AWSRequest  # noqa: E402
from botocore.credentials import Credentials  # noqa: E402

MOMENT = datetime(2015, 8, 30, 12, 36, tzinfo=timezone.utc)
KEYS = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
REGION = "us-east-1"

REQUESTS: dict[str, tuple[str, list[Any]]] = {
    "plain": ("", []),
    "path": ("a/b/c", []),
    "slash at the end": ("a/", []),
    "empty segments": ("a//b", []),
    "escaped path": ("a b/ü/{p}/x~y*z", [ntapi.path("p", "p/q&r=s+t")]),
    "query": ("find", [ntapi.url("b", "2"), ntapi.url("a", "1"), ntapi.url("A", "0")]),
    "repeated query": ("find", [ntapi.url("a", value) for value in ("z", "b", "é", "")]),
    "odd query": ("find", [ntapi.url("x y&=", "p q+r/~*'()"), ntapi.url("Action", "List")]),
    "JSON": ("items", [ntapi.json({"name": "Łódź", "n": [1, None]})]),
    "form": ("", [ntapi.form("Action", "GetCallerIdentity"), ntapi.form("Version", "2011-06-15")]),
    "bytes": ("put", [ntapi.method("PUT"), ntapi.data(bytes(range(256)))]),
    "headers": ("x", [ntapi.header("X-Amz-Meta-Note", "  many   blanks "), ntapi.bearer("no")]),
    "delete": ("x", [ntapi.method("DELETE")]),
}


def oracle(request: StubRequest, service: str, token: str | None) -> str:
    """The header Authorization that Amazon's library makes for the same request."""
    headers = {
        name: value
        for name, value in request.headers.items()
        if name.lower() == "content-type" or name.lower().startswith("x-amz-")
    }
    own = AWSRequest(request.method, request.url, headers, request.body)
    credentials = Credentials(*KEYS, token)
    kind = botocore.auth.S3SigV4Auth if service == "s3" else botocore.auth.SigV4Auth
    kind(credentials, service, REGION).add_auth(own)
    assert own.headers["X-Amz-Date"] == request.headers["X-Amz-Date"]
    return str(own.headers["Authorization"])


@pytest.fixture
def moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(botocore.auth, "get_current_datetime", lambda: MOMENT)


@pytest.mark.usefixtures("moment")
@pytest.mark.parametrize("name", REQUESTS)
@pytest.mark.parametrize("service", ["execute-api", "s3"])
@pytest.mark.parametrize("token", [None, "session/token+=="])
def test_signatures_are_those_of_botocore(
    stub: Stub, service: str, name: str, token: str | None
) -> None:
    signer = SignatureV4(*KEYS, REGION, service, token=token, now=lambda: MOMENT)
    stub.on(None)
    url = "https://example.amazonaws.com/v1"
    command, args = REQUESTS[name]
    with ntapi.Client(url, stub=stub, interceptors=[signer.interceptor]) as client:
        assert client.send(command, args).status == 200

    async def main() -> None:
        async with ntapi.AsyncClient(url, stub=stub, interceptors=[signer.interceptor]) as client:
            assert (await client.send(command, args)).status == 200

    asyncio.run(main())
    assert len(stub.requests) == 2
    for request in stub.requests:
        assert request.headers["Authorization"] == oracle(request, service, token)


def test_a_server_accepts_the_signatures(moto: tuple[str, str, str]) -> None:
    url, *keys = moto
    s3 = SignatureV4(*keys, REGION, "s3")
    with ntapi.Client(url, interceptors=[s3.interceptor]) as client:
        assert client.send("bucket", ntapi.method("PUT")).status == 200
        content = os.urandom(3000)
        put = [ntapi.method("PUT"), ntapi.data(content)]
        assert client.send("bucket/a b/ü+.bin", put).status == 200
        assert client.send("bucket/a b/ü+.bin", ntapi.option("raw_data")).data == content
        query = [ntapi.url("prefix", "a b/"), ntapi.url("list-type", 2)]
        listed = client.send("bucket", query, ntapi.option("raw_data"))
        assert b"a b/\xc3\xbc+.bin" in listed.data
    sts = SignatureV4(*keys, REGION, "sts")
    form = [ntapi.form("Action", "GetCallerIdentity"), ntapi.form("Version", "2011-06-15")]
    with ntapi.Client(url, interceptors=[sts.interceptor]) as client:
        assert b":user/u" in client.send("", form, ntapi.option("raw_data")).data


def test_a_server_refuses_a_wrong_key_and_no_signature(moto: tuple[str, str, str]) -> None:
    url, key, _ = moto
    wrong = SignatureV4(key, "wrong", REGION, "s3")
    with ntapi.Client(url) as client:
        assert client.perform("bucket").error is not None
        client.interceptors = [wrong.interceptor]
        response = client.perform("bucket")
        assert response.status == 403
        assert b"SignatureDoesNotMatch" in response.data
