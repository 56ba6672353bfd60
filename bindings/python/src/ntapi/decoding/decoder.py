"""From JSON values to the program's own types: a function for each type, made once and kept.

`Compiler` makes these decoders. `ClassReader` makes that of a class from the declarations of its
fields.
"""

from __future__ import annotations

import dataclasses
import enum
import typing
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Callable, Literal, Optional
from uuid import UUID

from .. import codes
from .._bridge.enums import UNSET, ErrorDomain, Unset
from .._errors import ApiError
from . import values
from .models import model_decoder
from .options import (
    ARRAYS,
    NONE,
    OBJECTS,
    UNIONS,
    CustomDateFormat,
    DateFormat,
    DecodingOptions,
    Key,
    Keys,
    Step,
    hints_of,
    inherited,
    name_of,
    parameters_of,
    parse_path,
    spelled,
    substitute,
    take_apart,
    unsupported,
    words_around,
)
from .values import URL, MismatchError, absent, datetime_decoder, decode_day, mismatch

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
        self._classes: dict[Any, list[Decode]] = {}
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
        inner = Compiler(dataclasses.replace(self._options, dates=formats))
        decode = inner.compile(form)
        self.wants_digits |= inner.wants_digits
        return decode

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
            # The type contains itself: look its function up when the first value comes.
            return known[0] if known else lambda value: known[0](value)
        made = self._classes[form] = []
        made.append(self._object(form, cls, variables))
        return made[0]

    def _object(self, form: Any, cls: type, variables: dict[Any, Any]) -> Decode:
        if hasattr(cls, "__pydantic_validator__"):
            decode, has_decimal = model_decoder(form)
            self.wants_digits |= has_decimal
            return decode
        return ClassReader(cls, variables, self._options.keys, self.compile).decoder()


# The fields of the program's classes: dataclasses, TypedDicts, NamedTuples.


class ClassReader:
    """Makes the decoder of a class.

    `compile_form` makes the decoders of its fields; `variables` are the values of its type
    variables.
    """

    def __init__(
        self,
        cls: Any,
        variables: dict[Any, Any],
        keys: Keys,
        compile_form: Callable[[Any], Decode],
    ) -> None:
        self._class = cls
        self._variables = {**inherited(cls), **variables}
        self._keys = keys
        self._compile = compile_form

    def decoder(self) -> Decode:
        """The decoder. Raises TypeError for a class that cannot be made from JSON."""
        cls = self._class
        if dataclasses.is_dataclass(cls):
            return self._dataclass()
        if issubclass(cls, dict) and hasattr(cls, "__total__"):
            return self._typed_dict()
        if issubclass(cls, tuple) and hasattr(cls, "_field_defaults"):
            return self._named_tuple()
        raise unsupported(cls)

    def _dataclass(self) -> Decode:
        cls = self._class
        fields = [field for field in dataclasses.fields(cls) if field.init]
        hints = hints_of(cls)
        declared = [self._dataclass_field(field, hints[field.name]) for field in fields]
        # The generated `__init__`, not one that the program wrote.
        has_usual_init = getattr(cls.__dict__.get("__dataclass_params__"), "init", False)
        if has_usual_init and not any(getattr(field, "kw_only", False) for field in fields):
            for item in declared:
                item.is_positional = True
        return object_decoder(cls.__name__, declared, cls)

    def _dataclass_field(self, field: dataclasses.Field[Any], hint: Any) -> Field:
        fallback: Optional[Callable[[], Any]] = None
        if field.default_factory is not dataclasses.MISSING:
            fallback = field.default_factory
        elif field.default is not dataclasses.MISSING:
            fallback = _constant(field.default)
        alias = field.metadata.get("json")
        return self._field(field.name, hint, fallback, None if alias is None else Key(alias))

    def _named_tuple(self) -> Decode:
        cls = self._class
        hints = hints_of(cls)
        fields = []
        for name in cls._fields:
            has_default = name in cls._field_defaults
            fallback = _constant(cls._field_defaults[name]) if has_default else None
            fields.append(self._field(name, hints.get(name, Any), fallback))
        return object_decoder(cls.__name__, fields, cls)

    def _typed_dict(self) -> Decode:
        cls = self._class
        fields = []
        for name, hint in hints_of(cls).items():
            is_required = name in cls.__required_keys__
            # With annotations that are strings, the class did not know which keys are required.
            words = words_around(hint)
            is_required = "NotRequired" not in words and (is_required or "Required" in words)
            field = self._field(name, hint, None)
            field.is_left_out = not is_required
            fields.append(field)
        return object_decoder(cls.__name__, fields, None)

    def _field(
        self,
        name: str,
        hint: Any,
        fallback: Optional[Callable[[], Any]],
        alias: Optional[Key] = None,
    ) -> Field:
        hint = substitute(hint, self._variables)
        form, is_optional, key = take_apart(hint)
        key = alias or key
        steps: tuple[Step, ...] = (spelled(name, self._keys),) if key is None else key.steps
        where = f"{self._class.__name__}.{name}"
        if isinstance(steps[0], int):
            raise TypeError(f"{where}: a path in an object begins with a key")
        if fallback is None and is_optional:
            fallback = nothing
        try:
            decode = self._compile(hint)
        except TypeError as error:
            raise TypeError(f"{where}: {error}") from None
        is_null_kept = is_optional and fallback is not None and fallback() is UNSET
        return Field(name, steps, decode, name_of([form]), form, fallback, is_null_kept)


def _constant(value: Any) -> Callable[[], Any]:
    return nothing if value is None else lambda: value


# Decoders of objects. The code of each is generated for the fields of its class, as the dataclasses
# module generates `__init__`: a loop over fields takes three times as long.


SCALARS = (str, int, float, bool)
"""Types whose values are accepted by a check of the type, without a call."""


@dataclass
class Field:
    """A field of a class, or a key of a TypedDict."""

    name: str
    steps: tuple[Step, ...]
    """The path to it in the JSON."""
    decode: Decode
    expected: str
    form: Any
    """The type, without `Optional` and the like."""
    fallback: Optional[Callable[[], Any]]
    """Makes the value if it is absent or null; None if it is required."""
    is_null_kept: bool = False
    """Whether null becomes None and only an absent value is made by `fallback`, because the default
    is UNSET.
    """
    is_left_out: bool = False
    """Whether an absent value is left out: for a TypedDict's key that is not required."""
    is_positional: bool = False
    """Whether `make` takes it as a positional argument, which is cheaper than by name."""


def nothing() -> None:
    """The usual fallback."""


def object_decoder(name: str, fields: list[Field], make: Optional[Callable[..., Any]]) -> Decode:
    """A function that makes an object by calling `make` with the fields; without `make`, a dict."""
    names: dict[str, Any] = {"MismatchError": MismatchError, "mismatch": mismatch, "absent": absent}
    names["UNSET"] = UNSET
    names.update(make=make, refuse=_refuse)
    lines = ["def decode(value):"]
    lines += ["    if value.__class__ is not dict:", "        raise mismatch('object', value)"]
    lines += ["    get = value.get"]
    if make is None:
        lines += ["    result = {}"]
    for number, field in enumerate(fields):
        names[f"decode_{number}"] = field.decode
        names[f"fallback_{number}"] = field.fallback
        target = f"item_{number}" if make is not None else f"result[{field.name!r}]"
        lines += [f"    {line}" for line in _field(number, field, target)]
    if make is None:
        lines += ["    return result"]
    else:
        given = ", ".join(
            f"item_{number}" if field.is_positional else f"{field.name}=item_{number}"
            for number, field in enumerate(fields)
        )
        lines += ["    try:", f"        return make({given})", "    except Exception as error:"]
        lines += [f"        raise refuse({name!r}, error) from error"]
    exec("\n".join(lines), names)
    decode: Decode = names["decode"]
    return decode


def _field(number: int, field: Field, target: str) -> list[str]:
    """The generated lines that read one field."""
    lines = _find(field.steps, "UNSET" if field.is_null_kept else "None")
    if field.is_null_kept:
        lines += ["if item is UNSET:", f"    {target} = UNSET", "elif item is None:"]
        lines += [f"    {target} = None"]
    else:
        lines += ["if item is None:"]
    if field.is_null_kept:
        pass
    elif field.is_left_out:
        lines += ["    pass"]
    elif field.fallback is nothing:
        lines += [f"    {target} = None"]
    elif field.fallback is not None:
        lines += [f"    {target} = fallback_{number}()"]
    else:
        lines += [f"    raise absent({field.expected!r}, value, {field.steps!r})"]
    if field.form in SCALARS:
        lines += [f"elif item.__class__ is {field.form.__name__}:", f"    {target} = item"]
    lines += ["else:", "    try:", f"        {target} = decode_{number}(item)"]
    lines += ["    except MismatchError as problem:"]
    lines += [f"        problem.steps += {tuple(reversed(field.steps))!r}", "        raise"]
    return lines


def _find(steps: tuple[Step, ...], nothing: str) -> list[str]:
    """The generated lines that find the value at a path below `value`; they use `nothing` if there
    is none.
    """
    lines = [f"item = get({steps[0]!r}, {nothing})"]
    for step in steps[1:]:
        if isinstance(step, str):
            lines += [
                f"item = item.get({step!r}, {nothing}) if item.__class__ is dict else {nothing}"
            ]
        else:
            there = f"item.__class__ is list and len(item) > {step}"
            lines += [f"item = item[{step}] if {there} else {nothing}"]
    return lines


def _refuse(name: str, error: Exception) -> MismatchError:
    """Raises MismatchError for what a class's own check raised."""
    return MismatchError(f"{name} refuses it: {error}")
