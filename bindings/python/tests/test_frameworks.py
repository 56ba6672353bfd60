"""The programs of docs/frameworks.md: one client for each process, under real servers."""

from __future__ import annotations

import functools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable
from urllib.error import HTTPError

import pytest

import ntapi
from conftest import PATIENCE, REPOSITORY, run_python
from framework_servers import PROGRAMS, Server, Upstream, ask, check_two_processes, running

# A test stops a worker for a while: that must not be taken for a fault. Without its control socket
# gunicorn writes nothing into the home folder.
PATIENT = f"{PATIENCE:.0f}"
GUNICORN = ("gunicorn", "--bind=fd://{fd}", "--timeout", PATIENT, "--no-control-socket")
UVICORN = ("uvicorn", "--fd={fd}", "--timeout-worker-healthcheck", PATIENT)
TWO = "--workers=2"
WEB: list[Any] = [
    pytest.param("flask", (*GUNICORN, TWO, "flask_app:create_app()"), "weather", id="flask"),
    pytest.param(
        "flask",
        (*GUNICORN, "--config=gunicorn_conf.py", "preloaded_app:app"),
        "weather",
        id="gunicorn-preload",
    ),
    pytest.param("fastapi", (*UVICORN, TWO, "fastapi_app:app"), "weather", id="fastapi-uvicorn"),
    pytest.param(
        "fastapi",
        (*GUNICORN, TWO, "--worker-class=asgi", "fastapi_app:app"),
        "weather",
        id="fastapi-gunicorn",
    ),
    pytest.param("django", (*GUNICORN, TWO, "django_app:wsgi"), "weather", id="django-wsgi"),
    pytest.param("django", (*UVICORN, TWO, "django_app:asgi"), "async", id="django-asgi"),
]
SWIFT_PROGRAMS = REPOSITORY / "bindings" / "swift" / "examples" / "frameworks"
BAD = ("Traceback", "Exception ignored", "SIGKILL", "ResourceWarning", "never awaited")


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    with Upstream() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def check_end(server: Server) -> None:
    """It ends after SIGTERM, and complains about nothing. uvicorn dies by the signal in the end."""
    assert server.end() in (0, -signal.SIGTERM), server.log
    assert not any(bad in server.log for bad in BAD), server.log


@pytest.mark.parametrize(("framework", "command", "prefix"), WEB)
def test_a_web_server(
    upstream: Upstream, framework: str, command: tuple[str, ...], prefix: str
) -> None:
    pytest.importorskip(framework)
    pytest.importorskip(command[0])
    with running(*command, API_URL=upstream.url) as server:
        check_two_processes(f"{server.url}/{prefix}", upstream)
        check_end(server)


@pytest.mark.parametrize(
    ("framework", "command"),
    [
        ("flask", (*GUNICORN, "flask_app:create_app()")),
        ("fastapi", (*UVICORN, "fastapi_app:app")),
    ],
)
def test_an_error_of_the_api_is_a_bad_gateway(
    upstream: Upstream, framework: str, command: tuple[str, ...]
) -> None:
    pytest.importorskip(framework)
    pytest.importorskip(command[0])
    with running(*command, API_URL=upstream.url) as server:
        with pytest.raises(HTTPError) as caught:
            ask(f"{server.url}/weather/Nowhere")
        assert caught.value.code == 502
        assert "404" in json.load(caught.value)["error"]
        check_end(server)


@pytest.mark.parametrize("is_preloaded", [False, True])
def test_gunicorns_gevent_worker(upstream: Upstream, tmp_path: Path, is_preloaded: bool) -> None:
    """A worker goes on while it waits: the API answers neither request of a pair before it has
    both. `make test-frameworks` has the version of gevent that gunicorn demands.
    """
    pytest.importorskip("gevent", "24.10.1")
    app = ["flask_app:create_app()"]
    if is_preloaded:
        configuration = tmp_path / "gunicorn_conf.py"
        patch = "from gevent import monkey\nmonkey.patch_all()\n"
        configuration.write_text(patch + (PROGRAMS / "gunicorn_conf.py").read_text())
        app = [f"--config={configuration}", "preloaded_app:app"]
    command = (*GUNICORN, "--worker-class=gevent", *app)
    with running(*command, "--workers=1", API_URL=upstream.url) as server:
        with ThreadPoolExecutor() as pool:
            urls = [f"{server.url}/weather/pair{number}" for number in (1, 2)]
            answers = list(pool.map(ask, urls))
        assert [answer["city"] for answer in answers] == ["pair1", "pair2"]
        assert answers[0]["process"] == answers[1]["process"]
        check_end(server)
    with running(*command, TWO, API_URL=upstream.url) as server:
        check_two_processes(f"{server.url}/weather", upstream)
        check_end(server)


def test_a_client_from_before_the_fork_works(upstream: Upstream, tmp_path: Path) -> None:
    """The master has made a request with it. No worker uses the master's connection."""
    pytest.importorskip("gunicorn")
    (tmp_path / "inherited_app.py").write_text(
        """
import json, os
import ntapi

client = ntapi.Client(os.environ["API_URL"])
client.get("weather", ntapi.url("q", "Master"))

def app(environ, start_response):
    city = client.get("weather", ntapi.url("q", environ["PATH_INFO"][1:])).json()["name"]
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"city": city, "process": os.getpid()}).encode()]
"""
    )
    command = (*GUNICORN, TWO, "--preload", "inherited_app:app")
    with running(*command, folder=tmp_path, API_URL=upstream.url) as server:
        check_two_processes(server.url, upstream)
        port = upstream.ports.pop("Master")
        assert port not in upstream.ports.values()
        check_end(server)


def test_celery(upstream: Upstream, tmp_path: Path) -> None:
    pytest.importorskip("celery")
    environment = {"API_URL": upstream.url, "BROKER": str(tmp_path)}
    command = ("celery", "--app=celery_app", "worker", "--concurrency=2", "--loglevel=INFO")
    command += ("--without-mingle", "--without-gossip")
    with running(*command, **environment) as server:
        server.read_until(" ready.")
        cities = ["pair 1", "pair 2", "Oslo", "Rome", "Cairo"]
        code = """
import json, sys
from celery_app import weather

results = [weather.delay(city) for city in sys.argv[2:]]
answers = [result.get(timeout=float(sys.argv[1]), interval=0.01) for result in results]
print(json.dumps(answers))
"""
        done = run_python(code, str(PATIENCE), *cities, cwd=PROGRAMS, env=os.environ | environment)
        assert done.returncode == 0, done.stderr
        answers = json.loads(done.stdout)
        assert [answer["city"] for answer in answers] == cities
        ports = {(answer["process"], upstream.ports[answer["city"]]) for answer in answers}
        assert len(ports) == len(dict(ports)) == len({port for _, port in ports}) == 2
        check_end(server)


@pytest.mark.parametrize(
    ("module", "shown"),
    [
        ("anyio", "Cairo Oslo Rome\ncancelled\n"),
        ("gevent", "Oslo\nRome\nCairo\n"),
        ("trio", "Oslo\nRome\ncancelled\n"),
        ("uvloop", "Oslo\nRome\nCairo\n100000 bytes\ncancelled\n"),
    ],
)
def test_tasks(servers: dict[str, str], module: str, shown: str) -> None:
    pytest.importorskip(module)
    program = [sys.executable, str(PROGRAMS / f"{module}_tasks.py"), servers["weather"]]
    done = subprocess.run(program, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")


@pytest.mark.parametrize("runner", ["trio", "anyio"])
@pytest.mark.parametrize("call", ["perform", "stream", "begin"])
def test_trio_is_refused_with_the_way_to_do_it(runner: str, call: str) -> None:
    trio = pytest.importorskip("trio")

    async def main() -> None:
        client = ntapi.AsyncClient("http://api.test")
        if call == "stream":
            async with client.stream("any"):
                pass
        elif call == "begin":
            client.begin("any")
        else:
            await client.perform("any")

    if runner == "anyio":
        run = functools.partial(pytest.importorskip("anyio").run, backend="trio")
    else:
        run = trio.run
    with pytest.raises(RuntimeError, match=r"not support trio\..*`await trio\.to_thread\.run_sync"):
        run(main)


def test_the_async_tests_under_uvloop() -> None:
    pytest.importorskip("uvloop")
    code = """
import asyncio, sys
import pytest, uvloop

asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""
    folder = Path(__file__).parent
    done = run_python(code, *(str(folder / f"test_{name}.py") for name in ("async", "loop_reader")))
    assert done.returncode == 0, done.stdout + done.stderr


Notebook = Callable[[str], list[Any]]


@pytest.fixture
def executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """Runs the text of a notebook and returns its cells of code. A cell that raises is an error."""
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    for variable in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))

    def execute(text: str) -> list[Any]:
        notebook = nbformat.reads(text, as_version=4)
        nbformat.validate(notebook)
        nbclient.NotebookClient(notebook, timeout=PATIENCE, kernel_name="python3").execute()
        return [cell for cell in notebook.cells if cell.cell_type == "code"]

    return execute


def test_jupyter(
    servers: dict[str, str], executed: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_URL", servers["weather"])
    cells = executed((PROGRAMS / "notebook.ipynb").read_text())
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [output["data"]["text/plain"] for output in outputs] == ["'Oslo'", "['Rome', 'Cairo']"]


def test_the_tour_shows_its_outputs(servers: dict[str, str], executed: Notebook) -> None:
    """The outputs in docs/tour.ipynb are those of a run."""
    text = (REPOSITORY / "docs" / "tour.ipynb").read_text()
    stored = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    cells = executed(text.replace(SHOWN_URL, servers["weather"]))
    assert len(cells) >= 10
    for cell, shown in zip(cells, stored):
        printed = {name: t.replace(servers["weather"], SHOWN_URL) for name, t in seen(cell).items()}
        assert printed == seen(shown), "".join(shown["source"])


SHOWN_URL = "http://127.0.0.1:8000"
"""Where the demo server is in the documentation."""


def seen(cell: Any) -> dict[str, str]:
    """What a cell has printed, by stream, and its result."""
    texts: dict[str, str] = {}
    for output in cell["outputs"]:
        name = output.get("name", "result")
        text = output["text"] if name != "result" else output["data"]["text/plain"]
        texts[name] = texts.get(name, "") + "".join(text)
    return texts


def unindented(code: str) -> str:
    return "\n".join(line.strip() for line in code.splitlines())


def test_the_page_shows_parts_of_the_programs() -> None:
    page = (REPOSITORY / "docs" / "frameworks.md").read_text()
    parts = re.findall(r"<!-- from: (\S+) -->\n```(?:python|swift)\n(.*?)\n```", page, re.DOTALL)
    assert {name for name, _ in parts} >= {
        "fastapi_app.py",
        "notebook.ipynb",
        "nio-server/main.swift",
    }
    for name, part in parts:
        folder = SWIFT_PROGRAMS if name.endswith(".swift") else PROGRAMS
        text = (folder / name).read_text()
        if name.endswith(".ipynb"):
            text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
        assert unindented(part) in unindented(text), name
