"""Errors for keywords that a client or a request does not have: what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ._advice import UNVERIFIED
from ._runtime.checks import nearest

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable


def _pairs(function: str) -> Callable[[Any], str]:
    """Advice to write an arg for each pair. Only the names are shown: a value may be a secret."""

    def line(value: Any) -> str:
        names = list(value)[:3] if isinstance(value, Mapping) else []
        return ", ".join(f'ntapi.{function}("{name}", ...)' for name in names or ["name"])

    return line


def _timeout(value: Any) -> str:
    return f"ntapi.timeout({value})" if isinstance(value, (int, float)) else "ntapi.timeout(5)"


def _retry(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        # Other libraries do not count the first attempt.
        return f"ntapi.retry(ntapi.RetryPolicy(attempts={value + 1}))"
    return "ntapi.retry(True)"


def _data(value: Any) -> str:
    return _pairs("form")(value) if isinstance(value, Mapping) else "ntapi.data(...)"


def _pair(function: str, value: str) -> Callable[[Any], str]:
    return lambda _: f"ntapi.{function}({value})"


_ARGS: dict[str, Callable[[Any], str]] = {
    "allow_redirects": _pair("option", '"maximum_redirects", 0'),
    "auth": lambda _: "ntapi.basic_auth(user, password) or ntapi.bearer(token)",
    "body": _pair("data", "..."),
    "connect_timeout": _pair("timeout", 'seconds, "connect"'),
    "content": _pair("data", "..."),
    "cookie": _pair("header", '"Cookie", "name=value"'),
    "data": _data,
    "data_urlencode": _pairs("form"),
    "files": _pairs("multipart_file"),
    "follow_redirects": _pair("option", '"maximum_redirects", 0'),
    "form": _pairs("form"),
    "header": _pairs("header"),
    "headers": _pairs("header"),
    "insecure": lambda _: UNVERIFIED,
    "interceptors": _pair("interceptor", "..."),
    "json": _pair("json", "..."),
    "location": _pair("option", '"maximum_redirects", 0'),
    "max_redirects": _pair("option", '"maximum_redirects", count'),
    "max_redirs": _pair("option", '"maximum_redirects", count'),
    "max_time": _pair("timeout", 'seconds, "total"'),
    "method": lambda value: f"ntapi.method({value!r})",
    "oauth2_bearer": _pair("bearer", "..."),
    "output": _pair("download", "path"),
    "params": _pairs("url"),
    "query": _pairs("url"),
    "range": _pair("header", '"Range", "bytes=0-99"'),
    "referer": _pair("header", '"Referer", url'),
    "request": _pair("method", "name"),
    "retries": _retry,
    "retry": _retry,
    "timeout": _timeout,
    "token": _pair("bearer", "..."),
    "upload_file": _pair("file", "path"),
    "user": _pair("basic_auth", "user, password"),
    "username": _pair("basic_auth", "user, password"),
}
"""The args to write in place of keywords that have another name than the function."""
_SETTINGS = {
    "cacert": 'ca_file="ca.pem"',
    "cert": 'client_certificate="client.pem"',
    "http1": 'http_version="1.1"',
    "http2": 'http_version="2"',
    "limits": "maximum_connections_per_host=10",
    "proxies": 'proxy="http://proxy:8080"',
    "proxy": 'proxy="http://proxy:8080"',
    "ssl": 'ca_file="ca.pem"',
    "trust_env": 'proxy=""',
    "verify": 'ca_file="ca.pem"',
}
"""The settings of a session to write in place of keywords."""
_HOOKS = "override hooks such as `build_request` and `request_completed`"
_RAISED = "an HTTP error is raised anyway: leave it out; `client.perform` returns it"
_ELSEWHERE = {
    "args": "write the args after the command: `client.send(command, *args)`",
    "callback": "write `client.begin(command, *args, handler=handler)`",
    "compressed": "answers are decompressed anyway: leave it out",
    "cookies": (
        "a client with a configuration keeps cookies by itself: `client.cookies`; "
        'for others write ntapi.header("Cookie", "name=value")'
    ),
    "event_hooks": _HOOKS,
    "fail": _RAISED,
    "handler": "write `client.begin(command, *args, handler=handler)`",
    "hooks": _HOOKS,
    "raise_for_status": _RAISED,
    "stream": "write `with client.stream(command) as chunks:`",
    "transport": "for tests write stub=ntapi.testing.Stub()",
    "url": "write the command first: `client.get(command)`; a whole URL is ntapi.base_url(url)",
    "verbose": "write `client.log_flags = ntapi.LogFlags.INFO`",
}


def keyword_error(given: Mapping[str, Any], known: Iterable[str], of_client: bool) -> TypeError:
    """The error for the first unknown keyword of a client or of a request."""
    names = tuple(known)
    name = next(name for name in given if name not in names)
    advice = _ELSEWHERE.get(name) or _advice(name, given[name], names, of_client)
    problem = f"a {'client' if of_client else 'request'} has no keyword {name!r}"
    if not of_client and name in _keywords_of_methods():
        advice += f"; get, post, put, patch, delete and request take {name}="
    return TypeError(f"{problem}; {advice}" if advice else problem)


def _keywords_of_methods() -> set[str]:
    """The keywords that become args, for the methods that have the name of an HTTP method."""
    from ._types import Handlers, Keywords

    return set(Keywords.__annotations__) - set(Handlers.__annotations__)


def _advice(name: str, value: Any, known: tuple[str, ...], of_client: bool) -> str:
    """What to write in place of a keyword; empty if no name is similar."""
    if name in ("allow_redirects", "follow_redirects", "location") and value is True:
        return "redirects are followed anyway: leave it out"
    if name in ("ssl", "verify") and value is False:
        return f"write {'args=[' + UNVERIFIED + ']' if of_client else 'the arg ' + UNVERIFIED}"
    from ._types import Settings
    from .arg import __all__ as of_args

    # A client has interceptors= instead of an arg of that kind.
    args = {name for name in of_args if name.islower()} - ({"interceptor"} if of_client else set())
    if name not in _ARGS and name not in _SETTINGS:
        name = nearest(name, {*known, *args, *Settings.__annotations__}) or ""
    if name in known:
        return f"did you mean {name}=?"
    if name in _ARGS or name in args:
        line = _ARGS[name](value) if name in _ARGS else f"ntapi.{name}(...)"
        if of_client:
            return f"write args=[{line}]"
        return f"write the {'args' if ', ntapi.' in line else 'arg'} {line}"
    if name:
        setting = _SETTINGS.get(name, f"{name}=...")
        configuration = f"configuration=ntapi.SessionConfiguration.default({setting})"
        return f"{'write' if of_client else 'make the client with'} {configuration}"
    return ""
