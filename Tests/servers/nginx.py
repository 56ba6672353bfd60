"""A real nginx in a folder of its own: static files, gzip, uploads, TLS with HTTP/2.

Every response has the number of its connection in `X-Connection`, and the number of the request on
it in `X-Connection-Requests`. So has each line of the access log.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
from pathlib import Path

# What listens: without TLS; with TLS and HTTP/2; TLS without HTTP/2; HTTP/2 with 8 streams at a time; HTTP/2 that says
# GOAWAY after 20 requests.
LISTENERS = ("port", "tls_port", "tls1_port", "narrow_port", "goaway_port")
USER, PASSWORD = "user", "pässword"
CONF = """\
daemon off;
worker_processes 1;
worker_rlimit_nofile 8192;
pid {home}/nginx.pid;
error_log {home}/error.log warn;
{user}
events {{ worker_connections 4096; }}
http {{
    types {{ application/json json; text/plain txt; }}
    default_type application/octet-stream;
    client_body_temp_path {home}/body;
    proxy_temp_path {home}/proxy;
    fastcgi_temp_path {home}/fastcgi;
    uwsgi_temp_path {home}/uwsgi;
    scgi_temp_path {home}/scgi;
    log_format reuse '$connection $connection_requests $server_protocol '
                     '$request_method $request_uri $status $body_bytes_sent';
    access_log {home}/access.log reuse;
    keepalive_timeout 75s;
    keepalive_requests 1000000;
    client_max_body_size 0;
    sendfile on;
    tcp_nodelay on;
    ssl_certificate {certs}/server.pem;
    ssl_certificate_key {certs}/server.key;
    ssl_protocols TLSv1.2 TLSv1.3;
    root {root};
    add_header X-Connection $connection always;
    add_header X-Connection-Requests $connection_requests always;
    add_header X-Protocol $server_protocol always;
    proxy_http_version 1.1;
    proxy_request_buffering off;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        listen 127.0.0.1:{tls_port} ssl http2 backlog=4096;
        include {home}/locations.conf;
    }}
    server {{
        listen 127.0.0.1:{tls1_port} ssl backlog=4096;
        include {home}/locations.conf;
    }}
    server {{
        listen 127.0.0.1:{narrow_port} ssl http2 backlog=4096;
        http2_max_concurrent_streams 8;
        include {home}/locations.conf;
    }}
    server {{
        listen 127.0.0.1:{goaway_port} ssl http2 backlog=4096;
        keepalive_requests 20;
        include {home}/locations.conf;
    }}
}}
"""

LOCATIONS = """\
location /gzip/ {{
    alias {root}/;
    gzip on;
    gzip_types application/json;
    gzip_min_length 100;
}}
location /slow/ {{ alias {root}/; limit_rate 1m; }}
location /cached/ {{ alias {root}/; expires 1h; }}
location /marked/ {{ add_header X-Mark $uri; }}
location /packed/ {{
    alias {root}/marked/;
    gzip on;
    gzip_types text/plain;
}}
location /auth/ {{
    alias {root}/;
    auth_basic "test";
    auth_basic_user_file {home}/htpasswd;
}}
location = /photo {{ proxy_pass {weather}; }}
location = /upload {{ proxy_pass {weather}; }}
location = /slow {{ proxy_pass {weather}; }}
location = /gate {{ proxy_pass {weather}; }}
location = /echo {{ proxy_pass {weather}; }}
location = /guarded {{
    if ($http_authorization = "") {{
        add_header WWW-Authenticate 'Digest realm="test", nonce="once", qop="auth"' always;
        return 401;
    }}
    proxy_pass {weather}/echo;
}}
location = /404 {{ default_type application/json; return 404 '{{"error":"none"}}'; }}
location = /500 {{ default_type application/json; return 500 '{{"error":"broken"}}'; }}
location = /ping {{ default_type application/json; return 200 '{{"ok":true}}'; }}
"""


def json_of_size(size: int) -> bytes:
    """A JSON object of exactly `size` bytes: a list of records and a pad."""
    records: list[dict[str, object]] = []
    length = 40
    while length < size - 120:
        records.append({"id": len(records), "name": f"item {len(records)}", "value": 0.5})
        length += len(json.dumps(records[-1])) + 2
    text = json.dumps({"list": records, "pad": ""})
    return (text[:-2] + "x" * (size - len(text)) + text[-2:]).encode("ascii")


def pattern(size: int) -> bytes:
    """Bytes that differ at every position, so that a wrong offset is found."""
    blocks = (hashlib.sha256(str(number).encode()).digest() for number in range(size // 32 + 1))
    return b"".join(blocks)[:size]


def marked(mark: int, size: int) -> bytes:
    """Lines of 20 bytes, each with the mark and its position, so that a byte of another body is
    found.
    """
    return b"".join(b"mark %02d %011d\n" % (mark, offset) for offset in range(0, size, 20))


def write_root(root: Path) -> None:
    """Writes the files to serve. The large one is sparse and takes no space."""
    root.mkdir(parents=True)
    (root / "small.json").write_bytes(json_of_size(1024))
    (root / "big-100k.json").write_bytes(json_of_size(100 * 1024))
    (root / "pattern-8M.bin").write_bytes(pattern(8 * 1024 * 1024))
    (root / "marked").mkdir()
    for mark in range(16):
        (root / "marked" / f"{mark:02}.txt").write_bytes(marked(mark, 200_000))
    with (root / "256M.bin").open("wb") as large:
        large.truncate(256 * 1024 * 1024)


def write_passwords(path: Path) -> None:
    """One user with a password in UTF-8."""
    command = ["openssl", "passwd", "-apr1", "-stdin"]
    made = subprocess.run(command, input=PASSWORD.encode(), capture_output=True, check=True)
    path.write_bytes(USER.encode() + b":" + made.stdout)


def listening() -> socket.socket:
    """A listening socket on a free port. nginx inherits it, so that no other program can take the
    port.
    """
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(4096)
    return listener


def start(home: Path, certs: Path, weather: str) -> tuple[list[str], dict[str, socket.socket]]:
    """Writes everything nginx needs; returns its command line and the sockets to pass on.

    The sockets' descriptors have to stand in the variable NGINX, each followed by a semicolon.
    """
    home.mkdir(parents=True)
    root = home / "root"
    write_root(root)
    write_passwords(home / "htpasswd")
    listeners = {name: listening() for name in LISTENERS}
    ports = {name: listener.getsockname()[1] for name, listener in listeners.items()}
    user = "user root;" if os.geteuid() == 0 else ""
    conf = CONF.format(home=home, root=root, certs=certs, user=user, **ports)
    (home / "nginx.conf").write_text(conf, encoding="utf-8")
    locations = LOCATIONS.format(root=root, home=home, weather=weather)
    (home / "locations.conf").write_text(locations, encoding="utf-8")
    nginx = shutil.which("nginx") or "/usr/sbin/nginx"
    command = [nginx, "-p", str(home), "-c", str(home / "nginx.conf")]
    return [*command, "-e", str(home / "error.log")], listeners
