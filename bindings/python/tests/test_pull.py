"""Bodies that the calling thread receives itself."""

from __future__ import annotations

from typing import Any, NoReturn

import pytest

import ntapi
from ntapi import _pull
from ntapi._args import c_args


def test_an_interrupted_call_cancels_no_other_request(
    servers: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    with ntapi.Client(servers["fault"]) as client:
        other = client.begin("late", ntapi.response_thread(ntapi.BACKGROUND))
        monkeypatch.setattr(_pull, "_begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            _pull.pull(client, c_args(client, (ntapi.base_url(f"{servers['fault']}/ok"),)) or 0)
        other.wait()
        assert other.response is not None
        assert other.response.status == 200
