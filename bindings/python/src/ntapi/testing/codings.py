"""Undoes the content codings of a body (RFC 9110, 8.4)."""

from __future__ import annotations

import gzip
import zlib
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional


def decoded(content: bytes, coding: str) -> Optional[bytes]:
    """The body without a coding; None for an unknown one. A body that is decoded already stays.

    Raises ImportError, with the packages that could do it, if none is installed.
    """
    decode = _decoder(coding.strip().lower())
    if decode is None or not content:
        return None if decode is None else content
    try:
        return decode(content)
    except Exception:
        # Each package has errors of its own.
        return content


def _decoder(coding: str) -> Optional[Callable[[bytes], bytes]]:
    if coding in ("gzip", "x-gzip"):
        return gzip.decompress
    if coding == "deflate":
        return _inflate
    if coding == "br":
        brotli = _first("brotli", "brotlicffi")
        return lambda content: bytes(brotli.decompress(content))
    if coding == "zstd":
        zstd = _first("compression.zstd", "backports.zstd", "zstandard")
        if zstd.__name__ != "zstandard":
            return lambda content: bytes(zstd.decompress(content))
        return lambda content: bytes(zstd.ZstdDecompressor().decompressobj().decompress(content))
    return None


def _inflate(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error:
        # Some servers send it without the head of zlib.
        return zlib.decompress(content, -zlib.MAX_WBITS)


def _first(*names: str) -> Any:
    """The first of these modules that is installed."""
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    raise ImportError(f"one of the packages {', '.join(names)} is needed")
