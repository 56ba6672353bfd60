"""Values of the program's own types as JSON: the reverse of `decoder`."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, Callable, NamedTuple, Optional
from uuid import UUID

from .._bridge.enums import UNSET
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
    written_date,
)


def plain(value: Any, options: Optional[DecodingOptions]) -> Any:
    """Converts a value that json.dumps does not know, such as a dataclass, an enum or a date, to
    one that it does.

    The result may contain further such values.
    """
    return (_usual if options is None else _Writer(options)).write(value)


class UnsetError(TypeError):
    """UNSET was found where it cannot be left out."""


def without_unset(value: Any, write: Callable[[Any], Any]) -> Any:
    """A JSON value without the members of dictionaries that are UNSET.

    `write` converts values that JSON does not know.
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
    """The path to it in the JSON."""
    format: Optional[Dates]
    """The format of its dates, if the field declares one."""
    has_null: bool
    """Whether None is written as null, because the default is UNSET."""


class _Writer:
    """Converts values that json.dumps does not know to values that it knows."""

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
        made = _Object()
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
    """The format of dates that is declared anywhere in a type."""
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
    """The value, its dates written in a format."""
    if isinstance(value, datetime):
        return written_date(value, form)
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_with_dates(item, form) for item in value]
    if isinstance(value, dict):
        return {key: _with_dates(item, form) for key, item in value.items()}
    return value


class _ClashError(Exception):
    """Another value is at that path, or an array has no such index yet."""


class _Object(dict[str, Any]):
    """An object that the writer has made. It never changes one of the program's."""


class _Array(list[Any]):
    """An array that the writer has made."""


def _put(made: _Object, steps: tuple[Step, ...], item: Any) -> None:
    """Puts a value at the end of a path, and makes the objects and arrays on the way."""
    place: Any = made
    for step, following in zip(steps, steps[1:]):
        if _is_free(place, step):
            _set(place, step, _Array() if isinstance(following, int) else _Object())
        place = place[step]
    if not _is_free(place, steps[-1]):
        raise _ClashError("another field has written a value there")
    _set(place, steps[-1], item)


def _is_free(place: Any, step: Step) -> bool:
    """Whether there is nothing at a step. Raises _ClashError if nothing can be put there."""
    if isinstance(step, int):
        if not isinstance(place, _Array):
            raise _ClashError("it needs an array where there is another value")
        if step > len(place):
            raise _ClashError("the elements before it must be written first")
        return step == len(place)
    if not isinstance(place, _Object):
        raise _ClashError("it needs an object where there is another value")
    return step not in place


def _set(place: Any, step: Step, item: Any) -> None:
    if isinstance(step, int):
        place.append(item)
    else:
        place[step] = item
