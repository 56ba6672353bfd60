"""Flask: the app factory makes the client. Without --preload gunicorn calls the factory in each
worker, after the fork, so each process has its own client.

API_URL=http://127.0.0.1:PORT gunicorn --workers 2 "flask_app:create_app()"
"""

import atexit
import os
from typing import Any

from flask import Flask

import ntapi


def create_app() -> Flask:
    app = Flask(__name__)
    client = ntapi.Client(os.environ["API_URL"], args=ntapi.url("appid", "demo"))
    atexit.register(client.close)

    @app.get("/weather/<city>")
    def weather(city: str) -> dict[str, Any]:
        response = client.get("data/2.5/weather", ntapi.url("q", city))
        return {"city": response.decode(str, "name"), "process": os.getpid()}

    @app.errorhandler(ntapi.ApiError)
    def bad_gateway(error: ntapi.ApiError) -> tuple[dict[str, str], int]:
        return {"error": str(error)}, 502

    return app
