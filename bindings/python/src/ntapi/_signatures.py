"""The C signatures of libntapi: the only place that knows them, compared with include/ntapi.h by a
test.
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Callbacks. An instance made without arguments, DestroyFunction(), is the NULL pointer.
DestroyFunction = CFUNCTYPE(None, c_void_p)
SubmitFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ReadFunction = CFUNCTYPE(c_ssize_t, c_void_p, c_void_p, c_size_t)
RewindFunction = CFUNCTYPE(c_bool, c_void_p)
ProviderFunction = CFUNCTYPE(c_void_p, c_void_p, c_char_p)
LogFunction = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
BuildArgsFunction = CFUNCTYPE(None, c_void_p, c_char_p, c_void_p)
BuildRequestFunction = CFUNCTYPE(None, c_void_p, c_void_p)
StartedFunction = CFUNCTYPE(None, c_void_p, c_void_p)
CompletedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
MetricsCollectedFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_void_p)
SessionInvalidatedFunction = CFUNCTYPE(None, c_void_p)
ParseJsonFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
WriteLogFunction = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
RefreshFunction = CFUNCTYPE(None, c_void_p, c_void_p)
DecideFunction = CFUNCTYPE(None, c_void_p, c_void_p)
MapServiceErrorFunction = CFUNCTYPE(c_void_p, c_void_p, c_void_p)
ResponseFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ProgressFunction = CFUNCTYPE(None, c_void_p, c_int64, c_int64)
DataFunction = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
JsonFunction = CFUNCTYPE(None, c_void_p, c_void_p)
ServerEventFunction = CFUNCTYPE(None, c_void_p, c_void_p)


class Summary(Structure):
    """ntapi_summary: what a response says at once."""

    _fields_ = (
        ("error", c_void_p),
        ("data", c_void_p),
        ("length", c_size_t),
        ("status", c_int),
        ("contents", c_int),
    )


class ServerEvent(Structure):
    """ntapi_server_event."""

    _fields_ = (
        ("type", c_char_p),
        ("data", c_void_p),
        ("length", c_size_t),
        ("last_event_id", c_char_p),
    )


class Event(Structure):
    """ntapi_event: what a mailbox hands over in the pull style."""

    _fields_ = (
        ("handler", c_int),
        ("user_data", c_void_p),
        ("response", c_void_p),
        ("bytes", c_int64),
        ("total", c_int64),
        ("data", c_void_p),
        ("decision", c_void_p),
        ("summary", Summary),
    )


class Watch(Structure):
    """ntapi_watch: a wait that looks up, and what has come of it."""

    _fields_ = (
        ("timeout", c_double),
        ("descriptor", c_int),
        ("request", c_void_p),
        ("response", c_void_p),
        ("summary", Summary),
    )


# name -> (result, arguments). Bytes that may contain NUL are void * here.
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ntapi_version": (c_char_p, ()),
    "ntapi_drain": (c_size_t, (c_double,)),
    "ntapi_code_register": (c_char_p, (c_char_p,)),
    "ntapi_error_create": (c_void_p, (c_int, c_char_p, c_char_p)),
    "ntapi_error_free": (None, (c_void_p,)),
    "ntapi_error_get_domain": (c_int, (c_void_p,)),
    "ntapi_error_code": (c_char_p, (c_void_p,)),
    "ntapi_error_message": (c_char_p, (c_void_p,)),
    "ntapi_error_http_status": (c_int, (c_void_p,)),
    "ntapi_error_transport_code": (c_int, (c_void_p,)),
    "ntapi_error_is_retryable": (c_bool, (c_void_p,)),
    "ntapi_json_parse": (c_void_p, (c_char_p, c_size_t, POINTER(c_void_p))),
    "ntapi_json_create_string": (c_void_p, (c_char_p,)),
    "ntapi_json_free": (None, (c_void_p,)),
    "ntapi_json_get_type": (c_int, (c_void_p, c_char_p)),
    "ntapi_json_string": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_json_string_length": (c_size_t, (c_void_p, c_char_p)),
    "ntapi_json_int": (c_int64, (c_void_p, c_char_p, c_int64)),
    "ntapi_json_double": (c_double, (c_void_p, c_char_p, c_double)),
    "ntapi_json_bool": (c_bool, (c_void_p, c_char_p, c_bool)),
    "ntapi_json_count": (c_size_t, (c_void_p, c_char_p)),
    "ntapi_json_key": (c_char_p, (c_void_p, c_char_p, c_size_t)),
    "ntapi_json_get": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_json_text": (c_char_p, (c_void_p,)),
    "ntapi_mailbox_create": (c_void_p, ()),
    "ntapi_mailbox_main": (c_void_p, ()),
    "ntapi_mailbox_current": (c_void_p, ()),
    "ntapi_mailbox_free": (None, (c_void_p,)),
    "ntapi_mailbox_fd": (c_int, (c_void_p,)),
    "ntapi_mailbox_drain": (c_size_t, (c_void_p,)),
    "ntapi_mailbox_run": (c_int, (c_void_p, c_double)),
    "ntapi_mailbox_stop": (c_int, (c_void_p,)),
    "ntapi_mailbox_take": (c_size_t, (c_void_p, POINTER(Event), c_size_t)),
    "ntapi_data_bytes": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "ntapi_data_next_json": (c_void_p, (c_void_p,)),
    "ntapi_data_next_json_pickle": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "ntapi_data_next_server_event": (c_bool, (c_void_p, POINTER(ServerEvent))),
    "ntapi_data_free": (None, (c_void_p,)),
    "ntapi_executor_create": (c_void_p, (SubmitFunction, c_void_p, DestroyFunction)),
    "ntapi_executor_free": (None, (c_void_p,)),
    "ntapi_job_run": (None, (c_void_p,)),
    "ntapi_args_create": (c_void_p, ()),
    "ntapi_args_copy": (c_void_p, (c_void_p,)),
    "ntapi_args_free": (None, (c_void_p,)),
    "ntapi_args_count": (c_size_t, (c_void_p,)),
    "ntapi_args_description": (c_char_p, (c_void_p,)),
    "ntapi_args_append_json": (c_int, (c_void_p, c_char_p, c_size_t, POINTER(c_void_p))),
    "ntapi_args_append": (c_int, (c_void_p, c_void_p)),
    "ntapi_args_mark_secret": (c_int, (c_void_p,)),
    "ntapi_args_url": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_url_int": (c_int, (c_void_p, c_char_p, c_int64)),
    "ntapi_args_url_double": (c_int, (c_void_p, c_char_p, c_double)),
    "ntapi_args_url_bool": (c_int, (c_void_p, c_char_p, c_bool)),
    "ntapi_args_path": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_form": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_multipart": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_multipart_data": (c_int, (c_void_p, c_char_p, c_void_p, c_size_t, c_char_p)),
    "ntapi_args_multipart_named_data": (
        c_int,
        (c_void_p, c_char_p, c_void_p, c_size_t, c_char_p, c_char_p),
    ),
    "ntapi_args_multipart_file": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_char_p)),
    "ntapi_args_data": (c_int, (c_void_p, c_void_p, c_size_t, c_char_p)),
    "ntapi_args_json": (c_int, (c_void_p, c_void_p)),
    "ntapi_args_download": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_resume": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_file": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_stream": (
        c_int,
        (c_void_p, ReadFunction, RewindFunction, c_int64, c_char_p, c_void_p, DestroyFunction),
    ),
    "ntapi_args_base_url": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_add_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_basic_auth": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_digest_auth": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_bearer": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_timeout": (c_int, (c_void_p, c_int, c_double)),
    "ntapi_args_method": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_cache_policy": (c_int, (c_void_p, c_int)),
    "ntapi_args_option": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_option_value": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_get_option": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_args_thread": (c_int, (c_void_p, c_int, c_int)),
    "ntapi_args_executor": (c_int, (c_void_p, c_int, c_void_p)),
    "ntapi_args_mailbox": (c_int, (c_void_p, c_int, c_void_p)),
    "ntapi_defaults_global": (c_void_p, ()),
    "ntapi_class_create": (c_void_p, (c_char_p, c_void_p)),
    "ntapi_class_free": (None, (c_void_p,)),
    "ntapi_class_defaults": (c_void_p, (c_void_p,)),
    "ntapi_client_defaults": (c_void_p, (c_void_p,)),
    "ntapi_defaults_set": (c_int, (c_void_p, c_char_p, c_void_p)),
    "ntapi_defaults_set_string": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_defaults_set_number": (c_int, (c_void_p, c_char_p, c_double)),
    "ntapi_defaults_set_bool": (c_int, (c_void_p, c_char_p, c_bool)),
    "ntapi_defaults_set_provider": (
        c_int,
        (c_void_p, c_char_p, ProviderFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_defaults_get": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_log_set_sink": (None, (LogFunction, c_void_p, DestroyFunction)),
    "ntapi_configuration_create": (c_void_p, (c_int, c_char_p)),
    "ntapi_configuration_free": (None, (c_void_p,)),
    "ntapi_configuration_get_kind": (c_int, (c_void_p,)),
    "ntapi_configuration_identifier": (c_char_p, (c_void_p,)),
    "ntapi_configuration_defaults": (c_void_p, (c_void_p,)),
    "ntapi_client_cookies": (c_void_p, (c_void_p,)),
    "ntapi_cookie_storage_get": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_cookie_storage_set": (c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    "ntapi_cookie_storage_delete": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p)),
    "ntapi_cookie_storage_clear": (c_int, (c_void_p,)),
    "ntapi_cookie_storage_save": (c_int, (c_void_p,)),
    "ntapi_client_create": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_client_create_with_configuration": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "ntapi_client_free": (None, (c_void_p,)),
    "ntapi_client_close": (c_int, (c_void_p,)),
    "ntapi_client_finish_and_invalidate": (c_int, (c_void_p,)),
    "ntapi_client_invalidate_and_cancel": (c_int, (c_void_p,)),
    "ntapi_client_cancel_all": (c_int, (c_void_p,)),
    "ntapi_client_background_error": (c_void_p, (c_void_p,)),
    "ntapi_client_restored_requests": (c_size_t, (c_void_p, c_void_p, POINTER(c_void_p), c_size_t)),
    "ntapi_client_resume_restored_requests": (
        c_size_t,
        (c_void_p, c_void_p, ResponseFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_response_was_delivered_before": (c_bool, (c_void_p,)),
    "ntapi_response_acknowledge": (c_int, (c_void_p,)),
    "ntapi_client_drain": (c_size_t, (c_void_p, c_double)),
    "ntapi_client_set_args": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_set_log_flags": (c_int, (c_void_p, c_int)),
    "ntapi_client_set_hooks": (c_int, (c_void_p, c_void_p)),
    "ntapi_hooks_create": (c_void_p, (c_void_p, DestroyFunction)),
    "ntapi_hooks_free": (None, (c_void_p,)),
    "ntapi_hooks_set_build_args": (c_int, (c_void_p, BuildArgsFunction)),
    "ntapi_hooks_set_build_request": (c_int, (c_void_p, BuildRequestFunction)),
    "ntapi_hooks_set_started": (c_int, (c_void_p, StartedFunction)),
    "ntapi_hooks_set_metrics_collected": (c_int, (c_void_p, MetricsCollectedFunction)),
    "ntapi_hooks_set_session_invalidated": (c_int, (c_void_p, SessionInvalidatedFunction)),
    "ntapi_response_request_metrics": (c_void_p, (c_void_p,)),
    "ntapi_hooks_set_completed": (c_int, (c_void_p, CompletedFunction)),
    "ntapi_hooks_set_parse_json": (c_int, (c_void_p, ParseJsonFunction)),
    "ntapi_hooks_set_write_log": (c_int, (c_void_p, WriteLogFunction)),
    "ntapi_hooks_set_map_service_error": (c_int, (c_void_p, MapServiceErrorFunction)),
    "ntapi_hooks_set_decide": (c_int, (c_void_p, c_int, DecideFunction)),
    "ntapi_decision_free": (None, (c_void_p,)),
    "ntapi_decision_get_kind": (c_int, (c_void_p,)),
    "ntapi_decision_request": (c_void_p, (c_void_p,)),
    "ntapi_decision_status": (c_int, (c_void_p,)),
    "ntapi_decision_header": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_decision_http_request": (c_void_p, (c_void_p,)),
    "ntapi_decision_proceed": (c_int, (c_void_p,)),
    "ntapi_decision_cancel": (c_int, (c_void_p,)),
    "ntapi_decision_refuse": (c_int, (c_void_p,)),
    "ntapi_decision_download": (c_int, (c_void_p, c_char_p)),
    "ntapi_http_request_method": (c_char_p, (c_void_p,)),
    "ntapi_http_request_set_method": (c_int, (c_void_p, c_char_p)),
    "ntapi_http_request_url": (c_char_p, (c_void_p,)),
    "ntapi_http_request_set_url": (c_int, (c_void_p, c_char_p)),
    "ntapi_http_request_header": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_http_request_set_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_client_begin": (
        c_void_p,
        (c_void_p, c_char_p, c_void_p, ResponseFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_client_create_request": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "ntapi_client_perform": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "ntapi_client_begin_event": (c_void_p, (c_void_p, c_char_p, c_void_p, c_void_p, c_void_p)),
    "ntapi_client_perform_watching": (c_int, (c_void_p, c_char_p, c_void_p, c_void_p)),
    "ntapi_request_wait_watching": (c_int, (c_void_p, c_void_p)),
    "ntapi_request_free": (None, (c_void_p,)),
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
    "ntapi_request_set_decision_kinds": (c_int, (c_void_p, c_int)),
    "ntapi_request_set_json_lines_handler": (
        c_int,
        (c_void_p, JsonFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_request_set_server_event_handler": (
        c_int,
        (c_void_p, ServerEventFunction, c_void_p, DestroyFunction),
    ),
    "ntapi_request_set_data_format": (c_int, (c_void_p, c_int)),
    "ntapi_request_set_events": (c_int, (c_void_p, c_int, c_void_p)),
    "ntapi_request_resume": (c_int, (c_void_p,)),
    "ntapi_request_suspend": (c_int, (c_void_p,)),
    "ntapi_request_cancel": (c_int, (c_void_p,)),
    "ntapi_request_wait": (c_int, (c_void_p, c_double)),
    "ntapi_request_response": (c_void_p, (c_void_p,)),
    "ntapi_request_get_state": (c_int, (c_void_p,)),
    "ntapi_request_is_running": (c_bool, (c_void_p,)),
    "ntapi_request_identifier": (c_uint64, (c_void_p,)),
    "ntapi_request_description": (c_char_p, (c_void_p,)),
    "ntapi_request_set_description": (c_int, (c_void_p, c_char_p)),
    "ntapi_request_priority": (c_double, (c_void_p,)),
    "ntapi_request_set_priority": (c_int, (c_void_p, c_double)),
    "ntapi_request_bytes_sent": (c_int64, (c_void_p,)),
    "ntapi_request_bytes_expected_to_send": (c_int64, (c_void_p,)),
    "ntapi_request_bytes_received": (c_int64, (c_void_p,)),
    "ntapi_request_bytes_expected_to_receive": (c_int64, (c_void_p,)),
    "ntapi_request_bytes_decoded": (c_int64, (c_void_p,)),
    "ntapi_request_received_status": (c_int, (c_void_p,)),
    "ntapi_request_received_header": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_request_resume_data": (c_char_p, (c_void_p,)),
    "ntapi_request_received_header_count": (c_size_t, (c_void_p,)),
    "ntapi_request_received_header_name": (c_char_p, (c_void_p, c_size_t)),
    "ntapi_request_received_header_value": (c_char_p, (c_void_p, c_size_t)),
    "ntapi_request_curl_command": (c_char_p, (c_void_p,)),
    "ntapi_response_retain": (c_void_p, (c_void_p,)),
    "ntapi_response_free": (None, (c_void_p,)),
    "ntapi_response_error": (c_void_p, (c_void_p,)),
    "ntapi_response_data": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "ntapi_response_file": (c_char_p, (c_void_p,)),
    "ntapi_response_resume_data": (c_char_p, (c_void_p,)),
    "ntapi_resume_data_discard": (c_int, (c_char_p,)),
    "ntapi_response_json": (c_void_p, (c_void_p,)),
    "ntapi_response_json_pickle": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "ntapi_response_prefix_text": (c_char_p, (c_void_p,)),
    "ntapi_response_status": (c_int, (c_void_p,)),
    "ntapi_response_url": (c_char_p, (c_void_p,)),
    "ntapi_response_header": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_response_header_count": (c_size_t, (c_void_p,)),
    "ntapi_response_header_name": (c_char_p, (c_void_p, c_size_t)),
    "ntapi_response_header_value": (c_char_p, (c_void_p, c_size_t)),
    "ntapi_response_start_time": (c_double, (c_void_p,)),
    "ntapi_response_end_time": (c_double, (c_void_p,)),
    "ntapi_response_elapsed": (c_double, (c_void_p,)),
    "ntapi_response_metric": (c_double, (c_void_p, c_int)),
    "ntapi_response_request": (c_void_p, (c_void_p,)),
    "ntapi_decision_get_challenge": (c_int, (c_void_p,)),
    "ntapi_decision_host": (c_char_p, (c_void_p,)),
    "ntapi_decision_port": (c_int, (c_void_p,)),
    "ntapi_decision_scheme": (c_char_p, (c_void_p,)),
    "ntapi_decision_realm": (c_char_p, (c_void_p,)),
    "ntapi_decision_failures": (c_int, (c_void_p,)),
    "ntapi_decision_reason": (c_char_p, (c_void_p,)),
    "ntapi_decision_certificate": (c_char_p, (c_void_p, c_size_t)),
    "ntapi_decision_use_credential": (c_int, (c_void_p, c_char_p, c_char_p, c_bool)),
    "ntapi_decision_trust": (c_int, (c_void_p, c_bool)),
    "ntapi_authenticator_create": (c_void_p, (RefreshFunction, c_void_p, DestroyFunction)),
    "ntapi_authenticator_free": (None, (c_void_p,)),
    "ntapi_authenticator_set_token": (c_int, (c_void_p, c_char_p, c_double)),
    "ntapi_authenticator_token": (c_char_p, (c_void_p,)),
    "ntapi_authenticator_set_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_authenticator_set_statuses": (c_int, (c_void_p, c_void_p, c_size_t)),
    "ntapi_authenticator_add_origin": (c_int, (c_void_p, c_char_p)),
    "ntapi_authenticator_set_timeout": (c_int, (c_void_p, c_double)),
    "ntapi_authenticator_set_mailbox": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_set_authenticator": (c_int, (c_void_p, c_void_p)),
    "ntapi_refresh_token": (c_char_p, (c_void_p,)),
    "ntapi_refresh_response": (c_void_p, (c_void_p,)),
    "ntapi_refresh_succeed": (c_int, (c_void_p, c_char_p, c_double)),
    "ntapi_refresh_fail": (c_int, (c_void_p, c_void_p)),
    "ntapi_refresh_decline": (c_int, (c_void_p,)),
    "ntapi_refresh_free": (None, (c_void_p,)),
    "ntapi_json_to_jansson": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_json_from_jansson": (c_void_p, (c_void_p,)),
    "ntapi_cache_create": (c_void_p, (c_int64, c_int64, c_char_p)),
    "ntapi_cache_free": (None, (c_void_p,)),
    "ntapi_configuration_set_cache": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_cache": (c_void_p, (c_void_p,)),
    "ntapi_cache_clear": (c_int, (c_void_p,)),
    "ntapi_cache_remove": (c_int, (c_void_p, c_char_p)),
    "ntapi_cache_memory_capacity": (c_int64, (c_void_p,)),
    "ntapi_cache_disk_capacity": (c_int64, (c_void_p,)),
    "ntapi_cache_memory_usage": (c_int64, (c_void_p,)),
    "ntapi_cache_disk_usage": (c_int64, (c_void_p,)),
    "ntapi_cache_save": (c_int, (c_void_p,)),
    "ntapi_decision_get_storage": (c_int, (c_void_p,)),
    "ntapi_decision_store_in_memory": (c_int, (c_void_p,)),
    "ntapi_response_get_source": (c_int, (c_void_p,)),
}

LATEST = "ntapi_response_get_source"
"""The function that was added last."""
