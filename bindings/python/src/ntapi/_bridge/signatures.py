"""Written by `python3 bindings/python/tools/write_signatures.py`.

The C signatures of libntapi that most programs need.
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

DestroyFunction = CFUNCTYPE(None, c_void_p)
LogFunction = CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class ErrorDetails(Structure):
    """ntapi_error_details."""

    _fields_ = (
        ("size", c_size_t),
        ("domain", c_int),
        ("http_status", c_int),
        ("failure", c_int),
        ("transport_code", c_int),
        ("clock", c_int),
        ("is_retryable", c_bool),
        ("retry_after", c_double),
        ("problem", c_void_p),
    )


class ServerEvent(Structure):
    """ntapi_server_event."""

    _fields_ = (
        ("size", c_size_t),
        ("type", c_char_p),
        ("data", c_void_p),
        ("length", c_size_t),
        ("last_event_id", c_char_p),
    )


class Event(Structure):
    """ntapi_event."""

    _fields_ = (
        ("size", c_size_t),
        ("handler", c_int),
        ("user_data", c_void_p),
        ("response", c_void_p),
        ("bytes", c_int64),
        ("total", c_int64),
        ("data", c_void_p),
        ("decision", c_void_p),
        ("error", c_void_p),
        ("body", c_void_p),
        ("length", c_size_t),
        ("status", c_int),
        ("contents", c_int),
    )


class Passage(Structure):
    """ntapi_passage."""

    _fields_ = (
        ("size", c_size_t),
        ("identifier", c_uint64),
        ("number", c_int),
        ("reason", c_char_p),
        ("is_own_origin", c_bool),
    )


class ProtectionSpace(Structure):
    """ntapi_protection_space."""

    _fields_ = (
        ("size", c_size_t),
        ("scheme", c_char_p),
        ("host", c_char_p),
        ("port", c_int),
        ("realm", c_char_p),
        ("authentication", c_int),
        ("is_proxy", c_bool),
    )


class Challenge(Structure):
    """ntapi_challenge."""

    _fields_ = (
        ("size", c_size_t),
        ("kind", c_int),
        ("host", c_char_p),
        ("port", c_int),
        ("scheme", c_char_p),
        ("realm", c_char_p),
        ("failures", c_int),
        ("reason", c_char_p),
        ("certificates", POINTER(c_char_p)),
        ("certificate_count", c_size_t),
        ("space", c_void_p),
    )


class AuthenticatorOptions(Structure):
    """ntapi_authenticator_options."""

    _fields_ = (
        ("size", c_size_t),
        ("header", c_char_p),
        ("scheme", c_char_p),
        ("statuses", c_void_p),
        ("status_count", c_size_t),
        ("origins", POINTER(c_char_p)),
        ("origin_count", c_size_t),
        ("timeout", c_double),
    )


class Observation(Structure):
    """ntapi_observation."""

    _fields_ = (
        ("size", c_size_t),
        ("event", c_int),
        ("status", c_int),
        ("context", c_void_p),
        ("request", c_char_p),
        ("command", c_char_p),
        ("method", c_char_p),
        ("url", c_char_p),
        ("wait", c_char_p),
        ("reason", c_char_p),
        ("attempt", c_int),
        ("port", c_int),
        ("address", c_char_p),
        ("outcome", c_char_p),
        ("origin", c_char_p),
        ("error", c_void_p),
        ("headers", c_void_p),
        ("seconds", c_double),
        ("http_version", c_double),
        ("queued", c_double),
        ("name_lookup", c_double),
        ("connect", c_double),
        ("tls", c_double),
        ("first_byte", c_double),
        ("total", c_double),
        ("bytes_sent", c_int64),
        ("bytes_received", c_int64),
        ("bytes_decoded", c_int64),
        ("connection_reused", c_bool),
        ("added", c_void_p),
    )


class RateLimit(Structure):
    """ntapi_rate_limit."""

    _fields_ = (
        ("size", c_size_t),
        ("requests", c_double),
        ("seconds", c_double),
        ("burst", c_int),
        ("maximum_pause", c_double),
    )


class RateLimiterOptions(Structure):
    """ntapi_rate_limiter_options."""

    _fields_ = (
        ("size", c_size_t),
        ("limits", c_void_p),
        ("limit_count", c_size_t),
        ("store", c_void_p),
        ("key", c_char_p),
        ("store_timeout", c_double),
        ("on_failure", c_int),
        ("batch", c_int),
    )


class TokenSharing(Structure):
    """ntapi_token_sharing."""

    _fields_ = (
        ("size", c_size_t),
        ("store", c_void_p),
        ("key", c_char_p),
        ("store_timeout", c_double),
        ("on_failure", c_int),
        ("lease", c_double),
    )


class Token(Structure):
    """ntapi_token."""

    _fields_ = (
        ("size", c_size_t),
        ("text", c_char_p),
        ("lifetime", c_double),
        ("refresh_token", c_char_p),
    )


class CacheSharing(Structure):
    """ntapi_cache_sharing."""

    _fields_ = (
        ("size", c_size_t),
        ("store", c_void_p),
        ("key", c_char_p),
        ("store_timeout", c_double),
        ("lease", c_double),
    )


class StubRequest(Structure):
    """ntapi_stub_request."""

    _fields_ = (
        ("size", c_size_t),
        ("method", c_char_p),
        ("url", c_char_p),
        ("headers", c_void_p),
        ("body", c_void_p),
        ("length", c_size_t),
        ("is_matched", c_bool),
        ("shown_url", c_char_p),
    )


class StubAnswer(Structure):
    """ntapi_stub_answer."""

    _fields_ = (
        ("size", c_size_t),
        ("status", c_int),
        ("headers", POINTER(c_char_p)),
        ("body", c_void_p),
        ("length", c_size_t),
        ("json", c_void_p),
        ("content_type", c_char_p),
        ("delay", c_double),
        ("piece_size", c_size_t),
        ("piece_delay", c_double),
        ("fault", c_int),
        ("fault_after", c_int64),
        ("trailers", POINTER(c_char_p)),
    )


class Python(Structure):
    """ntapi_python."""

    _fields_ = (
        ("none", c_void_p),
        ("yes", c_void_p),
        ("no", c_void_p),
        ("retain", c_void_p),
        ("release", c_void_p),
        ("make_int", c_void_p),
        ("parse_int", c_void_p),
        ("make_float", c_void_p),
        ("make_text", c_void_p),
        ("make_list", c_void_p),
        ("set_item", c_void_p),
        ("make_dict", c_void_p),
        ("set_member", c_void_p),
        ("new_text", c_void_p),
        ("text_offset", c_ssize_t),
        ("keys", c_void_p),
        ("make_function", c_void_p),
        ("read_address", c_void_p),
        ("read_bytes", c_void_p),
        ("error", c_void_p),
        ("unlock", c_void_p),
        ("lock", c_void_p),
    )


class Watch(Structure):
    """ntapi_watch."""

    _fields_ = (
        ("timeout", c_double),
        ("descriptor", c_int),
        ("request", c_void_p),
        ("response", c_void_p),
        ("error", c_void_p),
        ("body", c_void_p),
        ("length", c_size_t),
        ("status", c_int),
        ("contents", c_int),
    )


class Status:
    """ntapi_status."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_STATE = 2
    TIMED_OUT = 3


class Handler:
    """ntapi_handler."""

    RESPONSE = 1
    UPLOAD_PROGRESS = 2
    DOWNLOAD_PROGRESS = 4
    DATA = 8
    DECISION = 16
    ALL = 31


class Content:
    """ntapi_content."""

    JSON = 1
    PREFIX_TEXT = 2


class DataFormat:
    """ntapi_data_format."""

    BYTES = 0
    JSON_LINES = 1
    SERVER_EVENTS = 2


PYTHON_KEYS_SIZE = 32768


# name -> (result, arguments)
FUNCTIONS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ntapi_version": (c_char_p, ()),
    "ntapi_version_text": (c_char_p, ()),
    "ntapi_drain": (c_size_t, (c_double,)),
    "ntapi_text_free": (None, (c_void_p,)),
    "ntapi_describe": (c_void_p, (c_void_p,)),
    "ntapi_error_create": (c_void_p, (c_int, c_char_p, c_char_p, c_bool)),
    "ntapi_error_free": (None, (c_void_p,)),
    "ntapi_error_code_name": (c_char_p, (c_void_p,)),
    "ntapi_error_message": (c_char_p, (c_void_p,)),
    "ntapi_error_get_details": (c_void_p, (c_void_p,)),
    "ntapi_json_parse": (c_void_p, (c_char_p, c_size_t, POINTER(c_void_p))),
    "ntapi_json_free": (None, (c_void_p,)),
    "ntapi_json_double": (c_double, (c_void_p, c_char_p, c_double)),
    "ntapi_json_text": (c_char_p, (c_void_p,)),
    "ntapi_headers_free": (None, (c_void_p,)),
    "ntapi_headers_get": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_headers_reason_phrase": (c_char_p, (c_void_p,)),
    "ntapi_args_create": (c_void_p, ()),
    "ntapi_args_free": (None, (c_void_p,)),
    "ntapi_args_append_json": (c_int, (c_void_p, c_char_p, c_size_t, POINTER(c_void_p))),
    "ntapi_args_mark_secret": (c_int, (c_void_p,)),
    "ntapi_args_url": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_url_double": (c_int, (c_void_p, c_char_p, c_double)),
    "ntapi_args_url_default": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_path": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_form": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_multipart": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_multipart_data": (
        c_int,
        (c_void_p, c_char_p, c_void_p, c_size_t, c_char_p, c_char_p),
    ),
    "ntapi_args_multipart_file": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p, c_char_p)),
    "ntapi_args_data": (c_int, (c_void_p, c_void_p, c_size_t, c_char_p)),
    "ntapi_args_file": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_json": (c_int, (c_void_p, c_void_p)),
    "ntapi_args_download": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_resume": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_base_url": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_method": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_add_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_basic_auth": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_bearer": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_digest_auth": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_args_timeout": (c_int, (c_void_p, c_int, c_double)),
    "ntapi_args_cache_policy": (c_int, (c_void_p, c_int)),
    "ntapi_args_idempotency_key": (c_int, (c_void_p, c_char_p)),
    "ntapi_args_option": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_class_create": (c_void_p, (c_char_p, c_void_p)),
    "ntapi_class_free": (None, (c_void_p,)),
    "ntapi_defaults_global": (c_void_p, ()),
    "ntapi_class_defaults": (c_void_p, (c_void_p,)),
    "ntapi_client_defaults": (c_void_p, (c_void_p,)),
    "ntapi_defaults_set": (c_int, (c_void_p, c_char_p, c_void_p)),
    "ntapi_defaults_get": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_client_create_with_configuration": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "ntapi_client_free": (None, (c_void_p,)),
    "ntapi_client_close": (c_int, (c_void_p,)),
    "ntapi_client_finish_and_invalidate": (c_int, (c_void_p,)),
    "ntapi_client_invalidate_and_cancel": (c_int, (c_void_p,)),
    "ntapi_client_cancel_all": (c_int, (c_void_p,)),
    "ntapi_client_drain": (c_size_t, (c_void_p, c_double)),
    "ntapi_client_set_args": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_create_request": (c_void_p, (c_void_p, c_char_p, c_void_p)),
    "ntapi_request_free": (None, (c_void_p,)),
    "ntapi_request_resume": (c_int, (c_void_p,)),
    "ntapi_request_suspend": (c_int, (c_void_p,)),
    "ntapi_request_cancel": (c_int, (c_void_p,)),
    "ntapi_request_response": (c_void_p, (c_void_p,)),
    "ntapi_request_get_state": (c_int, (c_void_p,)),
    "ntapi_request_identifier": (c_uint64, (c_void_p,)),
    "ntapi_request_description": (c_void_p, (c_void_p,)),
    "ntapi_request_set_description": (c_int, (c_void_p, c_char_p)),
    "ntapi_request_priority": (c_double, (c_void_p,)),
    "ntapi_request_set_priority": (c_int, (c_void_p, c_double)),
    "ntapi_request_metrics": (c_void_p, (c_void_p,)),
    "ntapi_request_received_status": (c_int, (c_void_p,)),
    "ntapi_request_received_http_version": (c_double, (c_void_p,)),
    "ntapi_request_received_headers": (c_void_p, (c_void_p,)),
    "ntapi_request_resume_data": (c_void_p, (c_void_p,)),
    "ntapi_request_curl_command": (c_char_p, (c_void_p,)),
    "ntapi_response_retain": (c_void_p, (c_void_p,)),
    "ntapi_response_free": (None, (c_void_p,)),
    "ntapi_response_error": (c_void_p, (c_void_p,)),
    "ntapi_response_status": (c_int, (c_void_p,)),
    "ntapi_response_headers": (c_void_p, (c_void_p,)),
    "ntapi_response_trailers": (c_void_p, (c_void_p,)),
    "ntapi_response_url": (c_char_p, (c_void_p,)),
    "ntapi_response_redacted_url": (c_char_p, (c_void_p,)),
    "ntapi_response_link": (c_char_p, (c_void_p, c_char_p)),
    "ntapi_response_data": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "ntapi_response_json": (c_void_p, (c_void_p,)),
    "ntapi_response_prefix_text": (c_char_p, (c_void_p,)),
    "ntapi_response_file": (c_char_p, (c_void_p,)),
    "ntapi_response_temporary_file": (c_char_p, (c_void_p,)),
    "ntapi_response_resume_data": (c_char_p, (c_void_p,)),
    "ntapi_resume_data_discard": (c_int, (c_char_p,)),
    "ntapi_response_request": (c_void_p, (c_void_p,)),
    "ntapi_response_get_source": (c_int, (c_void_p,)),
    "ntapi_response_elapsed": (c_double, (c_void_p,)),
    "ntapi_args_mailbox": (c_int, (c_void_p, c_int, c_void_p)),
    "ntapi_mailbox_create": (c_void_p, ()),
    "ntapi_mailbox_main": (c_void_p, ()),
    "ntapi_mailbox_free": (None, (c_void_p,)),
    "ntapi_mailbox_fd": (c_int, (c_void_p,)),
    "ntapi_request_set_events": (c_int, (c_void_p, c_int, c_void_p)),
    "ntapi_client_begin_event": (c_void_p, (c_void_p, c_char_p, c_void_p, c_void_p, c_void_p)),
    "ntapi_mailbox_take": (c_size_t, (c_void_p, c_void_p, c_size_t, c_size_t)),
    "ntapi_request_set_data_format": (c_int, (c_void_p, c_int)),
    "ntapi_data_next_json": (c_void_p, (c_void_p,)),
    "ntapi_data_next_server_event": (c_void_p, (c_void_p,)),
    "ntapi_data_free": (None, (c_void_p,)),
    "ntapi_log_set_sink": (None, (LogFunction, c_void_p, DestroyFunction)),
    "ntapi_log_set_flags": (None, (c_int,)),
    "ntapi_client_set_log_flags": (c_int, (c_void_p, c_int)),
    "ntapi_client_log_flags": (c_int, (c_void_p,)),
    "ntapi_request_log": (c_int, (c_void_p, c_int, c_char_p)),
    "ntapi_http_request_method": (c_void_p, (c_void_p,)),
    "ntapi_http_request_set_method": (c_int, (c_void_p, c_char_p)),
    "ntapi_http_request_url": (c_void_p, (c_void_p,)),
    "ntapi_http_request_set_url": (c_int, (c_void_p, c_char_p)),
    "ntapi_http_request_headers": (c_void_p, (c_void_p,)),
    "ntapi_http_request_set_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_http_request_set_secret_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_http_request_get_body_kind": (c_int, (c_void_p,)),
    "ntapi_http_request_body": (c_void_p, (c_void_p, POINTER(c_size_t))),
    "ntapi_http_request_set_body": (c_int, (c_void_p, c_void_p, c_size_t)),
    "ntapi_http_request_timeout": (c_double, (c_void_p, c_int)),
    "ntapi_http_request_set_timeout": (c_int, (c_void_p, c_int, c_double)),
    "ntapi_http_request_cache_policy": (c_int, (c_void_p,)),
    "ntapi_http_request_set_cache_policy": (c_int, (c_void_p, c_int)),
    "ntapi_http_request_option": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_http_request_set_option": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_http_request_priority": (c_double, (c_void_p,)),
    "ntapi_http_request_set_priority": (c_int, (c_void_p, c_double)),
    "ntapi_interceptor_free": (None, (c_void_p,)),
    "ntapi_args_interceptor": (c_int, (c_void_p, c_void_p)),
    "ntapi_interception_free": (None, (c_void_p,)),
    "ntapi_interception_passage": (c_void_p, (c_void_p,)),
    "ntapi_interception_request": (c_void_p, (c_void_p,)),
    "ntapi_interception_http_request": (c_void_p, (c_void_p,)),
    "ntapi_interception_response": (c_void_p, (c_void_p,)),
    "ntapi_interception_proceed": (c_int, (c_void_p,)),
    "ntapi_interception_send": (c_int, (c_void_p,)),
    "ntapi_interception_respond": (c_int, (c_void_p, c_int, POINTER(c_char_p), c_void_p, c_size_t)),
    "ntapi_interception_fail": (c_int, (c_void_p, c_void_p)),
    "ntapi_decision_free": (None, (c_void_p,)),
    "ntapi_decision_get_kind": (c_int, (c_void_p,)),
    "ntapi_decision_response": (c_void_p, (c_void_p,)),
    "ntapi_decision_http_request": (c_void_p, (c_void_p,)),
    "ntapi_decision_attempt": (c_int, (c_void_p,)),
    "ntapi_decision_wait": (c_double, (c_void_p,)),
    "ntapi_decision_challenge": (c_void_p, (c_void_p,)),
    "ntapi_decision_proceed": (c_int, (c_void_p,)),
    "ntapi_decision_cancel": (c_int, (c_void_p,)),
    "ntapi_decision_refuse": (c_int, (c_void_p,)),
    "ntapi_decision_download": (c_int, (c_void_p, c_char_p)),
    "ntapi_decision_retry": (c_int, (c_void_p, c_double)),
    "ntapi_decision_use_credential": (c_int, (c_void_p, c_char_p, c_char_p, c_int)),
    "ntapi_decision_trust": (c_int, (c_void_p, c_bool)),
    "ntapi_decision_get_storage": (c_int, (c_void_p,)),
    "ntapi_decision_store_in_memory": (c_int, (c_void_p,)),
    "ntapi_client_set_hooks": (c_int, (c_void_p, c_void_p, c_void_p, DestroyFunction)),
    "ntapi_rate_limiter_create": (c_void_p, (c_double, c_double, c_int, c_double)),
    "ntapi_rate_limiter_free": (None, (c_void_p,)),
    "ntapi_rate_limiter_pause": (c_int, (c_void_p, c_double)),
    "ntapi_rate_limiter_waiting": (c_size_t, (c_void_p,)),
    "ntapi_client_set_rate_limiter": (c_int, (c_void_p, c_void_p)),
    "ntapi_args_rate_limiter": (c_int, (c_void_p, c_void_p)),
    "ntapi_authenticator_free": (None, (c_void_p,)),
    "ntapi_client_set_authenticator": (c_int, (c_void_p, c_void_p)),
    "ntapi_authenticator_set_token": (c_int, (c_void_p, c_char_p, c_double)),
    "ntapi_authenticator_token": (c_void_p, (c_void_p,)),
    "ntapi_authenticator_set_mailbox": (c_int, (c_void_p, c_void_p)),
    "ntapi_refresh_token": (c_char_p, (c_void_p,)),
    "ntapi_refresh_response": (c_void_p, (c_void_p,)),
    "ntapi_refresh_client": (c_void_p, (c_void_p,)),
    "ntapi_refresh_fail": (c_int, (c_void_p, c_void_p)),
    "ntapi_refresh_decline": (c_int, (c_void_p,)),
    "ntapi_refresh_free": (None, (c_void_p,)),
    "ntapi_configuration_create": (c_void_p, (c_int, c_char_p)),
    "ntapi_configuration_free": (None, (c_void_p,)),
    "ntapi_configuration_defaults": (c_void_p, (c_void_p,)),
    "ntapi_client_cookies": (c_void_p, (c_void_p,)),
    "ntapi_cookie_storage_get": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_cookie_storage_set": (c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    "ntapi_cookie_storage_delete": (c_int, (c_void_p, c_char_p, c_char_p, c_char_p)),
    "ntapi_cookie_storage_clear": (c_int, (c_void_p,)),
    "ntapi_cookie_storage_save": (c_int, (c_void_p, POINTER(c_void_p))),
    "ntapi_cache_create": (c_void_p, (c_int64, c_int64, c_char_p)),
    "ntapi_cache_free": (None, (c_void_p,)),
    "ntapi_configuration_set_cache": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_cache": (c_void_p, (c_void_p,)),
    "ntapi_cache_clear": (c_int, (c_void_p,)),
    "ntapi_cache_remove": (c_int, (c_void_p, c_char_p)),
    "ntapi_cache_capacity": (c_int64, (c_void_p, c_int)),
    "ntapi_cache_usage": (c_int64, (c_void_p, c_int)),
    "ntapi_cache_save": (c_int, (c_void_p, POINTER(c_void_p))),
    "ntapi_credential_storage_create": (c_void_p, (c_char_p,)),
    "ntapi_credential_storage_shared": (c_void_p, ()),
    "ntapi_credential_storage_free": (None, (c_void_p,)),
    "ntapi_configuration_set_credential_storage": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_credential_storage": (c_void_p, (c_void_p,)),
    "ntapi_credential_storage_set": (
        c_int,
        (c_void_p, c_void_p, c_char_p, c_char_p, POINTER(c_void_p)),
    ),
    "ntapi_credential_storage_set_default": (
        c_int,
        (c_void_p, c_void_p, c_char_p, c_char_p, POINTER(c_void_p)),
    ),
    "ntapi_credential_storage_get": (c_void_p, (c_void_p, c_void_p, POINTER(c_void_p))),
    "ntapi_credential_storage_remove": (c_int, (c_void_p, c_void_p, c_char_p, POINTER(c_void_p))),
    "ntapi_credential_storage_clear": (c_int, (c_void_p, POINTER(c_void_p))),
    "ntapi_client_background_error": (c_void_p, (c_void_p,)),
    "ntapi_client_restored_requests": (c_size_t, (c_void_p, c_void_p, POINTER(c_void_p), c_size_t)),
    "ntapi_response_was_delivered_before": (c_bool, (c_void_p,)),
    "ntapi_response_begin_delivery": (c_int, (c_void_p,)),
    "ntapi_response_acknowledge": (c_int, (c_void_p,)),
    "ntapi_observer_free": (None, (c_void_p,)),
    "ntapi_client_add_observer": (c_int, (c_void_p, c_void_p)),
    "ntapi_add_observer": (c_int, (c_void_p,)),
    "ntapi_client_remove_observer": (c_int, (c_void_p, c_void_p)),
    "ntapi_remove_observer": (c_int, (c_void_p,)),
    "ntapi_observation_add_header": (c_int, (c_void_p, c_char_p, c_char_p)),
    "ntapi_store_create": (c_void_p, (c_void_p, c_void_p, DestroyFunction, POINTER(c_void_p))),
    "ntapi_store_free": (None, (c_void_p,)),
    "ntapi_file_store_create": (c_void_p, (c_char_p,)),
    "ntapi_store_call_reply": (c_int, (c_void_p, POINTER(c_char_p), c_size_t)),
    "ntapi_store_call_fail": (c_int, (c_void_p, c_char_p)),
    "ntapi_store_call_reply_value": (c_int, (c_void_p, c_void_p, c_size_t)),
    "ntapi_rate_limiter_create_with": (c_void_p, (c_void_p, POINTER(c_void_p))),
    "ntapi_authenticator_share": (c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    "ntapi_authenticator_set_token_with": (c_int, (c_void_p, c_void_p)),
    "ntapi_refresh_refresh_token": (c_char_p, (c_void_p,)),
    "ntapi_refresh_succeed_with": (c_int, (c_void_p, c_void_p)),
    "ntapi_cache_share": (c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    "ntapi_stub_create": (c_void_p, ()),
    "ntapi_stub_free": (None, (c_void_p,)),
    "ntapi_stub_open_recording": (c_void_p, (c_char_p, c_bool, c_bool, POINTER(c_void_p))),
    "ntapi_client_set_stub": (c_int, (c_void_p, c_void_p)),
    "ntapi_stub_on": (c_void_p, (c_void_p, c_char_p, c_char_p)),
    "ntapi_stub_rule_free": (None, (c_void_p,)),
    "ntapi_stub_rule_body_json": (c_int, (c_void_p, c_void_p)),
    "ntapi_stub_rule_body_contains": (c_int, (c_void_p, c_char_p)),
    "ntapi_stub_rule_answer": (c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    "ntapi_stub_rule_use_up": (c_int, (c_void_p,)),
    "ntapi_stub_rule_call_count": (c_size_t, (c_void_p,)),
    "ntapi_stub_request_count": (c_size_t, (c_void_p,)),
    "ntapi_stub_get_request": (c_void_p, (c_void_p, c_size_t)),
    "ntapi_stub_wait_for_requests": (c_int, (c_void_p, c_size_t, c_double)),
    "ntapi_stub_verify": (c_int, (c_void_p, POINTER(c_void_p))),
    "ntapi_stub_forget_requests": (c_int, (c_void_p,)),
    "ntapi_recorder_create": (c_void_p, (c_char_p,)),
    "ntapi_recorder_free": (None, (c_void_p,)),
    "ntapi_recorder_open": (c_void_p, (c_char_p, c_int, POINTER(c_void_p))),
    "ntapi_recorder_add_secret": (c_int, (c_void_p, c_char_p)),
    "ntapi_client_set_recorder": (c_int, (c_void_p, c_void_p)),
    "ntapi_recorder_record_all": (c_int, (c_void_p, c_bool)),
    "ntapi_recorder_count": (c_size_t, (c_void_p,)),
    "ntapi_recorder_save": (c_int, (c_void_p, POINTER(c_void_p))),
    "ntapi_manual_clock_create": (c_void_p, (c_double,)),
    "ntapi_manual_clock_free": (None, (c_void_p,)),
    "ntapi_client_set_clock": (c_int, (c_void_p, c_void_p)),
    "ntapi_manual_clock_advance": (c_int, (c_void_p, c_double)),
    "ntapi_manual_clock_elapsed": (c_double, (c_void_p,)),
    "ntapi_manual_clock_sleepers": (c_size_t, (c_void_p,)),
    "ntapi_manual_clock_next_wake": (c_double, (c_void_p,)),
    "ntapi_manual_clock_wait_for_sleepers": (c_int, (c_void_p, c_size_t, c_double)),
    "ntapi_memory_store_create": (c_void_p, (c_void_p,)),
    "ntapi_live_handles": (c_size_t, (c_int,)),
    "ntapi_response_json_python": (c_void_p, (c_void_p, c_void_p)),
    "ntapi_json_python": (c_void_p, (c_void_p, c_void_p)),
    "ntapi_python_function": (c_void_p, (c_void_p, c_char_p)),
    "ntapi_client_perform_watching": (c_int, (c_void_p, c_char_p, c_void_p, c_void_p)),
    "ntapi_request_wait_watching": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_pull_watching": (c_int, (c_void_p, c_char_p, c_void_p, c_void_p)),
    "ntapi_request_pull_watching": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_begin_stream": (c_void_p, (c_void_p, c_char_p, c_void_p, c_void_p, c_void_p)),
    "ntapi_args_create_message": (c_void_p, (c_void_p, c_char_p, c_size_t)),
    "ntapi_request_received_message": (c_void_p, (c_void_p,)),
    "ntapi_request_set_logs_error": (c_int, (c_void_p, c_bool)),
    "ntapi_request_set_keeps_body": (c_int, (c_void_p, c_bool)),
    "ntapi_request_set_decision_kinds": (c_int, (c_void_p, c_int)),
    "ntapi_headers_lines": (c_char_p, (c_void_p,)),
    "ntapi_request_exit_timeout": (c_double, (c_void_p,)),
    "ntapi_stop_waiting_for_calls": (None, ()),
    "ntapi_wait_for_stores": (None, ()),
    "ntapi_recorder_create_replaying": (c_void_p, (c_char_p, c_void_p)),
    "ntapi_run_on_worker": (None, (DestroyFunction, c_void_p)),
    "ntapi_worker_begin_wait": (c_bool, ()),
    "ntapi_worker_end_wait": (None, ()),
    "ntapi_http_request_forget_mistake": (None, (c_void_p,)),
    "ntapi_http_request_assign": (c_int, (c_void_p, c_void_p)),
    "ntapi_client_hide": (None, (c_void_p,)),
    "ntapi_client_set_interceptors": (c_int, (c_void_p, c_void_p)),
}
