"""FastAPI: the lifespan makes one client for each process, and closes it when the server stops.

API_URL=http://127.0.0.1:PORT uvicorn --workers 2 fastapi_app:app
API_URL=http://127.0.0.1:PORT gunicorn --workers 2 --worker-class asgi fastapi_app:app
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

import ntapi


@asynccontextmanager
async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
    async with ntapi.AsyncClient(os.environ["API_URL"], args=ntapi.url("appid", "demo")) as client:
        yield {"client": client}


app = FastAPI(lifespan=lifespan)


@app.get("/weather/{city}")
async def weather(city: str, request: Request) -> dict[str, Any]:
    client: ntapi.AsyncClient = request.state.client
    response = await client.get("data/2.5/weather", ntapi.url("q", city))
    return {"city": response.decode(str, "name"), "process": os.getpid()}


@app.exception_handler(ntapi.ApiError)
async def bad_gateway(_: Request, error: Exception) -> JSONResponse:
    return JSONResponse({"error": str(error)}, status_code=502)
