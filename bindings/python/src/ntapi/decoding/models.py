"""Models of pydantic, which makes them by its own rules."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from .values import MismatchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .values import Decode


def model_decoder(form: Any) -> tuple[Decode, bool]:
    """Lets pydantic check and make a model, by its own rules. Also whether it has a Decimal."""
    # A program with a model has pydantic; others may not.
    from pydantic import TypeAdapter, ValidationError

    adapter = TypeAdapter(form)
    validate = adapter.validate_python

    def decode(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise MismatchError(first["msg"], *reversed(first["loc"])) from error

    return decode, _has_decimal(adapter.core_schema)


def _has_decimal(schema: Any) -> bool:
    """Whether a schema of pydantic has a Decimal in it."""
    # The schema of a model that is built late is a Mapping, but no dict.
    if isinstance(schema, Mapping):
        return schema.get("type") == "decimal" or any(map(_has_decimal, schema.values()))
    if isinstance(schema, (list, tuple)):
        return any(map(_has_decimal, schema))
    return schema is Decimal
