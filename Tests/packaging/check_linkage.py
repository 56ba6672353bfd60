"""Checks what the library needs at run time (libcurl, jansson, the C/C++ runtime), and its size.

Checks that it does not set libcurl's allocator, which belongs to the host program.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ALLOWED = re.compile(
    r"(libcurl|libjansson|libz|libc|libm|libstdc\+\+|libgcc_s|ld-linux-[a-z0-9-]+)\.so\.[0-9]+"
)
FOUNDATION = re.compile(r"Foundation|_CFString|CFRelease|U_ICU|_icu_")
HOST_ONLY = re.compile(r"\bU curl_global_(init_mem|cleanup)\b")
ROOT = Path(__file__).resolve().parents[2]
SIZES = {
    "docs/comparison.md": r"^\| size \| ([\d.]+) MB library",
    "bindings/c/README.md": r"^The stripped library is ([\d.]+) MB",
    "CHANGELOG.md": r"^- The library is ([\d.]+) MB",
}
"""Where pages say how large the library is."""
LARGEST = 9_350_000
"""Bytes. With the functions that cmake/unretain.py lets the linker drop, it would be larger."""


def output(*command: str) -> str:
    """What a tool prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def unhardened(library: str, dynamic: str) -> list[str]:
    """Missing protections against memory errors: see docs/systems.md."""
    segments = output("readelf", "--segments", "--wide", library)
    faults = []
    if "GNU_RELRO" not in segments or not re.search(r"\(FLAGS.*\bNOW\b", dynamic):
        faults.append("it is not linked with relro and now")
    if re.search(r"\bRWE\b", segments) or not re.search(r"GNU_STACK.* RW ", segments):
        faults.append("its stack or a segment is writable and executable")
    if "__stack_chk_fail" not in output("readelf", "--dyn-syms", "--wide", library):
        faults.append("no function checks its stack")
    # The linker marks a library for Intel CET only if all its objects are marked. Our own would be,
    # with -Xcc -fcf-protection=full; those of Swift's runtime are not.
    if not is_marked(library) and is_marked(str(swift_runtime())):
        faults.append(
            "Swift's runtime has CET marks now: compile with -Xcc -fcf-protection=full, and say so in docs/systems.md"
        )
    return faults


def is_marked(file: str) -> bool:
    """Whether a library, or any object of an archive, has the marks of Intel CET."""
    return "SHSTK" in output("readelf", "--notes", file)


def swift_runtime() -> Path:
    """The archive with most of Swift's runtime."""
    folder = Path(shutil.which("swiftc") or "").resolve().parents[1]
    return folder / "lib" / "swift_static" / "linux" / "libswiftCore.a"


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
    if "GNU_EH_FRAME" not in output("readelf", "--segments", "--wide", library):
        failures.append("it has no unwind tables: backtraces end at it")
    failures += unhardened(library, dynamic)
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
    for page, pattern in SIZES.items():
        shown = re.search(pattern, (ROOT / page).read_text("utf-8"), re.MULTILINE)
        if shown is None or abs(float(shown[1]) - size / 1e6) > 0.1:
            failures.append(f"{page} does not say {size / 1e6:.1f} MB")
    for line in failures:
        print(line)
    sizes = f"{size / 1e6:.2f} MB stripped"
    print(f"check_linkage: {sizes}, needs {' '.join(needed)}, {len(failures)} faults")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
