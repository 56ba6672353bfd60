"""The log-in that is kept from one run to the next, in a file that only its user can read."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from oauth import Token

import ntapi

FILE = Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config", "byteclub", "session").expanduser()


@dataclass
class Session:
    """Where the service is, and the token that it has given: it is sent nowhere else."""

    url: str
    content: str
    """What has the files themselves; the same, where a service has one address for all."""
    token: str
    secret: str

    @property
    def credentials(self) -> Token:
        return Token(self.token, self.secret)

    def save(self) -> None:
        """Writes a file of mode 0600; a crash on the way leaves the one from before."""
        FILE.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = FILE.with_name("session.new")
        new.unlink(missing_ok=True)
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(self), file)
        new.replace(FILE)


def load() -> Session:
    """Raises LookupError when nobody is logged in."""
    try:
        return ntapi.decode(Session, json.loads(FILE.read_bytes()))
    except (OSError, ValueError, ntapi.ApiError):
        raise LookupError("not signed in: byteclub login URL") from None


def forget() -> None:
    FILE.unlink(missing_ok=True)
