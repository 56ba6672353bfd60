"""Questions and answers of a Stack Exchange site.

python examples/qanda URL search WORDS COUNT   the first so many questions that have the words
python examples/qanda URL question NUMBER      a question and its answers
python examples/qanda URL user NUMBER          a user

URL is https://api.stackexchange.com, or what `python Tests/servers/qanda.py` prints. In the
environment may be STACKEXCHANGE_SITE (stackoverflow) and STACKEXCHANGE_KEY, a key of the API.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import islice

from model import Owner
from stack_exchange import INTERNAL_ERROR, THROTTLED, UNAVAILABLE, StackExchange

import ntapi


def show(number: int, score: int, text: str, owner: Owner) -> None:
    print(f"{number:>10} {score:>5}  {text} ({owner.display_name})")


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines() if line)


def search(stack: StackExchange, words: str, count: int) -> None:
    for question in islice(stack.search(words), count):
        show(question.question_id, question.score, question.title, question.owner)


def show_question(stack: StackExchange, number: int) -> None:
    question = stack.question(number)
    if question is None:
        print("no such question")
        return
    print(f"{question.title} [{', '.join(question.tags)}]")
    print(f"{question.owner.display_name}, {question.creation_date:%Y-%m-%dT%H:%M:%SZ}")
    print(indented(question.body))
    for answer in stack.answers(number):
        mark = "accepted answer" if answer.is_accepted else "answer"
        show(answer.answer_id, answer.score, mark, answer.owner)
        print(indented(answer.body))


def show_user(stack: StackExchange, number: int) -> None:
    user = stack.user(number)
    if user is None:
        print("no such user")
        return
    place = f" of {user.location}" if user.location else ""
    print(f"{user.display_name}{place}: {user.reputation}, since {user.creation_date:%Y-%m-%d}")


def run(stack: StackExchange, words: Sequence[str]) -> None:
    if words[0] == "search" and len(words) == 3:
        search(stack, words[1], int(words[2]))
    elif words[0] == "question" and len(words) == 2:
        show_question(stack, int(words[1]))
    elif words[0] == "user" and len(words) == 2:
        show_user(stack, int(words[1]))
    else:
        raise IndexError


def main(words: Sequence[str]) -> int:
    StackExchange.set_default("site", os.environ.get("STACKEXCHANGE_SITE", "stackoverflow"))
    StackExchange.set_default("key", os.environ.get("STACKEXCHANGE_KEY"))
    StackExchange.set_default("pagesize", 10)
    try:
        with StackExchange(words[0], log_flags=ntapi.LogFlags.NONE) as stack:
            run(stack, words[1:])
            print(f"{stack.quota_remaining} requests left today")
    except ntapi.ApiError as error:
        if error.code is THROTTLED:
            print(f"too many requests: {error}")
        elif error.code in (INTERNAL_ERROR, UNAVAILABLE):
            print("the service has trouble: try again later")
        else:
            print(f"error: {error.code}: {error}")
        return 1
    except (IndexError, ValueError):
        print("usage: qanda URL search WORDS COUNT | question NUMBER | user NUMBER")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
