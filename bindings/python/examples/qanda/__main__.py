"""Questions and answers of a Stack Exchange site.

python examples/qanda URL search WORDS COUNT   the first so many questions that have the words
python examples/qanda URL question NUMBER      a question and its answers
python examples/qanda URL user NUMBER          a user

URL is https://api.stackexchange.com, or what `python Tests/servers/qanda.py` prints. In the
environment may be STACKEXCHANGE_SITE (stackoverflow) and STACKEXCHANGE_KEY, a key of the API.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from itertools import islice

from model import Owner
from stack_exchange import INTERNAL_ERROR, THROTTLED, UNAVAILABLE, StackExchange

import ntapi

USAGE = "usage: qanda URL search WORDS COUNT | question NUMBER | user NUMBER"


def show(number: int, score: int, text: str, owner: Owner) -> None:
    print(f"{number:>10} {score:>5}  {text} ({owner.display_name})")


def indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines() if line)


def search(stack: StackExchange, words: str, count: int) -> None:
    question = None
    for question in islice(stack.search(words), count):
        show(question.question_id, question.score, question.title, question.owner)
    if question is None:
        print("nothing found")


def show_question(stack: StackExchange, number: int) -> None:
    question = stack.question(number)
    if question is None:
        raise LookupError(f"no such question: {number}")
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
        raise LookupError(f"no such user: {number}")
    place = f" of {user.location}" if user.location else ""
    print(f"{user.display_name}{place}: {user.reputation}, since {user.creation_date:%Y-%m-%d}")


def number(word: str, name: str, most: int = 2_147_483_647) -> int:
    """A whole number of the command line."""
    if word.isascii() and word.isdigit() and len(word) < 20 and 1 <= int(word) <= most:
        return int(word)
    raise ValueError(f"{name} must be a whole number from 1 to {most}: {word}")


def run(stack: StackExchange, words: Sequence[str]) -> bool:
    """False when the words are none of the three commands."""
    command, rest = words[0], words[1:]
    if command == "search" and len(rest) == 2:
        search(stack, rest[0], number(rest[1], "COUNT", 1000))
    elif command == "question" and len(rest) == 1:
        show_question(stack, number(rest[0], "NUMBER"))
    elif command == "user" and len(rest) == 1:
        show_user(stack, number(rest[0], "NUMBER"))
    else:
        return False
    print(f"{stack.quota_remaining} requests left today")
    return True


def explanation(error: ntapi.ApiError) -> str:
    """What is said to people about an error."""
    if error.code is THROTTLED:
        return f"too many requests: {error}"
    if error.code in (INTERNAL_ERROR, UNAVAILABLE):
        return "the service has trouble: try again later"
    return str(error)


def main(words: Sequence[str]) -> int:
    StackExchange.set_default("site", os.environ.get("STACKEXCHANGE_SITE", "stackoverflow"))
    StackExchange.set_default("key", os.environ.get("STACKEXCHANGE_KEY"))
    StackExchange.set_default("pagesize", 10)
    if len(words) < 2:
        print(USAGE, file=sys.stderr)
        return 2
    try:
        with StackExchange(words[0], log_flags=ntapi.LogFlags.NONE) as stack:
            if run(stack, words[1:]):
                return 0
    except ntapi.ApiError as error:
        print(f"error: {explanation(error)}", file=sys.stderr)
        return 1
    except (LookupError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    print(USAGE, file=sys.stderr)
    return 2


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so `| head` ends it, as it does other programs
    sys.exit(main(sys.argv[1:]))
