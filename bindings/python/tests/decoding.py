"""Decoding without a response, for the tests of decoding."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

import ntapi
from ntapi import codes
from ntapi.decoding.decoder import decode_at

MOMENT = datetime(2013, 11, 20, 10, tzinfo=timezone.utc)


def decode(form: Any, value: Any, path: str = "", **options: Any) -> Any:
    """Writes a value as JSON text and decodes that, as with a response."""
    return decode_at(form, json.loads(json.dumps(value)), path, ntapi.DecodingOptions(**options))


def refused(form: Any, value: Any, path: str = "", **options: Any) -> str:
    with pytest.raises(ntapi.ApiError) as caught:
        decode(form, value, path, **options)
    assert caught.value.code is codes.UNEXPECTED_JSON
    assert caught.value.domain is ntapi.ErrorDomain.JSON
    return str(caught.value)
