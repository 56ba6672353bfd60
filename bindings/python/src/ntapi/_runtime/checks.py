"""Checks of what programs pass. A mistake raises an exception where it is made."""

from __future__ import annotations

from collections.abc import Iterable
from types import CoroutineType, FunctionType

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, ClassVar, NoReturn, Optional


def type_name(value: object) -> str:
    """The type of a wrong value, for a message."""
    return type(value).__name__


def shown(value: object) -> str:
    """A wrong value in a message. A text may be a secret in the wrong place, so only a short word
    is shown.
    """
    if isinstance(value, str) and value.isalpha() and len(value) <= 10:
        return repr(value)
    if isinstance(value, (str, bytes, bytearray)):
        return f"{type_name(value)} of length {len(value)}"
    return repr(value)


def named(value: object) -> str:
    """The class of an object by the name that programs use, for its repr."""
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
    """Raises TypeError or ValueError for anything but seconds, or None for no limit."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout has to be a number of seconds, not {type_name(timeout)}")
    if timeout != timeout:
        raise ValueError("timeout has to be a number of seconds, not NaN")


def check_handler(handler: object, what: str = "the handler") -> None:
    """Raises TypeError for anything but a callable or None, which means no handler."""
    if handler is None:
        return
    if not callable(handler):
        raise TypeError(f"{what} has to be callable, not {type_name(handler)}")
    if is_async(handler):
        raise TypeError("handlers are plain functions, not async ones")


def check_member(value: object, members: Any, module: str = "ntapi") -> None:
    """Raises TypeError for anything but a member of an enum. An IntFlag may also be a number."""
    if isinstance(value, members) or (issubclass(members, int) and isinstance(value, int)):
        return
    name = members.__name__
    article = "an" if name[0] in "AEIOU" else "a"
    end = member_to_write(value, members, module)
    raise TypeError(f"{article} {name} is expected, not {shown(value)}{end}")


def member_to_write(value: object, members: Any, module: str = "ntapi") -> str:
    """The end of a message about a text that is the name of a member; "" for any other value."""
    known = members.__members__
    found = nearest(value.upper(), known) if isinstance(value, str) else None
    return "" if found is None else f"; write {module}.{members.__name__}.{found}"


def is_async(function: Any) -> bool:
    """Whether a function is async: calling it would only make a coroutine."""
    import inspect

    call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async __call__
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, call)
    )


def refuse_coroutine(result: object) -> None:
    """Raises TypeError if a hook returned a coroutine."""
    if isinstance(result, CoroutineType):
        result.close()
        raise TypeError("hooks are plain functions, not async ones")


def refuse_copy(of: object, advice: str) -> NoReturn:
    """Raises TypeError for an object that cannot be pickled or copied."""
    raise TypeError(f"{named(of)} cannot be pickled or copied: {advice}")


class Copyable:
    """A value with `__slots__`. Protocols 0 and 1 of pickle cannot copy slots by themselves."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return super().__reduce_ex__(max(protocol, 2))


def nearest(name: str, known: Iterable[str], cutoff: float = 0.7) -> Optional[str]:
    """The most similar of the known names, or None."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def similar(name: str, known: Iterable[str]) -> Optional[str]:
    """The known name that differs only in case, in `_`, or in one or two letters; or None. The same
    rule as the library's.

    It is cheap, because it is called for each attribute of each class, and strict, because short
    names easily resemble each other.
    """
    letters = _letters(name)
    for candidate in known:
        wanted = _letters(candidate)
        limit = 0 if len(wanted) < 7 else 1 if len(wanted) < 11 else 2
        if abs(len(wanted) - len(letters)) <= limit and _different(letters, wanted) <= limit:
            return candidate
    return None


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _different(one: str, other: str) -> int:
    """The number of letters between a common beginning and a common end."""
    longest, shortest = max(len(one), len(other)), min(len(one), len(other))
    same = 0
    while same < shortest and one[same] == other[same]:
        same += 1
    end = 0
    while end < shortest - same and one[-1 - end] == other[-1 - end]:
        end += 1
    return longest - same - end


def check_hooks(cls: type, hooks: Iterable[str]) -> None:
    """Raises TypeError if a new class has a method whose name is similar to that of a hook."""
    for name, value in vars(cls).items():
        if not isinstance(value, FunctionType) or name.startswith("_"):
            continue
        if any(hasattr(base, name) for base in cls.__bases__):
            continue
        found = similar(name, hooks)
        if found is not None:
            raise TypeError(f"{cls.__qualname__}.{name} is no hook: did you mean {found!r}?")


def keywords_of(method: Any) -> tuple[str, ...]:
    """The names of a method's parameters."""
    code = method.__code__
    names: tuple[str, ...] = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return names


def is_list_like(value: object) -> bool:
    """Whether a value may be a list of args: not text, bytes or a mapping, whose items are no
    args.
    """
    is_content = isinstance(value, (str, bytes, bytearray, memoryview)) or hasattr(value, "keys")
    return hasattr(value, "__iter__") and not is_content


def even_without_init(show: Callable[[Any], str]) -> Callable[[Any], str]:
    """A decorator for `__repr__`: it says so if a subclass has not called `super().__init__()`."""

    def __repr__(self: Any) -> str:  # noqa: N807
        try:
            return show(self)
        except (AttributeError, _UninitializedError) as error:
            # From Python 3.10 on, an AttributeError says whose attribute is missing.
            if getattr(error, "obj", self) is not self:
                raise
            return f"<{named(self)}, not initialized>"

    return __repr__


class _UninitializedError(RuntimeError):
    """A subclass has not called `super().__init__()`."""


def no_attribute(of: object, name: str, own: Iterable[str]) -> Exception:
    """The error for a missing attribute; `own` are the attributes that `__init__` sets."""
    cls = type(of).__qualname__
    if name in own:
        return _UninitializedError(f"{cls}.__init__ has to call super().__init__()")
    return AttributeError(f"{cls!r} object has no attribute {name!r}")


class NeedsInit:
    """A class whose error says so if a subclass has not called `super().__init__()`."""

    __slots__ = ()

    _needed: ClassVar[tuple[str, ...]] = ("_handle",)
    """The attributes that `__init__` sets."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise no_attribute(self, name, self._needed)
