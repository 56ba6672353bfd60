"""The app of gunicorn_conf.py. It makes no client: the master imports it before the fork."""

import os
from typing import Any

from flask import Flask, current_app

import ntapi

app = Flask(__name__)


@app.get("/weather/<city>")
def weather(city: str) -> dict[str, Any]:
    client: ntapi.Client = current_app.extensions["weather"]
    response = client.get("data/2.5/weather", ntapi.url("q", city))
    return {"city": response.decode(str, "name"), "process": os.getpid()}
