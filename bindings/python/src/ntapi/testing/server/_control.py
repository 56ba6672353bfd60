"""The control channel of a server in a process of its own: JSON lines in, JSON lines out."""

from __future__ import annotations

import json
import threading
from base64 import b64decode, b64encode

from ..._bridge.enums import StubFault
from ._answer import Fault, ServerAnswer
from ._latch import PATIENCE, Latch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, Callable

    from ._log import ReceivedRequest
    from ._server import Server

    Members = dict[str, Any]


class Control:
    """Carries out commands. Each gets one line as its reply: its result, or an error."""

    def __init__(self, server: Server, send: Callable[[str], None]) -> None:
        self._server = server
        self._send = send
        self._sending = threading.Lock()
        self._latches: dict[str, Latch] = {}

    def run(self, lines: Iterable[bytes]) -> None:
        """Carries out a command for each line. A wait does not hold up the commands after it."""
        for line in lines:
            if not line.strip():
                continue
            try:
                command = json.loads(line)
            except ValueError as error:
                self.reply({"error": f"this line is not JSON: {error}"})
                continue
            if isinstance(command, dict) and command.get("do") in _WAITS:
                threading.Thread(target=self._carry_out, args=(command,), daemon=True).start()
            else:
                self._carry_out(command)

    def reply(self, members: Members) -> None:
        """Sends a line."""
        with self._sending:
            try:
                self._send(json.dumps(members))
            except BrokenPipeError:
                # Nobody reads it. Standard input ends, too.
                pass

    def load(self, rules: Any) -> None:
        """Adds the queue and the rules of a file. Raises an error that names the mistake."""
        if not isinstance(rules, dict) or not set(rules) <= {"queue", "rules"}:
            raise ValueError('the rules are an object with "queue" and "rules", which are lists')
        for answer in rules.get("queue", ()):
            self._server.enqueue(self._answer(answer))
        for rule in rules.get("rules", ()):
            self._on(**rule)

    def _carry_out(self, command: Any) -> None:
        members: Members = dict(command) if isinstance(command, dict) else {}
        of = {"id": members.pop("id")} if "id" in members else {}
        name = members.pop("do", None)
        try:
            do = _COMMANDS.get(name) if isinstance(name, str) else None
            if do is None:
                known = ", ".join(sorted(_COMMANDS))
                raise ValueError(f'"do" is one of {known}, not {json.dumps(name)}')
            result = do(self, **members) or {}
        except (AssertionError, LookupError, RuntimeError, TypeError, ValueError, OSError) as error:
            self.reply({**of, "error": str(error)})
        else:
            self.reply({**of, "ok": True, **result})

    # Commands. Their keywords are the members of the line.

    def _enqueue(self, *, answer: Members, connect: bool = False) -> None:
        made = self._answer(answer)
        if connect:
            self._server.enqueue_connect(made)
        else:
            self._server.enqueue(made)

    def _on(
        self,
        *,
        method: str | None = None,
        url: str = "**",
        answers: Iterable[Members] = (),
        used_up: bool = False,
        **body: Any,
    ) -> None:
        made = [self._answer(answer) for answer in answers]
        rule = self._server.stub.on(method, url, **body)
        for answer in made:
            rule.add(answer)
        if used_up:
            rule.used_up()

    def _release(self, *, latch: str) -> None:
        self._latch(latch).release()

    def _wait_for_latch(self, *, latch: str, count: int = 1, timeout: float = PATIENCE) -> None:
        self._latch(latch).wait_until_reached(count, timeout)

    def _take_request(self, *, at: Any = "body", timeout: float = PATIENCE) -> Members:
        return {"request": _members(self._server.take_request(at=at, timeout=timeout))}

    def _requests(self) -> Members:
        return {"requests": [_members(request) for request in self._server.requests]}

    def _fail_connections(self, *, kind: Any, count: int = 1) -> None:
        self._server.fail_connections(kind, count)

    def _failed_handshakes(self) -> Members:
        return {"failed_handshakes": self._server.failed_handshakes}

    def _verify(self) -> None:
        self._server.verify()

    # Values.

    def _latch(self, name: str) -> Latch:
        """The latch of that name, which is made when it is named first."""
        return self._latches.setdefault(name, Latch())

    def _answer(self, members: Members) -> ServerAnswer:
        if not isinstance(members, dict):
            raise TypeError(f"an answer is an object, not {json.dumps(members)}")
        values = dict(members)
        if "base64" in values:
            values["data"] = b64decode(values.pop("base64"), validate=True)
        for name in ("hold", "hold_body", "hold_trailers"):
            if name in values:
                values[name] = self._latch(values[name])
        fault = values.get("fault")
        if isinstance(fault, dict):
            values["fault"] = Fault(**fault)
        elif isinstance(fault, str):
            values["fault"] = _stub_fault(fault)
        return ServerAnswer(**values)


def _stub_fault(name: str) -> StubFault:
    found = StubFault.__members__.get(name.upper())
    if found is None:
        known = ", ".join(fault.name.lower() for fault in StubFault)
        raise ValueError(f"a fault is an object, or one of {known}, not {json.dumps(name)}")
    return found


_WAITS = ("take_request", "wait_for_latch")
_COMMANDS: dict[str, Callable[..., Any]] = {
    "enqueue": Control._enqueue,
    "fail_connections": Control._fail_connections,
    "failed_handshakes": Control._failed_handshakes,
    "on": Control._on,
    "release": Control._release,
    "requests": Control._requests,
    "take_request": Control._take_request,
    "verify": Control._verify,
    "wait_for_latch": Control._wait_for_latch,
}


def _members(request: ReceivedRequest) -> Members:
    """A request as JSON."""
    body: Members
    try:
        body = {"text": request.body.decode()}
    except UnicodeDecodeError:
        body = {"base64": b64encode(request.body).decode()}
    return {
        "connection": request.connection,
        "exchange": request.exchange,
        "method": request.method,
        "target": request.target,
        "url": request.url,
        "headers": request.headers.lines,
        **body,
        "trailers": request.trailers.lines,
        "http_version": request.http_version,
        "tls": None if request.tls is None else request.tls._asdict(),
        "has_body_arrived": request.has_body_arrived,
        "is_matched": request.is_matched,
        "outcome": request.outcome,
    }
