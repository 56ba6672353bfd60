"""The cities of the demo API and their weather, which never changes."""

from __future__ import annotations

from typing import NamedTuple

TIME = 1700000000
"""The moment of every observation (Unix time), fixed so that answers never change."""


class City(NamedTuple):
    """One city: OpenWeatherMap's id, name, ISO country code and coordinates."""

    id: int
    name: str
    country: str
    lat: float
    lon: float


CITIES = [
    City(2643743, "London", "GB", 51.5085, -0.1257),
    City(6058560, "London", "CA", 42.9834, -81.233),
    City(4298960, "London", "US", 37.129, -84.0833),
    City(4119617, "London", "US", 35.3289, -93.2530),
    City(2643741, "City of London", "GB", 51.5128, -0.0918),
    City(2643736, "Londonderry County Borough", "GB", 54.9981, -7.3093),
    City(5089178, "Londonderry", "US", 42.8651, -71.3739),
    City(2988507, "Paris", "FR", 48.8534, 2.3488),
    City(4717560, "Paris", "US", 33.6609, -95.5555),
    City(2950159, "Berlin", "DE", 52.5244, 13.4105),
    City(2867714, "München", "DE", 48.1374, 11.5755),
    City(2886242, "Köln", "DE", 50.9333, 6.95),
    City(2657896, "Zürich", "CH", 47.3667, 8.55),
    City(2761369, "Vienna", "AT", 48.2085, 16.3721),
    City(3117735, "Madrid", "ES", 40.4165, -3.7026),
    City(3128760, "Barcelona", "ES", 41.3888, 2.159),
    City(2267057, "Lisbon", "PT", 38.7167, -9.1333),
    City(3169070, "Rome", "IT", 41.8947, 12.4839),
    City(2759794, "Amsterdam", "NL", 52.374, 4.8897),
    City(2800866, "Brussels", "BE", 50.8504, 4.3488),
    City(2618425, "Copenhagen", "DK", 55.6759, 12.5655),
    City(3143244, "Oslo", "NO", 59.9127, 10.7461),
    City(2673730, "Stockholm", "SE", 59.3326, 18.0649),
    City(658225, "Helsinki", "FI", 60.1695, 24.9354),
    City(756135, "Warsaw", "PL", 52.2298, 21.0118),
    City(3067696, "Prague", "CZ", 50.088, 14.4208),
    City(524901, "Moscow", "RU", 55.7522, 37.6156),
    City(498817, "Saint Petersburg", "RU", 59.8944, 30.2642),
    City(745044, "Istanbul", "TR", 41.0138, 28.9497),
    City(264371, "Athens", "GR", 37.9795, 23.7162),
    City(360630, "Cairo", "EG", 30.0626, 31.2497),
    City(3448439, "São Paulo", "BR", -23.5475, -46.6361),
    City(5128581, "New York", "US", 40.7143, -74.006),
    City(5391959, "San Francisco", "US", 37.7749, -122.4194),
    City(6167865, "Toronto", "CA", 43.7001, -79.4163),
    City(3530597, "Mexico City", "MX", 19.4285, -99.1277),
    City(1850147, "Tokyo", "JP", 35.6895, 139.6917),
    City(1816670, "Beijing", "CN", 39.9075, 116.3972),
    City(1275339, "Mumbai", "IN", 19.0728, 72.8826),
    City(2147714, "Sydney", "AU", -33.8679, 151.2073),
    City(2193733, "Auckland", "NZ", -36.8667, 174.7667),
    City(3413829, "Reykjavík", "IS", 64.1355, -21.8954),
]

CONDITIONS = [
    (800, "Clear", "clear sky", "01d", 0),
    (801, "Clouds", "few clouds", "02d", 20),
    (802, "Clouds", "scattered clouds", "03d", 40),
    (803, "Clouds", "broken clouds", "04d", 75),
    (804, "Clouds", "overcast clouds", "04d", 92),
    (500, "Rain", "light rain", "10d", 80),
    (600, "Snow", "light snow", "13d", 90),
    (701, "Mist", "mist", "50d", 50),
]


def find(text: str) -> list[City]:
    """The cities whose name contains `text`, in any letter case. Exact names come first."""
    wanted = text.casefold()
    found = [city for city in CITIES if wanted in city.name.casefold()]
    return sorted(found, key=lambda city: city.name.casefold() != wanted)


def by_id(city_id: int) -> City | None:
    """The city with that id, or nothing."""
    return next((city for city in CITIES if city.id == city_id), None)


def temperature(celsius: float, units: str) -> float:
    """A temperature in the given units: metric, imperial, and otherwise standard (kelvin)."""
    if units == "metric":
        return round(celsius, 2)
    if units == "imperial":
        return round(celsius * 9 / 5 + 32, 2)
    return round(celsius + 273.15, 2)


def observation(city: City, units: str) -> dict[str, object]:
    """The weather of a city in OpenWeatherMap's shape, derived from its id alone."""
    condition, main, description, icon, clouds = CONDITIONS[city.id % len(CONDITIONS)]
    celsius = round(30 - abs(city.lat) / 2 + city.id % 7, 1)
    speed = round(1 + city.id % 80 / 10, 1)
    return {
        "id": city.id,
        "name": city.name,
        "coord": {"lat": city.lat, "lon": city.lon},
        "main": {
            "temp": temperature(celsius, units),
            "pressure": 990 + city.id % 40,
            "humidity": 35 + city.id % 60,
            "temp_min": temperature(celsius - 2, units),
            "temp_max": temperature(celsius + 2, units),
        },
        "dt": TIME,
        "wind": {
            "speed": round(speed * 2.237, 2) if units == "imperial" else speed,
            "deg": city.id % 360,
        },
        "sys": {"country": city.country},
        "clouds": {"all": clouds},
        "weather": [{"id": condition, "main": main, "description": description, "icon": icon}],
    }
