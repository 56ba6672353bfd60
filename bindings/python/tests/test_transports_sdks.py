"""SDKs over NTApi, by the one line of docs/transports.md. Each scenario runs with the SDK's usual
transport and with ours, and a program sees the same.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import ntapi.transports
from conftest import PATIENCE
from transport_sides import SHORT

httpx2 = pytest.importorskip("httpx2")
openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
stripe = pytest.importorskip("stripe")

CHAT = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Grüezi"},
        }
    ],
}
PIECES = [
    {
        **CHAT,
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": text}}],
    }
    for text in ("Grü", "ezi")
]
MESSAGE = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "content": [{"type": "text", "text": "Grüezi"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
}
EVENTS = [
    {"type": "message_start", "message": {**MESSAGE, "content": []}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    *(
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}
        for text in ("Grü", "ezi")
    ),
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 2},
    },
    {"type": "message_stop"},
]
CUSTOMER = {"id": "cus_1", "object": "customer", "email": "ann@example.com"}


class Service(BaseHTTPRequestHandler):
    """A service whose first segment of the path says how it behaves."""

    protocol_version = "HTTP/1.1"
    attempts: dict[str, int]
    ended: threading.Event

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        scenario = self.path.split("/")[1]
        self.attempts[scenario] = self.attempts.get(scenario, 0) + 1
        is_first = self.attempts[scenario] == 1
        if scenario == "closed":
            self.close_connection = True
        elif scenario == "silent":
            self.ended.wait(PATIENCE)
            self.close_connection = True
        elif scenario.isdigit():
            self._answer(int(scenario), {"error": {"message": "as asked", "type": "t"}})
        elif scenario.startswith("once-") and is_first:
            self._answer(int(scenario[5:]), {"error": {"message": "once"}})
        elif b'"stream": true' in body or b'"stream":true' in body:
            self._stream(cut=scenario == "cut")
        else:
            self._answer(200, self._content())

    def _content(self) -> Any:
        if "chat" in self.path:
            return CHAT
        return MESSAGE if "messages" in self.path else CUSTOMER

    def _answer(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Retry-After-Ms", "1")
        self.send_header("Request-Id", "r1")
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, cut: bool) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if "chat" in self.path:
            lines = [f"data: {json.dumps(piece)}\n\n" for piece in PIECES]
            lines.append("data: [DONE]\n\n")
        else:
            lines = [f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in EVENTS]
        for line in lines[:1] if cut else lines:
            data = line.encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        if cut:
            self.close_connection = True
        else:
            self.wfile.write(b"0\r\n\r\n")


@pytest.fixture
def service() -> Iterator[tuple[str, dict[str, int]]]:
    """The URL of a service, and how many requests it had for each scenario."""
    attempts: dict[str, int] = {}
    ended = threading.Event()
    handler = type("Own", (Service,), {"attempts": attempts, "ended": ended})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", attempts
    ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


def sides(is_async: bool) -> list[Any]:
    """The stock client, and the one with NTApi's transport."""
    if is_async:
        transport: Any = ntapi.transports.AsyncHTTPX2()
        return [httpx2.AsyncClient(), httpx2.AsyncClient(transport=transport)]
    return [httpx2.Client(), httpx2.Client(transport=ntapi.transports.HTTPX2())]


def failure(error: Exception) -> tuple[str, ...]:
    """What a program sees of an exception: its type, that of httpx2's behind it, and the status."""
    cause = "" if isinstance(error, httpx2.HTTPError) else type(error.__cause__).__name__
    return type(error).__name__, cause, str(getattr(error, "status_code", None))


SCENARIOS = ["ok", "401", "404", "once-429", "once-500", "503", "closed", "silent", "cut"]


@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_models(
    service: tuple[str, dict[str, int]], sdk: str, scenario: str, is_stream: bool, kind: str
) -> None:
    url, attempts = service
    is_async = kind == "async"
    options: dict[str, Any] = {
        "api_key": "k",
        # Retry only answers that ask for an immediate retry.
        "max_retries": 1 if scenario.startswith("once") else 0,
        "timeout": SHORT if scenario == "silent" else PATIENCE,
    }
    question: dict[str, Any] = {
        "model": "m",
        "messages": [{"role": "user", "content": "hello"}],
        "stream": is_stream,
    }

    def method(http_client: Any) -> Any:
        if sdk == "openai":
            kind = openai.AsyncOpenAI if is_async else openai.OpenAI
            base = f"{url}/{scenario}/v1"
            return kind(base_url=base, http_client=http_client, **options).chat.completions.create
        kind = anthropic.AsyncAnthropic if is_async else anthropic.Anthropic
        question["max_tokens"] = 5
        base = f"{url}/{scenario}"
        return kind(base_url=base, http_client=http_client, **options).messages.create

    def blocking(http_client: Any) -> Any:
        try:
            answer = method(http_client)(**question)
            return [each.to_json() for each in answer] if is_stream else answer.to_json()
        except Exception as error:
            return failure(error)
        finally:
            http_client.close()

    async def on_loop(http_client: Any) -> Any:
        try:
            answer = await method(http_client)(**question)
            return [each.to_json() async for each in answer] if is_stream else answer.to_json()
        except Exception as error:
            return failure(error)
        finally:
            await http_client.aclose()

    seen = []
    for client in sides(is_async):
        attempts.clear()
        outcome = asyncio.run(on_loop(client)) if is_async else blocking(client)
        seen.append((outcome, attempts[scenario]))
    assert seen[0] == seen[1]
    if scenario == "ok":
        assert not isinstance(seen[0][0], tuple)


def test_a_model_is_nowhere() -> None:
    seen = []
    for client in sides(is_async=False):
        model = openai.OpenAI(
            api_key="k", base_url="http://127.0.0.1:1", http_client=client, max_retries=0
        )
        with pytest.raises(openai.APIConnectionError) as caught:
            model.models.list()
        seen.append(failure(caught.value))
        client.close()
    assert seen[0] == seen[1]


def test_anthropic_refuses_a_client_of_httpx() -> None:
    httpx = pytest.importorskip("httpx")
    with (
        httpx.Client(transport=ntapi.transports.HTTPX()) as client,
        pytest.raises(TypeError, match="httpx2"),
    ):
        anthropic.Anthropic(api_key="k", http_client=client)


# The SDK passes its text to httpx in a way that httpx has deprecated.
@pytest.mark.filterwarnings("ignore:Use 'content=<...>':DeprecationWarning")
@pytest.mark.parametrize("kind", ["blocking", "async"])
@pytest.mark.parametrize("scenario", ["ok", "401", "404", "once-500", "closed", "silent"])
def test_payments(service: tuple[str, dict[str, int]], scenario: str, kind: str) -> None:
    url, attempts = service
    timeout = SHORT if scenario == "silent" else PATIENCE
    is_async = kind == "async"
    stock = (
        stripe.HTTPXClient(timeout=timeout) if is_async else stripe.RequestsClient(timeout=timeout)
    )

    def payments(http_client: Any) -> Any:
        return stripe.StripeClient(
            "sk_test_1",
            http_client=http_client,
            base_addresses={"api": f"{url}/{scenario}"},
            max_network_retries=1 if scenario.startswith("once") else 0,
        )

    async def on_loop(http_client: Any) -> Any:
        try:
            own = payments(http_client).v1.customers
            return (await own.create_async({"email": "a@b.c"})).to_dict()
        except stripe.StripeError as error:
            return type(error).__name__, error.http_status, getattr(error, "should_retry", None)
        finally:
            await http_client.close_async()

    def blocking(http_client: Any) -> Any:
        try:
            return payments(http_client).v1.customers.create({"email": "a@b.c"}).to_dict()
        except stripe.StripeError as error:
            return type(error).__name__, error.http_status, getattr(error, "should_retry", None)
        finally:
            http_client.close()

    seen = []
    for http_client in (stock, ntapi.transports.StripeHTTPClient(timeout=timeout)):
        attempts.clear()
        outcome = asyncio.run(on_loop(http_client)) if is_async else blocking(http_client)
        seen.append((outcome, attempts[scenario]))
    assert seen[0] == seen[1]


def test_a_file_of_payments_is_read_as_it_comes(service: tuple[str, dict[str, int]]) -> None:
    url, _ = service
    client = ntapi.transports.StripeHTTPClient()
    file, status, headers = client.request_stream("get", f"{url}/ok/file", {"X-A": "1"})
    with file:
        assert (status, headers["content-type"]) == (200, "application/json")
        assert json.loads(file.read()) == CUSTOMER
    client.close()

    async def main() -> None:
        pieces, status, _ = await client.request_stream_async("get", f"{url}/ok/file", {})
        assert status == 200
        assert json.loads(b"".join([piece async for piece in pieces])) == CUSTOMER
        await client.close_async()

    asyncio.run(main())
    with ntapi.Client() as own:
        with pytest.raises(TypeError, match="of its own"):
            ntapi.transports.StripeHTTPClient(proxy="http://127.0.0.1:1", client=own)
        with pytest.raises(TypeError, match="is expected"):
            ntapi.transports.StripeHTTPClient(async_client=own)
