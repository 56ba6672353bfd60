"""Reads what strace wrote: how often each system call was made, which woke another thread, which began a turn of a loop."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

CALL = re.compile(r"^\d+ +(\w+)\((.*)")
LOOPS = {"epoll_wait", "epoll_pwait", "epoll_pwait2", "poll", "ppoll"}
# libcurl looks at each socket before it uses it, with a poll of no time: that is no loop.
LOOK = re.compile(r", 0\) += ")
# What an eventfd is written with: the number 1 in eight bytes.
EVENTFD = re.compile(r'^\d+, "\\1\\0\\0\\0\\0\\0\\0\\0", 8\)')


def count(lines: Iterable[str]) -> Counter[str]:
    """Calls by name; as `wake-up` those that wake a thread, as `turn` those that a loop turns by."""
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
        if name in LOOPS and not (name == "poll" and LOOK.search(arguments)):
            found["turn"] += 1
    return found


def per_request(few: Counter[str], many: Counter[str], requests: int) -> dict[str, float]:
    """What each request of the longer run costs beyond the shorter one."""
    more = Counter(many)
    more.subtract(few)
    wakes, turns = more.pop("wake-up", 0), more.pop("turn", 0)
    found = {f"call {name}": number / requests for name, number in more.items() if number > 0}
    found["wakes"] = wakes / requests
    found["turns"] = turns / requests
    found["calls"] = sum(more.values()) / requests
    return found
