"""The client of the example Byte Club, with answers from memory and time that stands still."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ntapi
from conftest import REPOSITORY
from ntapi.testing import ManualClock, Stub, StubFault

FOLDER = REPOSITORY / "bindings" / "python" / "examples" / "byteclub"


@pytest.fixture(scope="module")
def club_module() -> Iterator[Any]:
    """The example's own modules, which are found in its folder as when it runs."""
    sys.path.insert(0, str(FOLDER))
    import club

    yield club
    sys.path.remove(str(FOLDER))


@pytest.fixture
def club(club_module: Any, stub: Stub, clock: ManualClock) -> Iterator[Any]:
    credentials = club_module.Credentials("key", "a&b", "token", "c d")
    club = club_module.ByteClub("http://api.test", credentials)
    with club.api as api:
        api.stub = stub
        api.clock = clock
        yield club


def entry(path: str, rev: str = "1f", **more: Any) -> dict[str, Any]:
    """A file as the service describes it."""
    file = {"path": path, "rev": rev, "bytes": 5, "size": "5 bytes", "root": "dropbox"}
    kind = {"is_dir": False, "thumb_exists": False}
    return {**file, **kind, "modified": "Sat, 21 Aug 2010 22:31:20 +0000", **more}


def test_files_are_listed_and_folders_are_not(club: Any, stub: Stub) -> None:
    inside = [entry("/notes/a.txt"), entry("/notes/old", is_dir=True)]
    folder = entry("/notes", is_dir=True, contents=inside)
    stub.on("GET", "/1/metadata/dropbox/notes?list=true").answer(json=folder)
    (note,) = club.notes()
    assert (note.name, note.bytes, note.rev) == ("a.txt", 5, "1f")
    assert note.modified.isoformat() == "2010-08-21T22:31:20+00:00"
    stub.verify()


def test_requests_are_signed(club: Any, stub: Stub) -> None:
    stub.on("GET", "/1/metadata/dropbox/notes").answer(404, json={"error": "not found"})
    assert club.notes() == []
    assert stub.requests[0].headers["authorization"] == (
        'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", '
        'oauth_consumer_key="key", oauth_token="token", oauth_signature="a%2526b%26c%2520d"'
    )


def test_a_note_is_written_over_the_revision_that_was_read(club: Any, stub: Stub) -> None:
    about = {"x-dropbox-metadata": json.dumps(entry("/notes/50 %?.txt", "2a"))}
    url = "/1/files/dropbox/notes/50%20%25%3F.txt"
    stub.on("GET", url).answer(text="hello", headers=about)
    note = club.read("50 %?.txt")
    assert (note.text, note.entry.rev) == ("hello", "2a")
    put = stub.on(
        "PUT", "/1/files_put/dropbox/notes/*?parent_rev=2a&overwrite=false", contains="ciao"
    )
    put.answer(json=entry("/notes/50 %?.txt"))
    club.write("50 %?.txt", "ciao", replacing=note.entry)
    stub.verify()


def test_a_busy_service_is_asked_again_when_it_says(
    club: Any, stub: Stub, clock: ManualClock
) -> None:
    rule = stub.on("GET", "/1/search/dropbox?query=tea")
    rule.answer(503, json={"error": "busy"}, headers={"Retry-After": "20"})
    rule.answer(json=[entry("/notes/tea")])
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(club.search, "tea")
        assert clock.wait_for_sleepers()
        wake = clock.next_wake or 0
        assert wake >= 20
        clock.advance(wake)
        assert [file.path for file in found.result(30)] == ["/notes/tea"]
    assert rule.call_count == 2


def test_a_file_that_may_have_been_written_is_not_sent_again(club: Any, stub: Stub) -> None:
    put = stub.on("PUT", "/1/files_put/dropbox/notes/a.txt").fail(StubFault.CONNECTION_LOST)
    with pytest.raises(ntapi.ApiError) as raised:
        club.write("a.txt", "hello")
    assert raised.value.domain is ntapi.ErrorDomain.NETWORK
    assert put.call_count == 1


def test_a_wait_that_is_too_long_is_told(club_module: Any, club: Any, stub: Stub) -> None:
    answer = stub.on("GET", "account/info")
    answer.answer(429, json={"error": "slow down"}, headers={"Retry-After": "300"})
    with pytest.raises(ntapi.ApiError) as raised:
        club.account()
    assert club_module.explanation(raised.value) == "too many requests: try again in 300 s"
    assert answer.call_count == 1


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (400, "the service does not accept this: why not"),
        (401, "not signed in: renew BYTECLUB_TOKEN and BYTECLUB_TOKEN_SECRET"),
        (403, "not allowed: why not"),
        (404, "no such file or folder"),
        (405, "the service does not know this call: is the URL right?"),
        (507, "no room left: delete something first"),
        (418, "why not"),
    ],
)
def test_statuses_are_explained(
    club_module: Any, club: Any, stub: Stub, status: int, text: str
) -> None:
    stub.on("POST", "fileops/delete").answer(status, json={"error": "why not"})
    with pytest.raises(ntapi.ApiError) as raised:
        club.delete("/notes/a.txt")
    assert club_module.explanation(raised.value) == text
    assert raised.value.domain is ntapi.ErrorDomain.HTTP


def test_json_without_a_response_is_decoded() -> None:
    assert ntapi.decode(list[int], {"a": [1, 2]}, "a") == [1, 2]
    with pytest.raises(ntapi.ApiError, match=r"a\[1\]: int expected, string found"):
        ntapi.decode(list[int], {"a": [1, "x"]}, "a")
