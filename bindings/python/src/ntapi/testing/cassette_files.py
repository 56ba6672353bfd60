"""Files with the cassettes of vcrpy, in YAML. PyYAML reads and writes them; it is imported when
such a file is used.
"""

from __future__ import annotations

import contextlib
from importlib import import_module
from tempfile import NamedTemporaryFile

from .. import codes
from .._bridge.enums import ErrorDomain
from .._errors import ApiError
from . import cassette_yaml
from .cassette_bodies import compact, parsed
from .cassettes import cassette_of, recording_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def is_cassette(path: str) -> bool:
    """Whether the name is one of a cassette. If it is, raises ImportError if PyYAML is missing."""
    if not path.lower().endswith((".yaml", ".yml")):
        return False
    try:
        import_module("yaml")
    except ModuleNotFoundError as error:
        if error.name != "yaml":
            raise
        message = f"the cassette {path!r} needs PyYAML: pip install PyYAML"
        raise ImportError(message, name="yaml") from error
    return True


@contextlib.contextmanager
def as_recording(path: str) -> Iterator[str]:
    """The name of a recording with the exchanges of a cassette, while the `with` block runs."""
    try:
        with open(path, encoding="utf-8") as file:
            recording = recording_of(cassette_yaml.load(file.read()))
        text = compact(recording).encode()
    except (OSError, ValueError, TypeError) as error:
        # The last two: a CassetteError, or values that JSON and UTF-8 cannot represent.
        raise _invalid(path, error) from error
    with NamedTemporaryFile(suffix=".json") as copy:
        copy.write(text)
        copy.flush()
        try:
            yield copy.name
        except ApiError as error:
            raise _invalid(path, error.message.partition(": ")[2]) from None


def _invalid(path: str, problem: object) -> ApiError:
    if isinstance(problem, FileNotFoundError):
        problem = "there is no such file"
    message = f"the recording {path!r}: {problem}"
    return ApiError(codes.INVALID_REQUEST, message, domain=ErrorDomain.REQUEST)


def cassette_text(old: str, new: str) -> str:
    """The text of a cassette with the exchanges of a recording, after those of an old cassette.

    Both are texts of files; `old` may be empty.
    """
    cassette = cassette_of(parsed(new))
    if old:
        kept = cassette_yaml.load(old)
        kept["interactions"] += cassette["interactions"]
        cassette = kept
    return cassette_yaml.dump(cassette)
