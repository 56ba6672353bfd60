"""Stored credentials: the contents of a storage, and how the requests of a session use them."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path
from typing import Any, Callable, Optional
from urllib.parse import urlsplit

import pytest

import ntapi
from conftest import run_python
from ntapi import Authentication, Credential, CredentialStorage, Persistence, ProtectionSpace

RIGHT = Credential("user", "pässword")
SPACE = ProtectionSpace("https", "h.test", 443, "members")


def space_of(
    url: str,
    realm: Optional[str],
    authentication: Authentication = Authentication.BASIC,
    is_proxy: bool = False,
) -> ProtectionSpace:
    parts = urlsplit(url)
    assert parts.hostname is not None
    assert parts.port is not None
    return ProtectionSpace(
        parts.scheme, parts.hostname, parts.port, realm, authentication, is_proxy
    )


def storage_of(*entries: tuple[Credential, ProtectionSpace]) -> CredentialStorage:
    storage = CredentialStorage()
    for credential, space in entries:
        storage.set(credential, space)
    return storage


def session(
    servers: dict[str, str],
    server: str,
    storage: Optional[CredentialStorage],
    answer: Callable[[ntapi.Decision], object] = lambda decision: None,
    **settings: Any,
) -> tuple[ntapi.Client, list[ntapi.Challenge]]:
    """A session that answers challenges, and the list of its decisions."""
    asked: list[ntapi.Challenge] = []

    class Asking(ntapi.Client):
        decision_kinds = ntapi.DecisionKind.CHALLENGE

        def decide(self, decision: ntapi.Decision) -> None:
            assert decision.challenge is not None
            asked.append(decision.challenge)
            answer(decision)

    settings.setdefault("proxy", "")
    configuration = ntapi.SessionConfiguration.ephemeral(
        ca_file=servers["ca"], credential_storage=storage, **settings
    )
    return Asking(servers[server], configuration=configuration), asked


@pytest.fixture(params=["memory", "file"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> CredentialStorage:
    """A storage of each kind."""
    return CredentialStorage(tmp_path / "deep" / "c" if request.param == "file" else None)


def test_what_is_set_is_found(storage: CredentialStorage) -> None:
    other = ProtectionSpace("https", "h.test", 443, None, Authentication.DIGEST)
    assert storage.default(SPACE) is None
    storage.set(Credential("ann", "a"), SPACE)
    storage.set(Credential("bob", "b"), SPACE._replace(scheme="HTTPS", host="H.Test"))
    storage.set(Credential("c:d", "c"), other)
    assert storage.credentials(SPACE) == [Credential("ann", "a"), Credential("bob", "b")]
    storage.set_default(Credential("bob", "new"), SPACE)
    assert storage.default(SPACE) == Credential("bob", "new")
    assert storage.all() == [
        (SPACE, Credential("bob", "new")),
        (SPACE, Credential("ann", "a")),
        (other, Credential("c:d", "c")),
    ]
    storage.remove(SPACE, "nobody")
    storage.remove(SPACE, "bob")
    assert storage.credentials(SPACE) == [Credential("ann", "a")]
    storage.remove(SPACE)
    assert storage.all() == [(other, Credential("c:d", "c"))]
    storage.clear()
    assert storage.all() == []


def test_wrong_values(storage: CredentialStorage) -> None:
    for credential in (Credential("a:b", "c"), Credential("a\n", "c"), Credential("a", "\x7f")):
        with pytest.raises(ntapi.ApiError, match="cannot be set"):
            storage.set(credential, SPACE)
    with pytest.raises(ntapi.ApiError, match="NUL"):
        storage.set(Credential("a\0", "c"), SPACE)
    for space in (
        SPACE._replace(scheme="ftp"),
        SPACE._replace(host=""),
        SPACE._replace(port=0),
        SPACE._replace(port=1 << 40),
    ):
        with pytest.raises(ValueError, match="no server"):
            storage.set(Credential("a", "b"), space)


def test_swapped_arguments_are_named() -> None:
    swapped: Any = SPACE
    with pytest.raises(
        TypeError, match=r"a ProtectionSpace is expected, not <ntapi\.Credential user>"
    ):
        CredentialStorage().set(swapped, RIGHT)  # type: ignore[arg-type]


def test_nothing_prints_a_password() -> None:
    credential = Credential("ann", "s3cret")
    storage = storage_of((credential, SPACE))
    configuration = ntapi.SessionConfiguration.ephemeral(credential_storage=storage)
    for thing in (credential, [credential], (SPACE, credential), storage, configuration):
        assert "s3cret" not in f"{thing} {thing!r}"


def test_the_file_is_for_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "c"
    CredentialStorage(path).set(Credential("ann", "a"), SPACE)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert CredentialStorage(path).default(SPACE) == Credential("ann", "a")


def test_a_damaged_file_is_an_error_and_the_program_is_asked(
    servers: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "c"
    path.write_text("damage")
    storage = CredentialStorage(path)
    with pytest.raises(ntapi.ApiError, match="is damaged"):
        storage.all()
    with pytest.raises(ntapi.ApiError, match="is damaged") as caught:
        storage.set(Credential("ann", "s3cret"), SPACE)
    assert "s3cret" not in str(caught.value)
    client, asked = session(
        servers,
        "nginx",
        storage,
        lambda decision: decision.use(*RIGHT, persistence=Persistence.PERMANENT),
    )
    assert client.send("auth/small.json").status == 200
    assert len(asked) == 1
    assert path.read_text() == "damage"
    with pytest.raises(ntapi.ApiError, match="/proc/no"):
        CredentialStorage("/proc/no/c").set(Credential("ann", "a"), SPACE)


def test_threads_lose_nothing(storage: CredentialStorage) -> None:
    def work(name: str) -> None:
        for number in range(20):
            storage.set(Credential(f"{name}-{number}", "x"), SPACE)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(storage.credentials(SPACE)) == 40


def test_a_server_is_answered(servers: dict[str, str]) -> None:
    basic = space_of(servers["nginx"], "test")
    digest = space_of(servers["fault"], 'the "SHA-256" realm', Authentication.DIGEST)
    storage = storage_of((RIGHT, basic), (Credential("ann", "pw"), digest))
    client, asked = session(servers, "nginx", storage)
    assert client.send("auth/small.json").metrics.retries == 1
    other, more = session(servers, "fault", storage)
    args = [ntapi.url("user", "ann"), ntapi.url("password", "pw"), ntapi.form("a", "b")]
    assert other.send("digest/SHA-256", args).json()["body"] == "a=b"
    assert asked == more == []


def test_what_is_refused_is_asked_about(servers: dict[str, str]) -> None:
    space = space_of(servers["nginx"], "test")
    wrong = Credential("user", "wrong")
    storage = storage_of((wrong, space))
    client, asked = session(servers, "nginx", storage, lambda decision: decision.use(*RIGHT))
    assert client.send("auth/small.json").status == 200
    assert [(challenge.failures, challenge.protection_space) for challenge in asked] == [(1, space)]
    assert storage.default(space) == wrong


def test_a_redirect_takes_nothing_along(servers: dict[str, str]) -> None:
    target = f"{servers['fault_other']}/digest/MD5?user=ann&password=pw"
    args = [
        ntapi.url("with", 'Basic realm="here"'),
        ntapi.url("unless", "Basic YW5uOnB3"),
        ntapi.url("url", target),
    ]
    ann = Credential("ann", "pw")
    storage = storage_of((ann, space_of(servers["fault"], "here")))
    client, asked = session(servers, "fault", storage)
    assert client.perform("challenge", args).status == 401
    assert [challenge.failures for challenge in asked] == [0]
    storage.set(ann, space_of(servers["fault_other"], 'the "MD5" realm', Authentication.DIGEST))
    client, asked = session(servers, "fault", storage)
    assert client.perform("challenge", args).status == 200
    assert asked == []


@pytest.mark.parametrize("server", ["fault", "fault_tls"])
def test_a_proxy_is_answered(servers: dict[str, str], server: str) -> None:
    user, password = servers["proxy_credentials"].split(":")
    space = space_of(servers["proxy_auth"], None, is_proxy=True)
    storage = storage_of((Credential(user, password), space))
    client, asked = session(servers, server, storage, proxy=servers["proxy_auth"])
    assert client.send("echo").status == 200
    assert asked == []
    client, asked = session(servers, server, CredentialStorage(), proxy=servers["proxy_auth"])
    client.perform("echo")
    assert [challenge.protection_space for challenge in asked] == [space]


def test_an_answer_may_be_kept(servers: dict[str, str]) -> None:
    storage = CredentialStorage()
    client, _ = session(
        servers,
        "nginx",
        storage,
        lambda decision: decision.use("user", "no", persistence=Persistence.PERMANENT),
    )
    assert client.perform("auth/small.json").status == 401
    assert storage.all() == []
    for persistence, calls, kept in (
        (Persistence.NONE, 2, 0),
        (Persistence.FOR_SESSION, 1, 0),
        (Persistence.PERMANENT, 1, 1),
    ):
        client, asked = session(
            servers,
            "nginx",
            storage,
            lambda decision, how=persistence: decision.use(*RIGHT, persistence=how),
        )
        for _ in range(2):
            assert client.send("auth/small.json").status == 200
        assert (len(asked), len(storage.all())) == (calls, kept)


def test_who_has_which(servers: dict[str, str]) -> None:
    ephemeral = ntapi.SessionConfiguration.ephemeral()
    assert ephemeral.credential_storage is not None
    with ntapi.Client("http://h", configuration=ephemeral) as client:
        ephemeral.credential_storage.set(Credential("ann", "a"), SPACE)
        assert client.credential_storage is not None
        assert client.credential_storage.default(SPACE) == Credential("ann", "a")
    other = ntapi.SessionConfiguration.ephemeral()
    assert other.credential_storage is not None
    assert other.credential_storage.all() == []
    other.credential_storage = None
    assert ntapi.Client("http://h", configuration=other).credential_storage is None
    assert ntapi.Client("http://h").credential_storage is None
    client, asked = session(servers, "nginx", None)
    assert client.perform("auth/small.json").status == 401
    assert len(asked) == 1


def test_the_programs_outlives_the_process(servers: dict[str, str], tmp_path: Path) -> None:
    program = """
import sys, ntapi
from urllib.parse import urlsplit
url, what = sys.argv[1:]
space = ntapi.ProtectionSpace("http", urlsplit(url).hostname, urlsplit(url).port, "test")
if what == "set":
    ntapi.CredentialStorage.shared().set(ntapi.Credential("user", "pässword"), space)
configuration = ntapi.SessionConfiguration.default(proxy="")
with ntapi.Client(url, configuration=configuration) as client:
    print(client.perform("auth/small.json").status)
"""
    environment = {**os.environ, "XDG_DATA_HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    for what, status in (("find", "401"), ("set", "200"), ("find", "200")):
        done = run_python(program, servers["nginx"], what, env=environment)
        assert done.stdout.strip() == status, done.stderr
