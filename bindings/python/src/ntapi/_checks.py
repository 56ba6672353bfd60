"""Checks of what users hand in: a mistake is an exception where it is made, not later elsewhere."""

from __future__ import annotations

from types import CoroutineType

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional


def type_name(value: object) -> str:
    """How a message names what was given instead."""
    return type(value).__name__


def named(value: object) -> str:
    """The class of an object as programs name it, for its repr."""
    cls = type(value)
    module = cls.__module__.partition("._")[0]
    return cls.__qualname__ if module == "__main__" else f"{module}.{cls.__qualname__}"


def check_string(value: object, what: str) -> None:
    """Raises TypeError for anything but a string, ValueError for one that UTF-8 cannot hold."""
    if not isinstance(value, str):
        raise TypeError(f"{what} has to be a string, not {type_name(value)}")
    check_text(value, what)


def check_text(text: str, what: str) -> None:
    """Raises ValueError for a text that UTF-8 cannot hold."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"a lone surrogate, {text[error.start]!r}, at {error.start}"
        raise ValueError(f"{what} cannot be sent: it has {problem}") from None


def check_timeout(timeout: Optional[float]) -> None:
    """Raises for anything but seconds, or None for no limit."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout has to be a number of seconds, not {type_name(timeout)}")
    if timeout != timeout:
        raise ValueError("timeout has to be a number of seconds, not NaN")


def check_handler(handler: object, what: str = "the handler") -> None:
    """Raises TypeError for what cannot be called as a handler; None is none."""
    if handler is None:
        return
    if not callable(handler):
        raise TypeError(
            f"{what} has to be callable, not {type_name(handler)}; args of begin go in a list"
        )
    if is_async(handler):
        raise TypeError("handlers are plain functions, not async ones")


def is_async(function: Any) -> bool:
    """Whether calling it only makes a coroutine, which nobody would await."""
    import inspect

    call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async __call__
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, call)
    )


def refuse_coroutine(result: object) -> None:
    """Raises TypeError for what a hook returned when it is a coroutine."""
    if isinstance(result, CoroutineType):
        result.close()
        raise TypeError("hooks are plain functions, not async ones")
