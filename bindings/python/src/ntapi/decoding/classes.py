"""From JSON objects to the program's classes: dataclasses, TypedDicts and NamedTuples."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, Callable, ClassVar, Optional, get_origin

from .._bridge.enums import UNSET
from .annotations import (
    hints_of,
    inherited,
    name_of,
    substitute,
    take_apart,
    unsupported,
    words_around,
)
from .options import Key, Keys, Step, spelled
from .values import MismatchError, absent, mismatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .values import Decode


_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_REST = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
"""The kinds of *args and **kwargs."""


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
        hints = hints_of(cls)
        # Unlike `dataclasses.fields`, this has the parameters that are declared as InitVar.
        fields = [
            field
            for field in cls.__dataclass_fields__.values()
            if field.init and ClassVar not in (hints[field.name], get_origin(hints[field.name]))
        ]
        declared = [self._dataclass_field(field, hints[field.name]) for field in fields]
        if _takes_by_position(cls, [field.name for field in fields]):
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
        if isinstance(hint, dataclasses.InitVar):
            hint = hint.type
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


def _takes_by_position(cls: type, names: list[str]) -> bool:
    """Whether the parameters of a dataclass are its fields, in the same order. The program may have
    written another `__init__`.

    Raises TypeError if the fields cannot be passed by name either.
    """
    try:
        parameters = signature(cls).parameters
    except (NameError, ValueError):
        # Python 3.14 evaluates their annotations, which may be known to type checkers only. A
        # built-in base class has no signature.
        return False
    kinds = [parameter.kind for parameter in parameters.values()]
    are_names_in_order = list(parameters) == names and all(kind in _BY_POSITION for kind in kinds)
    if are_names_in_order or kinds == [Parameter.VAR_POSITIONAL]:
        return True
    init = f"{cls.__name__}.__init__"
    for name in names:
        parameter = parameters.get(name)
        if parameter is None and Parameter.VAR_KEYWORD not in kinds:
            problem = f"{init} has no parameter for the field {name!r}"
            raise TypeError(f"{problem}: add it, or declare the field with field(init=False)")
        if parameter is not None and parameter.kind is Parameter.POSITIONAL_ONLY:
            raise TypeError(f"{init} has to take {name!r} by name: remove the /")
    for name, parameter in parameters.items():
        is_required = parameter.default is Parameter.empty and parameter.kind not in _REST
        if is_required and name not in names:
            problem = f"{init} needs {name!r}, which is no field"
            raise TypeError(f"{problem}: give it a default, or declare it as an InitVar")
    return False


def _constant(value: Any) -> Callable[[], Any]:
    return nothing if value is None else lambda: value


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
    """A function that makes an object by calling `make` with the fields; without `make`, a dict.

    Its code is generated for the fields of its class, as the dataclasses module generates
    `__init__`: a loop over fields takes three times as long.
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
