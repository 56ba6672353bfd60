"""What annotations say: the forms of types, by the words that they are made of."""

from __future__ import annotations

import collections.abc
import sys
import types
import typing
from typing import Any, Optional, TypeVar, Union, get_args, get_origin

from .._enums import Unset
from .options import Key, Keys

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


def words_around(hint: Any) -> set[str]:
    """The words around a type that speak of its key: Required, NotRequired, ReadOnly."""
    words = set()
    while True:
        origin = typing.get_origin(hint)
        name = getattr(origin, "_name", None)
        if name in _AROUND_KEYS:
            words.add(name)
        elif origin is not typing.Annotated:
            return words
        hint = typing.get_args(hint)[0]


def take_apart(hint: Any) -> tuple[Any, bool, Optional[Key]]:
    """A field's type without what is around it, whether it may be null, and its Key."""
    key = None
    is_optional = False
    while True:
        origin = typing.get_origin(hint)
        args = typing.get_args(hint)
        if origin is typing.Annotated:
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
    """Types as messages name them."""
    names = []
    for form in forms:
        origin = typing.get_origin(form)
        if origin in UNIONS:
            names.append(name_of(list(typing.get_args(form))))
        elif origin in ARRAYS or origin is tuple or form in (list, tuple):
            names.append("array")
        elif origin in OBJECTS or form is dict:
            names.append("object")
        elif hasattr(form, "__supertype__") or (
            isinstance(form, type) and not typing.get_args(form)
        ):
            names.append(form.__name__)
        else:
            names.append(repr(form).replace("typing.", ""))
    return " or ".join(names)


def unsupported(form: Any) -> TypeError:
    """Says that nothing can be made of a type."""
    return TypeError(
        f"{name_of([form])} cannot be made of JSON: declare a dataclass, a TypedDict, "
        "a NamedTuple, a pydantic model, an Enum, str, int, float, bool, Decimal, datetime, date, "
        "URL, UUID, or lists, tuples, sets, dicts and unions of them"
    )


def spelled(name: str, keys: Keys) -> str:
    """The key of a field that says no other."""
    if keys is Keys.AS_DECLARED:
        return name
    first, *rest = name.split("_")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


# What the type variables of generic classes stand for.


Variables = dict[Any, Any]


def substitute(form: Any, variables: Variables) -> Any:
    """A type with its variables replaced; one that stands for nothing is Any."""
    if isinstance(form, TypeVar):
        return variables.get(form, Any)
    parameters = getattr(form, "__parameters__", ())
    if not parameters or get_origin(form) is None:
        return form
    return form[tuple(variables.get(parameter, Any) for parameter in parameters)]


def arguments(cls: type, base: type, variables: Optional[Variables] = None) -> tuple[Any, ...]:
    """What a class gives a generic base of its: `(City,)` for `class Find(Service[City])`; empty
    when it gives nothing.
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
    """The variables of a generic class, with what they stand for."""
    return dict(zip(getattr(origin, "__parameters__", ()), given))


def inherited(cls: type) -> Variables:
    """What the bases of a class were given: for `class Cities(Page[City])`, that of Page."""
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
