"""What the type variables of generic classes stand for."""

from __future__ import annotations

from typing import Any, Optional, TypeVar, get_args, get_origin

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
