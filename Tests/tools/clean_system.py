"""Uses the installed ntapi on a machine that has only Python. systems.py calls it as root, in the
root folder of that system.

python clean_system.py FOLDER [--bundled]

The folder has localhost.pem, a self-signed certificate with its key. The certificate is also there
under the name by which OpenSSL finds it in a folder. Each place where a distribution keeps its
trusted certificates is tried. With --bundled, ntapi came in a wheel, and the machine has no
libcurl.
"""

from __future__ import annotations

import http.server
import os
import shutil
import ssl
import subprocess
import sys
import threading
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
STORES = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
]
HELLO = '"hello"'
ASKS = """
import sys
import ntapi
with ntapi.Client(sys.argv[1]) as client:
    response = client.perform("")
    print(response.text if response.error is None else response.error.message)
"""


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers any GET."""

    def do_GET(self) -> None:
        """Answers with a greeting."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(HELLO)))
        self.end_headers()
        self.wfile.write(HELLO.encode())

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


def serve(certificate: Path) -> str:
    """Starts a server with TLS; returns its URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"https://localhost:{server.server_address[1]}"


def answer(url: str, **variables: str) -> str:
    """The output of a program that sends a request to the server."""
    command = [sys.executable, "-c", ASKS, url]
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, env=environment, check=True, stdout=subprocess.PIPE, text=True
    ).stdout.strip()


def faults_of_stores(url: str, certificate: Path) -> list[str]:
    """Tries the environment, and each place, on a machine without a store."""
    faults = []
    if "certificate" not in (got := answer(url)):
        faults.append(f"without a store it should be an error: {got}")
    for name, value in {"SSL_CERT_FILE": certificate, "SSL_CERT_DIR": certificate.parent}.items():
        if (got := answer(url, **{name: str(value)})) != HELLO:
            faults.append(f"{name}: {got}")
    # As on Fedora, where the folder lacks the names that OpenSSL looks for.
    Path("/etc/ssl/certs").mkdir(parents=True, exist_ok=True)
    for store in STORES:
        Path(store).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(certificate, store)
        if (got := answer(url)) != HELLO:
            faults.append(f"{store}: {got}")
        Path(store).unlink()
    return faults


def main() -> int:
    """Prints each failure and a summary line."""
    failures = []
    folder, is_bundled = Path(sys.argv[1]), sys.argv[2:] == ["--bundled"]
    if is_bundled:
        known = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True)
        failures += [
            f"the system has {name}" for name in ("libcurl", "libjansson") if name in known.stdout
        ]
    examples = [
        sys.executable,
        "Tests/docs/check_examples.py",
        "--installed",
        "--only",
        "python",
        "README.md",
    ]
    if subprocess.run(examples, cwd=REPOSITORY, check=False).returncode != 0:
        failures.append("the README's programs")
    certificate = folder / "localhost.pem"
    url = serve(certificate)
    # Move the system's own store away: it would be found first. pip needs it later.
    hidden = [Path(store) for store in STORES if Path(store).exists()]
    for store in hidden:
        store.rename(f"{store}.hidden")
    failures += faults_of_stores(url, certificate)
    for store in hidden:
        Path(f"{store}.hidden").rename(store)
    for failure in failures:
        print(failure)
    print(
        f"clean_system: {'the wheel' if is_bundled else 'the Debian packages'}, {len(failures)} failures"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
