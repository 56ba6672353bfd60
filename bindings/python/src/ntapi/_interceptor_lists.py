"""The interceptors of clients, of their classes, and of requests."""

from __future__ import annotations

from ._bridge.library import lib

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._args import Arg
    from ._client import BaseClient
    from ._config import SessionConfiguration
    from ._handlers import Delivery
    from ._interceptions import Use
    from ._interceptors import Interceptor


class InterceptorsAttribute:
    """The attribute `interceptors` of a client, and of a class of clients."""

    def __init__(self, of_class: Iterable[Interceptor] = ()) -> None:
        self.of_class = checked(of_class)

    def __get__(self, instance: Any, _: type) -> tuple[Interceptor, ...]:
        if instance is None:
            return self.of_class
        own: tuple[Interceptor, ...] = instance._interceptors
        return own

    def __set__(self, instance: BaseClient, interceptors: Iterable[Interceptor]) -> None:
        replace(instance, interceptors)


def checked(interceptors: Iterable[Interceptor]) -> tuple[Interceptor, ...]:
    """A copy of the list. Raises TypeError for anything but interceptors."""
    if not interceptors:
        return ()
    # Imported here because few programs have interceptors.
    from ._interceptors import check_interceptor

    found = tuple(interceptors)
    for interceptor in found:
        check_interceptor(interceptor)
    return found


def _of_class(python_class: type) -> tuple[Interceptor, ...]:
    """The interceptors in the body of a class, or of its nearest base class that has some."""
    for base in python_class.__mro__:
        if "interceptors" not in base.__dict__:
            continue
        found = base.__dict__["interceptors"]
        if not isinstance(found, InterceptorsAttribute):
            # A plain list in the class would hide the attribute of the client.
            found = InterceptorsAttribute(found)
            type.__setattr__(base, "interceptors", found)
        return found.of_class
    return ()


def inherit(client: BaseClient, configuration: SessionConfiguration | None) -> None:
    """Gives a new client the interceptors of its class and of its configuration."""
    client._inherited_interceptors = _of_class(type(client))
    if configuration is not None:
        client._inherited_interceptors += checked(configuration.interceptors)
    if client._inherited_interceptors:
        replace(client, ())


def replace(client: BaseClient, interceptors: Iterable[Interceptor]) -> None:
    """Replaces the interceptors of a client."""
    own = checked(interceptors)
    everyone = client._inherited_interceptors + own
    recorder = client._doubles.get("recorder")
    if recorder is not None:
        # The recorder's are innermost, because they stand for the server.
        everyone += recorder._interceptors
    check_loop(client, everyone)
    if everyone:
        # Set this first: interceptors look up the delivery of their request, and a request that
        # starts fast has none.
        client._may_start_fast = False
    pointer = lib.ntapi_args_create()
    try:
        _append(pointer, everyone, client._uses, client)
        # Replace them in one step, so that no request is sent without interceptors meanwhile.
        lib.ntapi_client_set_interceptors(client._handle.pointer, pointer)
    finally:
        lib.ntapi_args_free(pointer)
    client._interceptors = own
    client._may_start_fast = client._is_plain and not everyone


def add_to_args(pointer: int, args: list[Arg], delivery: Delivery) -> None:
    """Gives a request its own interceptors, and the loop and context for async ones."""
    client = delivery.client
    own = checked([arg.values[0] for arg in args if arg.kind == "interceptor"])
    check_loop(client, own)
    _append(pointer, own, delivery.interceptor_uses, client)
    if client._deliveries is not None:
        from ._runtime.loops import running_loop

        loop = running_loop()
        if loop is not None:
            from contextvars import copy_context

            delivery.home = loop, copy_context()


def check_loop(client: BaseClient, interceptors: Iterable[Interceptor]) -> None:
    """Raises TypeError for an async interceptor of a blocking client."""
    if client._has_loop:
        return
    for interceptor in interceptors:
        if interceptor.is_async:
            raise TypeError(
                f"{interceptor!r} is async and needs an AsyncClient; a generator works for both"
            )


def _append(
    pointer: int, interceptors: Iterable[Interceptor], holder: dict[int, Use], client: BaseClient
) -> None:
    """Appends interceptors to a C list of args; `holder` keeps them alive."""
    for interceptor in interceptors:
        from ._interceptions import Use

        if client._deliveries is None:
            from weakref import WeakValueDictionary

            client._deliveries = WeakValueDictionary()
        Use(interceptor, holder, client._deliveries).append_to(pointer)
