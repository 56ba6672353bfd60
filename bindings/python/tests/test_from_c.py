"""The function that every callback from C goes through. Whatever is raised, on any thread, C gets
its result, and the steps that must follow run once.
"""

from __future__ import annotations

import ast
import asyncio
import ctypes
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

import pytest

import ntapi
from conftest import Unraisable
from ntapi._bridge import callbacks, signatures
from ntapi._bridge.library import Handle
from ntapi._bridge.logging import from_c
from ntapi._bridge.native import kept, raise_kept

KINDS = [
    ValueError,
    MemoryError,
    RecursionError,
    StopIteration,
    KeyboardInterrupt,
    SystemExit,
    GeneratorExit,
    asyncio.CancelledError,
]
FUNCTIONS: dict[str, Any] = {
    name: kind
    for module in (signatures, callbacks)
    for name, kind in vars(module).items()
    if name.endswith("Function")
}
"""The types of functions that C calls."""
SOURCES = {path: ast.parse(path.read_text()) for path in Path(ntapi.__file__).parent.rglob("*.py")}
NUMBER = 7
"""What C passes for each number and pointer."""


def raise_it(kind: type[BaseException]) -> None:
    """Raises an exception; a RecursionError by too many calls."""
    if kind is RecursionError:
        raise_it(kind)
    raise kind("by a callback")


def arguments_for(kind: Any) -> list[Any]:
    values = {ctypes.c_char_p: b"text", ctypes.c_double: 0.5}
    return [
        ctypes.pointer(each._type_()) if hasattr(each, "contents") else values.get(each, NUMBER)
        for each in kind._argtypes_
    ]


def call(function: Any, place: str) -> Any:
    """The result of a function that C calls, on a thread."""
    arguments = arguments_for(type(function))
    if place == "main":
        return function(*arguments)
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(function(*arguments)))
    thread.start()
    thread.join()
    return results[0]


def failure_of(kind: Any) -> Any:
    """A result that ctypes does not give to C by itself after an exception."""
    return {None: None, ctypes.c_bool: True}.get(kind._restype_, -1 % 2**64)


def shown(kind: Any, result: Any) -> Any:
    """A result as C gets it."""
    return None if kind._restype_ is None else ctypes.c_uint64(result).value


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    yield
    assert not kept


@pytest.mark.parametrize("place", ["main", "thread"])
@pytest.mark.parametrize("raised", KINDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_follows(unraisable: Unraisable, name: str, raised: Any, place: str) -> None:
    """Two steps follow, once each and in order, and C gets the result of a failure."""
    kind, followed = FUNCTIONS[name], []

    @from_c(
        kind,
        lambda *passed: followed.append(("first", *passed)),
        lambda *passed: followed.append(("second", *passed)),
        result=failure_of(kind),
    )
    def function(*_: Any) -> None:
        raise_it(raised)

    assert shown(kind, call(function, place)) == shown(kind, failure_of(kind))
    (first, error, *passed), (second, same, *also) = followed
    assert (first, second) == ("first", "second")
    assert isinstance(error, raised)
    assert error is same
    assert len(passed) == len(kind._argtypes_)
    assert passed == also
    assert unraisable.errors == []


@pytest.mark.parametrize("place", ["main", "thread"])
@pytest.mark.parametrize("raised", KINDS)
@pytest.mark.parametrize("name", ["DestroyFunction", "ReadFunction"])
def test_without_steps(unraisable: Unraisable, name: str, raised: Any, place: str) -> None:
    """The exception is reported once. Ctrl-C and the like on the main thread are raised there."""
    kind = FUNCTIONS[name]

    @from_c(kind, result=failure_of(kind))
    def function(*_: Any) -> None:
        raise_it(raised)

    assert shown(kind, call(function, place)) == shown(kind, failure_of(kind))
    if place == "main" and not issubclass(raised, Exception):
        assert unraisable.errors == []
        with pytest.raises(raised):
            raise_kept()
    else:
        assert [type(error) for error in unraisable.errors] == [raised]
        assert "function" in unraisable.objects[0]


@pytest.mark.parametrize("raised", KINDS)
@pytest.mark.parametrize("failing", ["first", "second", "both"])
def test_a_step_that_raises(unraisable: Unraisable, failing: str, raised: Any) -> None:
    """The other step happens all the same, and the exception of a step is reported."""
    kind, followed = FUNCTIONS["ReadFunction"], []

    def step(name: str) -> Callable[..., None]:
        def follow(*_: Any) -> None:
            followed.append(name)
            if failing in (name, "both"):
                raise_it(raised)

        return follow

    @from_c(kind, step("first"), step("second"), result=-1)
    def function(*_: Any) -> None:
        raise ValueError

    assert call(function, "main") == -1
    assert followed == ["first", "second"]
    assert [type(error) for error in unraisable.errors] == [raised]


@pytest.mark.parametrize("raised", [None, *KINDS])
def test_a_new_object_is_freed_once(unraisable: Unraisable, raised: Optional[Any]) -> None:
    """The function and each step get the same handle."""
    freed: list[int] = []
    seen: list[Any] = []

    @from_c(
        FUNCTIONS["InterceptFunction"],
        lambda _error, _token, handle: seen.append(handle),
        frees=freed.append,
    )
    def function(_: int, handle: Handle) -> None:
        seen.append(handle)
        assert handle.pointer == NUMBER
        assert freed == []
        if raised is not None:
            raise_it(raised)

    call(function, "main")
    assert len({id(handle) for handle in seen}) == 1
    assert len(seen) == (1 if raised is None else 2)
    assert freed == []
    seen.clear()
    assert freed == [NUMBER]
    assert unraisable.errors == []


def test_every_function_that_c_calls_goes_through_it() -> None:
    """Types of functions are only passed to decorators, or called without arguments for NULL."""
    wrong = []
    for path, tree in SOURCES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args:
                called = getattr(node.func, "id", None) or getattr(node.func, "attr", None)
                if called in FUNCTIONS:
                    wrong.append(f"{path.name}, line {node.lineno}: {called}")
    assert wrong == []
