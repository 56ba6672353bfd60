"""From JSON values to the program's own types: a function for each type, made once and kept."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import sys
import types
import typing
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Callable, Literal, Optional, Union
from uuid import UUID

from . import _decoding_values as values
from . import codes
from ._decoding_dates import datetime_decoder, decode_day
from ._decoding_errors import MismatchError, absent
from ._decoding_objects import Field, nothing, object_decoder
from ._decoding_options import DateFormat, DecodingOptions, Key, Keys, Step, parse_path
from ._enums import ErrorDomain
from ._errors import ApiError
from ._generics import inherited, parameters_of, substitute
from ._url import URL

Decode = Callable[[Any], Any]

_UNIONS = {Union, getattr(types, "UnionType", Union)}
_ARRAYS = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: frozenset,
}
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_NONE = type(None)

_decoders: dict[Any, Decode] = {}


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
            problem = absent(_name([form]), value, steps)
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
        scalar = values.scalars(self._options.numbers_in_strings).get(form)
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
        if form is None or form is _NONE:
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
        raise _unsupported(form)

    def _composed(self, form: Any, origin: Any, args: tuple[Any, ...]) -> Decode:
        if origin is typing.Annotated:
            return self._annotated(args[0], form.__metadata__)
        if origin in _UNIONS:
            return self._union(args)
        if origin is Literal:
            return values.choice({(value.__class__, value): value for value in args})
        if origin is tuple:
            return self._tuple(args)
        if origin in _ARRAYS:
            return values.array(self.compile(args[0]), _ARRAYS[origin])
        if origin in _OBJECTS:
            return self._mapping(*args)
        if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly", "Final"):
            return self.compile(args[0])
        if isinstance(origin, type):
            return self._class(form, origin, parameters_of(origin, args))
        raise _unsupported(form)

    def _annotated(self, form: Any, metadata: tuple[Any, ...]) -> Decode:
        formats = tuple(item for item in metadata if isinstance(item, DateFormat))
        if not formats:
            return self.compile(form)
        return Compiler(dataclasses.replace(self._options, dates=formats)).compile(form)

    def _union(self, members: tuple[Any, ...]) -> Decode:
        others = [form for form in members if form is not _NONE]
        decode = (
            self.compile(others[0])
            if len(others) == 1
            else values.first_of([self.compile(form) for form in others], others, _name(others))
        )
        return decode if len(others) == len(members) else values.optional(decode)

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
        if form in _ARRAYS:
            return values.array(values.anything, _ARRAYS[form])
        if form in _OBJECTS:
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
            from ._decoding_pydantic import model_decoder

            return model_decoder(form)
        variables = {**inherited(cls), **variables}
        if dataclasses.is_dataclass(cls):
            fields = [field for field in dataclasses.fields(cls) if field.init]
            hints = _hints(cls)
            declared = [self._field(cls, field, hints[field.name], variables) for field in fields]
            # Its own `__init__`, not one that the program wrote.
            has_usual_init = getattr(cls.__dict__.get("__dataclass_params__"), "init", False)
            if has_usual_init and not any(getattr(field, "kw_only", False) for field in fields):
                for item in declared:
                    item.is_positional = True
            return object_decoder(cls.__name__, declared, cls)
        if issubclass(cls, dict) and hasattr(cls, "__total__"):
            return self._typed_dict(cls, variables)
        if issubclass(cls, tuple) and hasattr(cls, "_field_defaults"):
            return self._named_tuple(cls, variables)
        raise _unsupported(cls)

    def _field(
        self, cls: type, field: dataclasses.Field[Any], hint: Any, variables: dict[Any, Any]
    ) -> Field:
        fallback: Optional[Callable[[], Any]] = None
        if field.default_factory is not dataclasses.MISSING:
            fallback = field.default_factory
        elif field.default is not dataclasses.MISSING:
            fallback = nothing if field.default is None else _constant(field.default)
        alias = field.metadata.get("json")
        steps = None if alias is None else Key(alias).steps
        return self._declared(cls, field.name, hint, variables, fallback, steps)

    def _named_tuple(self, cls: Any, variables: dict[Any, Any]) -> Decode:
        hints = _hints(cls)
        fields = []
        for name in cls._fields:
            fallback = None
            if name in cls._field_defaults:
                fallback = _constant(cls._field_defaults[name])
            fields.append(self._declared(cls, name, hints.get(name, Any), variables, fallback))
        return object_decoder(cls.__name__, fields, cls)

    def _typed_dict(self, cls: Any, variables: dict[Any, Any]) -> Decode:
        fields = []
        for name, hint in _hints(cls).items():
            is_required = name in cls.__required_keys__
            # Of annotations that are strings, the class did not know what they say.
            words = _wrappers(hint)
            is_required = "NotRequired" not in words and (is_required or "Required" in words)
            field = self._declared(cls, name, hint, variables, None)
            field.is_left_out = not is_required
            fields.append(field)
        return object_decoder(cls.__name__, fields, None)

    def _declared(
        self,
        cls: type,
        name: str,
        hint: Any,
        variables: dict[Any, Any],
        fallback: Optional[Callable[[], Any]],
        steps: Optional[tuple[Step, ...]] = None,
    ) -> Field:
        hint = substitute(hint, variables)
        form, is_optional, key = _take_apart(hint)
        if steps is None:
            steps = key.steps if key is not None else (self._spelled(name),)
        if isinstance(steps[0], int):
            raise TypeError(f"{cls.__name__}.{name}: a path in an object begins with a key")
        if fallback is None and is_optional:
            fallback = nothing
        try:
            decode = self.compile(hint)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}.{name}: {error}") from None
        return Field(name, steps, decode, _name([form]), form, fallback)

    def _spelled(self, name: str) -> str:
        if self._options.keys is Keys.AS_DECLARED:
            return name
        first, *rest = name.split("_")
        return first + "".join(word[:1].upper() + word[1:] for word in rest)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


def _hints(cls: Any) -> dict[str, Any]:
    """The annotations of a class, those that are strings evaluated."""
    try:
        return typing.get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"the annotations of {cls.__name__}: {error}; types that they name have to be at the "
            "top of their module"
        ) from None
    except TypeError as error:
        if sys.version_info < (3, 10):
            raise TypeError(
                f"the annotations of {cls.__name__}: {error}; before Python 3.10 write Optional[X] "
                "for X | None"
            ) from None
        raise


def _wrappers(hint: Any) -> set[str]:
    """The words around a type that speak of its key: Required, NotRequired, ReadOnly."""
    words = set()
    while True:
        origin = typing.get_origin(hint)
        name = getattr(origin, "_name", None)
        if name in ("Required", "NotRequired", "ReadOnly"):
            words.add(name)
        elif origin is not typing.Annotated:
            return words
        hint = typing.get_args(hint)[0]


def _take_apart(hint: Any) -> tuple[Any, bool, Optional[Key]]:
    """A field's type without what is around it, whether it may be null, and its Key."""
    key = None
    is_optional = False
    while True:
        origin = typing.get_origin(hint)
        args = typing.get_args(hint)
        if origin is typing.Annotated:
            key = key or next((item for item in hint.__metadata__ if isinstance(item, Key)), None)
            hint = args[0]
        elif getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly", "Final"):
            hint = args[0]
        elif origin in _UNIONS and _NONE in args:
            is_optional = True
            others = tuple(form for form in args if form is not _NONE)
            if len(others) != 1:
                return Union[others], True, key
            hint = others[0]
        else:
            return hint, is_optional or hint is None or hint is _NONE or hint is Any, key


def _name(forms: list[Any]) -> str:
    """Types as messages name them."""
    names = []
    for form in forms:
        origin = typing.get_origin(form)
        if origin in _UNIONS:
            names.append(_name(list(typing.get_args(form))))
        elif origin in _ARRAYS or origin is tuple or form in (list, tuple):
            names.append("array")
        elif origin in _OBJECTS or form is dict:
            names.append("object")
        elif hasattr(form, "__supertype__") or (
            isinstance(form, type) and not typing.get_args(form)
        ):
            names.append(form.__name__)
        else:
            names.append(repr(form).replace("typing.", ""))
    return " or ".join(names)


def _unsupported(form: Any) -> TypeError:
    return TypeError(
        f"{_name([form])} cannot be made of JSON: declare a dataclass, a TypedDict, a NamedTuple, "
        "a pydantic model, an Enum, str, int, float, bool, Decimal, datetime, date, URL, UUID, or "
        "lists, tuples, sets, dicts and unions of them"
    )
