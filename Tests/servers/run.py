"""Starts the test servers, prints where they are, and stops them all.

    python run.py                     prints one line of JSON, serves until a pipe at stdin ends
    python run.py -- COMMAND ARGS...  runs a command that finds the JSON in NTAPI_TEST_SERVERS
    python run.py --only weather,fault ...

The command also gets each entry as a variable (NTAPI_TEST_FAULT, ...). SIGTERM and SIGINT stop
everything, and no server outlives this process, however it ends.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

from processes import Processes, die_with_parent
from serving import wait_for_end_of_input

HERE = Path(__file__).resolve().parent
ALL = ["weather", "qanda", "storage", "fault", "httpbin", "nginx", "proxy", "redis"]
NEEDS = {"nginx": ["weather"]}
PROXY_AUTH = "proxyuser:proxypass"
GUNICORN = ["-k", "gthread", "--threads", "16", "--keep-alive", "75"]
# Otherwise all runs of a user would share one control socket.
GUNICORN += ["--graceful-timeout", "1", "--log-level", "warning", "--no-control-socket"]


class Servers:
    """The running servers, and the table of their URLs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.processes = Processes(home / "servers.log")
        self.table: dict[str, str] = {}

    def start(self, names: list[str]) -> None:
        """Starts these servers. Returns when each of them answers."""
        self.write_files()
        if "fault" in names or "nginx" in names:
            self.write_certificates()
        for name in ALL:
            if name in names:
                getattr(self, f"start_{name}")()

    def write_files(self) -> None:
        """Files that tests upload, and short folders for their own files and sockets."""
        files = self.home / "files"
        files.mkdir()
        (files / "hello.txt").write_text("Hello, file!\n")
        (files / "data.json").write_text('{"from":"file"}')
        (files / "bytes.bin").write_bytes(bytes(range(256)))
        (files / "empty").write_bytes(b"")
        (self.home / "u").mkdir()
        self.table["tmp"] = str(files)
        self.table["unix_tmp"] = str(self.home / "u")
        self.table["log"] = str(self.home / "servers.log")

    def write_certificates(self) -> None:
        """The CA and all certificates. Imported late, because that module needs more than
        Python.
        """
        import ca

        folder = self.home / "certs"
        ca.write_certificates(folder)
        self.table["ca"] = str(folder / "ca.pem")
        self.table["client_cert"] = str(folder / "client.pem")
        self.table["client_key"] = str(folder / "client.key")
        self.table["pin"] = ca.public_key_pin(folder / "server.pem")

    def start_weather(self) -> None:
        """The demo API."""
        process = self.processes.start([sys.executable, str(HERE / "weather.py")])
        self.table["weather"] = self.processes.first_line(process)

    def start_qanda(self) -> None:
        """The Q&A API."""
        process = self.processes.start([sys.executable, str(HERE / "qanda.py")])
        self.table["qanda"] = self.processes.first_line(process)

    def start_storage(self) -> None:
        """The file storage of Byte Club."""
        process = self.processes.start([sys.executable, str(HERE / "storage.py")])
        self.table["storage"] = self.processes.first_line(process)

    def start_fault(self) -> None:
        """The fault server with all of its listeners."""
        command = [sys.executable, "-m", "fault", "--certs", str(self.home / "certs")]
        process = self.processes.start(command, folder=HERE)
        self.table.update(json.loads(self.processes.first_line(process)))

    def start_httpbin(self) -> None:
        """httpbin under gunicorn, with threads, keep-alive and chunked request bodies."""
        import nginx

        listener = nginx.listening()
        port = listener.getsockname()[1]
        bind = ["--bind", f"fd://{listener.fileno()}"]
        command = [sys.executable, "-m", "gunicorn", *bind, *GUNICORN, "httpbin_app:application"]
        process = self.processes.start(command, [listener], folder=HERE)
        self.processes.wait_for_answer(port, process)
        self.table["httpbin"] = f"http://127.0.0.1:{port}"

    def start_nginx(self) -> None:
        """nginx with and without TLS; uploads go on to the demo API."""
        import nginx

        home = self.home / "nginx"
        command, listeners = nginx.start(home, self.home / "certs", self.table["weather"])
        ports = {name: listener.getsockname()[1] for name, listener in listeners.items()}
        inherited = "".join(f"{listener.fileno()};" for listener in listeners.values())
        variables = {"NGINX": inherited}
        process = self.processes.start(command, [*listeners.values()], variables=variables)
        self.processes.wait_for_answer(ports["port"], process)
        self.table["nginx"] = f"http://127.0.0.1:{ports['port']}"
        for name in ("tls", "tls1", "narrow", "goaway"):
            self.table[f"nginx_{name}"] = f"https://localhost:{ports[f'{name}_port']}"
        self.table["nginx_root"] = str(home / "root")
        self.table["nginx_log"] = str(home / "access.log")

    def start_proxy(self) -> None:
        """A proxy without credentials and one that requires them."""
        script = str(HERE / "proxy.py")
        process = self.processes.start([sys.executable, script])
        self.table["proxy"] = self.processes.first_line(process)
        process = self.processes.start([sys.executable, script, "--auth", PROXY_AUTH])
        self.table["proxy_auth"] = self.processes.first_line(process)
        self.table["proxy_credentials"] = PROXY_AUTH

    def start_redis(self) -> None:
        """A Redis server on a Unix socket, with nothing on disk; or a Valkey server."""
        socket = self.home / "redis.sock"
        program = os.environ.get("NTAPI_REDIS_SERVER", "redis-server")
        command = [program, "--port", "0", "--unixsocket", str(socket), "--save", ""]
        self.processes.wait_for_socket(
            socket, self.processes.start([*command, "--loglevel", "warning"])
        )
        self.table["redis"] = str(socket)
        self.table["redis_url"] = f"unix://{socket}"


def run_command(command: list[str], table: dict[str, str]) -> int:
    """Runs a command with the table in its environment, and passes signals on to it."""
    variables = {f"NTAPI_TEST_{name.upper()}": value for name, value in table.items()}
    environment = {**os.environ, **variables, "NTAPI_TEST_SERVERS": json.dumps(table)}
    # Tests must not store anything for the user's own programs.
    environment["XDG_CACHE_HOME"] = f"{table['tmp']}/xdg-cache"
    process = subprocess.Popen(
        command,
        env=environment,
        preexec_fn=die_with_parent,  # noqa: PLW1509 (no threads run yet)
    )

    def pass_on(number: int, _: FrameType | None) -> None:
        process.send_signal(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, pass_on)
    status = process.wait()
    return status if status >= 0 else 128 - status


def stay(table: dict[str, str]) -> int:
    """Prints the table and waits for the end of a pipe at standard input or a signal."""
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())

    def watch() -> None:
        wait_for_end_of_input()
        done.set()

    threading.Thread(target=watch, daemon=True).start()
    print(json.dumps(table), flush=True)
    done.wait()
    return 0


def interrupted(number: int, _: FrameType | None) -> None:
    """A signal while servers start: raise, which stops those that run."""
    raise SystemExit(128 + number)


def main() -> int:
    """Starts the servers, runs the command or waits, and stops them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--only", help=f"a comma-separated subset of {','.join(ALL)}")
    parser.add_argument("command", nargs="*", help="after --, the command to run")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(ALL)
    unknown = set(names) - set(ALL)
    if unknown:
        parser.error(f"no server named {', '.join(sorted(unknown))}")
    names += [needed for name in names for needed in NEEDS.get(name, [])]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, interrupted)
    with tempfile.TemporaryDirectory(prefix="ntapi-", dir="/tmp") as home:
        servers = Servers(Path(home))
        try:
            servers.start(names)
            if options.command:
                return run_command(options.command, servers.table)
            return stay(servers.table)
        finally:
            servers.processes.stop()


if __name__ == "__main__":
    sys.exit(main())
