"""The properties of a response as texts, to compare it with its copy. Another process runs this
file with a folder of pickles.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import ntapi


def told(response: ntapi.Response) -> dict[str, Any]:
    """Every public property of a response and of its request."""
    facts = _properties(response)
    facts["json"] = _flat(response.json())
    facts["links"] = [response.link(name) for name in ("next", "LAST", "prev")]
    facts["lines"] = facts.pop("headers").lines
    facts["is its own request"] = facts["request"] == response.request
    facts["request"] = _properties(facts["request"])
    facts["request"]["received_headers"] = facts["request"]["received_headers"].lines
    assert facts["request"].pop("response") is response
    facts["error"] = told_error(response.error, response)
    facts["repr"] = repr(response)
    return facts


def told_error(error: Any, response: Any) -> Any:
    """An error as text. Checks its code by identity."""
    if error is None:
        return None
    assert error.response is response
    assert error.code is ntapi.register_code(str(error.code))
    text = str(error)
    facts = {name: value for name, value in vars(error).items() if name != "response"}
    return {**facts, "args": error.args, "type": type(error).__name__, "text": text}


def _flat(json: Any) -> list[Any]:
    """A JSON value without nesting: `repr` cannot print very deep values."""
    open_ones, tokens = [json], []
    while open_ones:
        value = open_ones.pop()
        if isinstance(value, dict):
            value = [part for pair in value.items() for part in pair]
        if isinstance(value, list):
            open_ones += reversed(value)
            value = f"{len(value)} parts"
        tokens.append(value)
    return tokens


def _properties(thing: Any) -> dict[str, Any]:
    kinds = {name: getattr(type(thing), name, None) for name in dir(type(thing))}
    return {
        name: getattr(thing, name)
        for name, kind in kinds.items()
        if isinstance(kind, property) and not name.startswith("_")
    }


def main(folder: Path) -> None:
    """Loads each pickle twice, drops one, and checks that the other still has all values."""
    for path in sorted(folder.glob("*.pickle")):
        expected, content = pickle.loads(path.read_bytes())
        ending, response = pickle.loads(content), pickle.loads(content)
        assert repr(told(ending)) == expected
        del ending
        assert repr(told(response)) == expected, (repr(told(response)), expected)
        print(path.stem)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
