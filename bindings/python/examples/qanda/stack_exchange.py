"""A client of the Stack Exchange API v2.3, made of typed services."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Optional

from model import Answer, Page, Question, T, User

import ntapi

BAD_PARAMETER = ntapi.register_code("bad_parameter")
INTERNAL_ERROR = ntapi.register_code("internal_error")
THROTTLED = ntapi.register_code("throttle_violation")
UNAVAILABLE = ntapi.register_code("temporarily_unavailable")


class ListService(ntapi.Service[Page[T]]):
    """What all methods of the API have in common: they answer a list, a page at a time."""

    decoding = ntapi.DecodingOptions(dates=ntapi.DateFormat.SECONDS)


@dataclass
class SearchQuestions(ListService[Question]):
    """Questions that have all the words, the most relevant first."""

    command = "2.3/search/advanced"

    text: str

    def parameters(self) -> ntapi.Args:
        return [
            ntapi.url("q", self.text),
            ntapi.url("order", "desc"),
            ntapi.url("sort", "relevance"),
        ]


@dataclass
class FindQuestion(ListService[Question]):
    """A question with its text, which the API leaves out otherwise."""

    command = "2.3/questions/{ids}"

    question_id: int

    def parameters(self) -> ntapi.Args:
        return [ntapi.path("ids", self.question_id), ntapi.url("filter", "withbody")]


@dataclass
class FindAnswers(ListService[Answer]):
    """The answers to a question, the best first."""

    command = "2.3/questions/{ids}/answers"

    question_id: int

    def parameters(self) -> ntapi.Args:
        return [
            ntapi.path("ids", self.question_id),
            ntapi.url("filter", "withbody"),
            ntapi.url("order", "desc"),
            ntapi.url("sort", "votes"),
        ]


@dataclass
class FindUser(ListService[User]):
    """A user."""

    command = "2.3/users/{ids}"

    user_id: int

    def parameters(self) -> ntapi.Args:
        return ntapi.path("ids", self.user_id)


class StackExchange(ntapi.Client):
    """A client of Stack Exchange.

    Its defaults are `site`, such as "stackoverflow", `key`, that of the program, if it has one, and
    `pagesize`. It may be slow on purpose: the API shuts out those who send more than 30 requests in
    a second, or do not wait when they are told to.
    """

    quota_remaining: Optional[int] = None
    """How many requests are left for today, once there was an answer."""

    def __init__(self, url: str, **settings: Any) -> None:
        super().__init__(url, **settings)
        self.limiter = self.rate_limiter = ntapi.RateLimiter(20, seconds=1, burst=10)

    def search(self, text: str) -> Iterator[Question]:
        return self.all(SearchQuestions(text))

    def question(self, question_id: int) -> Optional[Question]:
        return next(self.all(FindQuestion(question_id)), None)

    def answers(self, question_id: int) -> Iterator[Answer]:
        return self.all(FindAnswers(question_id))

    def user(self, user_id: int) -> Optional[User]:
        return next(self.all(FindUser(user_id)), None)

    def all(self, service: ListService[T]) -> Iterator[T]:
        """The items of all pages. Each page is fetched when its first item is wanted."""
        page = Page[T]([], has_more=True)
        number = 0
        while page.has_more:
            number += 1
            page = self.standard(service, ntapi.url("page", number))
            yield from page.items

    def standard(self, service: ntapi.Service[T], *args: ntapi.Args) -> T:
        """A call with the parameters of the session, which are defaults."""
        session = [ntapi.url_default(name) for name in ("site", "key", "pagesize")]
        return self.call(service, session, *args)

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        """The wrapper of an error: {"error_id": 502, "error_name": ..., "error_message": ...}."""
        wrapper = _wrapper(response)
        name = wrapper.get("error_name")
        return ntapi.ApiError(name, wrapper.get("error_message")) if name else None

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        """The API may ask not to call the method again for some seconds. Whatever comes next waits
        for that, other methods, too.
        """
        wrapper = _wrapper(response)
        backoff = wrapper.get("backoff")
        if isinstance(backoff, (int, float)):
            self.limiter.pause(backoff)
        self.quota_remaining = wrapper.get("quota_remaining", self.quota_remaining)


def _wrapper(response: ntapi.Response) -> dict[str, Any]:
    """The object that each response of the API is in."""
    body = response.json()
    return body if isinstance(body, dict) else {}
