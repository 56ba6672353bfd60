"""The client of the example weather, with a stub."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import Any

import pytest

import ntapi
from conftest import REPOSITORY
from ntapi.testing import Stub

sys.path.insert(0, str(REPOSITORY / "bindings" / "python" / "examples"))

from weather import INTERNAL_ERROR, NOT_FOUND, City, OpenWeather


@pytest.fixture
def weather(stub: Stub) -> Iterator[OpenWeather]:
    quiet = ntapi.LogFlags.NONE
    with OpenWeather("https://api.example.com", stub=stub, log_flags=quiet) as weather:
        weather.set_default("appid", "key")
        weather.set_default("unit", "metric")
        yield weather


def city(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": "Oslo",
        "sys": {"country": "NO"},
        "main": {"temp": 3.5, "humidity": 80},
        "weather": [{"description": "light rain"}],
        "dt": 1_700_000_000,
    }


def test_cities_are_found_with_the_parameters_of_the_session(
    weather: OpenWeather, stub: Stub
) -> None:
    url = "data/2.5/find?q=Oslo&type=like&cnt=2&appid=key&units=metric"
    stub.on("GET", url).answer(json={"cod": "200", "list": [city(1), city(2)]})
    observed = datetime.fromtimestamp(1_700_000_000, timezone.utc)
    found = weather.find_cities("Oslo", "like", 2)
    assert found[1] == City(2, "Oslo", "NO", 3.5, "light rain", observed)
    assert stub.requests[0].headers["accept-language"] == "en"


def test_codes_go_in_one_parameter(weather: OpenWeather, stub: Stub) -> None:
    stub.on("GET", "data/2.5/group?id=7%2C8").answer(json={"list": [city(7), city(8)]})
    assert [found.id for found in weather.current_weather([7, 8])] == [7, 8]


def test_a_code_that_the_service_leaves_out_is_an_error(weather: OpenWeather, stub: Stub) -> None:
    stub.on("GET", "data/2.5/group?id=7%2C8%2C9").answer(json={"list": [city(8)]})
    with pytest.raises(ntapi.ApiError, match=r"^no city has the code 7, 9$") as caught:
        weather.current_weather([7, 8, 9])
    assert caught.value.code is NOT_FOUND


@pytest.mark.parametrize("code", [NOT_FOUND, INTERNAL_ERROR])
def test_errors_of_the_service_have_its_codes(
    weather: OpenWeather, stub: Stub, code: ntapi.ErrorCode
) -> None:
    stub.on("GET", "data/2.5/find").answer(json={"cod": str(code), "message": "sorry"})
    with pytest.raises(ntapi.ApiError, match="sorry") as caught:
        weather.find_cities("Nowhere")
    assert caught.value.code is code
    assert caught.value.domain is ntapi.ErrorDomain.SERVICE
