"""Redis servers of a test's own, which it may stop, freeze and fill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import PATIENCE


def eventually(holds: Callable[[], bool]) -> None:
    """Polls. Nothing reports that a server has started, or that a store answers again."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


class RedisServer:
    """A redis-server with these settings, on a Unix socket and perhaps a port for TLS."""

    def __init__(self, folder: Path, **settings: object) -> None:
        self.socket = folder / "redis.sock"
        # The server ends with this process, in whatever way this process ends.
        program = os.environ.get("NTAPI_REDIS_SERVER", "redis-server")
        self.command = ["setpriv", "--pdeathsig", "TERM", program, "--port", "0"]
        self.command += ["--unixsocket", str(self.socket), "--dir", str(folder)]
        self.command += ["--loglevel", "warning"]
        for name, value in {"save": "", **settings}.items():
            self.command += [f"--{name.replace('_', '-')}", str(value)]
        self.url = f"unix://{self.socket}"
        self.start()

    def start(self) -> None:
        """Returns when it answers."""
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE)
        eventually(self.answers)

    def answers(self) -> bool:
        if self.process.poll() is not None:
            raise RuntimeError(f"redis-server has ended: {self.process.communicate()[0].decode()}")
        try:
            return self.ask("PING") in (b"+PONG\r\n", b"-NOAUTH Authentication required.\r\n")
        except OSError:
            return False

    def ask(self, *words: str) -> bytes:
        """The beginning of the reply to a command."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(PATIENCE)
            link.connect(str(self.socket))
            command = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            link.sendall(f"*{len(words)}\r\n{command}".encode())
            return link.recv(4096)

    def kill(self) -> None:
        """Kills the server, which cannot tell its clients."""
        self.process.kill()
        self.process.communicate()

    def freeze(self) -> None:
        """Its connections stay open, but it does not answer."""
        os.kill(self.process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)


@contextmanager
def redis_server(folder: Path, **settings: Any) -> Iterator[RedisServer]:
    """A server that is gone afterwards."""
    server = RedisServer(folder, **settings)
    try:
        yield server
    finally:
        server.kill()


def free_port() -> int:
    """A port that nobody has. redis-server takes no listening socket."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
