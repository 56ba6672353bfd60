"""YAML as vcrpy reads and writes it. Only for files with such a name: it imports PyYAML.

Only safe tags are read and written. No tag can make an object of a class that the file names.
"""

from __future__ import annotations

import functools

from .cassettes import CassetteError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_PYTHON = "tag:yaml.org,2002:python/"
"""The beginning of the tags of Python's types."""


def load(text: str) -> Any:
    """Reads YAML. Raises CassetteError."""
    import yaml

    try:
        return yaml.load(text, Loader=_loader())
    except yaml.MarkedYAMLError as error:
        place = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise CassetteError(f"it cannot be read as YAML: {error.problem}{place}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise CassetteError(f"it cannot be read as YAML: {error}") from error


def dump(cassette: Any) -> str:
    """Writes YAML, in ASCII: vcrpy reads files in the encoding of the system."""
    import yaml

    dumper: Any = type("_Dumper", (getattr(yaml, "CSafeDumper", yaml.SafeDumper),), {})
    dumper.add_representer(
        tuple, lambda dumper, items: dumper.represent_sequence(f"{_PYTHON}tuple", items)
    )
    text: str = yaml.dump(cassette, Dumper=dumper)
    return text


@functools.cache
def _loader() -> Any:
    """The safe loader, with the tags of Python that vcrpy writes: bodies that were tuples, files or
    iterators.
    """
    import yaml

    # That of libyaml is ten times faster, if PyYAML has it.
    loader: Any = type("_Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
    for name, constructor in {
        "str": _text,
        "unicode": _text,
        "tuple": _tuple,
        "object/new:_io.BytesIO": _file,
        "object/apply:builtins.iter": _iterator,
    }.items():
        loader.add_constructor(f"{_PYTHON}{name}", constructor)
    return loader


def _text(loader: Any, node: Any) -> Any:
    return loader.construct_scalar(node)


def _tuple(loader: Any, node: Any) -> tuple[Any, ...]:
    return tuple(loader.construct_sequence(node, deep=True))


def _file(loader: Any, node: Any) -> Any:
    state = loader.construct_mapping(node, deep=True).get("state") or [b""]
    return state[0]


def _iterator(loader: Any, node: Any) -> bytes:
    args = loader.construct_mapping(node, deep=True).get("args") or [[]]
    return b"".join(map(_piece, args[0]))


def _piece(piece: Any) -> bytes:
    if isinstance(piece, str):
        return piece.encode()
    return bytes([piece]) if isinstance(piece, int) else bytes(piece)
