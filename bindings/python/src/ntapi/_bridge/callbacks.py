"""The C signatures of callbacks, and of the functions that take one."""

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

SubmitFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ReadFunction = CFUNCTYPE(c_ssize_t, c_void_p, c_void_p, c_size_t)
RewindFunction = CFUNCTYPE(c_bool, c_void_p)
ProviderFunction = CFUNCTYPE(c_void_p, c_void_p, c_char_p)
BuildArgsFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
BuildRequestFunction = CFUNCTYPE(None, c_void_p, c_void_p)
StartedFunction = CFUNCTYPE(None, c_void_p, c_void_p)
CompletedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
InformationFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_int, c_void_p)
MetricsCollectedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
ProgressedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_int64, c_int64)
DataReceivedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p, c_size_t)
SessionInvalidatedFunction = CFUNCTYPE(None, c_void_p)
ParseJsonFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
WriteLogFunction = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
RefreshFunction = CFUNCTYPE(None, c_void_p, c_void_p)
DecideFunction = CFUNCTYPE(None, c_void_p, c_void_p)
InterceptFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ObserveFunction = CFUNCTYPE(None, c_void_p, c_void_p)
InterceptorEndFunction = CFUNCTYPE(None, c_void_p, c_uint64)
MapServiceErrorFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p)
MapErrorFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_void_p)
StubMatchFunction = CFUNCTYPE(c_bool, c_void_p, c_void_p)
StubAnswerFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
ResponseFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ProgressFunction = CFUNCTYPE(None, c_void_p, c_int64, c_int64)
DataFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
JsonFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ServerEventFunction = CFUNCTYPE(None, c_void_p, c_void_p)
StoreRunFunction = CFUNCTYPE(
    None,
    *(c_void_p, c_char_p, c_char_p),
    *(POINTER(c_char_p), c_size_t),
    *(POINTER(c_char_p), c_size_t),
    c_void_p,
)


StoreGetFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
StoreSetFunction = CFUNCTYPE(None, *(c_void_p, c_char_p, c_void_p, c_size_t, c_double, c_void_p))
StoreRemoveFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
StoreCipherFunction = CFUNCTYPE(None, *(c_void_p, c_char_p, c_void_p, c_size_t, c_void_p))


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


class Hooks(Structure):
    """ntapi_hooks: the hooks of a client; NULL for those not used."""

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


# As in `signatures`.
CALLBACK_FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ntapi_executor_create": (c_void_p, (SubmitFunction, c_void_p, DestroyFunction)),
    "ntapi_args_stream": (
        c_int,
        (c_void_p, ReadFunction, RewindFunction, c_int64, c_char_p, c_void_p, DestroyFunction),
    ),
    "ntapi_defaults_set_provider": (
        c_int,
        (c_void_p, c_char_p, ProviderFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_client_resume_restored_requests": (
        c_size_t,
        (c_void_p, c_void_p, ResponseFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_client_set_hooks": (c_int, (c_void_p, c_void_p, c_void_p, DestroyFunction)),
    "ntapi_client_begin": (
        c_void_p,
        (c_void_p, c_char_p, c_void_p, ResponseFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_request_set_handler": (c_int, (c_void_p, ResponseFunction, c_void_p, DestroyFunction)),
    "ntapi_request_set_upload_progress": (
        c_int,
        (c_void_p, ProgressFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_request_set_download_progress": (
        c_int,
        (c_void_p, ProgressFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_request_set_data_handler": (c_int, (c_void_p, DataFunction, c_void_p, DestroyFunction)),
    "ntapi_request_set_decision_handler": (
        c_int,
        (c_void_p, c_int, DecideFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_request_set_json_lines_handler": (
        c_int,
        (c_void_p, JsonFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_request_set_server_event_handler": (
        c_int,
        (c_void_p, ServerEventFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_authenticator_create": (
        c_void_p,
        (c_void_p, RefreshFunction, c_void_p, DestroyFunction, POINTER(c_void_p)),
    ),
    "ntapi_interceptor_create": (
        c_void_p,
        (c_int, InterceptFunction, InterceptorEndFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_store_create": (
        c_void_p,
        (c_void_p, c_void_p, DestroyFunction, POINTER(c_void_p)),
    ),
    "ntapi_observer_create": (c_void_p, (c_int, ObserveFunction, c_void_p, DestroyFunction)),
    "ntapi_stub_rule_match": (c_int, (c_void_p, StubMatchFunction, c_void_p, DestroyFunction)),
    "ntapi_stub_rule_answer_with": (
        c_int,
        (c_void_p, StubAnswerFunction, c_void_p, DestroyFunction),
    ),
}
