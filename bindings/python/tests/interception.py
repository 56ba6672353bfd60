"""What the tests of interceptors share."""

from __future__ import annotations

import threading
from collections.abc import Generator
from typing import Optional

import ntapi
from ntapi import HTTPRequest, HTTPResponse, InterceptedCall

Flow = Generator[HTTPRequest, HTTPResponse, Optional[HTTPResponse]]


def message(response: ntapi.Response) -> str:
    assert response.error is not None
    return response.error.message


class Waiting:
    """An interceptor that waits for an answer which never comes, and records how the wait ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.sent = threading.Event()
        self.over = threading.Event()

    def wait(self, call: InterceptedCall) -> Flow:
        try:
            self.sent.set()
            yield call.request
            self.ended.append("answered")
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        finally:
            self.over.set()
        return None

    async def wait_async(self, call: InterceptedCall) -> Optional[HTTPResponse]:
        try:
            self.sent.set()
            await call.next()
            self.ended.append("answered")
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        finally:
            self.over.set()
        return None
