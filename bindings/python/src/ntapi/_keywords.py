"""Keyword arguments. Only type checkers import this."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional, TypedDict, Union

from ._aliases import (
    CachePolicyName,
    CookieAcceptPolicy,
    DataHandler,
    DecisionHandler,
    HTTPVersion,
    ProgressHandler,
    TLSVersion,
)
from ._cache import Cache
from ._credentials import CredentialStorage
from ._enums import CachePolicy
from ._interceptor import Interceptor
from ._retry import RetryPolicy


class ProgressHandlers(TypedDict, total=False):
    """They get bytes so far and bytes expected, None while unknown."""

    upload_progress: Optional[ProgressHandler]
    download_progress: Optional[ProgressHandler]


class Handlers(ProgressHandlers, total=False):
    """The handlers of a request beside that of its response."""

    data_handler: Optional[DataHandler]
    decision_handler: Optional[DecisionHandler]


class Settings(TypedDict, total=False):
    """Each is an attribute of `SessionConfiguration`, which says what it means."""

    additional_headers: dict[str, str]
    user_agent: str
    decompression: bool
    maximum_response_size: int
    maximum_redirects: int
    cache_policy: Union[CachePolicy, CachePolicyName]
    uses_cache: bool
    cache_memory_capacity: int
    cache_disk_capacity: int
    cache_folder: str
    cache: Cache
    credential_storage: Optional[CredentialStorage]
    interceptors: Sequence[Interceptor]
    cookie_accept_policy: CookieAcceptPolicy
    sends_cookies: bool
    application_name: str
    request_timeout: float
    resource_timeout: float
    exit_timeout: float
    connect_timeout: float
    queue_timeout: float
    attempt_timeout: float
    maximum_connections_per_host: int
    maximum_connections: int
    http_version: HTTPVersion
    network_interface: str
    allows_cellular_access: bool
    proxy: str
    proxy_user: str
    proxy_password: str
    proxy_exceptions: list[str]
    retry: Union[RetryPolicy, bool]
    rate_limit: dict[str, float]
    user: str
    password: str
    tls_minimum_version: TLSVersion
    ca_file: str
    client_certificate: str
    client_key: str
    client_key_password: str
    pinned_public_keys: list[str]
