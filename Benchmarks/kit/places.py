"""The folders of the kit."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "Benchmarks"
BUILD = ROOT / "build-bench"
VENV = ROOT / ".venv-bench"
BUNDLED = ROOT / "build-packages/libcurl/lib/libcurl.so.4"
RESULTS = HERE / "results"
