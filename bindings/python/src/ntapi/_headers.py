"""Header lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ._library import lib


def header_text(value: bytes) -> str:
    """What the bytes of a header say: those that are not UTF-8 are ISO-8859-1."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def lines_of(pointer: int | None) -> Iterator[tuple[str, str]]:
    """The lines of an ntapi_headers."""
    for index in range(lib.ntapi_headers_count(pointer)):
        name = lib.ntapi_headers_name(pointer, index)
        value = lib.ntapi_headers_value(pointer, index)
        yield header_text(name or b""), header_text(value or b"")


class Headers(Mapping[str, str]):
    """Header lines, looked up without regard to case; repeats and the order received are kept.

    `headers["accept"]` joins the values of a repeated name with ", ", but gives the first
    Set-Cookie, as such lines cannot be joined. `get_all` has every value and `lines` every line.
    """

    __slots__ = ("_by_name", "_lines")

    def __init__(self, lines: Iterable[tuple[str, str]] = ()) -> None:
        self._lines = tuple(lines)
        self._by_name: dict[str, tuple[str, list[str]]] = {}
        for name, value in self._lines:
            self._by_name.setdefault(name.lower(), (name, []))[1].append(value)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Every line as (name, value), in the order received."""
        return self._lines

    def get_all(self, name: str) -> list[str]:
        """The values of every line of this name, in order; empty when there is none."""
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

    def __repr__(self) -> str:
        from ._redaction import shown_line

        return f"Headers({[shown_line(*line) for line in self._lines]!r})"
