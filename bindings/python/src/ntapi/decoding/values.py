"""Decoders of scalars, arrays, dicts, enums and unions."""

from __future__ import annotations

import enum
import re
from collections.abc import Hashable
from decimal import Decimal, InvalidOperation
from math import inf, isfinite
from urllib.parse import urlsplit

from .options import path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    from .._types import Self
    from .options import DecodingOptions, Step

    Decode = Callable[[Any], Any]

_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_NUMBERS: set[type] = {int, float, Decimal}
"""The types of a JSON number: `json.loads` makes Decimals with `parse_float=Decimal`."""
_LARGEST = 308
"""The exponent of the largest double. Responses have no larger numbers either."""


def anything(value: Any) -> Any:
    """Any value, unchanged."""
    return value


def nothing(value: Any) -> None:
    """Null."""
    if value is not None:
        raise mismatch("null", value)


def string(value: Any) -> str:
    """A string."""
    if value.__class__ is not str:
        raise mismatch("str", value)
    text: str = value
    return text


def boolean(value: Any) -> bool:
    """A boolean."""
    if value.__class__ is not bool:
        raise mismatch("bool", value)
    truth: bool = value
    return truth


_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


def loose_boolean(value: Any) -> bool:
    """A boolean, or a number or string that stands for one."""
    kind = value.__class__
    if kind is bool:
        return bool(value)
    if kind is str and value in _TRUTHS:
        return _TRUTHS[value]
    if kind in _NUMBERS and value in (0, 1):
        return bool(value)
    raise mismatch("bool", value)


def integer(value: Any) -> int:
    """An integer, or a whole number such as 5.0."""
    kind = value.__class__
    if kind is int or (kind is float and value.is_integer()):
        return int(value)
    # To make an integer of 1e999999999 takes very long.
    if kind is Decimal and value.is_finite() and value.adjusted() <= _LARGEST:
        whole = int(value)
        if whole == value:
            return whole
    raise mismatch("int", value)


def number(value: Any) -> float:
    """Any number that a float can hold."""
    kind = value.__class__
    if kind in _NUMBERS:
        try:
            result = float(value)
        except OverflowError:
            result = inf
        if isfinite(result):
            return result
    raise mismatch("float", value)


def decimal(value: Any) -> Decimal:
    """A number, digit by digit, or a string that contains one: "19.90"."""
    kind = value.__class__
    if kind in _NUMBERS or (kind is str and _NUMBER.fullmatch(value)):
        try:
            return Decimal(value if kind is not float else repr(value))
        except InvalidOperation:
            pass
    raise mismatch("Decimal", value)


def _in_string(decode: Callable[[Any], Any], expected: str) -> Decode:
    def decode_number(value: Any) -> Any:
        if value.__class__ is not str:
            return decode(value)
        if not _NUMBER.fullmatch(value):
            raise mismatch(expected, value)
        try:
            if value.lstrip("-").isdigit():
                return decode(int(value))
            # A float does not have all digits of a large integer.
            return decode(Decimal(value))
        # A ValueError: more digits than Python reads. InvalidOperation: a larger exponent.
        except (MismatchError, ValueError, InvalidOperation):
            raise mismatch(expected, value) from None

    return decode_number


_SCALARS: dict[Any, Decode] = {str: string, bool: boolean, int: integer, float: number}
_LENIENT: dict[Any, Decode] = {
    **_SCALARS,
    int: _in_string(integer, "int"),
    float: _in_string(number, "float"),
}


class Scalars:
    """A table whose look-up accepts any key, also one without a hash."""

    def __init__(self, table: dict[Any, Decode]) -> None:
        self._table = table

    def get(self, form: Any) -> Optional[Decode]:
        """The decoder of a scalar type."""
        return self._table.get(form) if isinstance(form, type) else None


_LOOSE = {bool: loose_boolean}
_TABLES = {
    (False, False): Scalars(_SCALARS),
    (True, False): Scalars(_LENIENT),
    (False, True): Scalars({**_SCALARS, **_LOOSE}),
    (True, True): Scalars({**_LENIENT, **_LOOSE}),
}


def scalars(options: DecodingOptions) -> Scalars:
    """The decoders of scalar types."""
    return _TABLES[bool(options.numbers_in_strings), bool(options.loose_booleans)]


def parsed(name: str, make: Callable[[str], Any]) -> Decode:
    """The decoder of a type that is written as a string; `make` raises ValueError for a string that
    does not fit.
    """

    def decode(value: Any) -> Any:
        if value.__class__ is not str:
            raise mismatch(name, value)
        try:
            return make(value)
        except ValueError as error:
            raise MismatchError(f"{name} expected: {error}") from None

    return decode


def optional(inner: Decode) -> Decode:
    """None for null."""
    return lambda value: None if value is None else inner(value)


_KINDS: dict[Any, type] = {string: str, boolean: bool, integer: int, number: float}


def array(element: Decode, make: type) -> Decode:
    """An array whose elements have one type."""
    kind = _KINDS.get(element)

    def decode(value: Any) -> Any:
        if value.__class__ is not list:
            raise mismatch("array", value)
        if kind is not None:
            # If all elements already have a scalar type, no call for each is needed.
            for item in value:
                if item.__class__ is not kind:
                    break
            else:
                return make(value)
        result: list[Any] = []
        append = result.append
        try:
            for item in value:
                append(element(item))
        except MismatchError as problem:
            problem.steps.append(len(result))
            raise
        try:
            return result if make is list else make(result)
        except TypeError as error:
            text = f"its elements cannot be in a {make.__name__} ({error}): declare a list"
            raise MismatchError(text) from error

    return decode


def row(elements: list[Decode]) -> Decode:
    """An array with a type for each place."""

    def decode(value: Any) -> Any:
        if value.__class__ is not list:
            raise mismatch("array", value)
        if len(value) != len(elements):
            raise MismatchError(f"{len(elements)} elements expected, {len(value)} found")
        result: list[Any] = []
        try:
            for element, item in zip(elements, value):
                result.append(element(item))
        except MismatchError as problem:
            problem.steps.append(len(result))
            raise
        return tuple(result)

    return decode


def integer_key(key: str) -> int:
    """A key that is an integer."""
    try:
        if re.fullmatch(r"-?[0-9]+", key):
            return int(key)
    except ValueError:
        # More digits than Python reads.
        pass
    raise MismatchError("an integer as key expected")


_WORDS = {"true": True, "false": False, "null": None}


def scalar_key(inner: Decode) -> Decode:
    """A key of another type. JSON has keys as text, and so does a number or boolean as a key."""

    def decode(key: str) -> Any:
        try:
            return inner(key)
        except MismatchError as problem:
            if key not in _WORDS and not _NUMBER.fullmatch(key):
                raise
            try:
                return inner(_WORDS[key] if key in _WORDS else _number_in(key))
            # A ValueError: more digits than Python reads.
            except (MismatchError, ValueError):
                raise problem from None

    return decode


def _number_in(text: str) -> Any:
    return int(text) if text.lstrip("-").isdigit() else float(text)


def mapping(read_key: Optional[Decode], inner: Decode) -> Decode:
    """An object whose keys are data, as a dict."""

    def decode(value: Any) -> Any:
        if value.__class__ is not dict:
            raise mismatch("object", value)
        result = {}
        key = ""
        try:
            for key, item in value.items():
                result[key if read_key is None else read_key(key)] = inner(item)
        except MismatchError as problem:
            problem.steps.append(key)
            raise
        return result

    return decode


def choice(known: dict[tuple[type, Any], Any]) -> Decode:
    """One of some values."""
    expected = "one of " + ", ".join(repr(value) for _, value in known)

    def decode(value: Any) -> Any:
        if isinstance(value, Hashable):
            pair = (value.__class__, value)
            if pair in known:
                return known[pair]
        raise mismatch(expected, value)

    return decode


def enumeration(cls: type[enum.Enum]) -> Decode:
    """A member of an enum, by its value."""
    known = {(member.value.__class__, member.value): member for member in cls if _hashable(member)}
    find = choice(known)

    def decode(value: Any) -> Any:
        try:
            return find(value)
        except MismatchError as problem:
            # The class may accept more values: through `_missing_`, or as combined flags.
            if value.__class__ is bool:
                raise
            try:
                return cls(value)
            except (ValueError, TypeError):
                pass
            except Exception as error:
                # A mistake in `_missing_`.
                raise problem from error
            raise

    return decode


def _hashable(member: enum.Enum) -> bool:
    return isinstance(member.value, Hashable)


def first_of(decoders: list[Decode], forms: list[Any], expected: str) -> Decode:
    """The first of several types that fits; for a number, its exact type first."""
    exact = {form for form in (int, float, bool) if form in forms}

    def decode(value: Any) -> Any:
        if value.__class__ in exact:
            return value
        deepest: Optional[MismatchError] = None
        for decode_one in decoders:
            try:
                return decode_one(value)
            except MismatchError as problem:
                if deepest is None or len(problem.steps) > len(deepest.steps):
                    deepest = problem
        # Report the type that got furthest: most likely it was meant.
        if deepest is not None and deepest.steps:
            raise deepest
        raise mismatch(expected, value)

    return decode


# The exception for a value that does not fit.


class MismatchError(Exception):
    """A value does not fit its type. On the way up, each container adds its step."""

    def __init__(self, problem: str, *steps: Step) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[Step] = list(steps)
        """The path, the innermost step first."""

    def __str__(self) -> str:
        path = path_text(reversed(self.steps))
        return f"{path}: {self.problem}" if path else self.problem


def mismatch(expected: str, value: Any) -> MismatchError:
    """The error for a value of another kind."""
    return MismatchError(f"{expected} expected, {_found(value)} found")


def absent(expected: str, value: Any, steps: tuple[Step, ...]) -> MismatchError:
    """The error for a missing value, or null, at a path below a value."""
    for step in steps:
        if isinstance(step, str):
            is_there = isinstance(value, dict) and step in value
        else:
            is_there = isinstance(value, list) and step < len(value)
        if not is_there:
            return MismatchError(f"{expected} expected, nothing found", *reversed(steps))
        value = value[step]
    return MismatchError(f"{expected} expected, {_found(value)} found", *reversed(steps))


def _found(value: Any) -> str:
    """What was found, for a message. Only a number is shown: strings may be secret, and arrays and
    objects long.
    """
    kind = value.__class__
    if value is None:
        return "null"
    if kind is bool:
        return "boolean"
    if kind in _NUMBERS:
        return f"number {value if kind is Decimal else repr(value)}"[:48]
    return {str: "string", list: "array", dict: "object"}.get(kind, str(kind.__name__))


class URL(str):
    """An absolute http or https URL: a checked string. Raises ValueError for any other string.

    Declare `str` for relative URLs and those with other schemes.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if re.search(r"[\x00-\x20\x7f]", text):
            raise ValueError("a URL with a space or a control character")
        parts = urlsplit(text)
        if parts.scheme not in ("http", "https") or not text[len(parts.scheme) :].startswith("://"):
            raise ValueError("a URL must begin with http:// or https://")
        if not parts.hostname:
            raise ValueError("a URL without a host")
        if parts.username is not None:
            raise ValueError("a user or password does not belong into a URL")
        if parts.port == 0:
            raise ValueError("a port is from 1 to 65535")
        return super().__new__(cls, text)
