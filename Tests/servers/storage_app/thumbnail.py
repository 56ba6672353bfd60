"""Thumbnails: a pattern of coloured squares, made from the photo's checksum.

Photos are not decoded: for clients it does not matter what a thumbnail shows.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable

SIZES = {"xs": 32, "s": 64, "m": 128, "l": 640, "xl": 1024}
CELLS = 8
"""Squares in a row, and rows. The right half mirrors the left one."""


def chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


def rows_of(photo: bytes, side: int) -> list[bytes]:
    """The rows of pixels, each of three bytes: red, green, blue."""
    digest = hashlib.sha256(photo).digest()
    colours = (digest[:3], digest[3:6])
    rows = []
    for bits in digest[6 : 6 + CELLS]:
        left = [colours[bits >> place & 1] for place in range(CELLS // 2)]
        row = b"".join(colour * (side // CELLS) for colour in left + left[::-1])
        rows += [row] * (side // CELLS)
    return rows


def png(photo: bytes, side: int) -> bytes:
    """A PNG of 8-bit RGB."""
    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    rows = b"".join(b"\x00" + row for row in rows_of(photo, side))
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )


def ppm(photo: bytes, side: int) -> bytes:
    """A portable pixmap: a line of text, then the raw pixels."""
    return f"P6 {side} {side} 255\n".encode() + b"".join(rows_of(photo, side))


FORMATS: dict[str, Callable[[bytes, int], bytes]] = {
    "image/x-portable-pixmap": ppm,
    "image/png": png,
}
