"""Written by `python3 bindings/python/tools/write_signatures.py`.

The C signatures of callbacks, of the functions that take one, and of libntapi-redis.
"""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_bool,
    c_char_p,
    c_double,
    c_int,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint64,
    c_void_p,
)

from .signatures import DestroyFunction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ReadFunction = CFUNCTYPE(c_ssize_t, c_void_p, c_void_p, c_size_t)
RewindFunction = CFUNCTYPE(c_bool, c_void_p)
ProviderFunction = CFUNCTYPE(c_void_p, c_void_p, c_char_p)
InterceptFunction = CFUNCTYPE(None, c_void_p, c_void_p)
InterceptorEndFunction = CFUNCTYPE(None, c_void_p, c_uint64)
DecideFunction = CFUNCTYPE(None, c_void_p, c_void_p)
BuildArgsFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
BuildRequestFunction = CFUNCTYPE(None, c_void_p, c_void_p)
StartedFunction = CFUNCTYPE(None, c_void_p, c_void_p)
InformationFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_void_p)
ProgressedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int64)
DataReceivedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_size_t)
ParseJsonFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
MapServiceErrorFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p)
MapErrorFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p)
MetricsCollectedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
CompletedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
WriteLogFunction = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
SessionInvalidatedFunction = CFUNCTYPE(None, c_void_p)
RefreshFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ObserveFunction = CFUNCTYPE(None, c_void_p, c_void_p)
StoreRunFunction = CFUNCTYPE(
    None,
    c_void_p,
    c_char_p,
    c_char_p,
    POINTER(c_char_p),
    c_size_t,
    POINTER(c_char_p),
    c_size_t,
    c_void_p,
)
StoreGetFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
StoreSetFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p, c_size_t, c_double, c_void_p)
StoreRemoveFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
StoreCipherFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p, c_size_t, c_void_p)
StubMatchFunction = CFUNCTYPE(c_bool, c_void_p, c_void_p)
StubAnswerFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)


class Hooks(Structure):
    """ntapi_hooks."""

    _fields_ = (
        ("size", c_size_t),
        ("build_args", BuildArgsFunction),
        ("build_request", BuildRequestFunction),
        ("started", StartedFunction),
        ("information", InformationFunction),
        ("metrics_collected", MetricsCollectedFunction),
        ("upload_progressed", ProgressedFunction),
        ("download_progressed", ProgressedFunction),
        ("data_received", DataReceivedFunction),
        ("session_invalidated", SessionInvalidatedFunction),
        ("completed", CompletedFunction),
        ("parse_json", ParseJsonFunction),
        ("write_log", WriteLogFunction),
        ("map_service_error", MapServiceErrorFunction),
        ("map_error", MapErrorFunction),
        ("decide", DecideFunction),
        ("decisions", c_int),
    )


class StoreFunctions(Structure):
    """ntapi_store_functions."""

    _fields_ = (
        ("size", c_size_t),
        ("run", StoreRunFunction),
        ("get", StoreGetFunction),
        ("set", StoreSetFunction),
        ("remove", StoreRemoveFunction),
        ("encrypt", StoreCipherFunction),
        ("decrypt", StoreCipherFunction),
    )


class RedisOptions(Structure):
    """ntapi_redis_options."""

    _fields_ = (
        ("size", c_size_t),
        ("url", c_char_p),
        ("username", c_char_p),
        ("password", c_char_p),
        ("ca_file", c_char_p),
        ("client_certificate", c_char_p),
        ("client_key", c_char_p),
        ("timeout", c_double),
        ("encryption_keys", c_char_p),
    )


# name -> (result, arguments)
CALLBACK_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ntapi_args_stream": (
        c_int,
        (c_void_p, ReadFunction, RewindFunction, c_int64, c_char_p, c_void_p, DestroyFunction),
    ),
    "ntapi_defaults_set_provider": (
        c_int,
        (c_void_p, c_char_p, ProviderFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_interceptor_create": (
        c_void_p,
        (c_int, InterceptFunction, InterceptorEndFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_authenticator_create": (
        c_void_p,
        (c_void_p, RefreshFunction, c_void_p, DestroyFunction, POINTER(c_void_p)),
    ),
    "ntapi_observer_create": (c_void_p, (c_int, ObserveFunction, c_void_p, DestroyFunction)),
    "ntapi_stub_rule_match": (c_int, (c_void_p, StubMatchFunction, c_void_p, DestroyFunction)),
    "ntapi_stub_rule_answer_with": (
        c_int,
        (c_void_p, StubAnswerFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_redis_store_create": (c_void_p, (c_void_p, POINTER(c_void_p))),
}
