"""ntapi.opentelemetry in processes of their own: imports, and opentelemetry-instrument."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import PATIENCE, REPOSITORY, run_python

pytest.importorskip("opentelemetry.instrumentation")
pytest.importorskip("opentelemetry.sdk")

PROGRAM = """
import sys
import ntapi

with ntapi.Client(sys.argv[1]) as client:
    client.send("status/{code}", ntapi.path("code", "200"))
"""
CONFIGURATOR = """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.trace import set_tracer_provider

class Configurator:
    def configure(self, **_):
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
        set_tracer_provider(provider)
"""
"""In place of the package opentelemetry-distro."""


def test_the_package_does_not_import_it() -> None:
    code = "import ntapi, sys; ntapi.Client; print('opentelemetry' in sys.modules)"
    assert run_python(code).stdout == "False\n"


def test_the_error_without_it_names_the_fix() -> None:
    code = "import sys; sys.modules['opentelemetry'] = None; import ntapi.opentelemetry"
    last = run_python(code).stderr.splitlines()[-1]
    assert last.startswith("ImportError: ntapi.opentelemetry needs opentelemetry-api and ")
    assert last.endswith('pip install "ntapi[opentelemetry]"')


def test_opentelemetry_instrument_finds_it(servers: dict[str, str], tmp_path: Path) -> None:
    tomllib = pytest.importorskip("tomllib")
    text = (REPOSITORY / "bindings" / "python" / "pyproject.toml").read_text("utf-8")
    groups = tomllib.loads(text)["project"]["entry-points"]
    # What pip writes when it installs the package.
    installed = tmp_path / "ntapi-1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: ntapi\nVersion: 1\n")
    groups["opentelemetry_configurator"] = {"test": "configurator:Configurator"}
    lines = [
        line
        for group, entries in groups.items()
        for line in (f"[{group}]", *(f"{name} = {value}" for name, value in entries.items()))
    ]
    (installed / "entry_points.txt").write_text("\n".join(lines))
    (tmp_path / "configurator.py").write_text(CONFIGURATOR)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path]),
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "httpx,requests,urllib3",
    }
    module = "opentelemetry.instrumentation.auto_instrumentation"
    start = f"from {module} import run; run()"
    ran = subprocess.run(
        [sys.executable, "-c", start, sys.executable, str(program), servers["fault"]],
        env=environment,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    span: Any = json.loads(ran.stdout)
    assert span["name"] == "GET /status/{code}"
    assert span["kind"] == "SpanKind.CLIENT"
    assert span["attributes"]["url.full"] == f"{servers['fault']}/status/200"


def test_it_goes_on_in_a_forked_child(servers: dict[str, str]) -> None:
    # As a server that loads the program before it forks its workers.
    code = """
import os, sys
import ntapi
from ntapi.opentelemetry import NTApiInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

provider = TracerProvider()
exporter = ConsoleSpanExporter(formatter=lambda span: f"{os.getpid()} {span.name}\\n")
provider.add_span_processor(SimpleSpanProcessor(exporter))
NTApiInstrumentor().instrument(tracer_provider=provider)
with ntapi.Client(sys.argv[1]) as client:
    client.send("ok")
    child = os.fork()
    client.send("ok", ntapi.method("GET" if child else "HEAD"))
if child:
    os.waitpid(child, 0)
    print("child", child)
"""
    ran = run_python(code, servers["fault"])
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    child = lines.pop().partition("child ")[2]
    assert sorted(line.partition(" ")[2] for line in lines) == ["GET", "GET", "HEAD"]
    assert f"{child} HEAD" in lines
