"""How the annotations of the program's types are read."""

from __future__ import annotations

import collections.abc
import sys
import types
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Optional,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from .._bridge.enums import Unset
from .options import Key

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


def unnamed(form: Any) -> Any:
    """The type behind aliases, `NewType` and `Annotated`."""
    while True:
        form = without_alias(form)
        if get_origin(form) is Annotated:
            form = get_args(form)[0]
        elif hasattr(form, "__supertype__"):
            form = form.__supertype__
        else:
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
