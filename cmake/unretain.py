"""Copies the archive of Swift's library, so that the linker may drop functions: unretain.py ARCHIVE COPY

The compiler marks each public function of that library for the linker: to keep, whatever calls it (SHF_GNU_RETAIN). This
is for libraries that export them. libntapi.so exports none, so 0.9 MB of functions that nothing calls would be in it. The
linker and objcopy have no option against it.
"""

from __future__ import annotations

import struct
import sys
from pathlib import Path

RETAIN = 0x200000
MEMBER_HEADER = 60
SECTION_HEADER = 64
FUNCTIONS = b".text."
"""What the names of their sections begin with."""


def unretain(data: bytearray, start: int) -> None:
    """Removes the mark of each function of a 64-bit ELF object, which begins there."""
    table = start + struct.unpack_from("<Q", data, start + 40)[0]
    count, names = struct.unpack_from("<HH", data, start + 60)
    # With many sections these two do not fit there, and are in the first section header.
    count = count or struct.unpack_from("<Q", data, table + 32)[0]
    if names == 0xFFFF:
        names = struct.unpack_from("<I", data, table + 40)[0]
    strings = start + struct.unpack_from("<Q", data, table + names * SECTION_HEADER + 24)[0]
    for header in range(table, table + count * SECTION_HEADER, SECTION_HEADER):
        name, _, flags = struct.unpack_from("<IIQ", data, header)
        if data.startswith(FUNCTIONS, strings + name):
            struct.pack_into("<Q", data, header + 8, flags & ~RETAIN)


def main() -> None:
    """Visits the members of the archive."""
    data = bytearray(Path(sys.argv[1]).read_bytes())
    position = len(b"!<arch>\n")
    while position < len(data):
        start = position + MEMBER_HEADER
        size = int(data[position + 48 : position + 58])
        if data.startswith(b"\x7fELF", start):
            unretain(data, start)
        position = start + size + size % 2
    Path(sys.argv[2]).write_bytes(data)


if __name__ == "__main__":
    main()
