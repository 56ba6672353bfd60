"""The OpenWeatherMap-like calls, which like that service return errors with the status 200."""

from __future__ import annotations

from weather_app import cities
from weather_app.handler import Handler, route


def admitted(handler: Handler) -> bool:
    """Whether the call has an `appid`; otherwise answers with 401."""
    if handler.value("appid"):
        return True
    message = "Invalid API key. Pass any appid to this server."
    handler.answer_json({"cod": 401, "message": message}, 401)
    return False


def failed(handler: Handler, code: str, message: str) -> None:
    """Answers with a service error in the body, with the HTTP status 200."""
    handler.answer_json({"cod": code, "message": message})


def found(handler: Handler) -> list[cities.City] | None:
    """The cities for `q` ("London" or "London,GB"); answers with an error if there are none."""
    name, _, country = handler.value("q").partition(",")
    name = name.strip()
    if name == "error500":
        failed(handler, "500", "Internal service error")
        return None
    if len(name) < 3:
        failed(handler, "404", "Bad query: q needs 3 characters or more")
        return None
    matches = cities.find(name)
    if country:
        matches = [city for city in matches if city.country == country.strip().upper()]
    if handler.value("type") == "accurate":
        matches = [city for city in matches if city.name.casefold() == name.casefold()]
    if not matches:
        failed(handler, "404", "city not found")
        return None
    return matches


@route("/data/2.5/find", "GET")
def find(handler: Handler) -> None:
    """Cities by a part of their name; `cnt` bounds the list."""
    if not admitted(handler):
        return
    matches = found(handler)
    if matches is None:
        return
    units = handler.value("units", "standard")
    limit = max(1, int(handler.number("cnt", 50)))
    shown = [cities.observation(city, units) for city in matches[:limit]]
    handler.answer_json({"message": "accurate", "cod": "200", "count": len(shown), "list": shown})


@route("/data/2.5/group", "GET")
def group(handler: Handler) -> None:
    """Several cities by id, in the order of the request; unknown ids are left out."""
    if not admitted(handler):
        return
    ids = [int(text) for text in handler.value("id").split(",") if text.strip().isdigit()]
    if not ids:
        failed(handler, "400", "Bad query: id needs a list of city ids")
        return
    known = [city for city in map(cities.by_id, ids) if city]
    units = handler.value("units", "standard")
    shown = [cities.observation(city, units) for city in known]
    handler.answer_json({"cnt": len(shown), "list": shown})


@route("/data/2.5/weather", "GET")
def weather(handler: Handler) -> None:
    """One city by `q` or `id`."""
    if not admitted(handler):
        return
    identifier = handler.value("id")
    if identifier:
        city = cities.by_id(int(identifier)) if identifier.isdigit() else None
        if city is None:
            failed(handler, "404", "city not found")
            return
    else:
        matches = found(handler)
        if matches is None:
            return
        city = matches[0]
    shown = cities.observation(city, handler.value("units", "standard"))
    handler.answer_json({**shown, "cod": 200, "base": "stations"})
