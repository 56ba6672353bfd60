"""The library's functions as functions of CPython's own."""

from __future__ import annotations

import pytest

from conftest import run_python
from ntapi import _python_calls

# What any interpreter does that is not CPython, in one that is.
ELSEWHERE = """
import sys
sys.implementation.name = "another"
import asyncio
import ntapi
from ntapi import _python_calls
from ntapi.testing import Stub

assert _python_calls.INTERPRETER == 0
document = {"list": [1, 2.5, None, True, "text"]}
stub = Stub()
stub.on(None, "any").answer(json=document)
stub.on(None, "late").answer(text='Notice: [x] {"n": 1}')
stub.on(None, "lines").answer(text='{"n":1}\\n[2]\\n')
with ntapi.Client("http://api.test", stub=stub) as client:
    assert client.send("any").json == document
    late = client.send("late")
    assert (late.json, late.prefix_text) == ({"n": 1}, "Notice: [x] ")
    assert list(client.lines("lines")) == [{"n": 1}, [2]]

async def main():
    async with ntapi.AsyncClient("http://api.test", stub=stub) as client:
        assert (await client.send("any")).json == document

asyncio.run(main())
"""


def test_another_interpreter_goes_by_way_of_ctypes() -> None:
    done = run_python(ELSEWHERE)
    assert (done.returncode, done.stderr) == (0, "")


def test_wrong_arguments_are_exceptions() -> None:
    free = _python_calls.quick("ntapi_response_free")
    assert free(0) is None
    assert free(None) is None
    with pytest.raises(TypeError):
        free("0")
    with pytest.raises(SystemError):
        free()
    begin = _python_calls.quick("ntapi_client_begin_event")
    with pytest.raises(TypeError):
        begin(0, "no bytes", 0, 0, 0)
    assert begin(0, b"any", 0, 0, 0) == 0
    for make in (_python_calls.response_json, _python_calls.json_value):
        assert make(0, _python_calls.INTERPRETER) is None
