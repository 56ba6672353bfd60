"""Checks that Swift's runtime takes each of its locks through cmake/fork_gate.c: check_fork_gate.py ARCHIVE

A newer runtime may use other locks, which the linker would not redirect. Then a fork may leave a child that hangs.
"""

from __future__ import annotations

import re
import subprocess
import sys

# Functions with which a thread waits for another one, or makes it wait.
WAITS = re.compile(
    r"pthread_(mutex|rwlock|spin|cond|barrier|once)|^sem_|^mtx_|^cnd_|__cxa_guard|^syscall$|futex"
    r"|9once_slow|^_ZNSt.*(mutex|lock|once|condition)"
)
GATE = "ntapi_gate_"
# In Linux.cpp, `syscall` is a futex inside once_slow, which the linker wraps. In the others it is
# another call.
HARMLESS = {
    "Linux.cpp.o: syscall",
    "CrashHandlerLinux.cpp.o: syscall",
    "Random.cpp.o: syscall",
}
HARMLESS_NAMES = ("pthread_mutex_init", "pthread_mutex_destroy", "pthread_mutexattr_")
WRAPPED = "_ZN5swift14threading_impl9once_slowERNS0_6once_tEPFvPvES3_"


def uses(archive: str) -> list[tuple[str, str]]:
    """The objects of an archive, each with a function that it needs."""
    lines = subprocess.run(
        ["nm", "-A", "--undefined-only", archive], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [(line.split(":")[1], line.split()[-1]) for line in lines]


def main() -> int:
    """Prints each use that bypasses the gate. Returns 1 if there is one."""
    found = uses(sys.argv[1])
    problems = [
        f"{name}: {function}"
        for name, function in found
        if WAITS.search(function)
        and not function.startswith((GATE, *HARMLESS_NAMES))
        and function != WRAPPED
        and f"{name}: {function}" not in HARMLESS
    ]
    kinds = {function for _, function in found if function.startswith(GATE)} | (
        {WRAPPED} & {function for _, function in found}
    )
    missing = {
        f"{GATE}{name}" for name in ("mutex_lock", "mutex_unlock", "guard_acquire", "guard_release")
    }
    problems += [f"nothing calls {name}" for name in sorted((missing | {WRAPPED}) - kinds)]
    for problem in problems:
        print(f"fork gate: {problem}")
    print(f"fork gate: {len(kinds)} functions redirected, {len(problems)} problems")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
