"""The client of the example qanda, with a stub and a clock that stands still."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Optional

import pytest

import ntapi
from conftest import PATIENCE, REPOSITORY
from ntapi.testing import ManualClock, Stub, StubFault

sys.path.insert(0, str(REPOSITORY / "bindings" / "python" / "examples" / "qanda"))

from model import Text
from stack_exchange import THROTTLED, UNAVAILABLE, StackExchange


@pytest.fixture
def stack(stub: Stub, clock: ManualClock) -> Iterator[StackExchange]:
    url, quiet = "https://api.example.com", ntapi.LogFlags.NONE
    with StackExchange(url, stub=stub, clock=clock, log_flags=quiet) as stack:
        stack.set_default("site", "stackoverflow")
        yield stack


def wrapper(*items: Any, has_more: bool = False, backoff: Optional[int] = None) -> dict[str, Any]:
    return {"items": items, "has_more": has_more, "backoff": backoff, "quota_remaining": 42}


def question(number: int) -> dict[str, Any]:
    return {
        "question_id": number,
        "title": "Is 1 &lt; 2 &amp;&amp; &#39;a&#39; &quot;b&quot;?",
        "score": 5,
        "answer_count": 2,
        "creation_date": 1_700_000_000,
        "tags": ["c"],
        "owner": {"display_name": "user404"},
    }


def test_a_page_is_fetched_when_it_is_wanted(stub: Stub, stack: StackExchange) -> None:
    first = wrapper(question(1), question(2), has_more=True)
    expected = "2.3/search/advanced?q=x&page=1&site=stackoverflow&sort=relevance"
    stub.on("GET", expected).answer(json=first)
    stub.on("GET", "2.3/search/advanced?q=x&page=2").answer(json=wrapper(question(3)))

    found = stack.search("x")
    assert stub.requests == []
    assert [next(found).question_id, next(found).question_id] == [1, 2]
    assert len(stub.requests) == 1
    assert [one.question_id for one in found] == [3]
    assert len(stub.requests) == 2
    assert stack.quota_remaining == 42
    stub.verify()


def test_the_next_page_waits_as_long_as_the_api_asks(
    stub: Stub, clock: ManualClock, stack: StackExchange
) -> None:
    first = wrapper(question(1), has_more=True, backoff=10)
    stub.on("GET", "2.3/search/advanced?page=1").answer(json=first)
    stub.on("GET", "2.3/search/advanced?page=2").answer(json=wrapper(question(2)))

    with ThreadPoolExecutor() as pool:
        found = pool.submit(lambda: [one.question_id for one in stack.search("x")])
        assert clock.wait_for_sleepers(timeout=PATIENCE)
        assert clock.next_wake == 10
        assert len(stub.requests) == 1
        clock.advance(9)
        assert clock.next_wake == 1
        clock.advance(1)
        assert found.result(PATIENCE) == [1, 2]
    assert clock.elapsed == 10


def test_an_error_may_ask_to_wait_too(stub: Stub, clock: ManualClock, stack: StackExchange) -> None:
    error = {"error_id": 503, "error_name": "temporarily_unavailable", "backoff": 7}
    stub.on("GET", "2.3/users/1").answer(400, json=error).answer(json=wrapper())

    with pytest.raises(ntapi.ApiError) as raised:
        stack.user(1)
    assert raised.value.code is UNAVAILABLE
    with ThreadPoolExecutor() as pool:
        nobody = pool.submit(stack.user, 1)
        assert clock.wait_for_sleepers(timeout=PATIENCE)
        assert clock.next_wake == 7
        clock.advance(7)
        assert nobody.result(PATIENCE) is None


def test_a_throttle_violation_is_clear(stub: Stub, stack: StackExchange) -> None:
    text = "too many requests from this IP, more requests available in 60 seconds"
    error = {"error_id": 502, "error_name": "throttle_violation", "error_message": text}
    stub.on("GET", "2.3/questions/7").answer(400, json=error)

    with pytest.raises(ntapi.ApiError, match=text) as raised:
        stack.question(7)
    assert raised.value.code is THROTTLED
    assert raised.value.domain is ntapi.ErrorDomain.SERVICE
    assert raised.value.http_status == 400


def test_an_error_of_the_network_is_not_hidden(stub: Stub, stack: StackExchange) -> None:
    stub.on("GET", "2.3/search/advanced").fail(StubFault.NO_CONNECTION)
    with pytest.raises(ntapi.ApiError) as raised:
        next(stack.search("x"))
    assert raised.value.code is ntapi.codes.NETWORK


def test_a_question_is_as_declared(stub: Stub, stack: StackExchange) -> None:
    stub.on("GET", "2.3/questions/7?filter=withbody").answer(json=wrapper(question(7)))
    found = stack.question(7)
    assert found is not None
    assert found.title == "Is 1 < 2 && 'a' \"b\"?"
    assert found.creation_date.isoformat() == "2023-11-14T22:13:20+00:00"
    assert (found.owner.user_id, found.body) == (None, "")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("a &amp;lt; b", "a &lt; b"),
        ("<p>x <code>a &#x3C; b</code></p>", "x a < b"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_html_becomes_text(html: str, text: str) -> None:
    assert Text(html) == text
