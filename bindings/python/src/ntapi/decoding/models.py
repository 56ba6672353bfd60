"""Models of pydantic, which makes them by its own rules."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from json import dumps

from .values import MismatchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from pydantic import TypeAdapter

    from .values import Decode


def model_decoder(form: Any) -> tuple[Decode, bool]:
    """Lets pydantic check and make a model, by its own rules. Also whether it has a Decimal."""
    # A program with a model has pydantic; others may not.
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(form)
    has_decimal = _has(adapter.core_schema, _is_decimal)
    is_strict = _has(adapter.core_schema, _is_strict)

    def decode(value: Any) -> Any:
        try:
            try:
                return adapter.validate_python(value)
            except ValidationError:
                if not is_strict:
                    raise
            return _by_text(adapter, value, has_decimal)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise MismatchError(first["msg"], *reversed(first["loc"])) from error

    return decode, has_decimal


def _by_text(adapter: TypeAdapter[Any], value: Any, has_decimal: bool) -> Any:
    """Validates a value as JSON text. Only there does a strict model accept a string for a date, a
    UUID or an enum.
    """
    made = adapter.validate_json(dumps(value, default=float))
    # Pydantic reads a Decimal in a text as a float. The value fits, so make it from all digits.
    return adapter.validate_python(value, strict=False) if has_decimal else made


def _is_strict(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("strict") is True


def _is_decimal(schema: Any) -> bool:
    return schema is Decimal or (isinstance(schema, Mapping) and schema.get("type") == "decimal")


def _has(schema: Any, is_wanted: Callable[[Any], bool]) -> bool:
    """Whether a part of a schema of pydantic is wanted."""
    if is_wanted(schema):
        return True
    # The schema of a model that is built late is a Mapping, but no dict.
    parts = schema.values() if isinstance(schema, Mapping) else schema
    return isinstance(schema, (Mapping, list, tuple)) and any(
        _has(part, is_wanted) for part in parts
    )
