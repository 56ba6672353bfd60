"""A walk through the library: a small weather service, one step for each feature.

python tour.py BASE_URL     all steps, against the demo server (Tests/servers/weather.py)
python tour.py --get URL    gets any URL and prints status, headers and the start of the body
"""

from __future__ import annotations

import concurrent.futures
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Callable, Optional

import ntapi

CITY_NOT_FOUND = ntapi.register_code("404")
CITIES = [2643743, 2988507, 2950159, 2657896, 3117735, 3169070, 1850147, 5128581, 2147714, 3413829]


class Weather(ntapi.Client):
    """A client of the weather service: what all of its calls have in common, written once."""

    requests = 0
    failures = 0

    def direct(self, command: str, *args: ntapi.Args, **progress: Any) -> ntapi.Response:
        """Any call, with what is common to every one. Errors of the service are raised."""
        common = [ntapi.header("Accept-Language", "en"), ntapi.timeout(10)]
        return self.send(command, common, args, **progress)

    def standard(self, command: str, *args: ntapi.Args) -> ntapi.Response:
        """A direct request that adds the parameters of the session, which are defaults."""
        return self.direct(f"data/2.5/{command}", self.session(), args)

    def session(self) -> list[ntapi.Arg]:
        return [ntapi.url_default("appid"), ntapi.url_default("units")]

    def map_service_error(self, response: ntapi.Response) -> Optional[ntapi.ApiError]:
        """The service says HTTP 200 and then {"cod": "404", "message": ...}: that is an error."""
        body: Any = response.json()
        if not isinstance(body, dict):
            return None
        code = str(body.get("cod", 200))
        return None if code == "200" else ntapi.ApiError(code, body.get("message"))

    # Hooks run on the thread of the handler: here on several, hence the lock.
    counting = threading.Lock()

    def request_completed(self, request: ntapi.Request, response: ntapi.Response) -> None:
        with self.counting:
            self.requests += 1
            self.failures += response.error is not None


def heading(number: int, feature: str) -> None:
    print(f"\n{number}  {feature}")


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, Optional[int]], None]]:
    """A progress handler that draws on one line, over and over; into a file, its last state."""
    last = ""

    def draw(count: int, total: Optional[int]) -> None:
        nonlocal last
        percent = count * 100 // total if total else 0
        last = f"   {label:<10} [{'#' * (percent * 40 // 100):<40}] {percent:3} %"
        if sys.stdout.isatty():
            print(f"\r{last}", end="", flush=True)

    yield draw
    print("" if sys.stdout.isatty() else last)


def degrees(city: Any) -> str:
    return f"{city['main']['temp']:5.1f} °C  {city['name']}"


def search(client: Weather) -> None:
    heading(1, "A search: url args, and defaults that every call gets")
    Weather.set_default("appid", "demo")
    Weather.set_default("units", "metric")
    response = client.standard(
        "find", ntapi.url("q", "London"), ntapi.url("cnt", 5), ntapi.url("lang", None)
    )
    print(f"   GET {response.url}")
    found: Any = response.json()
    for city in found["list"]:
        print(f"   {degrees(city)}, {city['sys']['country']}")


def feedback(client: Weather) -> None:
    heading(2, "A form: becomes a POST by itself")
    form = [ntapi.form("name", "Zoë"), ntapi.form("text", "Rain & sun, 50 % each")]
    fields = client.direct("feedback", form).decode(dict[str, str], "fields")
    print(f'   the server read: "{fields["text"]}" from {fields["name"]}')


def upload_photo(client: Weather) -> None:
    heading(3, "A multipart upload: bytes with the extension png, sent as photo.png")
    photo = ntapi.multipart("photo", bytes(2_000_000), extension="png")
    with progress_bar("photo.png") as draw:
        response = client.direct("photo", ntapi.url("rate", 2_000_000), photo, upload_progress=draw)
    for part in response.decode(list[dict[str, Any]], "parts"):
        print(f"   the server got {part['filename']}, {part['size']} bytes")


def download(client: Weather) -> None:
    heading(4, "A download")
    args = [ntapi.url("size", 4_000_000), ntapi.url("rate", 4_000_000), ntapi.option("raw_data")]
    with progress_bar("download") as draw:
        response = client.direct("download", args, download_progress=draw)
    print(f"   {len(response.data)} bytes in {response.elapsed:.1f} s")


def ten_at_once(client: Weather) -> None:
    heading(5, "Ten at once, in the order in which they complete")

    def show(response: ntapi.Response) -> None:
        if response.error:
            print(f'   error "{response.error.code}": {response.error}')
        else:
            print(f"   {response.elapsed * 1000:4.0f} ms  {degrees(response.json())}")

    for city in CITIES:
        client.begin("data/2.5/weather", client.session(), ntapi.url("id", city), handler=show)
    client.drain()


def cancel(client: Weather) -> None:
    heading(6, "A request cancelled at once: its handler is still called, once")

    def show(response: ntapi.Response) -> None:
        if response.error:
            print(f'   error "{response.error.code}": {response.error}')

    request = client.begin("slow", ntapi.url("seconds", 30), handler=show)
    request.cancel()
    client.drain()


def service_error(client: Weather) -> None:
    heading(7, "An error of the service, mapped to a registered code")
    try:
        client.standard("find", ntapi.url("q", "Nowhereville"))
    except ntapi.ApiError as error:
        print(f'   HTTP status {error.http_status}, and yet: error "{error.code}": {error}')
        if error.code is not CITY_NOT_FOUND:
            raise


def threads(client: Weather) -> None:
    heading(8, "A handler on each kind of thread")
    names = {"MainThread": "the main thread", "ntapi-background": "a worker thread of the library"}

    def show(kind: str, place: ntapi.PlaceLike) -> None:
        def handler(_: ntapi.Response) -> None:
            name = threading.current_thread().name
            print(f"   {kind:<10} ran on {names.get(name, name)}")

        client.begin("echo", ntapi.response_thread(place), handler=handler).wait()

    show("main", ntapi.MAIN)
    show("background", ntapi.BACKGROUND)
    own = threading.Thread(
        target=show, args=("current", ntapi.CURRENT), name="the thread that began it"
    )
    own.start()
    own.join()
    with concurrent.futures.ThreadPoolExecutor(1, "the executor's thread") as pool:
        names["the executor's thread_0"] = "the executor's thread"
        show("executor", pool)


def walk(base_url: str) -> int:
    print(f"ntapi {ntapi.library_version()} from Python")
    # A service error is a step's aim here, not worth a warning.
    with Weather(base_url, log_flags=ntapi.LogFlags.ERROR) as client:
        search(client)
        feedback(client)
        upload_photo(client)
        download(client)
        ten_at_once(client)
        cancel(client)
        service_error(client)
        threads(client)
    verdict = "as expected" if client.failures == 2 else "instead of 2"
    print(f"\ndone: {client.requests} requests, {client.failures} errors {verdict}")
    return 0 if client.failures == 2 else 1


def get(url: str) -> int:
    response = ntapi.Client(url, log_flags=ntapi.LogFlags.NONE).send(
        "", ntapi.option("raw_data"), ntapi.option("ignore_http_errors")
    )
    print(f"{response.url}\nstatus {response.status} after {response.elapsed * 1000:.0f} ms")
    for name, value in response.headers.lines:
        print(f"{name}: {value}")
    print(f"\n{response.text[:500]}{'...' if len(response.text) > 500 else ''}")
    return 0


def main(arguments: Sequence[str]) -> int:
    try:
        if len(arguments) == 2 and arguments[0] == "--get":
            return get(arguments[1])
        if len(arguments) == 1 and not arguments[0].startswith("-"):
            return walk(arguments[0])
    except (ntapi.ApiError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except (LookupError, TypeError):
        print("error: this is not the URL of the demo server", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print("usage: tour.py BASE_URL | --get URL", file=sys.stderr)
    return 2


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # so `| head` ends it, as it does other programs
    sys.exit(main(sys.argv[1:]))
