"""The servers that the clients talk to: nginx with one worker, plain and with TLS."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from kit.documents import write_documents
from kit.places import BUILD, ROOT

sys.path.insert(0, str(ROOT / "Tests/servers"))

from nginx import listening
from processes import Processes

CONF = """\
daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
pid {home}/nginx.pid;
error_log {home}/error.log warn;
{user}
events {{ worker_connections 12288; }}
http {{
    types {{ application/json json; }}
    default_type application/octet-stream;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    access_log off;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    sendfile on;
    tcp_nodelay on;
    open_file_cache max=100 inactive=600s;
    open_file_cache_valid 600s;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        listen 127.0.0.1:{tls_port} ssl http2 backlog=4096;
        server_name localhost;
        ssl_certificate {certs}/server.pem;
        ssl_certificate_key {certs}/server.key;
        ssl_protocols TLSv1.2 TLSv1.3;
        root {root};
        location /packed/ {{ add_header Content-Encoding gzip; }}
    }}
}}
"""


@dataclass
class Addresses:
    """Where the servers are."""

    plain: str
    tls: str
    slow: str
    ca: Path
    file: Path


def openssl(*arguments: str) -> None:
    """Runs openssl, quietly."""
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def write_certificates(folder: Path) -> None:
    """A CA of our own and a certificate of it for localhost, with keys on P-256."""
    folder.mkdir(parents=True, exist_ok=True)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    ca, ca_key = str(folder / "ca.pem"), str(folder / "ca.key")
    server, request = str(folder / "server.pem"), str(folder / "server.csr")
    extensions = folder / "server.ext"
    extensions.write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(
        *("req", "-x509", *key, "-keyout", ca_key, "-out", ca),
        *("-days", "30", "-subj", "/CN=NTApi benchmark CA"),
    )
    openssl(
        *("req", "-new", *key, "-keyout", str(folder / "server.key"), "-out", request),
        *("-subj", "/CN=localhost"),
    )
    openssl(
        *("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial"),
        *("-days", "30", "-extfile", str(extensions), "-out", server),
    )


class Servers:
    """Starts the servers; `stop` ends them, and so does the end of this process."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.processes = Processes(home / "servers.log")

    def start(self) -> Addresses:
        """Writes what is served, starts the servers and returns when they answer."""
        plain, tls, ca = self.start_nginx()
        return Addresses(plain, tls, self.start_slow(), ca, self.home / "root/file.bin")

    def start_slow(self) -> str:
        """The server that leaves requests unanswered and throws uploads away."""
        listener = listening()
        port = listener.getsockname()[1]
        command = [str(BUILD / "bench_server"), str(listener.fileno())]
        command.append(str(self.home / "root/small.json"))
        self.processes.wait_for_answer(port, self.processes.start(command, [listener]))
        return f"http://127.0.0.1:{port}"

    def start_nginx(self) -> tuple[str, str, Path]:
        """nginx, plain and with TLS, and the CA to trust."""
        certs, root = self.home / "certs", self.home / "root"
        write_certificates(certs)
        write_documents(root)
        plain, tls = listening(), listening()
        port, tls_port = plain.getsockname()[1], tls.getsockname()[1]
        conf = CONF.format(
            home=self.home,
            root=root,
            certs=certs,
            port=port,
            tls_port=tls_port,
            user="user root;" if os.geteuid() == 0 else "",
        )
        (self.home / "nginx.conf").write_text(conf, encoding="utf-8")
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        command = [nginx, "-p", str(self.home), "-c", str(self.home / "nginx.conf")]
        command += ["-e", str(self.home / "error.log")]
        inherited = f"{plain.fileno()};{tls.fileno()};"
        process = self.processes.start(command, [plain, tls], variables={"NGINX": inherited})
        self.processes.wait_for_answer(port, process)
        return f"http://127.0.0.1:{port}", f"https://localhost:{tls_port}", certs / "ca.pem"

    def stop(self) -> None:
        """Ends the servers."""
        self.processes.stop()
