"""A misspelled name is refused, and the message has the right one."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import ntapi


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("ignore_http_error", "ignore_http_errors"),
        ("ignoreHTTPErrors", "ignore_http_errors"),
        ("raw_dat", "raw_data"),
        ("rawData", "raw_data"),
        ("allow_invalid_certificates", "allow_invalid_certificate"),
        ("reconect", "reconnect"),
    ],
)
def test_a_misspelled_option(name: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"there is no option '{name}': did you mean '{meant}'"):
        ntapi.option(name)


@pytest.mark.parametrize("name", ["mine", "raw", "cached", "maximum", "ignore", "r", ""])
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
    others = {"__version__", "arg", "codes", "library_version", "use_python_logging"}
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
