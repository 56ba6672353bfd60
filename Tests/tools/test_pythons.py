"""The tables of pythons.py and its packages."""

from __future__ import annotations

import pytest
import pythons
from packaging.requirements import Requirement

TESTS = pythons.ROOT / "bindings/python/tests"
LINES = [line for line in pythons.REQUIREMENTS.read_text().splitlines() if line[0] != "#"]


@pytest.mark.parametrize("names", [pythons.ON_ALL, pythons.ON_CPYTHON])
def test_each_name_is_a_file(names: list[str]) -> None:
    assert names == sorted(names)
    assert [name for name in names if not (TESTS / f"test_{name}.py").exists()] == []


@pytest.mark.parametrize("minor", range(9, 15))
def test_each_interpreter_gets_one_version_of_a_package(minor: int) -> None:
    environment = {"python_version": f"3.{minor}"}
    wanted = [
        each.name
        for each in map(Requirement, LINES)
        if each.marker is None or each.marker.evaluate(environment)
    ]
    assert len(wanted) == len(set(wanted))
    # Otherwise its tests would be skipped, and nobody would notice.
    assert {"httpx", "requests"} <= set(wanted)
    assert ("httpx2" in wanted) == (minor >= 11)
