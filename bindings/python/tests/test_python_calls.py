"""Calls without ctypes on CPython, and the plain way for other interpreters."""

from __future__ import annotations

import pytest

from conftest import run_python
from ntapi._bridge import cpython

PLAIN = """
import sys
{change}
import asyncio
import ntapi
from ntapi._bridge import cpython
from ntapi.testing import Stub

assert cpython.PLAIN and cpython.INTERPRETER == 0
document = {{"list": [1, 2.5, None, True, "text"]}}
stub = Stub()
stub.on(None, "any").answer(json=document)
stub.on(None, "late").answer(text='Notice: [x] {{"n": 1}}')
stub.on(None, "lines").answer(text='{{"n":1}}\\n[2]\\n')
with ntapi.Client("http://api.test", stub=stub) as client:
    assert client.post("any", ntapi.json({{"n": 12345678901234567890}})).json() == document
    assert stub.requests[0].text == '{{"n":12345678901234567890}}'
    late = client.send("late")
    assert (late.json(), late.prefix_text) == ({{"n": 1}}, "Notice: [x] ")
    assert list(client.lines("lines")) == [{{"n": 1}}, [2]]

async def main():
    async with ntapi.AsyncClient("http://api.test", stub=stub) as client:
        assert (await client.send("any", ntapi.json({{"a": 1}}))).json() == document

asyncio.run(main())
"""


@pytest.mark.parametrize(
    "change",
    [
        'sys.implementation.name = "another"',
        "sys._is_gil_enabled = lambda: False",
        "sys.gettotalrefcount = lambda: 0",
    ],
    ids=["another interpreter", "no lock", "debug build"],
)
def test_the_plain_way(change: str) -> None:
    done = run_python(PLAIN.format(change=change))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(cpython.PLAIN, reason="the plain way is taken here")
def test_wrong_arguments_are_exceptions() -> None:
    free = cpython.quick("ntapi_response_free")
    assert free(0) is None
    assert free(None) is None
    with pytest.raises(TypeError):
        free("0")
    with pytest.raises(SystemError):
        free()
    begin = cpython.quick("ntapi_client_begin_event")
    with pytest.raises(TypeError):
        begin(0, "no bytes", 0, 0, 0)
    assert begin(0, b"any", 0, 0, 0) == 0
    for make in (cpython.response_json, cpython.json_value):
        assert make(0, cpython.INTERPRETER) is None
