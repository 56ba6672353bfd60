"""From JSON values to the program's own types: a function for each type, made once and kept."""

from __future__ import annotations

import dataclasses
import enum
import typing
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Callable, Literal
from uuid import UUID

from .. import codes
from .._enums import ErrorDomain, Unset
from .._errors import ApiError
from . import values
from .classes import ClassReader, model_decoder
from .dates import datetime_decoder, decode_day
from .forms import ARRAYS, NONE, OBJECTS, UNIONS, name_of, parameters_of, unsupported
from .options import CustomDateFormat, DateFormat, DecodingOptions, Step, parse_path
from .values import URL, MismatchError, absent

T = typing.TypeVar("T")
Decode = Callable[[Any], Any]

_decoders: dict[Any, Decode] = {}


if typing.TYPE_CHECKING:

    @typing.overload
    def decode(
        form: type[T],
        value: object,
        path: str = "",
        options: typing.Optional[DecodingOptions] = None,
    ) -> T: ...

    @typing.overload
    def decode(
        form: Any, value: object, path: str = "", options: typing.Optional[DecodingOptions] = None
    ) -> Any: ...


def decode(
    form: Any, value: object, path: str = "", options: typing.Optional[DecodingOptions] = None
) -> Any:
    """Makes a value of a type of the program's own from JSON that came some other way, such as in
    a header; `Response.decode` does it with a response's body.

    `value` is what `json.loads` makes, and `path` says where in it to look. Raises "unexpected
    JSON", an ApiError which names the path, what was expected there and what was found. Raises
    TypeError for a type that cannot be made of JSON.
    """
    return decode_at(form, value, path, options or DecodingOptions())


def decode_at(form: Any, value: Any, path: str, options: DecodingOptions) -> Any:
    """What a type makes of what is at a path of a JSON value; of nothing, what it makes of null.

    Raises ApiError, "unexpected JSON", and TypeError for types that cannot be made of JSON.
    """
    decode = decoder(form, options)
    steps = parse_path(path)
    item = value
    for step in steps:
        item = _child(item, step)
    try:
        return decode(item)
    except MismatchError as found:
        problem = found
        if item is None and steps:
            problem = absent(name_of([form]), value, steps)
        else:
            problem.steps += reversed(steps)
        error = ApiError(codes.UNEXPECTED_JSON, str(problem), domain=ErrorDomain.JSON)
        raise error from problem.__cause__
    except RecursionError:
        text = "nests deeper than Python's recursion limit"
        raise ApiError(codes.UNEXPECTED_JSON, text, domain=ErrorDomain.JSON) from None


def _child(value: Any, step: Step) -> Any:
    """What a step leads to; None when nothing is there."""
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    return value[step] if isinstance(value, list) and step < len(value) else None


def decoder(form: Any, options: DecodingOptions) -> Decode:
    """The function that makes a value of a type out of a JSON value, or raises MismatchError.

    Raises TypeError for types that cannot be made of JSON.
    """
    try:
        # Unions are equal in any order, but are tried in theirs.
        key = (form, repr(form), options)
        known = _decoders.get(key)
    except TypeError:
        return Compiler(options).compile(form)
    if known is None:
        known = _decoders[key] = Compiler(options).compile(form)
    return known


class Compiler:
    """Makes decoders with one set of options."""

    def __init__(self, options: DecodingOptions) -> None:
        self._options = options
        self._classes: dict[Any, list[Decode]] = {}
        """Those that are made, or being made: types may contain themselves."""

    def compile(self, form: Any) -> Decode:
        """The decoder of a type. Raises MismatchError when it is called with what does not fit."""
        scalar = values.scalars(self._options).get(form)
        if scalar is not None:
            return scalar
        if form is Any or form is object:
            return values.anything
        if form is datetime:
            return datetime_decoder(self._options.formats, self._options.numbers_in_strings)
        if form is date:
            return decode_day
        if form is URL:
            return values.parsed("URL", URL)
        if form is UUID:
            return values.parsed("UUID", UUID)
        if form is Decimal:
            return values.decimal
        if form is None or form is NONE:
            return values.nothing
        origin = typing.get_origin(form)
        if origin is not None:
            return self._composed(form, origin, typing.get_args(form))
        if isinstance(form, type):
            return self._class(form, form, {})
        supertype = getattr(form, "__supertype__", None)
        if supertype is not None:
            return self.compile(supertype)
        value = getattr(form, "__value__", None)
        if value is not None:
            return self.compile(value)
        raise unsupported(form)

    def _composed(self, form: Any, origin: Any, args: tuple[Any, ...]) -> Decode:
        if origin is typing.Annotated:
            return self._annotated(args[0], form.__metadata__)
        if origin in UNIONS:
            return self._union(args)
        if origin is Literal:
            return values.choice({(value.__class__, value): value for value in args})
        if origin is tuple:
            return self._tuple(args)
        if origin in ARRAYS:
            return values.array(self.compile(args[0]), ARRAYS[origin])
        if origin in OBJECTS:
            return self._mapping(*args)
        if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly", "Final"):
            return self.compile(args[0])
        if isinstance(origin, type):
            return self._class(form, origin, parameters_of(origin, args))
        raise unsupported(form)

    def _annotated(self, form: Any, metadata: tuple[Any, ...]) -> Decode:
        formats = tuple(
            item for item in metadata if isinstance(item, (DateFormat, CustomDateFormat))
        )
        if not formats:
            return self.compile(form)
        return Compiler(dataclasses.replace(self._options, dates=formats)).compile(form)

    def _union(self, members: tuple[Any, ...]) -> Decode:
        others = [form for form in members if form is not NONE and form is not Unset]
        decode = (
            self.compile(others[0])
            if len(others) == 1
            else values.first_of([self.compile(form) for form in others], others, name_of(others))
        )
        return values.optional(decode) if NONE in members else decode

    def _tuple(self, args: tuple[Any, ...]) -> Decode:
        if len(args) == 2 and args[1] is Ellipsis:
            return values.array(self.compile(args[0]), tuple)
        return values.row([self.compile(form) for form in args])

    def _mapping(self, key: Any, value: Any) -> Decode:
        read_key = None if key is str or key is Any else self.compile(key)
        if key is int:
            read_key = values.integer_key
        return values.mapping(read_key, self.compile(value))

    # Classes.

    def _class(self, form: Any, cls: type, variables: dict[Any, Any]) -> Decode:
        if form in ARRAYS:
            return values.array(values.anything, ARRAYS[form])
        if form in OBJECTS:
            return values.mapping(None, values.anything)
        if form is tuple:
            return values.array(values.anything, tuple)
        if issubclass(cls, enum.Enum):
            return values.enumeration(cls)
        known = self._classes.get(form)
        if known is not None:
            # It contains itself: the function is there when the first value comes.
            return known[0] if known else lambda value: known[0](value)
        made = self._classes[form] = []
        made.append(self._object(form, cls, variables))
        return made[0]

    def _object(self, form: Any, cls: type, variables: dict[Any, Any]) -> Decode:
        if hasattr(cls, "__pydantic_validator__"):
            return model_decoder(form)
        return ClassReader(cls, variables, self._options.keys, self.compile).decoder()
