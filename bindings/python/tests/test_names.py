"""A misspelled name is refused, and the message has the right one."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import ntapi
import ntapi.testing
import ntapi.transports
from conftest import REPOSITORY, run_python
from ntapi import codes


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ignore_http_error", "ignore_http_errors"),
        ("ignoreHTTPErrors", "ignore_http_errors"),
        ("raw_dat", "raw_data"),
        ("rawData", "raw_data"),
        ("allow_invalid_certificates", "allow_invalid_certificate"),
        ("reconect", "reconnect"),
        ("bypass_auth", "bypass_authentication"),
        ("ignore_http", "ignore_http_errors"),
        ("allow_invalid", "allow_invalid_certificate"),
        ("allow_invalid_cert", "allow_invalid_certificate"),
        ("plain_ex", "plain_exchange"),
        ("max_redirects", "maximum_redirects"),
        ("max_response_size", "maximum_response_size"),
    ],
)
def test_a_misspelled_option(name: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"there is no option '{name}': did you mean '{meant}'"):
        ntapi.option(name)


@pytest.mark.parametrize(
    "name", ["mine", "raw", "cached", "maximum", "maximum_re", "max_size", "ignore", "r", ""]
)
def test_options_of_the_programs_own(name: str) -> None:
    assert ntapi.option(name, 1).values == (name, "1")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("request_timout", "request_timeout"),
        ("timeout", "request_timeout"),
        ("headers", "additional_headers"),
        ("useragent", "user_agent"),
    ],
)
def test_a_misspelled_setting(name: str, meant: str) -> None:
    says = f"'{name}' is not a setting of a session; did you mean '{meant}'"
    with pytest.raises(TypeError, match=says):
        ntapi.SessionConfiguration.ephemeral(**{name: 5})  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=says):
        setattr(ntapi.SessionConfiguration.ephemeral(), name, 5)


def test_a_misspelled_default_fails_each_request() -> None:
    with ntapi.Client("http://127.0.0.1:9") as client:
        client.set_default("requestTimout", 5)
        error = client.perform().error
    assert error is not None
    assert error.message == 'there is no default "requestTimout": did you mean "requestTimeout"?'


def imported_for_type_checkers() -> dict[str, str]:
    """The names that type checkers see in the package, by the module that each comes from."""
    tree = ast.parse(Path(ntapi.__file__).read_text())
    (block,) = (
        node for node in tree.body if isinstance(node, ast.If) and isinstance(node.test, ast.Name)
    )
    return {
        alias.asname or alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.level and node.module
        for alias in node.names
    }


def test_type_checkers_see_the_names_that_there_are() -> None:
    """The same names are looked up at run time, seen by type checkers, and given by `import *`."""
    assert imported_for_type_checkers() == ntapi._MODULE_OF
    others = {"__version__", "arg", "codes", "library_version", "use_python_logging", "versions"}
    assert set(ntapi.__all__) == ntapi._MODULE_OF.keys() | others
    assert all(hasattr(ntapi, name) for name in ntapi.__all__)


def test_the_args_are_names_of_the_package() -> None:
    of_args = {name for name, module in ntapi._MODULE_OF.items() if module == "arg"}
    assert set(ntapi.arg.__all__) == of_args | {"Arg", "Args"}
    functions = {
        name
        for name, value in vars(ntapi.arg).items()
        if inspect.isfunction(value) and value.__module__ == "ntapi.arg" and name[0] != "_"
    }
    assert functions == of_args


def test_all_codes_are_listed() -> None:
    """`__all__`, the module and the C header have the same codes."""
    names = {name for name, value in vars(codes).items() if isinstance(value, codes.ErrorCode)}
    assert set(codes.__all__) == names | {"ErrorCode", "register_code"}
    header = (REPOSITORY / "include" / "ntapi.h").read_text()
    assert names == {*re.findall(r"^ *NTAPI_CODE_(\w+) = ", header, re.M)} - {"NONE", "CUSTOM"}


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        (codes, "AUTHENTICATION_FAILED", "write `ntapi.codes.AUTHENTICATION`"),
        (codes, "TLS_ERROR", "write `ntapi.codes.TLS`"),
        (codes, "CONNECTION", "write `ntapi.codes.NETWORK`"),
        (codes, "REQUEST_CANCELLED", "write `ntapi.codes.CANCELLED`"),
        (codes, "TIMOUT", "did you mean 'TIMEOUT'?"),
        (ntapi, "Cleint", "did you mean 'Client'?"),
        (ntapi, "tiemout", "did you mean 'timeout'?"),
        (ntapi, "head", 'write `ntapi.Client(base_url).request("HEAD", command)`'),
        (ntapi.arg, "tiemout", "did you mean 'timeout'?"),
        (ntapi.testing, "Stubb", "did you mean 'Stub'?"),
        (ntapi.testing, "Sever", "did you mean 'Server'?"),
        (ntapi.transports, "RequestAdapter", "did you mean 'RequestsAdapter'?"),
    ],
)
def test_a_misspelled_name_of_a_module(module: Any, name: str, advice: str) -> None:
    says = f"module '{module.__name__}' has no attribute '{name}': {advice}"
    with pytest.raises(AttributeError, match=re.escape(says)):
        getattr(module, name)
    with pytest.raises(AttributeError, match=r"has no attribute 'no_such_name'$"):
        _ = module.no_such_name
    assert not hasattr(module, "__no_such_name__")
    # Python's own hint does not repeat it.
    result = run_python(f"import {module.__name__} as module; module.{name}")
    assert result.stderr.splitlines()[-1] == f"AttributeError: {says}"
