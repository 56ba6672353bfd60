"""Notes, for what APIs have in common: pages, versions of a document, GraphQL."""

from __future__ import annotations

import json
import re
import threading

from weather_app import cities
from weather_app.handler import Handler, route

NOTES = [{"id": number, "text": f"Note {number}"} for number in range(1, 6)]
PAGE = 2
lock = threading.Lock()
documents: dict[str, tuple[int, bytes]] = {}
"""Version and text of each, by its name."""


@route("/notes", "GET")
def notes(handler: Handler) -> None:
    """Two notes a page. The header Link leads to the next page, until the last."""
    page = max(1, int(handler.number("page", 1)))
    more = {}
    if page * PAGE < len(NOTES):
        more["Link"] = f'</notes?page={page + 1}>; rel="next", </notes?page=1>; rel="first"'
    found = json.dumps(NOTES[(page - 1) * PAGE : page * PAGE]).encode()
    handler.answer(found, "application/json", 200, more)


@route("/notes/since", "GET")
def notes_since(handler: Handler) -> None:
    """Two notes after `cursor`. `next` is the cursor of the next page, or null."""
    start = max(0, int(handler.number("cursor", 0)))
    end = start + PAGE
    following = str(end) if end < len(NOTES) else None
    handler.answer_json({"notes": NOTES[start:end], "next": following})


@route("/document", "GET", "PUT")
def document(handler: Handler) -> None:
    """A document for each `name`, with an ETag; 412 unless If-Match has the current one, 428 without it."""
    name = handler.value("name")
    text = handler.whole_body()
    with lock:
        version, current = documents.get(name, (1, b'{"title": "Draft", "views": 0}'))
        status = 200
        if handler.command == "PUT":
            matches = handler.headers.get("If-Match")
            if matches == f'"{version}"':
                version, current = version + 1, text
                documents[name] = version, current
            else:
                status = 428 if matches is None else 412
    if status == 200:
        return handler.answer(current, "application/json", 200, {"ETag": f'"{version}"'})
    message = "If-Match is missing" if status == 428 else "the document has changed"
    handler.answer_json({"message": message}, status)


@route("/graphql", "POST")
def graphql(handler: Handler) -> None:
    """Knows one query, `city(name: $name) { name country }`. A mistake is `errors`, with the status 200."""
    request = json.loads(handler.whole_body())
    query = re.sub(r"\s+", " ", str(request.get("query", "")))
    name = (request.get("variables") or {}).get("name")
    if "city(name: $name)" not in query:
        message = 'Cannot query this field on type "Query".'
        code = {"code": "GRAPHQL_VALIDATION_FAILED"}
        return handler.answer_json({"errors": [{"message": message, "extensions": code}]})
    found = cities.find(str(name))
    if not found:
        error = {
            "message": f"There is no city {name}.",
            "path": ["city"],
            "extensions": {"code": "NOT_FOUND"},
        }
        return handler.answer_json({"data": {"city": None}, "errors": [error]})
    handler.answer_json({"data": {"city": {"name": found[0].name, "country": found[0].country}}})
