"""The C clients keep to the contract: a short run of the real thing, without peers."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parents[1]
LIBRARY = Path(os.environ.get("NTAPI_LIBRARY", HERE.parent / "build/libntapi.so.0")).parent


def run(output: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of the kit with a hundredth of the requests."""
    command = [sys.executable, str(HERE / "bench.py"), "--library", str(LIBRARY), "--rounds", "1"]
    command += [
        "--scale",
        "0.01",
        "--output",
        str(output),
        "--plot",
        str(output.with_suffix(".svg")),
        "--clients",
        "libcurl,ntapi_c,ntapi_p,ntapi_h",
    ]
    return subprocess.run([*command, *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("only", ["parsed-64", "raw-1", "tls", "beside-1000", "hold", "cancel"])
def test_clients_in_c(only: str, tmp_path: Path) -> None:
    ended = run(tmp_path / "results.json", "--only", only)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / "results.json").read_text())
    assert not found["failures"]
    assert found["figures"]
    for workload, clients in found["figures"].items():
        assert any(name.startswith("ntapi") for name in clients), workload
        assert all(figures[0]["cpu"] > 0 for figures in clients.values())
