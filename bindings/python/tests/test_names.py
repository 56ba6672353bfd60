"""Names that are nearly right are refused with the right one."""

from __future__ import annotations

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
