"""Values of the program's own types as JSON: the reverse of `decoder`."""

from __future__ import annotations

import dataclasses
import enum
import typing
from collections.abc import Iterable
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple, Optional
from uuid import UUID

from .._bridge.enums import UNSET
from .annotations import hints_of, take_apart, without_alias
from .options import (
    CustomDateFormat,
    DateFormat,
    Dates,
    DecodingOptions,
    Key,
    Keys,
    Step,
    spelled,
    written_date,
)


def plain(value: Any, options: Optional[DecodingOptions]) -> Any:
    """Converts a value that json.dumps does not know, such as a dataclass, an enum or a date.

    The result may contain further such values.
    """
    return _writer(options).write(value)


def json_value(value: Any, options: Optional[DecodingOptions]) -> Any:
    """A value as dictionaries, lists and scalars, without members that are UNSET.

    Raises TypeError for what cannot be written, ValueError for a value that contains itself.
    """
    try:
        return _writer(options).value(value)
    except RecursionError:
        raise ValueError("the value contains itself, or is nested too deeply") from None


_KEYS = (enum.Enum, date, Decimal, UUID)
"""Types of keys that are written as their values are; json.dumps knows the others."""


class _Field(NamedTuple):
    name: str
    steps: tuple[Step, ...]
    """The path to it in the JSON."""
    format: Optional[Dates]
    """The format of its dates, if the field declares one."""
    has_null: bool
    """Whether None is written as null, because the default is UNSET."""


class _Writer:
    """Converts values with one set of options."""

    def __init__(self, options: DecodingOptions) -> None:
        self._keys = options.keys
        self._format = options.formats[0] if options.formats else DateFormat.ISO8601

    def value(self, value: Any) -> Any:
        """The value and all that it contains, as JSON."""
        if value is None or isinstance(value, (str, int, float)):
            return value
        if isinstance(value, dict):
            return self._dict(value)
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in value]
        return self.value(self.write(value))

    def _dict(self, value: dict[Any, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, item in value.items():
            if item is UNSET:
                continue
            name = self.value(key) if isinstance(key, _KEYS) else key
            if name in made:
                raise TypeError(f"two keys of a dictionary are written as {name!r}")
            made[name] = self.value(item)
        return made

    def write(self, value: Any) -> Any:
        """The value as JSON; it may contain values that are not."""
        if isinstance(value, type):
            raise TypeError(f"the class {value.__name__} cannot be written as JSON")
        is_of_pydantic = hasattr(value, "__pydantic_serializer__")
        if dataclasses.is_dataclass(value) and not is_of_pydantic:
            return self._object(value)
        if value is UNSET:
            raise TypeError("ntapi.UNSET can only be a member of an object")
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
        if hasattr(value, "model_dump"):
            return value.model_dump(mode="json", by_alias=True)
        if is_of_pydantic:
            # A dataclass of pydantic.
            cls: Any = type(value)
            return _adapter(cls).dump_python(value, mode="json", by_alias=True)
        raise TypeError(f"a {type(value).__name__} cannot be written as JSON")

    def _object(self, value: Any) -> Any:
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


def _writer(options: Optional[DecodingOptions]) -> _Writer:
    return _usual if options is None else _Writer(options)


@cache
def _adapter(cls: type) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


@cache
def _fields(cls: Any, keys: Keys) -> list[_Field]:
    """The fields of a dataclass."""
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


def _format_in(hint: Any, around: tuple[Any, ...] = ()) -> Optional[Dates]:
    """The format of dates that is declared anywhere in a type."""
    if hint in around:
        # An alias that contains itself.
        return None
    form = without_alias(hint)
    given: Iterable[Any] = getattr(form, "__metadata__", ())
    for item in given:
        if isinstance(item, (DateFormat, CustomDateFormat)):
            return item
    for inner in typing.get_args(form):
        found = _format_in(inner, (*around, hint))
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
        return {_with_dates(key, form): _with_dates(item, form) for key, item in value.items()}
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
