"""Django in one file, for both kinds of server. The server imports the file in each worker, which
makes the clients: a blocking one for plain views, an async one for async views.

API_URL=http://127.0.0.1:PORT gunicorn --workers 2 django_app:wsgi
API_URL=http://127.0.0.1:PORT uvicorn --workers 2 django_app:asgi
"""

import atexit
import os

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.wsgi import WSGIHandler
from django.core.wsgi import get_wsgi_application
from django.http import HttpRequest, JsonResponse
from django.urls import path

import ntapi

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["127.0.0.1"])

URL, ARGS = os.environ["API_URL"], ntapi.url("appid", "demo")
client = ntapi.Client(URL, args=ARGS)
async_client = ntapi.AsyncClient(URL, args=ARGS)
atexit.register(client.close)


def weather(_: HttpRequest, city: str) -> JsonResponse:
    response = client.get("data/2.5/weather", ntapi.url("q", city))
    return JsonResponse({"city": response.decode(str, "name"), "process": os.getpid()})


async def async_weather(_: HttpRequest, city: str) -> JsonResponse:
    response = await async_client.get("data/2.5/weather", ntapi.url("q", city))
    return JsonResponse({"city": response.decode(str, "name"), "process": os.getpid()})


urlpatterns = [path("weather/<city>", weather), path("async/<city>", async_weather)]
wsgi: WSGIHandler = get_wsgi_application()
asgi = ASGIHandler()
