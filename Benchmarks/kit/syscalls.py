"""Reads what strace wrote: how often each system call was made, and which of them woke another thread."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

CALL = re.compile(r"^\d+ +(\w+)\((.*)")
# What an eventfd is written with: the number 1 in eight bytes.
EVENTFD = re.compile(r'^\d+, "\\1\\0\\0\\0\\0\\0\\0\\0", 8\)')


def count(lines: Iterable[str]) -> Counter[str]:
    """Calls by name, and as `wake-up` those that wake a thread."""
    found: Counter[str] = Counter()
    for line in lines:
        call = CALL.match(line)
        if call is None:
            continue
        name, arguments = call.groups()
        found[name] += 1
        is_wake = name == "futex" and "FUTEX_WAKE" in arguments
        if is_wake or (name == "write" and EVENTFD.match(arguments)):
            found["wake-up"] += 1
    return found


def per_request(few: Counter[str], many: Counter[str], requests: int) -> dict[str, float]:
    """What each request of the longer run costs beyond the shorter one."""
    more = Counter(many)
    more.subtract(few)
    found = {f"call {name}": number / requests for name, number in more.items() if number > 0}
    wakes = more["wake-up"] / requests
    turns = sum(more[name] for name in ("epoll_wait", "epoll_pwait", "epoll_pwait2", "poll"))
    found["wakes"] = wakes
    found["turns"] = turns / requests
    found["calls"] = (sum(more.values()) - more["wake-up"]) / requests
    return found
