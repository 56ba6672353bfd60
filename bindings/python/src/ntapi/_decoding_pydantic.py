"""Models of pydantic, when a program has it."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError

from ._decoding_errors import MismatchError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


def model_decoder(form: Any) -> Callable[[Any], Any]:
    """Has pydantic check and make a model, by its own rules."""
    validate = TypeAdapter(form).validate_python

    def decode(value: Any) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise MismatchError(first["msg"], *reversed(first["loc"])) from error

    return decode
