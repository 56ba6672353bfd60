"""How a service writes keys, dates and numbers, and how the annotations of the program's types are
read.
"""

from __future__ import annotations

import collections.abc
import enum
import re
import sys
import types
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import (
    Annotated,
    Any,
    Callable,
    ForwardRef,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from .._bridge.enums import Unset
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


# Annotations.


UNIONS = {Union, getattr(types, "UnionType", Union)}
ARRAYS = {
    list: list,
    set: set,
    frozenset: frozenset,
    collections.abc.Sequence: list,
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: frozenset,
}
OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
NONE = type(None)
_AROUND_KEYS = ("Required", "NotRequired", "ReadOnly")


def hints_of(cls: Any) -> dict[str, Any]:
    """The annotations of a class; strings are evaluated."""
    try:
        return get_type_hints(cls, localns={cls.__name__: cls}, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"the annotations of {cls.__name__}: {error}; types that they name have to be at the "
            "top of their module"
        ) from None
    except TypeError as error:
        if sys.version_info < (3, 11) and "InitVar" in str(error):
            raise TypeError(
                f"the annotations of {cls.__name__}: before Python 3.11 an InitVar must not be a "
                "string; remove `from __future__ import annotations`"
            ) from None
        if sys.version_info < (3, 10):
            raise TypeError(
                f"the annotations of {cls.__name__}: {error}; before Python 3.10 write Optional[X] "
                "for X | None"
            ) from None
        raise


def is_alias(form: Any) -> bool:
    """Whether a type is declared as `type X = ...`, or is one with arguments, `X[int]`."""
    # There are two such classes: typing has one from Python 3.12, and typing_extensions.
    return type(get_origin(form) or form).__name__ == "TypeAliasType"


def without_alias(form: Any) -> Any:
    """The type that an alias stands for; another type unchanged."""
    while is_alias(form):
        alias = get_origin(form) or form
        form = substitute(alias.__value__, dict(zip(alias.__type_params__, get_args(form))))
    return form


def members_of(union: Any) -> list[Any]:
    """The types of a union; those of an alias in it, too."""
    found = []
    for form in map(without_alias, get_args(union)):
        found += members_of(form) if get_origin(form) in UNIONS else [form]
    return found


def words_around(hint: Any) -> set[str]:
    """The qualifiers around a type: Required, NotRequired, ReadOnly."""
    words = set()
    while True:
        origin = get_origin(hint)
        name = getattr(origin, "_name", None)
        if name in _AROUND_KEYS:
            words.add(name)
        elif origin is not Annotated:
            return words
        hint = get_args(hint)[0]


def take_apart(hint: Any) -> tuple[Any, bool, Optional[Key]]:
    """A field's type without its qualifiers, whether it may be null, and its Key."""
    key = None
    is_optional = False
    while True:
        hint = without_alias(hint)
        origin = get_origin(hint)
        args = get_args(hint) if origin not in UNIONS else members_of(hint)
        if origin is Annotated:
            key = key or next((item for item in hint.__metadata__ if isinstance(item, Key)), None)
            hint = args[0]
        elif getattr(origin, "_name", None) in (*_AROUND_KEYS, "Final"):
            hint = args[0]
        elif origin in UNIONS and (NONE in args or Unset in args):
            is_optional = is_optional or NONE in args
            others = tuple(form for form in args if form is not NONE and form is not Unset)
            if len(others) != 1:
                return Union[others], is_optional, key
            hint = others[0]
        else:
            return hint, is_optional or hint is None or hint is NONE or hint is Any, key


def name_of(forms: list[Any]) -> str:
    """The names of types, for messages."""
    names = []
    for form in forms:
        origin = get_origin(form)
        if origin in UNIONS:
            names.append(name_of(list(get_args(form))))
        elif origin in ARRAYS or origin is tuple or form in (list, tuple):
            names.append("array")
        elif origin in OBJECTS or form is dict:
            names.append("object")
        elif hasattr(form, "__supertype__") or (isinstance(form, type) and not get_args(form)):
            names.append(form.__name__)
        else:
            names.append(repr(form).replace("typing.", ""))
    return " or ".join(names)


def unsupported(form: Any) -> TypeError:
    """The error for a type that cannot be made from JSON."""
    if isinstance(form, (str, ForwardRef)):
        name = form if isinstance(form, str) else form.__forward_arg__
        return TypeError(f"{name!r} is only a name: write the type itself, without quotes")
    return TypeError(
        f"{name_of([form])} cannot be made of JSON: declare a dataclass, a TypedDict, "
        "a NamedTuple, a pydantic model, an Enum, str, int, float, bool, Decimal, datetime, date, "
        "URL, UUID, or lists, tuples, sets, dicts and unions of them"
    )


def spelled(name: str, keys: Keys) -> str:
    """The JSON key of a field without a `Key`."""
    if keys is Keys.AS_DECLARED:
        return name
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


# The values of type variables of generic classes.


Variables = dict[Any, Any]


def substitute(form: Any, variables: Variables) -> Any:
    """A type with its variables replaced; a variable without a value becomes Any."""
    if isinstance(form, TypeVar):
        return variables.get(form, Any)
    parameters = getattr(form, "__parameters__", ())
    if not parameters or get_origin(form) is None:
        return form
    return form[tuple(variables.get(parameter, Any) for parameter in parameters)]


def arguments(cls: type, base: type, variables: Optional[Variables] = None) -> tuple[Any, ...]:
    """The arguments that a class passes to a generic base: `(City,)` for `class
    Find(Service[City])`; empty if it passes none.
    """
    for parent in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(parent) or parent
        given = tuple(substitute(form, variables or {}) for form in get_args(parent))
        if origin is base:
            return given
        if isinstance(origin, type) and issubclass(origin, base):
            found = arguments(origin, base, parameters_of(origin, given))
            if found:
                return found
    return ()


def parameters_of(origin: Any, given: tuple[Any, ...]) -> Variables:
    """The variables of a generic class and their values."""
    return dict(zip(getattr(origin, "__parameters__", ()), given))


def inherited(cls: type) -> Variables:
    """The values of the variables of a class's bases: for `class Cities(Page[City])`, those of
    Page.
    """
    variables: Variables = {}
    for parent in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(parent) or parent
        if isinstance(origin, type) and origin not in (object, cls):
            given = tuple(substitute(form, variables) for form in get_args(parent))
            own = parameters_of(origin, given)
            variables.update(
                {key: substitute(form, own) for key, form in inherited(origin).items()}
            )
            variables.update(own)
    return variables
