"""Sends one request from a shell: python -m ntapi URL"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

import ntapi

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

COLOURS = {"key": "34", "string": "32", "number": "36", "word": "35", "ok": "32", "error": "31"}
"""Codes of ECMA-48."""
TOKEN = re.compile(
    r'(?P<key>"(?:[^"\\]|\\.)*"(?=:))|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<number>-?\d[\d.eE+-]*)|(?P<word>true|false|null)"
)


def options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m ntapi",
        description="Sends one request. The body of the answer is written to standard output, "
        "status and times to standard error. The exit status is 1 if the request fails: without an "
        "answer, with an HTTP error, or with invalid JSON. A text or HTML is no error.",
    )
    parser.add_argument("url", metavar="URL", help="https:// is added if it has no scheme")
    parser.add_argument("-X", "--method", help="GET, or POST if there is a body")
    for name, kind, what in (("header", header, "'NAME: VALUE'"), ("query", query, "NAME=VALUE")):
        parser.add_argument(
            "-H" if kind is header else "-q",
            f"--{name}",
            type=kind,
            action="append",
            default=[],
            metavar=what,
            help="may be repeated",
        )
    body = parser.add_mutually_exclusive_group()
    body.add_argument("-j", "--json", type=content, metavar="TEXT", help="a body of JSON, or @FILE")
    body.add_argument("-d", "--data", type=content, metavar="TEXT", help="another body, or @FILE")
    parser.add_argument("-u", "--user", metavar="USER:PASSWORD", help="for Basic authentication")
    parser.add_argument("--digest", action="store_true", help="Digest in place of Basic")
    parser.add_argument("--timeout", type=float, metavar="SECONDS", help="for the whole request")
    parser.add_argument("-i", "--include", action="store_true", help="also show the headers")
    parser.add_argument("-o", "--download", type=Path, metavar="FILE", help="save the body")
    parser.add_argument("--curl", action="store_true", help="only print the line for curl")
    parser.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    versions = " ".join(f"{name}/{version}" for name, version in ntapi.versions().items())
    parser.add_argument("--version", action="version", version=versions)
    return parser.parse_args(arguments)


def header(text: str) -> tuple[str, str]:
    """A name and a value."""
    name, found, value = text.partition(":")
    if not found:
        raise argparse.ArgumentTypeError(f"write 'NAME: VALUE', not {text!r}")
    return name, value.strip()


def query(text: str) -> tuple[str, str]:
    """A name and a value."""
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"write NAME=VALUE, not {text!r}")
    return name, value


def content(text: str) -> bytes:
    """The bytes of a text or of an @FILE."""
    if not text.startswith("@"):
        return text.encode()
    try:
        return Path(text[1:]).read_bytes()
    except OSError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def args_of(given: argparse.Namespace) -> list[ntapi.Arg]:
    """The args of the request."""
    url = given.url if "://" in given.url else f"https://{given.url}"
    args = [ntapi.base_url(url)]
    args += [ntapi.url(*found) for found in given.query]
    if given.json is not None:
        args.append(ntapi.data(given.json, "application/json"))
    elif given.data is not None:
        args.append(ntapi.data(given.data))
    args += [ntapi.add_header(*found) for found in given.header]
    if given.method:
        args.append(ntapi.method(given.method))
    if given.user is not None:
        user, _, password = given.user.partition(":")
        args.append((ntapi.digest_auth if given.digest else ntapi.basic_auth)(user, password))
    if given.timeout is not None:
        args.append(ntapi.timeout(given.timeout, "total"))
    if given.download is not None:
        args.append(ntapi.download(given.download))
    return args


def coloured(text: str, kind: str, is_coloured: bool) -> str:
    return f"\033[{COLOURS[kind]}m{text}\033[0m" if is_coloured else text


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB"):
        if count < 999.95:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def show_progress(done: int, total: Optional[int]) -> None:
    """A bar on standard error, which is a terminal."""
    text = size(done)
    if total:
        width = max(10, min(40, shutil.get_terminal_size().columns - 30))
        filled = width * done // total
        text = f"[{'#' * filled}{'.' * (width - filled)}] {text} of {size(total)}"
    print(f"\r{text}\033[K", end="", file=sys.stderr, flush=True)


def write_body(response: ntapi.Response, is_coloured: bool) -> None:
    """People get indented JSON. Programs, and people who asked for another type, get the bytes."""
    if response.has_json and sys.stdout.isatty() | is_coloured:
        text = json.dumps(response.json(), indent=2, ensure_ascii=False)
        if is_coloured:
            text = TOKEN.sub(lambda found: coloured(found[0], str(found.lastgroup), True), text)
        print(text)
        return
    sys.stdout.flush()
    rest = memoryview(response.data)
    while rest:
        # With PYTHONUNBUFFERED, it takes only as much as the reader does.
        rest = rest[sys.stdout.buffer.write(rest) :]
    sys.stdout.buffer.flush()
    if response.data and sys.stdout.isatty():
        print()


def failure(response: ntapi.Response) -> Optional[ntapi.ApiError]:
    """The error of a response. In a shell, a body that is not meant to be JSON is none."""
    media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
    is_other = not media_type.endswith(("/json", "+json"))
    error = response.error
    return None if error and error.code is ntapi.codes.INVALID_JSON and is_other else error


def summary(response: ntapi.Response, is_coloured: bool) -> str:
    """The status, the size and the times."""
    metrics = response.metrics
    times = [
        ("name", metrics.name_lookup),
        ("connect", metrics.connect),
        ("TLS", metrics.tls),
        ("first byte", metrics.first_byte),
        ("total", metrics.total),
    ]
    shown = ", ".join(f"{name} {seconds * 1000:.0f} ms" for name, seconds in times if seconds)
    status = f"HTTP/{metrics.http_version:g} {response.status} {response.reason_phrase}".rstrip()
    kind = "error" if failure(response) else "ok"
    return f"{coloured(status, kind, is_coloured)}, {size(metrics.bytes_received)}: {shown}"


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Returns 1 if the request fails."""
    given = options(arguments)
    may_colour = "NO_COLOR" not in os.environ
    colours_out, colours_error = (
        given.color == "always" or (given.color == "auto" and may_colour and stream.isatty())
        for stream in (sys.stdout, sys.stderr)
    )
    with ntapi.Client() as client:
        line = client.create_request("", *args_of(given)).curl_command if given.curl else None
        if line:
            print(line)
            return 0
        shows = given.download is not None and sys.stderr.isatty()
        progress = show_progress if shows else None
        response = client.perform("", *args_of(given), download_progress=progress)
    if shows:
        print("\r\033[K", end="", file=sys.stderr)
    if response.status:
        print(summary(response, colours_error), file=sys.stderr)
    if given.include:
        for name, value in response.headers.lines:
            print(f"{name}: {value}", file=sys.stderr)
    if response.file:
        print(response.file)
    else:
        write_body(response, colours_out)
    error = failure(response)
    if error:
        print(coloured(str(error), "error", colours_error), file=sys.stderr)
    return 1 if error else 0


if __name__ == "__main__":
    try:
        raise SystemExit(main())
    except KeyboardInterrupt:
        raise SystemExit(128 + signal.SIGINT) from None
    except BrokenPipeError:
        # The reader of the output has ended. Python would report it again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
