"""What is inside of a package, as a software bill of materials (CycloneDX 1.6, JSON).

python sbom.py FILE   writes that of the Debian packages: Swift's runtime and hiredis are in them

bundle.py puts that of the bundled wheel into the wheel (PEP 770).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from libcurl import Pin

HERE = Path(__file__).resolve()

Component = dict[str, Any]


def output(*command: str) -> str:
    """What a tool prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def version() -> str:
    """NTApi's own."""
    text = (HERE.parents[1] / "src/ntapi/__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if found is None:
        raise SystemExit("sbom: the package has no version")
    return found[1]


def component(name: str, number: str, purl: str) -> Component:
    """A library. Its package URL says where it comes from."""
    return {"type": "library", "bom-ref": purl, "name": name, "version": number, "purl": purl}


def swift_runtime() -> Component:
    """Swift's runtime and standard library, which are linked into NTApi's library."""
    found = re.search(r"\((swift-(\S+?)-RELEASE)\)", output("swiftc", "--version"))
    if found is None:
        raise SystemExit("sbom: swiftc is not a release of Swift")
    runtime = component("swift-runtime", found[2], f"pkg:github/swiftlang/swift@{found[1]}")
    runtime["licenses"] = [{"expression": "Apache-2.0 WITH Swift-exception"}]
    return runtime


def of_source(name: str, pin: Pin) -> Component:
    """Built from a source package of Debian; the hash is that of its .dsc file."""
    found = component(name, pin["version"], f"pkg:deb/debian/{name}@{pin['version']}?arch=source")
    found["hashes"] = [{"alg": "SHA-256", "content": pin["sha256"]}]
    return found


def of_package(package: str) -> Component:
    """From a package of this machine's Debian, named as its source."""
    wanted = "${source:Package} ${Version} ${Architecture}"
    name, number, architecture = output("dpkg-query", "-W", "-f", wanted, package).split()
    purl = f"pkg:deb/debian/{package}@{number}?arch={architecture}"
    return component(name, number, purl.replace("+", "%2B"))


def bill(components: list[Component]) -> str:
    """The document. It has the day of SOURCE_DATE_EPOCH, so that it can be made again."""
    own = component("ntapi", version(), f"pkg:pypi/ntapi@{version()}")
    own["licenses"] = [{"license": {"id": "MIT"}}]
    metadata: dict[str, Any] = {"component": own}
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is not None:
        metadata["timestamp"] = datetime.fromtimestamp(int(epoch), timezone.utc).isoformat()
    inside = sorted(components, key=lambda each: str(each["bom-ref"]))
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": metadata,
        "components": inside,
        "dependencies": [
            {"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in inside]}
        ],
    }
    return json.dumps(document, indent=2) + "\n"


def hiredis() -> Component:
    """What cmake/hiredis.py has built, which is linked into libntapi-redis."""
    found = output("pkg-config", "--modversion", "hiredis")
    made = component("hiredis", found, f"pkg:github/redis/hiredis@v{found}")
    made["licenses"] = [{"license": {"id": "BSD-3-Clause"}}]
    return made


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(bill([swift_runtime(), hiredis()]), encoding="utf-8")
