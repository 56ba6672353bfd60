"""Prints counts that show whether the core and the interfaces stay simple.

python3 Tests/layers/counts.py          what can be read from the sources
python3 Tests/layers/counts.py --cost   also the locks of a request, which callgrind counts
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import check_layers
import check_python

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/packaging"))
import check_growth
from header import INSTALLED

SHELL = check_layers.CORE / "Request"
FORK = re.compile(r"isOfThisProcess|generation [!=]= Fork\.generation")
CORE_CASES = "ntapi_callback raw 1"


def shared_fields() -> int:
    """The stored properties under the one lock of a request."""
    text = (SHELL / "APIRequest.swift").read_text(encoding="utf-8")
    start = text.index("    struct Shared {")
    body = text[start : text.index("        init(", start)]
    return len(re.findall(r"^        (?:@\w+ )?var \w+", body, re.MULTILINE))


def ends() -> int:
    """The functions that make the outcome of a request final."""
    texts = (path.read_text(encoding="utf-8") for path in sorted(SHELL.rglob("*.swift")))
    return sum(len(re.findall(r"\bflow\.commit\(", text)) for text in texts)


def fork_checks() -> int:
    """The places that check for a forked child."""
    texts = (
        path.read_text(encoding="utf-8") for path in sorted(check_layers.CORE.rglob("*.swift"))
    )
    return sum(len(FORK.findall(text)) for text in texts)


def main() -> int:
    """The counts, one on a line."""
    found = list(check_python.imports(check_python.read(check_python.PACKAGE)))
    loops = check_python.circles(found)
    headers = "".join(map(check_growth.without_comments, INSTALLED))
    intrusions = list(check_layers.intrusions(check_layers.CORE))
    print(f"{shared_fields():4} fields of a request's shared state")
    print(f"{len(intrusions):4} uses of gate, history, chain and body of the flow outside Flow")
    print(f"{ends():4} functions that make an outcome final")
    print(f"{fork_checks():4} checks for a forked child in the core")
    print(f"{len(check_python.upward(found)):4} imports of a floor above in the Python package")
    print(f"{len(loops[0]) if loops else 0:4} modules in its largest circle")
    print(f"{len(check_growth.structs(headers)):4} structs of C that cannot grow")
    if "--cost" not in sys.argv:
        return 0
    cost = [sys.executable, str(ROOT / "Benchmarks/check_cost.py"), "--only", CORE_CASES]
    return subprocess.run(cost, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
