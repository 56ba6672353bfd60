"""What a server says about an error in application/problem+json."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Optional

from ._bridge.json import read
from ._bridge.library import lib

if TYPE_CHECKING:
    from ._response import Response


@dataclass(frozen=True)
class ProblemDetails:
    """What a server says about an error in application/problem+json (RFC 9457).

    A member of a wrong type counts as absent. The texts come from the server: they are neither
    redacted nor cut nor escaped.
    """

    # The name that tracebacks show and programs use.
    __module__ = "ntapi"

    type: str = "about:blank"
    """A URI reference that names the kind of problem; "about:blank" if there is none."""
    title: Optional[str] = None
    """The kind of problem, for people."""
    status: Optional[int] = None
    """The status that the server gave the error. `ApiError.http_status` is the one that arrived."""
    detail: Optional[str] = None
    """This occurrence of the problem, for people."""
    instance: Optional[str] = None
    """A URI reference that names this occurrence."""
    extensions: dict[str, Any] = field(default_factory=dict, hash=False)
    """The other members."""

    def __reduce__(self) -> tuple[Any, ...]:
        # The extensions may be too deep for pickle and copy; their text is not.
        text = self.__dict__.get("_text")
        if text is not None:
            return _from_text, (text,)
        return type(self), tuple(getattr(self, name) for name in (*_KINDS, "extensions"))


_KINDS = {"type": str, "title": str, "status": int, "detail": str, "instance": str}


def _from_members(members: Any) -> Optional[ProblemDetails]:
    """Reads the members of a JSON object; None for any other JSON."""
    if not isinstance(members, dict):
        return None
    own = {name: members.get(name) for name in _KINDS}
    if isinstance(own["status"], float) and own["status"].is_integer():
        own["status"] = int(own["status"])
    fitting: dict[str, Any] = {
        name: value for name, value in own.items() if type(value) is _KINDS[name]
    }
    others = {name: value for name, value in members.items() if name not in _KINDS}
    return ProblemDetails(**fitting, extensions=others)


def _from_text(text: bytes) -> Optional[ProblemDetails]:
    problem = _from_members(read(text))
    if problem is not None:
        object.__setattr__(problem, "_text", text)
    return problem


def problem_of_c(pointer: int) -> Optional[ProblemDetails]:
    """Copies the problem of a C error."""
    text = lib.ntapi_json_text(pointer)
    return _from_text(text) if text else None


def problem_in(response: Response) -> Optional[ProblemDetails]:
    """What an answer says about its error; None if it has another media type, or no JSON object."""
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip(" \t").lower()
    return _from_members(response.json()) if media_type == "application/problem+json" else None
