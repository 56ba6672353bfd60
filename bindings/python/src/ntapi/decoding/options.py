"""How a service writes what the program's types declare: keys, dates, numbers."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable, Optional, Union

Step = Union[str, int]
"""A key, or an index."""


class Keys(enum.Enum):
    """How the keys of the JSON follow from the names of fields."""

    AS_DECLARED = 0
    """They are the same."""
    CAMEL_CASE = 1
    """`temp_min` is `tempMin`."""


class DateFormat(enum.Enum):
    """How a service writes its dates in JSON."""

    ISO8601 = 1
    """Text of ISO 8601 or RFC 3339: `2013-11-20T10:00:00+01:00`, `2013-11-20`. Without a time it is
    midnight, without a zone UTC; hyphens and colons may be missing.
    """
    SECONDS = 2
    """A number of seconds since 1970-01-01 00:00 UTC, fractions allowed."""
    MILLISECONDS = 3
    """A number of milliseconds since 1970-01-01 00:00 UTC, fractions allowed."""
    HTTP = 4
    """Text of RFC 9110, 5.6.7: `Sun, 06 Nov 1994 08:49:37 GMT`."""

    @staticmethod
    def custom(
        name: str,
        read: Callable[[Any], Optional[datetime]],
        write: Optional[Callable[[datetime], Any]] = None,
    ) -> CustomDateFormat:
        """A format of the service's own.

        `read` makes a date of a JSON value, None when it is none. `write` makes the JSON value of
        a date, which it gets in UTC; without it dates of the format cannot be sent. The name is for
        messages: "20 Nov 2013".
        """
        return CustomDateFormat(name, read, write)

    def text(self, moment: Optional[datetime]) -> Optional[str]:
        """A date as a parameter: `ntapi.url("since", DateFormat.SECONDS.text(self.since))`.

        None for None, so that the arg is suppressed.
        """
        return date_text(moment, self)


@dataclass(frozen=True)
class CustomDateFormat:
    """A format of a service's own, of `DateFormat.custom`."""

    name: str
    read: Callable[[Any], Optional[datetime]]
    write: Optional[Callable[[datetime], Any]] = None

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, value: Any) -> Optional[datetime]:
        return self.read(value)

    def text(self, moment: Optional[datetime]) -> Optional[str]:
        """A date as a parameter, as `DateFormat.text`."""
        return date_text(moment, self)


def date_text(moment: Optional[datetime], form: Dates) -> Optional[str]:
    """A date as a parameter."""
    if moment is None:
        return None
    # Here, as it imports this module.
    from .encoding import written_date

    return str(written_date(moment, form))


DateReader = Callable[[Any], Optional[datetime]]
"""A format of a service's own that is only read: makes a date of a JSON value, or None."""
Dates = Union[DateFormat, CustomDateFormat, DateReader]


@dataclass(frozen=True)
class DecodingOptions:
    """How a service writes what the program's types declare.

    `dates` are the formats of dates, tried in order. With `numbers_in_strings` a string such as
    "5.0" is taken for a number where a number is declared. With `loose_booleans` 1 and 0, and the
    strings "true", "false", "1" and "0", are taken for booleans where a boolean is declared.
    """

    keys: Keys = Keys.AS_DECLARED
    dates: Union[Dates, Iterable[Dates]] = DateFormat.ISO8601
    numbers_in_strings: bool = False
    loose_booleans: bool = False

    def __post_init__(self) -> None:
        dates = self.dates
        formats = (dates,) if isinstance(dates, DateFormat) or callable(dates) else tuple(dates)
        for item in formats:
            check_format(item)
        object.__setattr__(self, "dates", formats)

    @property
    def formats(self) -> tuple[Dates, ...]:
        """The formats of dates, in order."""
        assert isinstance(self.dates, tuple)
        return self.dates


def check_format(value: object) -> None:
    """Refuses what is no format of dates."""
    if not isinstance(value, DateFormat) and not callable(value):
        raise TypeError(f"a DateFormat or a function is expected, not {value!r}")


_STEP = re.compile(r'(?:^|\.)([^.\[\]"]+)|\[([0-9]+)\]|\["((?:[^"\\]|\\["\\])*)"\]')


class Key:
    """Where the value of a field is in the JSON, when not under the field's own name.

        temperature: Annotated[float, ntapi.Key("main.temp")]

    It is a path, of keys and indexes: `weather[0].icon`. A key that has any of `.[]"` in it stands
    in brackets and quotes: `["a.b"]`.
    """

    __slots__ = ("path", "steps")

    def __init__(self, path: str) -> None:
        self.path: str = path
        self.steps: tuple[Step, ...] = parse_path(path)
        if not self.steps:
            raise ValueError("the path of a Key must not be empty")

    def __repr__(self) -> str:
        return f"ntapi.Key({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return self.path == other.path if isinstance(other, Key) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.path)


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path. Raises ValueError when it is malformed."""
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or (match[0].startswith(".") and position == 0):
            raise ValueError(f"{path!r} is no path: a path is keys and indexes, list[0].name")
        key, index, quoted = match.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(key if key is not None else re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    return tuple(steps)


def path_text(steps: Iterable[Step]) -> str:
    """The path as it is written."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif not step or re.search(r'[.\[\]"]', step):
            text += '["' + re.sub(r'(["\\])', r"\\\1", step) + '"]'
        else:
            text += f".{step}" if text else step
    return text
