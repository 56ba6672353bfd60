"""What users get wrong is an exception where they get it wrong, with a message that helps."""

from __future__ import annotations

import asyncio
import re
from typing import Any, Callable

import pytest

import ntapi


async def async_handler(_: ntapi.Response) -> None: ...


class AsyncCall:
    async def __call__(self, _: ntapi.Response) -> None: ...


@pytest.mark.parametrize(
    ("begin", "says"),
    [
        (lambda client: client.begin("x", (), 5), "the handler has to be callable, not int"),
        (
            lambda client: client.begin("x", ntapi.url("a", 1), ntapi.url("b", 2)),
            "the handler has to be callable, not Arg; args of begin go in a list",
        ),
        (lambda client: client.begin("x", print), "begin(command, args, handler)"),
        (
            lambda client: client.begin("x", upload_progress=5),
            "the upload progress handler has to be callable, not int",
        ),
        (
            lambda client: client.begin("x", download_progress="y"),
            "the download progress handler has to be callable, not str",
        ),
        (lambda client: client.begin("x", (), async_handler), "handlers are plain functions"),
        (lambda client: client.begin("x", (), AsyncCall()), "handlers are plain functions"),
        (
            lambda client: client.begin("x", download_progress=async_handler),
            "handlers are plain functions, not async ones",
        ),
        (lambda client: client.begin(5), "the command has to be a string, not int"),
        (lambda client: client.begin("x", 5), "an arg is expected, not 5"),
        (lambda client: client.begin("x", [None, [5]]), "an arg is expected, not 5"),
    ],
)
def test_begin(begin: Callable[[Any], object], says: str) -> None:
    with pytest.raises(TypeError, match=re.escape(says)):
        begin(ntapi.Client("http://127.0.0.1"))

    async def main() -> None:
        begin(ntapi.AsyncClient("http://127.0.0.1"))

    with pytest.raises(TypeError, match=re.escape(says)):
        asyncio.run(main())
