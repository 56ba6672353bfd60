"""How a service writes keys, dates and numbers."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Callable, Optional, Union

from .._runtime.checks import Copyable, check_member, even_without_init, member_to_write, shown

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)

Step = Union[str, int]
"""A key, or an index."""


class Keys(enum.Enum):
    """How field names become JSON keys."""

    AS_DECLARED = 0
    """The same names."""
    CAMEL_CASE = 1
    """`temp_min` is `tempMin`."""


class DateFormat(enum.Enum):
    """How a service writes its dates in JSON."""

    ISO8601 = 1
    """ISO 8601 or RFC 3339: `2013-11-20T10:00:00+01:00`, `2013-11-20`. Without a time it means
    midnight, without a zone UTC. Hyphens and colons may be missing.
    """
    SECONDS = 2
    """A number of seconds since 1970-01-01 00:00 UTC, fractions allowed."""
    MILLISECONDS = 3
    """A number of milliseconds since 1970-01-01 00:00 UTC, fractions allowed."""
    HTTP = 4
    """HTTP dates (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`."""

    @staticmethod
    def custom(
        name: str,
        read: Callable[[Any], Optional[datetime]],
        write: Optional[Callable[[datetime], Any]] = None,
    ) -> CustomDateFormat:
        """Makes a format of your own.

        `read` returns the date of a JSON value, or None if it is none. `write` returns the JSON
        value of a date, which it gets in UTC; without `write`, dates in this format cannot be sent.
        The name is for messages, for example "20 Nov 2013".
        """
        return CustomDateFormat(name, read, write)

    def text(self, moment: Optional[datetime]) -> Optional[str]:
        """A date as the text of a parameter: `ntapi.url("since",
        DateFormat.SECONDS.text(self.since))`.

        Returns None for None, so that the arg is left out.
        """
        return date_text(moment, self)


@dataclass(frozen=True)
class CustomDateFormat:
    """A format that `DateFormat.custom` has made."""

    name: str
    read: Callable[[Any], Optional[datetime]]
    write: Optional[Callable[[datetime], Any]] = None

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, value: Any) -> Optional[datetime]:
        return self.read(value)

    def text(self, moment: Optional[datetime]) -> Optional[str]:
        """The same as `DateFormat.text`."""
        return date_text(moment, self)


def date_text(moment: Optional[datetime], form: Dates) -> Optional[str]:
    """A date as the text of a parameter."""
    if moment is None:
        return None
    return str(written_date(moment, form))


DateReader = Callable[[Any], Optional[datetime]]
"""A format that can only be read: returns the date of a JSON value, or None."""
Dates = Union[DateFormat, CustomDateFormat, DateReader]


def written_date(value: datetime, form: Dates) -> Any:
    """The JSON value of a date. Raises TypeError for one that cannot be written."""
    write = None
    if isinstance(form, CustomDateFormat):
        write = form.write
    elif isinstance(form, DateFormat):
        write = _WRITERS[form]
    if write is None:
        name = getattr(form, "__name__", repr(form))
        raise TypeError(
            f"a date cannot be written as {name} reads it: put a DateFormat before it, or give it "
            "`write`"
        )
    if value.utcoffset() is None:
        raise TypeError(
            f"{value!r} has no time zone, so it is not a certain moment: for local time send "
            "value.astimezone(), for UTC value.replace(tzinfo=timezone.utc)"
        )
    made = write(value.astimezone(timezone.utc))
    if made is None:
        raise TypeError(f"{shown(value)} cannot be written as {getattr(form, '__name__', form)}")
    return made


def _iso8601(moment: datetime) -> str:
    text = moment.replace(tzinfo=None).isoformat()
    return (text.rstrip("0") if "." in text else text) + "Z"


def _seconds(moment: datetime) -> float:
    whole = (moment - _EPOCH).total_seconds()
    return int(whole) if whole.is_integer() else whole


def _milliseconds(moment: datetime) -> int:
    return round((moment - _EPOCH).total_seconds() * 1000)


def _http(moment: datetime) -> str:
    # Imported here: email takes longer to import than this package, and few services need such
    # dates.
    from email.utils import format_datetime

    return format_datetime(moment, usegmt=True)


_WRITERS: dict[DateFormat, Callable[[datetime], Any]] = {
    DateFormat.ISO8601: _iso8601,
    DateFormat.SECONDS: _seconds,
    DateFormat.MILLISECONDS: _milliseconds,
    DateFormat.HTTP: _http,
}


@dataclass(frozen=True)
class DecodingOptions:
    """How a service writes keys, dates, numbers and booleans.

    `dates` are formats, tried in order. With `numbers_in_strings`, a declared number may be a
    string such as "5.0". With `loose_booleans`, a declared boolean may be 1, 0, or one of the
    strings "true", "false", "1" and "0".
    """

    keys: Keys = Keys.AS_DECLARED
    dates: Union[Dates, Iterable[Dates]] = DateFormat.ISO8601
    numbers_in_strings: bool = False
    loose_booleans: bool = False

    def __post_init__(self) -> None:
        check_member(self.keys, Keys)
        dates = self.dates
        if isinstance(dates, str):
            check_format(dates)
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
    """Raises TypeError for anything but a format of dates."""
    if not isinstance(value, DateFormat) and not callable(value):
        end = member_to_write(value, DateFormat)
        raise TypeError(f"a DateFormat or a function is expected, not {value!r}{end}")


_STEP = re.compile(r'(?:^|\.)([^.\[\]"]+)|\[([0-9]+)\]|\["((?:[^"\\]|\\["\\])*)"\]')


class Key(Copyable):
    """The path to a field's value in the JSON, if it is not the field's name.

        temperature: Annotated[float, ntapi.Key("main.temp")]

    A path consists of keys and indexes: `weather[0].icon`. Write a key that contains any of `.[]"`
    in brackets and quotes: `["a.b"]`.
    """

    __slots__ = ("path", "steps")

    def __init__(self, path: str) -> None:
        self.path: str = path
        self.steps: tuple[Step, ...] = parse_path(path)
        if not self.steps:
            raise ValueError("the path of a Key must not be empty")

    @even_without_init
    def __repr__(self) -> str:
        return f"ntapi.Key({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return self.path == other.path if isinstance(other, Key) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.path)


def parse_path(path: str) -> tuple[Step, ...]:
    """The steps of a path. Raises ValueError if it is malformed."""
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or (match[0].startswith(".") and position == 0):
            raise ValueError(f"{path!r} is not a path: a path is keys and indexes, list[0].name")
        key, index, quoted = match.groups()
        if index is not None:
            steps.append(int(index))
        else:
            steps.append(key if key is not None else re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    return tuple(steps)


def path_text(steps: Iterable[Step]) -> str:
    """The text of a path."""
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif not step or re.search(r'[.\[\]"]', step):
            text += '["' + re.sub(r'(["\\])', r"\\\1", step) + '"]'
        else:
            text += f".{step}" if text else step
    return text


def spelled(name: str, keys: Keys) -> str:
    """The JSON key of a field without a `Key`."""
    if keys is Keys.AS_DECLARED:
        return name
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)
