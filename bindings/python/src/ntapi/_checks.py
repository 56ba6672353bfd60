"""Checks of what users hand in: a mistake is an exception where it is made, not later elsewhere.

The error says what to write instead, also for names that other libraries use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import CoroutineType, FunctionType

# What a plain request does not need is imported by the functions that do, for a cold start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, NoReturn, Optional


def type_name(value: object) -> str:
    """How a message names what was given instead."""
    return type(value).__name__


def shown(value: object) -> str:
    """How a message shows what was given instead. A text may be a secret in the wrong place, unless
    it is a short word.
    """
    if isinstance(value, str) and value.isalpha() and len(value) <= 10:
        return repr(value)
    if isinstance(value, (str, bytes, bytearray)):
        return f"{type_name(value)} of length {len(value)}"
    return repr(value)


def named(value: object) -> str:
    """The class of an object as programs name it, for its repr."""
    cls = type(value)
    module = cls.__module__.partition("._")[0]
    return cls.__qualname__ if module == "__main__" else f"{module}.{cls.__qualname__}"


def check_string(value: object, what: str) -> None:
    """Raises TypeError for anything but a string, ValueError for one that UTF-8 cannot hold."""
    if not isinstance(value, str):
        raise TypeError(f"{what} has to be a string, not {type_name(value)}")
    check_text(value, what)


def check_text(text: str, what: str) -> None:
    """Raises ValueError for a text that UTF-8 cannot hold."""
    if text.isascii():
        return
    try:
        text.encode()
    except UnicodeEncodeError as error:
        problem = f"a lone surrogate, {text[error.start]!r}, at {error.start}"
        raise ValueError(f"{what} cannot be sent: it has {problem}") from None


def check_timeout(timeout: Optional[float]) -> None:
    """Raises for anything but seconds, or None for no limit."""
    if timeout is None:
        return
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
        raise TypeError(f"timeout has to be a number of seconds, not {type_name(timeout)}")
    if timeout != timeout:
        raise ValueError("timeout has to be a number of seconds, not NaN")


def check_handler(handler: object, what: str = "the handler") -> None:
    """Raises TypeError for anything that cannot be called as a handler. None is no handler."""
    if handler is None:
        return
    if not callable(handler):
        raise TypeError(
            f"{what} has to be callable, not {type_name(handler)}; args of begin go in a list"
        )
    if is_async(handler):
        raise TypeError("handlers are plain functions, not async ones")


def is_async(function: Any) -> bool:
    """Whether a call only makes a coroutine, which nobody would await."""
    import inspect

    call = getattr(function, "__call__", None)  # noqa: B004 - an object may have an async __call__
    return any(
        inspect.iscoroutinefunction(each) or inspect.isasyncgenfunction(each)
        for each in (function, call)
    )


def refuse_coroutine(result: object) -> None:
    """Raises TypeError if a hook returned a coroutine."""
    if isinstance(result, CoroutineType):
        result.close()
        raise TypeError("hooks are plain functions, not async ones")


def refuse_copy(of: object, advice: str) -> NoReturn:
    """Raises TypeError for an object that cannot be pickled or copied."""
    raise TypeError(f"{named(of)} cannot be pickled or copied: {advice}")


# What to write instead: for names of other libraries, and for names that are misspelled.


def nearest(name: str, known: Iterable[str], cutoff: float = 0.7) -> Optional[str]:
    """The known name that is most likely meant."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def similar(name: str, known: Iterable[str]) -> Optional[str]:
    """The known name that differs in case, in `_`, or in one or two letters, as the library says.

    A cheap look, for each attribute of each class: a short name easily resembles another.
    """
    letters = _letters(name)
    for candidate in known:
        wanted = _letters(candidate)
        limit = 0 if len(wanted) < 7 else 1 if len(wanted) < 11 else 2
        if abs(len(wanted) - len(letters)) <= limit and _different(letters, wanted) <= limit:
            return candidate
    return None


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _different(one: str, other: str) -> int:
    """How many letters are left between a common beginning and a common end."""
    longest, shortest = max(len(one), len(other)), min(len(one), len(other))
    same = 0
    while same < shortest and one[same] == other[same]:
        same += 1
    end = 0
    while end < shortest - same and one[-1 - end] == other[-1 - end]:
        end += 1
    return longest - same - end


def missing_attribute(of: object, name: str, own: Iterable[str], kind: str = "") -> Exception:
    """The error for an attribute that is not there; `own` are those that `__init__` sets."""
    cls = type(of).__qualname__
    if name in own:
        return RuntimeError(f"{cls}.__init__ has to call super().__init__()")
    problem = f"{cls!r} object has no attribute {name!r}"
    return AttributeError(problem + (instead(kind, name) if kind else ""))


def check_hooks(cls: type, hooks: Iterable[str]) -> None:
    """Raises TypeError for a method of a new class whose name is nearly that of a hook."""
    for name, value in vars(cls).items():
        if not isinstance(value, FunctionType) or name.startswith("_"):
            continue
        if any(hasattr(base, name) for base in cls.__bases__):
            continue
        found = similar(name, hooks)
        if found is not None:
            raise TypeError(f"{cls.__qualname__}.{name} is no hook: did you mean {found!r}?")


def _pairs(function: str) -> Callable[[Any], str]:
    """An arg for each pair. Only their names are shown: a value may be a secret."""

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


_ARGS: dict[str, Callable[[Any], str]] = {
    "auth": lambda _: "ntapi.basic_auth(user, password) or ntapi.bearer(token)",
    "content": lambda _: "ntapi.data(...)",
    "data": _data,
    "files": _pairs("multipart_file"),
    "form": _pairs("form"),
    "headers": _pairs("header"),
    "interceptors": lambda _: "ntapi.interceptor(...)",
    "json": lambda _: "ntapi.json(...)",
    "method": lambda value: f"ntapi.method({value!r})",
    "params": _pairs("url"),
    "query": _pairs("url"),
    "retries": _retry,
    "retry": _retry,
    "timeout": _timeout,
    "token": lambda _: "ntapi.bearer(...)",
}
"""The args to write in place of a keyword, where it is not simply the function of that name."""

_UNVERIFIED = 'ntapi.option("allow_invalid_certificate")'

_SETTINGS = {
    "allow_redirects": "maximum_redirects=0",
    "cert": 'client_certificate="client.pem"',
    "follow_redirects": "maximum_redirects=0",
    "http1": 'http_version="1.1"',
    "http2": 'http_version="2"',
    "limits": "maximum_connections_per_host=10",
    "max_redirects": "maximum_redirects=5",
    "proxies": 'proxy="http://proxy:8080"',
    "proxy": 'proxy="http://proxy:8080"',
    "trust_env": 'proxy=""',
    "verify": 'ca_file="ca.pem"',
}
"""The settings of a session to write in place of a keyword."""

_ELSEWHERE = {
    "args": "write the args after the command: `client.send(command, *args)`",
    "cookies": "a client with a configuration keeps cookies by itself: `client.cookies`",
    "event_hooks": "override hooks such as `build_request` and `request_completed`",
    "handler": "write `client.begin(command, args, handler)`",
    "stream": "write `with client.stream(command) as chunks:`",
    "transport": "for tests write stub=ntapi.testing.Stub()",
}


def keyword_error(given: Mapping[str, Any], known: Iterable[str], of_client: bool) -> TypeError:
    """The error for the first unknown keyword, of a client or else of a request."""
    names = tuple(known)
    name = next(name for name in given if name not in names)
    advice = _ELSEWHERE.get(name) or _advice(name, given[name], names, of_client)
    problem = f"a {'client' if of_client else 'request'} has no keyword {name!r}"
    return TypeError(f"{problem}; {advice}" if advice else problem)


def _advice(name: str, value: Any, known: tuple[str, ...], of_client: bool) -> str:
    """What to write in place of a keyword; empty when nothing is near."""
    if name == "verify" and value is False:
        return f"write {'args=[' + _UNVERIFIED + ']' if of_client else 'the arg ' + _UNVERIFIED}"
    from ._types import Settings
    from .arg import __all__ as of_args

    # A client has interceptors=, and takes no arg of that kind.
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


def keywords_of(method: Any) -> tuple[str, ...]:
    """The names of a method's parameters."""
    code = method.__code__
    names: tuple[str, ...] = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    return names


def unknown_keyword(
    method: Any, given: Iterable[str], who: str, instead: Mapping[str, str]
) -> TypeError:
    """The error for the first unknown keyword of another method."""
    name = next(iter(given))
    problem = f"{who} has no keyword {name!r}"
    if name in instead:
        return TypeError(f"{problem}; write {instead[name]}")
    found = nearest(name, keywords_of(method))
    return TypeError(problem if found is None else f"{problem}; did you mean {found}=?")


def is_list_like(value: object) -> bool:
    """Whether it may hold args: not text, bytes or a mapping, whose items nobody means as args."""
    is_content = isinstance(value, (str, bytes, bytearray, memoryview)) or hasattr(value, "keys")
    return hasattr(value, "__iter__") and not is_content


def no_arg(value: object) -> TypeError:
    """The error for what stands in the place of an arg."""
    if isinstance(value, (int, float)):
        return TypeError(f"an arg is expected, not {value}")
    if callable(value):
        return TypeError(
            f"an arg is expected, not {value!r}; "
            "the handler comes after the args: begin(command, args, handler)"
        )
    if isinstance(value, str):
        advice = "ntapi.url(name, value) to add it to the query, or ntapi.data(...) for the body"
    elif isinstance(value, (bytes, bytearray, memoryview)):
        advice = "ntapi.data(...) to send it as the body"
    elif hasattr(value, "keys"):
        advice = "ntapi.json(...) to send it as JSON, or ntapi.form(name, value) for each pair"
    else:
        advice = "ntapi.json(...) to send it as JSON"
    # The type alone: it may be a secret.
    return TypeError(f"an arg is expected, not a {type_name(value)}; write {advice}")


_OF_RESPONSE = {
    "content": "`response.data`",
    "cookies": "`client.cookies`",
    "encoding": '`response.headers["Content-Type"]`',
    "history": "`response.request_metrics`",
    "http_version": "`response.metrics.http_version`",
    "is_error": "`response.error is not None`",
    "is_success": "`response.error is None`",
    "iter_bytes": "`client.stream(command)`",
    "iter_content": "`client.stream(command)`",
    "iter_lines": "`client.lines(command)`",
    "links": '`response.link("next")`',
    "method": "`response.request.curl_command`",
    "ok": "`response.error is None`",
    "raise_for_status": "`response.raise_for_error()`",
    "read": "`response.data`",
    "status_code": "`response.status`",
}

_OF_CLIENT = {
    "aclose": "`await client.close()`",
    "auth": "`client.args = [ntapi.bearer(token)]` or `client.authenticator`",
    "base_url": "the first argument of the client, or the arg `ntapi.base_url`",
    "head": '`client.send(command, ntapi.method("HEAD"))`',
    "headers": '`client.args = [ntapi.header("Name", value)]`',
    "options": '`client.send(command, ntapi.method("OPTIONS"))`',
    "params": '`client.args = [ntapi.url("name", value)]`',
    "request": "`client.send(command, ntapi.method(name))`",
    "timeout": "`client.args = [ntapi.timeout(seconds)]`",
    "verify": f"`client.args = [{_UNVERIFIED}]`, or the setting `ca_file` of a session",
}

_OF_REQUEST = {
    "header": '`request.headers.get("Name")`',
    "set_header": '`request.headers["Name"] = value`',
    "set_body": "`request.body = body`",
    "set_method": "`request.method = name`",
    "set_option": '`request.options["name"] = value`',
    "set_secret_header": '`request.headers.set_secret("Name", value)`',
    "set_timeout": '`request.timeouts["idle"] = seconds`',
    "set_url": "`request.url = url`",
}

_OF_PACKAGE = {
    "ConnectError": "`ntapi.ApiError` whose `failure` says why",
    "HTTPError": "`ntapi.ApiError` whose `domain` is `ntapi.ErrorDomain.HTTP`",
    "HTTPStatusError": "`ntapi.ApiError` whose `domain` is `ntapi.ErrorDomain.HTTP`",
    "RequestException": "`ntapi.ApiError`",
    "Session": "`ntapi.Client`",
    "Timeout": "`ntapi.timeout(seconds)`; the error's `code` is `ntapi.codes.TIMEOUT`",
    "TimeoutException": "`ntapi.ApiError` whose `code` is `ntapi.codes.TIMEOUT`",
    "delete": "`ntapi.Client(base_url).delete(command)`",
    "get": "`ntapi.Client(base_url).get(command)`",
    "patch": "`ntapi.Client(base_url).patch(command)`",
    "post": "`ntapi.Client(base_url).post(command)`",
    "put": "`ntapi.Client(base_url).put(command)`",
    "request": "`ntapi.Client(base_url).send(command)`",
}

_INSTEAD = {
    "client": _OF_CLIENT,
    "package": _OF_PACKAGE,
    "request": _OF_REQUEST,
    "response": _OF_RESPONSE,
}


_SPELLED = {
    "headers": "additional_headers",
    "timeout": "request_timeout",
    "verify": "ca_file",
}


def setting_problem(name: str, known: Iterable[str]) -> str:
    """What is wrong with the name of a setting."""
    found = _SPELLED.get(name) or nearest(name, known)
    end = "" if found is None else f"; did you mean {found!r}?"
    if name == "verify":
        end += f" To trust any server, give the client the arg {_UNVERIFIED}"
    return f"{name!r} is not a setting of a session{end}"


def instead(kind: str, name: str) -> str:
    """The end of a message about an attribute that is missing; empty when nothing is known."""
    found = _INSTEAD[kind].get(name)
    return "" if found is None else f": write {found}"
