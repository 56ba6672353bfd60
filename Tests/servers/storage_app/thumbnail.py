"""Thumbnails as PNG: a square of the size asked for, in the colour of the photo's checksum.

No photo is decoded here: what a client does with a thumbnail does not depend on what it shows.
"""

from __future__ import annotations

import hashlib
import struct
import zlib

SIZES = {"xs": 32, "s": 64, "m": 128, "l": 640, "xl": 1024}


def chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def thumbnail(photo: bytes, side: int) -> bytes:
    """A PNG of 8-bit RGB."""
    colour = hashlib.sha256(photo).digest()[:3]
    rows = (b"\x00" + colour * side) * side
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
