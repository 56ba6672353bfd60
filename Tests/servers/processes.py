"""Child processes that cannot outlive their parent, and their first line of output."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

PR_SET_PDEATHSIG = 1
START_SECONDS = 120
LIBC = ctypes.CDLL(None)


def die_with_parent() -> None:
    """Runs in the child before exec: the kernel sends it SIGTERM when the parent is gone."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


class Processes:
    """The servers' processes; `stop` ends them all, the last one first."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.running: list[subprocess.Popen[bytes]] = []

    def start(
        self,
        command: Sequence[str],
        listeners: Sequence[socket.socket] = (),
        folder: Path | None = None,
        variables: dict[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts a server that inherits the listening sockets; its stderr goes to the log."""
        descriptors = [listener.fileno() for listener in listeners]
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env={**os.environ, **(variables or {})},
                pass_fds=descriptors,
                preexec_fn=die_with_parent,  # noqa: PLW1509 (no threads run yet)
                start_new_session=True,
            )
        self.running.append(process)
        for listener in listeners:
            listener.close()
        return process

    def first_line(self, process: subprocess.Popen[bytes]) -> str:
        """Waits for the line that says where a server listens."""
        assert process.stdout is not None
        readable, _, _ = select.select([process.stdout], [], [], START_SECONDS)
        line = process.stdout.readline().decode("utf-8").strip() if readable else ""
        if not line:
            raise RuntimeError(f"no answer from {process.args!r}: {self.log.read_text()}")
        return line

    def wait_for_answer(self, port: int, process: subprocess.Popen[bytes]) -> None:
        """Returns when the server has answered a request. It is not enough that it accepts a
        connection.
        """
        end = time.monotonic() + START_SECONDS
        with socket.create_connection(("127.0.0.1", port), START_SECONDS) as probe:
            probe.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while time.monotonic() < end and process.poll() is None:
                if select.select([probe], [], [], 0.1)[0]:
                    if probe.recv(100):
                        return
                    break
        raise RuntimeError(f"{process.args!r} does not serve: {self.log.read_text()}")

    def wait_for_socket(self, path: Path, process: subprocess.Popen[bytes]) -> None:
        """Returns when the server accepts connections on a Unix socket."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and process.poll() is None:
            try:
                with socket.socket(socket.AF_UNIX) as probe:
                    probe.connect(str(path))
                    return
            except OSError:
                # A server does not report when its socket exists.
                time.sleep(0.01)
        raise RuntimeError(f"{process.args!r} does not serve: {self.log.read_text()}")

    def stop(self) -> None:
        """Ends every server: by SIGTERM, and then by force."""
        for process in reversed(self.running):
            if process.stdin is not None:
                process.stdin.close()
            process.terminate()
        for process in reversed(self.running):
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            if process.stdout is not None:
                process.stdout.close()
        self.running.clear()
