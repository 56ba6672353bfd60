"""What the classes of a program say of their fields: dataclasses, TypedDicts, NamedTuples."""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Optional

from ._decoding_objects import Field, nothing, object_decoder
from ._decoding_options import Key, Keys, Step
from ._enums import UNSET
from ._forms import hints_of, name_of, spelled, take_apart, unsupported, words_around
from ._generics import inherited, substitute

Decode = Callable[[Any], Any]


class ClassReader:
    """Makes the decoder of a class.

    `compile_form` makes those of its fields; `variables` are what its type variables stand for.
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
        """The decoder. Raises TypeError when nothing can be made of the class."""
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
        # Its own `__init__`, not one that the program wrote.
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
            # Of annotations that are strings, the class did not know what they say.
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
