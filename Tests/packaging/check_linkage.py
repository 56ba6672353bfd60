"""What the library needs at run time: libcurl, jansson, the C/C++ runtime. Its size, too.

And what it must leave alone: libcurl's allocator is the host program's.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ALLOWED = re.compile(
    r"(libcurl|libjansson|libz|libc|libm|libstdc\+\+|libgcc_s|ld-linux-[a-z0-9-]+)\.so\.[0-9]+"
)
FOUNDATION = re.compile(r"Foundation|_CFString|CFRelease|U_ICU|_icu_")
HOST_ONLY = re.compile(r"\bU curl_global_(init_mem|cleanup)\b")
LARGEST = 9_000_000


def output(*command: str) -> str:
    """What a tool prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Prints each fault and a summary line."""
    library = str(Path(sys.argv[1]).resolve())
    dynamic = output("readelf", "--dynamic", "--wide", library)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    failures = [f"needs {name}" for name in needed if not ALLOWED.fullmatch(name)]
    if not re.search(r"\(SONAME\).*\[libntapi\.so\.0\]", dynamic):
        failures.append("the SONAME is not libntapi.so.0")
    if re.search(r"\((RPATH|RUNPATH|TEXTREL)\)", dynamic):
        failures.append("it has a RPATH, RUNPATH or text relocations")
    relro = "GNU_RELRO" in output("readelf", "--segments", "--wide", library)
    if not relro or not re.search(r"\(FLAGS.*\bNOW\b", dynamic):
        failures.append("it is not linked with relro and now")
    symbols = output("nm", library).splitlines()
    failures += [f"Foundation: {line}" for line in symbols if FOUNDATION.search(line)][:5]
    failures += [f"for the host program: {line}" for line in symbols if HOST_ONLY.search(line)]
    missing = [line.strip() for line in output("ldd", library).splitlines() if "not found" in line]
    failures += [f"ldd: {line}" for line in missing]
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder) / "stripped.so"
        output("strip", "--strip-unneeded", "-o", str(stripped), library)
        size = stripped.stat().st_size
    if size >= LARGEST:
        failures.append(f"{size} bytes stripped, {LARGEST} at most")
    for line in failures:
        print(line)
    sizes = f"{size / 1e6:.2f} MB stripped"
    print(f"check_linkage: {sizes}, needs {' '.join(needed)}, {len(failures)} faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
