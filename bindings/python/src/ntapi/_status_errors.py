"""What the `HTTP error` of a status becomes: `errors={404: NotFound}`."""

from __future__ import annotations

from collections.abc import Mapping

from . import codes
from ._errors import ApiError
from ._hooks import replace_error
from ._runtime.checks import is_async, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from ._client_parts import NamedErrors
    from ._response import Response
    from ._service import Service


def check(errors: Any) -> None:
    """Raises TypeError or ValueError for a table that cannot be used."""
    if not isinstance(errors, Mapping):
        line = "errors={404: NotFound}"
        raise TypeError(f"errors has to be a dict of statuses, {line}, not {shown(errors)}")
    for status, entry in errors.items():
        if not isinstance(status, int) or isinstance(status, bool):
            raise TypeError(f"errors: a status has to be an int such as 404, not {shown(status)}")
        if status < 300:
            raise ValueError(f"errors: {status} is never an error; those have a status from 300")
        if isinstance(entry, type):
            is_right = issubclass(entry, ApiError)
        else:
            is_right = isinstance(entry, codes.ErrorCode) or (
                callable(entry) and not is_async(entry)
            )
        if not is_right:
            raise TypeError(
                f"errors[{status}] has to be a subclass of ntapi.ApiError, a function of the error "
                f"or an ErrorCode, not {shown(entry)}"
            )


def check_class(cls: type) -> None:
    """Checks the table in the body of a class. A property is read only when it is needed."""
    errors = cls.__dict__["errors"]
    if not isinstance(errors, property):
        check(errors)


def replace(client: NamedErrors, service: Optional[Service[Any]], response: Response) -> None:
    """Replaces a response's `HTTP error` if the table of the service or the client has its
    status.
    """
    error = response.error
    if error is None or error.code is not codes.HTTP_ERROR or error.http_status is None:
        return
    status = error.http_status
    entry = service.errors.get(status) if service is not None else None
    if entry is None:
        entry = client.errors.get(status)
    if entry is None:
        return
    if isinstance(entry, codes.ErrorCode):
        # `str` looks the server's words up and keeps them, but only while the code is HTTP_ERROR.
        str(error)
        error.code = entry
    elif isinstance(entry, type) and not _has_own_init(entry):
        # The same error, but of this class.
        named = entry.__new__(entry, *error.args)
        named.__dict__.update(error.__dict__)
        response._set_error(named)
    else:
        make: Any = entry
        replace_error(lambda error, _: make(error), response)


def _has_own_init(kind: type[ApiError]) -> bool:
    return any("__init__" in vars(base) for base in kind.__mro__[: kind.__mro__.index(ApiError)])
