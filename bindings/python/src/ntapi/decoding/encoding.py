"""Values of the program's own types as JSON: the reverse of `decoder`."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterable
from datetime import date, datetime, timezone
from decimal import Decimal
from functools import cache
from typing import Any, Callable, NamedTuple, Optional
from uuid import UUID

from .._checks import shown
from .._enums import UNSET
from .options import (
    CustomDateFormat,
    DateFormat,
    Dates,
    DecodingOptions,
    Key,
    Keys,
    Step,
    hints_of,
    spelled,
    take_apart,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def plain(value: Any, options: Optional[DecodingOptions]) -> Any:
    """Makes what json.dumps knows of a value that it does not know: a dataclass, an enum, a date.

    What is in it may be another such value.
    """
    return (_usual if options is None else _Writer(options)).write(value)


class UnsetError(TypeError):
    """UNSET was found where it is not left out."""


def without_unset(value: Any, write: Callable[[Any], Any]) -> Any:
    """A value as JSON knows it, without the members of dictionaries that are UNSET.

    `write` makes what JSON knows of a value that it does not know.
    """
    if isinstance(value, dict):
        return {key: without_unset(item, write) for key, item in value.items() if item is not UNSET}
    if isinstance(value, (list, tuple)):
        return [without_unset(item, write) for item in value]
    if value is None or isinstance(value, (str, int, float)):
        return value
    return without_unset(write(value), write)


class _Field(NamedTuple):
    name: str
    steps: tuple[Step, ...]
    """Where it goes in the JSON."""
    format: Optional[Dates]
    """The format of its dates, if it has one of its own."""
    has_null: bool
    """Whether its None is null, because UNSET is what leaves it out."""


class _Writer:
    """Makes what json.dumps knows of a value that it does not know."""

    def __init__(self, options: DecodingOptions) -> None:
        self._keys = options.keys
        self._format = options.formats[0] if options.formats else DateFormat.ISO8601

    def write(self, value: Any) -> Any:
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._dataclass(value)
        if value is UNSET:
            raise UnsetError("ntapi.UNSET can only be a member of an object")
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, datetime):
            return written_date(value, self._format)
        if isinstance(value, date):
            return value.isoformat()
        if isinstance(value, (Decimal, UUID)):
            return str(value)
        if isinstance(value, (set, frozenset)):
            return list(value)
        dump = getattr(value, "model_dump", None)
        if dump is not None and not isinstance(value, type):
            return dump(mode="json", by_alias=True)
        raise TypeError(f"{_shown(value)} cannot be written as JSON")

    def _dataclass(self, value: Any) -> Any:
        made: dict[str, Any] = {}
        cls: Any = type(value)
        for field in _fields(cls, self._keys):
            item = getattr(value, field.name)
            if item is UNSET or (item is None and not field.has_null):
                continue
            if field.format is not None:
                item = _with_dates(item, field.format)
            try:
                _put(made, field.steps, item)
            except _ClashError as clash:
                raise TypeError(f"{cls.__name__}.{field.name}: {clash}") from None
        return made


_usual = _Writer(DecodingOptions())


def _shown(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"


@cache
def _fields(cls: Any, keys: Keys) -> list[_Field]:
    hints = hints_of(cls)
    found = []
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        _, _, key = take_apart(hints[field.name])
        alias = field.metadata.get("json")
        key = key if alias is None else Key(alias)
        steps = (spelled(field.name, keys),) if key is None else key.steps
        has_null = field.default is UNSET
        found.append(_Field(field.name, steps, _format_in(hints[field.name]), has_null))
    return found


def _format_in(hint: Any) -> Optional[Dates]:
    """The format that a type says its dates have, wherever in it."""
    given: Iterable[Any] = getattr(hint, "__metadata__", ())
    for item in given:
        if isinstance(item, (DateFormat, CustomDateFormat)):
            return item
    for inner in typing.get_args(hint):
        found = _format_in(inner)
        if found is not None:
            return found
    return None


def _with_dates(value: Any, form: Dates) -> Any:
    """The value with its dates written."""
    if isinstance(value, datetime):
        return written_date(value, form)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_with_dates(item, form) for item in value]
    if isinstance(value, dict):
        return {key: _with_dates(item, form) for key, item in value.items()}
    return value


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
    # Here, as email takes longer to import than this package, and few services want such dates.
    from email.utils import format_datetime

    return format_datetime(moment, usegmt=True)


_WRITERS: dict[DateFormat, Callable[[datetime], Any]] = {
    DateFormat.ISO8601: _iso8601,
    DateFormat.SECONDS: _seconds,
    DateFormat.MILLISECONDS: _milliseconds,
    DateFormat.HTTP: _http,
}


class _ClashError(Exception):
    """The place of a value is taken, or is not there yet."""


def _put(made: dict[str, Any], steps: tuple[Step, ...], item: Any) -> None:
    """Puts a value at the end of a path, and makes what it leads through."""
    place: Any = made
    for step, following in zip(steps, steps[1:]):
        place = _enter(place, step, [] if isinstance(following, int) else {})
    _enter(place, steps[-1], item)


def _enter(place: Any, step: Step, made: Any) -> Any:
    """What is at a step; `made` is put there if nothing is."""
    if isinstance(step, int):
        if not isinstance(place, list):
            raise _ClashError("it needs an array where there is another value")
        if step > len(place):
            raise _ClashError("the elements before it must be written first")
        if step == len(place):
            place.append(made)
        return place[step]
    if not isinstance(place, dict):
        raise _ClashError("it needs an object where there is another value")
    return place.setdefault(step, made)
