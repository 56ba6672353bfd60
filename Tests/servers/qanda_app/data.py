"""The content of the site, the same in every run."""

from __future__ import annotations

import html
from typing import Any

JSONObject = dict[str, Any]

START = 1_700_000_000
"""2023-11-14T22:13:20Z, when the site began."""
NAMES = ["Ann & Bob", "Zoë", "Linus"]
TOPICS = [
    ("Why does `await` in a loop wait for each one?", ["swift", "async-await"]),
    ('Is `a < b && b < c` the same as "a < b < c"?', ["c", "operators"]),
    ("Can't decode a date: it's a number", ["json", "date"]),
    ("How to retry a POST without doing it twice", ["http", "rest"]),
]
QUESTION_COUNT = 44


def user(number: int, site: str) -> JSONObject:
    """A user as /users shows one; they are numbered from 1."""
    return {
        "badge_counts": {"bronze": 9 * number, "silver": 3 * number, "gold": number},
        "user_id": number,
        "account_id": 1000 + number,
        "user_type": "registered",
        "reputation": 1200 * number + 1,
        "is_employee": False,
        "creation_date": START - 86_400 * number,
        "last_access_date": START + 86_400,
        "link": f"https://{site}.example/users/{number}/user-{number}",
        "display_name": html.escape(NAMES[number - 1]),
        **({"location": "Z\u00fcrich &amp; Basel"} if number == 2 else {}),
    }


def shallow_user(number: int, site: str) -> JSONObject:
    """A user as the owner of something. Number 0 has left: only the name is known."""
    if number == 0:
        return {"user_type": "does_not_exist", "display_name": "user404"}
    shown = ("account_id", "reputation", "user_id", "user_type", "display_name", "link")
    whole = user(number, site)
    return {name: whole[name] for name in shown}


def question(number: int, site: str, has_body: bool) -> JSONObject:
    """A question; they are numbered from 1."""
    title, tags = TOPICS[number % len(TOPICS)]
    answers = answer_count(number)
    body = (
        f"<p>I have read the manual &amp; tried <code>{number} &lt; 5</code>.</p>\n\n<p>Why?</p>\n"
    )
    return {
        "tags": tags,
        "owner": shallow_user(number // 2 % 4, site),
        "is_answered": answers > 0,
        "view_count": 100 * number,
        **({"accepted_answer_id": 100 * number + 1} if answers else {}),
        "answer_count": answers,
        "score": number % 7 - 2,
        "last_activity_date": START + 7200 * number,
        "creation_date": START + 3600 * number,
        "question_id": number,
        "content_license": "CC BY-SA 4.0",
        "link": f"https://{site}.example/questions/{number}",
        "title": html.escape(f"{title} ({number})"),
        **({"body": body} if has_body else {}),
    }


def answer_count(number: int) -> int:
    """The number of answers to a question: number 7 has many."""
    return 12 if number == 7 else number % 3


def answer(question_number: int, index: int, site: str, has_body: bool) -> JSONObject:
    """An answer to a question, numbered from 1; the first is the accepted one."""
    body = f"<p>Because of <em>reason</em> {index}: <code>x -&gt; y</code></p>\n"
    return {
        "owner": shallow_user((question_number + index) % 4, site),
        "is_accepted": index == 1,
        "score": 20 - index,
        "last_activity_date": START + 7200 * question_number + 60 * index,
        "creation_date": START + 7200 * question_number + 60 * index,
        "answer_id": 100 * question_number + index,
        "question_id": question_number,
        "content_license": "CC BY-SA 4.0",
        **({"body": body} if has_body else {}),
    }


def questions(site: str, has_body: bool) -> list[JSONObject]:
    """All questions."""
    return [question(number, site, has_body) for number in range(1, QUESTION_COUNT + 1)]
