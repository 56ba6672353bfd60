"""Decoders of objects: one function for each class, written for its fields as the dataclasses
module writes `__init__`, because a loop over fields takes three times as long.
"""

from __future__ import annotations

from dataclasses import dataclass

from ._decoding_errors import MismatchError, absent, mismatch
from ._decoding_options import Step
from ._enums import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Optional

    Decode = Callable[[Any], Any]

SCALARS = (str, int, float, bool)
"""Types that a value of theirs is taken for without a call."""


@dataclass
class Field:
    """A field of a class, or a key of a TypedDict."""

    name: str
    steps: tuple[Step, ...]
    """Where it is in the JSON."""
    decode: Decode
    expected: str
    form: Any
    """The type, without what says that it may be missing."""
    fallback: Optional[Callable[[], Any]]
    """Makes the value when it is absent or null; None when it has to be there."""
    is_null_kept: bool = False
    """Whether null is None, and only what is absent is made by `fallback`: UNSET."""
    is_left_out: bool = False
    """Whether an absent one is left out: a key of a TypedDict that is not required."""
    is_positional: bool = False
    """Whether `make` takes it by its place, which costs less than by its name."""


def nothing() -> None:
    """The usual fallback."""


def object_decoder(name: str, fields: list[Field], make: Optional[Callable[..., Any]]) -> Decode:
    """A function that makes an object by calling `make` with the fields by name; a dict when it is
    None.
    """
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
    """The lines that read one field."""
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
    """The lines that find what is at a path below `value`, and what `nothing` names when nothing is
    there.
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
    """What a class's own check raised."""
    return MismatchError(f"{name} refuses it: {error}")
