"""Page after page: by the header Link, and by the JSON of a page."""

from __future__ import annotations

import asyncio
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE
from ntapi import codes
from ntapi.testing import Stub

ISSUES = "http://api.test/repos/a%2Fb/issues"


def linked(stub: Stub) -> None:
    """Three pages. The second one needs the token, and must not get the first query again."""
    stub.on("GET", f"{ISSUES}?per_page=2").answer(
        json=[1, 2], headers={"Link": '<?per_page=2&page=2>; rel="next", <?page=3>; rel="last"'}
    )
    stub.on("GET", f"{ISSUES}?per_page=2&page=2").answer(
        json=[3, 4], headers={"Link": f"<{ISSUES}?per_page=2&page=3>; rel=next"}
    )
    stub.on("GET", f"{ISSUES}?per_page=2&page=3").answer(json=[5])


ARGS = (ntapi.path("name", "a/b"), ntapi.url("per_page", 2), ntapi.bearer("t"))


def test_links_are_followed(stub: Stub) -> None:
    linked(stub)
    with ntapi.Client("http://api.test", stub=stub) as client:
        pages = client.pages("repos/{name}/issues", *ARGS)
        assert [number for page in pages for number in page.json()] == [1, 2, 3, 4, 5]
    assert [request.headers["Authorization"] for request in stub.requests] == ["Bearer t"] * 3
    assert stub.requests[1].url == f"{ISSUES}?per_page=2&page=2"


def test_a_query_of_the_client_is_sent_once(stub: Stub) -> None:
    first = "http://api.test/items?key=a%2Bb+c&v=2"
    stub.on("GET", "http://api.test/items").answer(json=[2])
    stub.on("GET", first).answer(
        json=[1], headers={"Link": f"<{first}&page=2>; rel=next"}
    ).used_up()
    args = [ntapi.url("key", "a+b c"), ntapi.url("v", 2)]
    with ntapi.Client("http://api.test", stub=stub, args=args) as client:
        assert [page.json() for page in client.pages("items")] == [[1], [2]]
    query = stub.requests[1].url.partition("?")[2]
    assert sorted(query.split("&")) == ["key=a%2Bb+c", "page=2", "v=2"]


def test_an_async_client_follows_links(stub: Stub) -> None:
    async def main() -> list[int]:
        async with ntapi.AsyncClient("http://api.test", stub=stub) as client:
            pages = client.pages("repos/{name}/issues", *ARGS)
            return [number async for page in pages for number in page.json()]

    linked(stub)
    assert asyncio.run(asyncio.wait_for(main(), PATIENCE)) == [1, 2, 3, 4, 5]


def test_a_page_is_asked_for_when_it_is_wanted(stub: Stub) -> None:
    linked(stub)
    with ntapi.Client("http://api.test", stub=stub) as client:
        for _ in client.pages("repos/{name}/issues", *ARGS):
            break
    assert len(stub.requests) == 1


def test_cursors(stub: Stub) -> None:
    stub.on("GET", "items").answer(json={"items": [1], "next": "a"})
    stub.on("GET", "items?cursor=a").answer(json={"items": [2], "next": "b"})
    stub.on("GET", "items?cursor=b").answer(json={"items": [3], "next": None})

    def following(page: ntapi.Response) -> ntapi.Args:
        return ntapi.url("cursor", page.json()["next"])

    with ntapi.Client("http://api.test", stub=stub) as client:
        pages = client.pages("items", ntapi.url("limit", 1), following=following)
        assert [page.json()["items"] for page in pages] == [[1], [2], [3]]
    assert [request.url.partition("?")[2] for request in stub.requests] == [
        "limit=1",
        "limit=1&cursor=a",
        "limit=1&cursor=b",
    ]


@pytest.mark.parametrize("other", ["https://api.test/x", "http://evil.test/x", "//api.test:81/x"])
def test_credentials_do_not_follow_a_link_elsewhere(stub: Stub, other: str) -> None:
    stub.on("GET").answer(json=[1], headers={"Link": f"<{other}>; rel=next"})
    with ntapi.Client("http://api.test", stub=stub) as client:
        pages = client.pages("x", ntapi.bearer("t"))
        assert next(pages).json() == [1]
        with pytest.raises(ntapi.ApiError, match=r"another origin, .* pass `following`") as caught:
            next(pages)
    assert caught.value.code is codes.INVALID_REQUEST
    assert len(stub.requests) == 1


def test_a_redirect_of_a_page_takes_no_credentials_along(stub: Stub) -> None:
    stub.on("GET", "http://api.test/x").answer(307, headers={"Location": "http://evil.test/x"})
    stub.on("GET", "http://evil.test/x").answer(
        json=[1], headers={"Link": "<http://evil.test/y>; rel=next"}
    )
    with ntapi.Client("http://api.test", stub=stub) as client:
        pages = client.pages("x", ntapi.bearer("t"))
        assert next(pages).json() == [1]
        with pytest.raises(ntapi.ApiError, match="another origin"):
            next(pages)
    assert ["Authorization" in request.headers for request in stub.requests] == [True, False]


def test_a_page_that_fails_is_raised(stub: Stub) -> None:
    stub.on("GET", "x?cursor=a").answer(503)
    stub.on("GET", "x").answer(json={"next": "a"}).used_up()
    seen: list[Any] = []

    def following(page: ntapi.Response) -> Optional[ntapi.Arg]:
        return ntapi.url("cursor", page.json()["next"])

    with ntapi.Client("http://api.test", stub=stub) as client:
        with pytest.raises(ntapi.ApiError) as caught:
            seen += client.pages("x", following=following)
        assert caught.value.http_status == 503
