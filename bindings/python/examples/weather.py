"""Shows what NTApi does against the demo weather server.

python weather.py http://127.0.0.1:PORT          all of it
python weather.py http://127.0.0.1:PORT --get    one GET of that URL
"""

from __future__ import annotations

import concurrent.futures
import sys
import threading
from collections.abc import Sequence
from typing import Any, Callable, Optional

import ntapi

CITY_NOT_FOUND = ntapi.register_code("404")
CITIES = [2643743, 2988507, 2950159, 3169070, 3117735, 2759794, 2761369, 2673730, 6058560, 3067696]


class WeatherClient(ntapi.Client):
    """A client of the user's own. Its two methods are the pattern that every client can follow."""

    requests = 0

    def direct_request(self, command: str, *args: ntapi.Args, **progress: Any) -> ntapi.Response:
        """What is common to every call; the service's own errors are raised as ApiError."""
        return self.send(command, args, ntapi.timeout(10), **progress)

    def standard_request(self, command: str, *args: ntapi.Args) -> Any:
        """A direct request with the session's parameters, which are defaults, on top."""
        session = [ntapi.url(key, self.get_default(key)) for key in ("appid", "units")]
        return self.direct_request(f"data/2.5/{command}", session, args).json

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        """The service answers 200 and says in the body what went wrong."""
        body = response.json
        if not isinstance(body, dict) or str(body.get("cod", 200)) == "200":
            return None
        return ntapi.ApiError(str(body["cod"]), body.get("message"))

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        WeatherClient.requests += 1


def heading(text: str) -> None:
    print(f"\n== {text}")


def progress_bar(label: str) -> Callable[[int, Optional[int]], None]:
    """A progress handler that draws on one line."""

    def draw(done: int, total: Optional[int]) -> None:
        share = done / total if total else 0.0
        bar = "#" * int(30 * share)
        print(f"\r   {label} [{bar:<30}] {share:4.0%}", end="", flush=True)
        if done == total:
            print()

    return draw


def search(client: WeatherClient) -> None:
    heading("1. Search: url args and defaults")
    WeatherClient.set_default("appid", "demo")
    client.set_default("units", "metric")
    found = client.standard_request("find", ntapi.url("q", "London"), ntapi.url("cnt", 5))
    for city in found["list"]:
        print(f"   {city['name']}, {city['sys']['country']}: {city['main']['temp']:.1f} °C")


def feedback(client: WeatherClient) -> None:
    heading("2. Form post")
    form = [
        ntapi.form("name", "Ada"),
        ntapi.form("text", "Rain & wind, as said"),
        ntapi.form("tel", None),
    ]
    print("  ", client.direct_request("feedback", form).json["fields"])


def upload(client: WeatherClient) -> None:
    heading("3. Multipart upload with progress")
    photo = ntapi.multipart("photo", bytes(2_000_000), extension="png")
    response = client.direct_request(
        "photo", ntapi.url("rate", 2_000_000), photo, upload_progress=progress_bar("sent    ")
    )
    for part in response.json["parts"]:
        print(f"   the server got {part['filename']}, {part['size']} bytes")


def download(client: WeatherClient) -> None:
    heading("4. Download with progress")
    response = client.direct_request(
        "download",
        ntapi.url("size", 4_000_000),
        ntapi.url("rate", 4_000_000),
        ntapi.option("raw_data"),
        download_progress=progress_bar("received"),
    )
    print(f"   {len(response.data)} bytes in {response.elapsed:.2f} s")


def ten_at_once(client: WeatherClient) -> None:
    heading("5. Ten requests at once, in the order they complete")

    def show(response: ntapi.Response) -> None:
        city = response.json
        milliseconds = response.elapsed * 1000
        print(f"   {city['name']:<12} {city['main']['temp']:5.1f} °C {milliseconds:6.1f} ms")

    session = [ntapi.url("appid", "demo"), ntapi.url("units", "metric")]
    for city in CITIES:
        client.begin("data/2.5/weather", [session, ntapi.url("id", city)], show)
    client.drain()


def cancelled(client: WeatherClient) -> int:
    heading("6. A cancelled request")
    request = client.begin("slow", ntapi.url("seconds", 30))
    request.cancel()
    request.wait()
    assert request.response is not None
    print("  ", repr(request.response.error))
    return 1


def service_error(client: WeatherClient) -> int:
    heading("7. An error of the service, with a registered code")
    try:
        client.standard_request("find", ntapi.url("q", "Nowhereville"))
    except ntapi.ApiError as error:
        if error.code is not CITY_NOT_FOUND:
            raise
        print(f"   code {error.code}, domain {error.domain.name.lower()}: {error.message}")
    return 1


def threads(client: WeatherClient) -> None:
    heading("8. A handler on each kind of thread")

    def begin(
        label: str, place: ntapi.PlaceLike, then: Callable[[], object] = lambda: None
    ) -> None:
        def handler(response: ntapi.Response) -> None:
            print(f"   {label:<10} ran on {threading.current_thread().name}")
            then()

        client.begin("feedback", [ntapi.form("a", 1), ntapi.response_thread(place)], handler)
        client.drain() if place is not ntapi.CURRENT else ntapi.run()

    begin("main", ntapi.MAIN)
    begin("background", ntapi.BACKGROUND)
    own = threading.Thread(
        target=begin, args=("current", ntapi.CURRENT, ntapi.stop), name="my-thread"
    )
    own.start()
    own.join()
    with concurrent.futures.ThreadPoolExecutor(1, thread_name_prefix="my-pool") as pool:
        begin("executor", pool)


def show_get(url: str) -> int:
    """One GET of any URL: status, headers, the start of the body."""
    response = ntapi.Client(url).perform("", ntapi.option("raw_data"))
    print(f"{response.status} {response.url} ({response.elapsed * 1000:.0f} ms)")
    for name, value in response.headers.lines:
        print(f"{name}: {value}")
    print(f"\n{response.text[:500]}")
    if response.error:
        print(f"error: {response.error}", file=sys.stderr)
    return 1 if response.error else 0


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    if arguments[1:] == ["--get"]:
        return show_get(arguments[0])
    with WeatherClient(arguments[0]) as client:
        for step in (search, feedback, upload, download, ten_at_once):
            step(client)
        errors = cancelled(client) + service_error(client)
        threads(client)
        print(f"\ndone: {client.requests} requests, {errors} errors as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
