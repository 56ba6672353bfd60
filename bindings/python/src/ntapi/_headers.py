"""Header lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ._bridge.library import lib
from ._runtime.checks import even_without_init

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union


def header_text(value: bytes) -> str:
    """The text of a header's bytes: UTF-8, else ISO-8859-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def charset(content_type: str) -> str:
    """The parameter of that name in a Content-Type (RFC 9110, 5.6.6); "utf-8" if there is none."""
    import re

    parameter = r""";\s*([^\s=;"]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)"""
    for name, value in re.findall(parameter, content_type):
        if name.lower() == "charset":
            return value.strip().strip("\"'") or "utf-8"
    return "utf-8"


def _text(value: Union[str, bytes]) -> str:
    return value if isinstance(value, str) else header_text(value)


def _bytes(value: Union[str, bytes]) -> bytes:
    return value.encode() if isinstance(value, str) else value


def lines_of(pointer: int | None) -> Iterator[tuple[bytes, bytes]]:
    """The lines of an ntapi_headers, as they came."""
    text: bytes = lib.ntapi_headers_lines(pointer) or b""
    for line in text.split(b"\r\n")[:-1]:
        name, _, value = line.partition(b": ")
        yield name, value


def take_lines(pointer: int | None) -> tuple[tuple[bytes, bytes], ...]:
    """The lines of a new ntapi_headers, which this frees."""
    try:
        return tuple(lines_of(pointer))
    finally:
        lib.ntapi_headers_free(pointer)


class Headers(Mapping[str, str]):
    """Header lines in the order received, repeats included. Look-ups ignore letter case.

    `headers["accept"]` joins the values of a repeated name with ", "; for Set-Cookie, which cannot
    be joined, it is the first value. `get_all` returns every value, `lines` has every line, and
    `raw` their bytes.
    """

    __slots__ = ("_by_name", "_given", "_lines")

    def __init__(self, lines: Iterable[tuple[Union[str, bytes], Union[str, bytes]]] = ()) -> None:
        self._given = tuple(lines)
        self._lines = tuple((_text(name), _text(value)) for name, value in self._given)
        self._by_name: dict[str, tuple[str, list[str]]] = {}
        for name, value in self._lines:
            self._by_name.setdefault(name.lower(), (name, []))[1].append(value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Headers, (self._given,)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Every line as (name, value), in the order received."""
        return self._lines

    @property
    def raw(self) -> tuple[tuple[bytes, bytes], ...]:
        """Every line as (name, value) in bytes, as received: names in their case, values without
        the blanks around them.
        """
        return tuple((_bytes(name), _bytes(value)) for name, value in self._given)

    def get_all(self, name: str) -> list[str]:
        """The values of all lines with this name, in order; empty if there are none."""
        found = self._by_name.get(name.lower())
        return list(found[1]) if found else []

    def __getitem__(self, name: str) -> str:
        values = self._by_name[name.lower()][1]
        return values[0] if name.lower() == "set-cookie" else ", ".join(values)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._by_name

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    @even_without_init
    def __repr__(self) -> str:
        from ._args import shown_line

        return f"Headers({[shown_line(*line) for line in self._lines]!r})"
