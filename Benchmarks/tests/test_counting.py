"""The readers of what callgrind and strace write, and the budget."""

from pathlib import Path

import pytest
from kit import callgrind, syscalls
from kit.budget import Budget
from kit.callgrind import Cost

PROFILE = """\
version: 1
events: Ir
fl=(1) main.c
fn=(1) main
10 5
cfn=(2) malloc
calls=3 20
11 300
cob=(3) libc.so
cfn=(4) free'2
calls=7 30
12 70
fn=(5) work
cfn=(2)
calls=2 20
13 200
cfn=(6) calloc
calls=4 40
14 400
totals: 975
"""


def test_allocations_are_the_calls_of_the_allocator() -> None:
    assert callgrind.read_profile(PROFILE.splitlines()) == Cost(975, 3 + 2 + 4)


def test_cost_per_request_leaves_the_start_out() -> None:
    few, many = Cost(1_500_000, 1200), Cost(4_500_000, 3200)
    assert callgrind.per_request(few, many, 100) == Cost(30_000, 20)


TRACE = """\
10 epoll_wait(5, [{EPOLLIN, {u32=7, u64=7}}], 64, -1) = 1
10 epoll_wait(5, [], 64, 0) = 0
10 poll([{fd=8, events=POLLIN}], 1, 0) = 1 ([{fd=8, revents=POLLIN}])
10 poll([{fd=8, events=POLLIN}], 1, 1000) = 1 ([{fd=8, revents=POLLIN}])
10 epoll_pwait(5, [], 64, 0, NULL, 8) = 0
10 epoll_pwait(5,  <unfinished ...>
10 write(7, "\\1\\0\\0\\0\\0\\0\\0\\0", 8) = 8
10 write(9, "GET /sma"..., 80) = 80
11 futex(0x7f0, FUTEX_WAIT_PRIVATE, 0, NULL <unfinished ...>
10 futex(0x7f0, FUTEX_WAKE_PRIVATE, 1) = 1
11 <... futex resumed>) = 0
11 +++ exited with 0 +++
"""


def test_system_calls_are_counted_once_and_wake_ups_apart() -> None:
    found = syscalls.count(TRACE.splitlines())
    calls = {"epoll_wait": 2, "epoll_pwait": 2, "poll": 2, "write": 2, "futex": 2}
    assert found == calls | {"wake-up": 2, "turn": 5}


def test_system_calls_per_request() -> None:
    few = syscalls.count(TRACE.splitlines())
    many = syscalls.count((TRACE * 3).splitlines())
    found = syscalls.per_request(few, many, 2)
    assert found["calls"] == 10
    assert found["wakes"] == 2
    assert found["turns"] == 5


def budget() -> Budget:
    """One case, five percent."""
    return Budget(5, {"case": Cost(100_000, 40)})


@pytest.mark.parametrize(
    ("found", "words", "is_exceeded"),
    [
        (Cost(104_000, 41), "(+4.0 %, +2.5 %)", False),
        (Cost(106_000, 40), "EXCEEDED", True),
        (Cost(90_000, 44), "EXCEEDED", True),
        (Cost(90_000, 40), "can be lowered", False),
    ],
)
def test_budget(found: Cost, words: str, is_exceeded: bool) -> None:
    verdict = budget().judge("case", found)
    assert words in verdict.line
    assert verdict.is_exceeded is is_exceeded


def test_a_case_without_budget_is_a_failure() -> None:
    assert budget().judge("other", Cost(1, 1)).is_exceeded


def test_no_allocation_agreed_means_none() -> None:
    strict = Budget(5, {"case": Cost(100, 0)})
    assert not strict.judge("case", Cost(100, 0.01)).is_exceeded
    assert strict.judge("case", Cost(100, 1)).is_exceeded


def test_budget_can_be_kept(tmp_path: Path) -> None:
    path = tmp_path / "budget.json"
    Budget(5, {"case": Cost(123_456, 40.04)}).save(path)
    loaded = Budget.load(path)
    assert loaded.tolerance_percent == 5
    assert loaded.cases == {"case": Cost(123_000, 40.0)}
