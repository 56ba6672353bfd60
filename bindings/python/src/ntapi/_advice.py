"""Advice for names of other libraries and for misspelled names: what to write instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ._runtime.checks import keywords_of, nearest, no_attribute, type_name

# Functions import what a plain request does not need, so that programs start faster.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def missing_attribute(of: object, name: str, own: Iterable[str], kind: str = "") -> Exception:
    """The error for a missing attribute; `own` are the attributes that `__init__` sets."""
    error = no_attribute(of, name, own)
    if kind and isinstance(error, AttributeError):
        return AttributeError(f"{error}{instead(kind, name)}")
    return error


def missing_name(module: str, name: str, known: Iterable[str], kind: str = "") -> Exception:
    """The error for a name that a module does not have; `known` are those that it has."""
    end = instead(kind, name) if kind else ""
    if not end and not name.startswith("_"):
        found = nearest(name, known)
        end = "" if found is None else f": did you mean {found!r}?"
    error = AttributeError(f"module {module!r} has no attribute {name!r}{end}")
    if end:
        # With `name` set, but not `obj`, Python adds no hint of its own.
        error.name = name
    return error


UNVERIFIED = 'ntapi.option("allow_invalid_certificate")'


def unknown_keyword(
    method: Any, given: Iterable[str], who: str, instead: Mapping[str, str]
) -> TypeError:
    """The error for the first unknown keyword of a method; `instead` has advice by keyword."""
    name = next(iter(given))
    problem = f"{who} has no keyword {name!r}"
    if name in instead:
        return TypeError(f"{problem}; write {instead[name]}")
    found = nearest(name, keywords_of(method))
    return TypeError(problem if found is None else f"{problem}; did you mean {found}=?")


def no_arg(value: object) -> TypeError:
    """The error for a value where an arg is expected."""
    if isinstance(value, (int, float)):
        return TypeError(f"an arg is expected, not {value}")
    if callable(value):
        return TypeError(
            f"an arg is expected, not {value!r}; "
            "for a handler write client.begin(command, *args, handler=handler)"
        )
    if isinstance(value, str):
        advice = "ntapi.url(name, value) to add it to the query, or ntapi.data(...) for the body"
    elif isinstance(value, (bytes, bytearray, memoryview)):
        advice = "ntapi.data(...) to send it as the body"
    elif hasattr(value, "keys"):
        advice = (
            "ntapi.json(...) to send it as JSON, or ntapi.form(name, value) for each pair; "
            "get, post, put, patch, delete and request take params=, json= and data="
        )
    else:
        advice = "ntapi.json(...) to send it as JSON"
    # Only the type is shown: the value may be a secret.
    return TypeError(f"an arg is expected, not a {type_name(value)}; write {advice}")


_OF_RESPONSE = {
    "aread": "`response.data`",
    "body": "`response.data`",
    "content": "`response.data`",
    "content_type": '`response.headers["Content-Type"]`',
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
    "reason": "`response.reason_phrase`",
    "status_code": "`response.status`",
}

_OF_CLIENT = {
    "aclose": "`await client.close()`",
    "auth": "`client.args = [ntapi.bearer(token)]` or `client.authenticator`",
    "base_url": "the first argument of the client, or the arg `ntapi.base_url`",
    "event_hooks": "the hooks of a subclass, such as `build_request` and `request_completed`",
    "head": '`client.request("HEAD", command)`',
    "headers": '`client.args = [ntapi.header("Name", value)]`',
    "options": '`client.request("OPTIONS", command)`',
    "hooks": "the hooks of a subclass, such as `build_request` and `request_completed`",
    "max_redirects": '`client.args = [ntapi.option("maximum_redirects", count)]`',
    "params": '`client.args = [ntapi.url("name", value)]`',
    "proxies": "the setting `proxy` of a session",
    "timeout": "`client.args = [ntapi.timeout(seconds)]`",
    "verify": f"`client.args = [{UNVERIFIED}]`, or the setting `ca_file` of a session",
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
    "AsyncSession": "`ntapi.AsyncClient`",
    "ClientError": "`ntapi.ApiError`",
    "ClientSession": "`ntapi.AsyncClient`",
    "ClientTimeout": '`ntapi.timeout(seconds, "total")`',
    "ConnectError": "`ntapi.ApiError` whose `failure` says why",
    "ConnectTimeout": "`ntapi.ApiError` whose `code` is `ntapi.codes.TIMEOUT`",
    "ConnectionError": "`ntapi.ApiError` whose `failure` says why",
    "FormData": "`ntapi.multipart(name, content)` for each part",
    "HTTPError": "`ntapi.ApiError` whose `domain` is `ntapi.ErrorDomain.HTTP`",
    "HTTPStatusError": "`ntapi.ApiError` whose `domain` is `ntapi.ErrorDomain.HTTP`",
    "ReadTimeout": "`ntapi.ApiError` whose `code` is `ntapi.codes.TIMEOUT`",
    "RequestError": "`ntapi.ApiError`",
    "RequestException": "`ntapi.ApiError`",
    "Session": "`ntapi.Client`",
    "Timeout": "`ntapi.timeout(seconds)`; the error's `code` is `ntapi.codes.TIMEOUT`",
    "TimeoutException": "`ntapi.ApiError` whose `code` is `ntapi.codes.TIMEOUT`",
    "TransportError": "`ntapi.ApiError` whose `domain` is `ntapi.ErrorDomain.NETWORK`",
    "delete": "`ntapi.Client(base_url).delete(command)`",
    "exceptions": "`ntapi.ApiError` and `ntapi.codes`",
    "fleet": "`import ntapi.fleet`",
    "get": "`ntapi.Client(base_url).get(command)`",
    "head": '`ntapi.Client(base_url).request("HEAD", command)`',
    "opentelemetry": "`import ntapi.opentelemetry`",
    "options": '`ntapi.Client(base_url).request("OPTIONS", command)`',
    "patch": "`ntapi.Client(base_url).patch(command)`",
    "post": "`ntapi.Client(base_url).post(command)`",
    "put": "`ntapi.Client(base_url).put(command)`",
    "request": "`ntapi.Client(base_url).request(method, command)`",
}

_OF_CODES = {
    "AUTHENTICATION_FAILED": "`ntapi.codes.AUTHENTICATION`",
    "CERTIFICATE": "`ntapi.codes.TLS`",
    "CONNECTION": "`ntapi.codes.NETWORK`",
    "CONNECTION_ERROR": "`ntapi.codes.NETWORK`",
    "HTTP": "`ntapi.codes.HTTP_ERROR`",
    "JSON": "`ntapi.codes.INVALID_JSON` or `ntapi.codes.UNEXPECTED_JSON`",
    "OFFLINE": "`ntapi.codes.NO_INTERNET`",
    "REDIRECTS": "`ntapi.codes.TOO_MANY_REDIRECTS`",
    "REQUEST_CANCELLED": "`ntapi.codes.CANCELLED`",
    "SSL": "`ntapi.codes.TLS`",
    "SSL_ERROR": "`ntapi.codes.TLS`",
    "TLS_ERROR": "`ntapi.codes.TLS`",
    "TOO_LARGE": "`ntapi.codes.RESPONSE_TOO_LARGE`",
    "UNAUTHORIZED": "`ntapi.codes.HTTP_ERROR`, whose error has the `http_status` 401",
}

_INSTEAD = {
    "client": _OF_CLIENT,
    "codes": _OF_CODES,
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
        end += f" To trust any server, give the client the arg {UNVERIFIED}"
    return f"{name!r} is not a setting of a session{end}"


def refuse_misspelled_option(name: str, known: Iterable[str]) -> None:
    """Raises ValueError for a name that is similar to an option of the library, or that is the
    beginning or an abbreviation of one. Any other option is the program's own.
    """
    if "_" in name:
        # A name without an underscore, such as "raw", may be a word of the program's own.
        longer = [each for each in known if each.startswith(name) or _is_short_for(name, each)]
        if len(longer) == 1:
            raise ValueError(f"there is no option {name!r}: did you mean {longer[0]!r}?")
    letters = name.replace("_", "").lower()
    # A cheap check first: most names are not similar, and need no difflib.
    near = {
        each.replace("_", ""): each
        for each in known
        if each[0] == letters[:1] and abs(len(each.replace("_", "")) - len(letters)) <= 2
    }
    found = nearest(letters, near, cutoff=0.85) if near else None
    if found is not None:
        raise ValueError(f"there is no option {name!r}: did you mean {near[found]!r}?")


def _is_short_for(name: str, known: str) -> bool:
    """Whether each word begins its counterpart: "max_redirects", "maximum_redirects"."""
    words, whole = name.split("_"), known.split("_")
    return len(words) == len(whole) and all(map(str.startswith, whole, words))


def instead(kind: str, name: str) -> str:
    """The advice at the end of a message about a missing attribute; "" if there is none."""
    found = _INSTEAD[kind].get(name)
    return "" if found is None else f": write {found}"
