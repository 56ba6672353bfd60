"""Adds exchanges to the text of a recording or a HAR. What the file has is not written anew:
numbers keep their digits, and what was edited by hand stays.
"""

from __future__ import annotations

import json
import re


def appended(old: str, new: str) -> str:
    """The text of a recording, with the exchanges of another one after its own."""
    start, end = _exchanges(old)
    new_start, new_end = _exchanges(new)
    parts = old[start + 1 : end - 1].rstrip(), new[new_start + 1 : new_end - 1].rstrip()
    exchanges = ",".join(part for part in parts if part)
    return f"{old[:start]}[{exchanges}\n    ]{old[end:]}"


def is_har(text: str) -> bool:
    """Whether it is a HAR. Anything else is a recording, or no JSON."""
    try:
        _member(text, 0, "log")
    except ValueError:
        return False
    return True


_decode = json.JSONDecoder().raw_decode


def _exchanges(text: str) -> tuple[int, int]:
    """Where the array of exchanges begins and ends."""
    if is_har(text):
        return _member(text, _member(text, 0, "log")[0], "entries")
    return _member(text, 0, "exchanges")


def _member(text: str, start: int, wanted: str) -> tuple[int, int]:
    """Where the value of a member of an object begins and ends."""
    position = _after("{", text, start)
    while True:
        name, position = _decode(text, position)
        position = _after(":", text, position)
        _, end = _decode(text, position)
        if name == wanted:
            return position, end
        position = _after(",", text, end)


def _after(mark: str, text: str, position: int) -> int:
    """The position behind a mark and the spaces around it."""
    found = re.compile(rf"\s*{re.escape(mark)}\s*").match(text, position)
    if found is None:
        raise ValueError(f"a {mark} is missing in the recording, at character {position}")
    return found.end()
