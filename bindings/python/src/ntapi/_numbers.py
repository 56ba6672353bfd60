"""Values of the C header that only the package itself uses: plain numbers, for an enum's operators
are calls, and enum takes longer to import than most of the package.
"""

from __future__ import annotations


class Status:
    """What a C call returns when it can fail."""

    OK = 0
    INVALID_ARGUMENT = 1
    INVALID_STATE = 2
    TIMED_OUT = 3
    INTERRUPTED = 4


class Handler:
    """Which of a request's handlers is meant."""

    RESPONSE = 1
    UPLOAD_PROGRESS = 2
    DOWNLOAD_PROGRESS = 4
    DATA = 8
    DECISION = 16
    ALL = 31


class DataFormat:
    """ntapi_data_format."""

    BYTES = 0
    JSON_LINES = 1
    SERVER_EVENTS = 2


class Bytes:
    """Which bytes of bodies are meant."""

    SENT = 0
    EXPECTED_TO_SEND = 1
    RECEIVED = 2
    EXPECTED_TO_RECEIVE = 3
    DECODED = 4


class Content:
    """What a response holds beside its data."""

    JSON = 1
    PREFIX_TEXT = 2
