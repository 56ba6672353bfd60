"""The interceptors of clients, of their classes, and of requests."""

from __future__ import annotations

from ._library import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._arg import Arg
    from ._client import BaseClient
    from ._configuration import SessionConfiguration
    from ._delivery import Delivery
    from ._interceptor import Interceptor
    from ._passages import Use


class InterceptorsAttribute:
    """`interceptors`, of a client and of a class of clients."""

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
    """A copy. Raises TypeError for anything but interceptors."""
    if not interceptors:
        return ()
    from ._interceptor import check_interceptor

    found = tuple(interceptors)
    for interceptor in found:
        check_interceptor(interceptor)
    return found


def _of_class(python_class: type) -> tuple[Interceptor, ...]:
    """What a class, or the first that it derives from, says in its body."""
    for base in python_class.__mro__:
        if "interceptors" not in base.__dict__:
            continue
        found = base.__dict__["interceptors"]
        if not isinstance(found, InterceptorsAttribute):
            # A plain list would hide the attribute of the client.
            found = InterceptorsAttribute(found)
            type.__setattr__(base, "interceptors", found)
        return found.of_class
    return ()


def inherit(client: BaseClient, configuration: SessionConfiguration | None) -> None:
    """Gives a new client those of its class and of its configuration."""
    client._inherited_interceptors = _of_class(type(client))
    if configuration is not None:
        client._inherited_interceptors += checked(configuration.interceptors)
    if client._inherited_interceptors:
        replace(client, ())


def replace(client: BaseClient, interceptors: Iterable[Interceptor]) -> None:
    """Gives a client interceptors of its own, in the place of those that it had."""
    own = checked(interceptors)
    everyone = client._inherited_interceptors + own
    check_loop(client, everyone)
    if everyone:
        # Before they are there: they ask whose request it is.
        client._may_be_short = False
    pointer = lib.ntapi_args_create()
    try:
        _append(pointer, everyone, client._uses, client)
        # In one step: no request goes without them meanwhile.
        lib.ntapi_client_set_interceptors(client._handle.pointer, pointer)
    finally:
        lib.ntapi_args_free(pointer)
    client._interceptors = own
    client._may_be_short = client._is_plain and not everyone


def add_to_args(pointer: int, args: list[Arg], delivery: Delivery) -> None:
    """Gives a request its own interceptors, and all of them what they ask of it."""
    client = delivery.client
    own = checked([arg.values[0] for arg in args if arg.kind == "interceptor"])
    check_loop(client, own)
    _append(pointer, own, delivery.interceptor_uses, client)
    if client._deliveries is not None:
        from ._loops import running_loop

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
    """Appends interceptors to a C list of args; `holder` keeps them."""
    for interceptor in interceptors:
        from ._passages import Use

        if client._deliveries is None:
            from weakref import WeakValueDictionary

            client._deliveries = WeakValueDictionary()
        Use(interceptor, holder, client._deliveries).append_to(pointer)
