"""What does not fit, while it is on its way up to whoever asked."""

from __future__ import annotations

from ._decoding_options import Step, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class MismatchError(Exception):
    """A value is not what its type expects. Each container on the way up adds its step."""

    def __init__(self, problem: str, *steps: Step) -> None:
        super().__init__(problem)
        self.problem = problem
        self.steps: list[Step] = list(steps)
        """The innermost first."""

    def __str__(self) -> str:
        path = path_text(reversed(self.steps))
        return f"{path}: {self.problem}" if path else self.problem


def mismatch(expected: str, value: Any) -> MismatchError:
    """Another kind of value was found."""
    return MismatchError(f"{expected} expected, {_found(value)} found")


def absent(expected: str, value: Any, steps: tuple[Step, ...]) -> MismatchError:
    """Nothing, or null, was found at a path below a value."""
    for step in steps:
        if isinstance(step, str):
            is_there = isinstance(value, dict) and step in value
        else:
            is_there = isinstance(value, list) and step < len(value)
        if not is_there:
            return MismatchError(f"{expected} expected, nothing found", *reversed(steps))
        value = value[step]
    return MismatchError(f"{expected} expected, {_found(value)} found", *reversed(steps))


def _found(value: Any) -> str:
    """Strings may be secret, and arrays and objects long; a number's value may be what does not
    fit.
    """
    kind = value.__class__
    if value is None:
        return "null"
    if kind is bool:
        return "boolean"
    if kind is int or kind is float:
        return f"number {value!r}"[:48]
    return {str: "string", list: "array", dict: "object"}.get(kind, str(kind.__name__))
