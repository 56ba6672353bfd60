"""The methods of the API: parameters are checked, sorted and cut into pages as documented."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable

from qanda_app import data
from qanda_app.data import JSONObject

SITES = ("stackoverflow", "superuser")
SORTS = {
    "activity": "last_activity_date",
    "creation": "creation_date",
    "votes": "score",
    "relevance": "score",
    "reputation": "reputation",
}


class APIError(Exception):
    """An error as the API names it; its HTTP status is 400, whatever its number."""

    def __init__(self, number: int, name: str, message: str) -> None:
        super().__init__(message)
        self.wrapper = {"error_id": number, "error_name": name, "error_message": message}


def bad_parameter(message: str) -> APIError:
    """The error for most mistakes."""
    return APIError(400, "bad_parameter", message)


class Query:
    """The parameters of a call."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = dict(pairs)
        self.site = self.pairs.get("site", "")
        if not self.site:
            raise bad_parameter("site is required")
        if self.site not in SITES:
            raise bad_parameter(f"No site found for name `{self.site}`")
        self.page = self.number("page", 1, 25_000)
        self.page_size = self.number("pagesize", 30, 100)
        self.has_body = self.pairs.get("filter") == "withbody"

    def number(self, name: str, default: int, maximum: int) -> int:
        """A parameter that is a number of at least 1."""
        text = self.pairs.get(name, str(default))
        if not text.isdigit() or not 1 <= int(text) <= maximum:
            raise bad_parameter(name)
        return int(text)

    def sorted(self, found: list[JSONObject], default: str) -> list[JSONObject]:
        """Sorts by `sort`, in `order`. Equal items keep the order of the site."""
        name = self.pairs.get("sort", default)
        order = self.pairs.get("order", "desc")
        if name not in SORTS or (found and SORTS[name] not in found[0]):
            raise bad_parameter("sort")
        if order not in ("asc", "desc"):
            raise bad_parameter("order")
        return sorted(found, key=lambda item: item[SORTS[name]], reverse=order == "desc")


def ids(text: str) -> list[int]:
    """Up to 100 numbers with semicolons between them."""
    numbers = text.split(";")
    if len(numbers) > 100 or not all(number.isdigit() for number in numbers):
        raise bad_parameter("ids")
    return [int(number) for number in numbers]


def search(query: Query, _: str) -> list[JSONObject]:
    """/search/advanced: questions whose titles have all words of `q`."""
    words = query.pairs.get("q", "").casefold().split()
    found = data.questions(query.site, query.has_body)
    found = [one for one in found if all(word in text_of(one) for word in words)]
    return query.sorted(found, "activity")


def text_of(question: JSONObject) -> str:
    """The text to search."""
    return html.unescape(str(question["title"])).casefold()


def questions(query: Query, text: str) -> list[JSONObject]:
    """/questions/{ids}: unknown ones are left out."""
    wanted = ids(text)
    found = data.questions(query.site, query.has_body)
    return query.sorted([one for one in found if one["question_id"] in wanted], "activity")


def answers(query: Query, text: str) -> list[JSONObject]:
    """/questions/{ids}/answers"""
    found = [
        data.answer(number, index, query.site, query.has_body)
        for number in ids(text)
        if 1 <= number <= data.QUESTION_COUNT
        for index in range(1, data.answer_count(number) + 1)
    ]
    return query.sorted(found, "activity")


def users(query: Query, text: str) -> list[JSONObject]:
    """/users/{ids}"""
    known = [number for number in ids(text) if 1 <= number <= len(data.NAMES)]
    return query.sorted([data.user(number, query.site) for number in known], "reputation")


Method = Callable[[Query, str], list[JSONObject]]


def find_method(path: str) -> tuple[str, Method, str] | None:
    """The method's name, the method and its ids."""
    parts = path.strip("/").split("/")
    if parts == ["2.3", "search", "advanced"]:
        return "search", search, ""
    if parts[:2] == ["2.3", "questions"] and len(parts) == 3:
        return "questions", questions, parts[2]
    if parts[:2] == ["2.3", "questions"] and len(parts) == 4 and parts[3] == "answers":
        return "answers", answers, parts[2]
    if parts[:2] == ["2.3", "users"] and len(parts) == 3:
        return "users", users, parts[2]
    return None
