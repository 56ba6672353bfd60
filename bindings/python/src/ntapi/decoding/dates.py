"""Reads dates as aware datetimes in UTC."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

from .options import DateFormat
from .values import mismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .options import Dates

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_ISO = re.compile(
    r"([0-9]{4})(-?)([0-9]{2})\2([0-9]{2})"
    r"(?:[Tt ]([0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]+))?)?"
    r"|([0-9]{2})(?:([0-9]{2})(?:[.,]([0-9]+))?)?)"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)?)?"
)
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_HTTP = re.compile(
    r"[A-Za-z]+, ?([0-9]{1,2})[ -]([A-Z][a-z]{2})[ -]([0-9]{2}|[0-9]{4}) "
    r"([0-9]{2}):([0-9]{2}):([0-9]{2}) (?:GMT|UTC)"
    r"|[A-Z][a-z]{2} ([A-Z][a-z]{2}) +([0-9]{1,2}) ([0-9]{2}):([0-9]{2}):([0-9]{2}) ([0-9]{4})"
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMES = {
    DateFormat.ISO8601: "ISO 8601",
    DateFormat.SECONDS: "seconds since 1970",
    DateFormat.MILLISECONDS: "milliseconds since 1970",
    DateFormat.HTTP: "an HTTP date",
}


def datetime_decoder(formats: tuple[Dates, ...], numbers_in_strings: bool) -> Callable[[Any], Any]:
    """A decoder that reads a date in the first format that fits."""
    number = _number_or_text if numbers_in_strings else _number
    readers: list[Callable[[Any], Optional[datetime]]] = []
    for item in formats:
        if item is DateFormat.ISO8601:
            readers.append(_iso8601)
        elif item is DateFormat.HTTP:
            readers.append(_http)
        elif isinstance(item, DateFormat):
            unit = 1.0 if item is DateFormat.SECONDS else 1000.0
            readers.append(lambda value, unit=unit: _since_1970(number(value), unit))  # type: ignore[misc]
        else:
            readers.append(item)
    names = [
        _NAMES[item] if isinstance(item, DateFormat) else getattr(item, "__name__", "own format")
        for item in formats
    ]
    expected = f"date ({' or '.join(names)})"

    def decode(value: Any) -> datetime:
        for read in readers:
            try:
                found = read(value)
            except (OverflowError, ValueError):
                # There is no such day, or it is outside Python's calendar.
                continue
            if found is not None:
                return found
        raise mismatch(expected, value)

    return decode


def decode_day(value: Any) -> date:
    """A day: `2013-11-20`."""
    match = _DAY.fullmatch(value) if value.__class__ is str else None
    if match is not None:
        try:
            return date(int(match[1]), int(match[2]), int(match[3]))
        except ValueError:
            pass
    raise mismatch("date (2013-11-20)", value)


def _number(value: Any) -> Optional[float]:
    is_number = isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)
    return float(value) if is_number else None


def _number_or_text(value: Any) -> Optional[float]:
    if value.__class__ is str and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?", value):
        return float(value)
    return _number(value)


def _since_1970(value: Optional[float], unit: float) -> Optional[datetime]:
    return None if value is None else _EPOCH + timedelta(seconds=value / unit)


def _iso8601(value: Any) -> Optional[datetime]:
    if (
        value.__class__ is str
        and len(value) == 20
        and value[4::3] == "--T::Z"
        and value[11:13] < "24"
    ):
        # The usual form, 2013-11-20T10:00:00Z, which Python itself reads much faster.
        try:
            return datetime.fromisoformat(value[:19] + "+00:00")
        except ValueError:
            # It is a leap second, or no date.
            pass
    match = _ISO.fullmatch(value) if value.__class__ is str else None
    if match is None:
        return None
    year, _, month, day, hour, minute, second, fraction, minute2, second2, fraction2 = match.group(
        *range(1, 12)
    )
    minute, second, fraction = minute or minute2, second or second2, fraction or fraction2
    return _moment(
        (int(year), int(month), int(day)),
        (int(hour or 0), int(minute or 0), int(second or 0)),
        float(f"0.{fraction}") if fraction else 0.0,
        _offset(match[12], match[13], match[14]),
    )


def _offset(sign: Optional[str], hours: Optional[str], minutes: Optional[str]) -> timedelta:
    if sign is None or hours is None:
        return timedelta()
    if int(hours) > 23 or int(minutes or 0) > 59:
        raise ValueError("no such zone")
    east = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return -east if sign == "-" else east


def _http(value: Any) -> Optional[datetime]:
    match = _HTTP.fullmatch(value.strip()) if value.__class__ is str else None
    if match is None:
        return None
    day, month, year, *time = match.group(*range(1, 7))
    if day is None:
        month, day, *time, year = match.group(*range(7, 13))
    if month not in _MONTHS:
        return None
    number = int(year)
    if len(year) == 2:
        # A year that seems more than 50 years ahead is of the previous century (RFC 9110, 5.6.7).
        this_year = datetime.now(timezone.utc).year
        number += this_year // 100 * 100
        number -= 100 if number > this_year + 50 else 0
    hour, minute, second = map(int, time)
    return _moment((number, _MONTHS.index(month) + 1, int(day)), (hour, minute, second))


def _moment(
    day: tuple[int, int, int],
    time: tuple[int, int, int],
    fraction: float = 0.0,
    east: timedelta = timedelta(),
) -> datetime:
    hour, minute, second = time
    if second > 60:
        raise ValueError("no such second")
    # A leap second counts as the first second of the next minute.
    start = datetime(*day, hour, minute, tzinfo=timezone.utc)
    return start + timedelta(seconds=second + fraction) - east
