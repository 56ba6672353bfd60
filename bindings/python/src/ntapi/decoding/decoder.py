"""From JSON values to the program's own types: a function for each type, made once and kept.

`Compiler` makes these decoders. `ClassReader` in `classes` makes that of a class.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Callable, Literal, Optional
from uuid import UUID

from .. import codes
from .._bridge.enums import ErrorDomain, Unset
from .._errors import ApiError
from . import values
from .annotations import (
    ARRAYS,
    NONE,
    OBJECTS,
    UNIONS,
    is_alias,
    members_of,
    name_of,
    parameters_of,
    unnamed,
    unsupported,
    without_alias,
)
from .classes import ClassReader
from .dates import datetime_decoder, decode_day
from .models import model_decoder
from .options import CustomDateFormat, DateFormat, DecodingOptions, Step, parse_path
from .values import URL, MismatchError, absent

T = typing.TypeVar("T")
Decode = Callable[[Any], Any]

_decoders: dict[Any, tuple[Decode, bool]] = {}


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
    """Makes a value of one of the program's types from any JSON value, such as one from a header.
    `Response.decode` does the same with a response's body.

    `value` is a result of `json.loads`, and `path` says where in it to look. If it does not fit,
    raises ApiError "unexpected JSON", which names the path, what was expected and what was found.
    Raises TypeError for a type that cannot be made from JSON.
    """
    return decode_at(form, value, path, options or DecodingOptions())


def decode_at(
    form: Any,
    value: Any,
    path: str,
    options: DecodingOptions,
    exact: Optional[Callable[[], Any]] = None,
) -> Any:
    """Decodes what is at a path of a JSON value; a missing value counts as null.

    `exact` makes the value with all digits of its numbers, for a type that wants them. Raises
    ApiError "unexpected JSON", and TypeError for types that cannot be made from JSON.
    """
    decode, wants_digits = _known(form, options)
    if wants_digits and exact is not None:
        value = exact()
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
    """The value at a step; None if there is none."""
    if isinstance(step, str):
        return value.get(step) if isinstance(value, dict) else None
    return value[step] if isinstance(value, list) and step < len(value) else None


def decoder(form: Any, options: DecodingOptions) -> Decode:
    """The function that makes a value of a type from a JSON value, or raises MismatchError.

    Raises TypeError for types that cannot be made from JSON.
    """
    return _known(form, options)[0]


def _known(form: Any, options: DecodingOptions) -> tuple[Decode, bool]:
    """The decoder of a type, and whether it wants all digits of numbers."""
    try:
        # Unions compare equal in any order, but their members are tried in order.
        key = (form, repr(form), options)
        known = _decoders.get(key)
    except TypeError:
        return _compiled(form, options)
    if known is None:
        known = _decoders[key] = _compiled(form, options)
    return known


def _compiled(form: Any, options: DecodingOptions) -> tuple[Decode, bool]:
    compiler = Compiler(options)
    return compiler.compile(form), compiler.wants_digits


class Compiler:
    """Makes decoders with one set of options."""

    def __init__(self, options: DecodingOptions) -> None:
        self._options = options
        self._made: dict[Any, list[Decode]] = {}
        """The decoders that are made or being made: types may contain themselves."""
        self.wants_digits = False
        """Whether a Decimal was compiled, or a model with one."""

    def compile(self, form: Any) -> Decode:
        """The decoder of a type. It raises MismatchError if it is called with a value that does not
        fit.
        """
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
            self.wants_digits = True
            return values.decimal
        if form is None or form is NONE:
            return values.nothing
        if is_alias(form):
            return self._once(form, lambda: self.compile(without_alias(form)))
        origin = typing.get_origin(form)
        if origin is not None:
            return self._composed(form, origin, typing.get_args(form))
        if isinstance(form, type):
            return self._class(form, form, {})
        supertype = getattr(form, "__supertype__", None)
        if supertype is not None:
            return self.compile(supertype)
        raise unsupported(form)

    def _composed(self, form: Any, origin: Any, args: tuple[Any, ...]) -> Decode:
        if not hasattr(form, "__args__"):
            # A type of typing without its parameters, such as List.
            return self.compile(origin)
        if origin is typing.Annotated:
            return self._annotated(args[0], form.__metadata__)
        if origin in UNIONS:
            return self._union(members_of(form))
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
        inner = Compiler(dataclasses.replace(self._options, dates=formats))
        decode = inner.compile(form)
        self.wants_digits |= inner.wants_digits
        return decode

    def _union(self, members: list[Any]) -> Decode:
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
        named = unnamed(key)
        if named is int:
            read_key: Optional[Decode] = values.integer_key
        else:
            is_text = named in (str, Any, object)
            read_key = None if is_text else values.scalar_key(self.compile(key))
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
        return self._once(form, lambda: self._object(form, cls, variables))

    def _once(self, form: Any, make: Callable[[], Decode]) -> Decode:
        """The decoder of a type that may contain itself."""
        known = self._made.get(form)
        if known is not None:
            # If the type contains itself, look its function up when the first value comes.
            return known[0] if known else lambda value: known[0](value)
        made = self._made[form] = []
        made.append(make())
        return made[0]

    def _object(self, form: Any, cls: type, variables: dict[Any, Any]) -> Decode:
        if hasattr(cls, "__pydantic_validator__"):
            decode, has_decimal = model_decoder(form)
            self.wants_digits |= has_decimal
            return decode
        return ClassReader(cls, variables, self._options.keys, self.compile).decoder()
