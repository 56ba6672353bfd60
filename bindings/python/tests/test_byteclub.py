"""The client of the example Byte Club, with answers from memory and time that stands still."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import ntapi
from conftest import PATIENCE, REPOSITORY
from ntapi.testing import ManualClock, Stub, StubFault

FOLDER = REPOSITORY / "bindings" / "python" / "examples" / "byteclub"


@pytest.fixture(scope="module")
def club_module() -> Iterator[Any]:
    """The example's own modules, from its folder."""
    sys.path.insert(0, str(FOLDER))
    import club

    yield club
    sys.path.remove(str(FOLDER))


@pytest.fixture
def club(club_module: Any, stub: Stub, clock: ManualClock) -> Iterator[Any]:
    session = club_module.Session("http://api.test", "http://content.test", "token", "c d")
    club = club_module.ByteClub(session)
    with club.api, club.content, club.uploads:
        for client in (club.api, club.content, club.uploads):
            client.stub = stub
            client.clock = clock
        yield club


def entry(path: str, rev: str = "1f", **more: Any) -> dict[str, Any]:
    """A file as the service describes it."""
    file = {"path": path, "rev": rev, "bytes": 5, "size": "5 bytes", "root": "dropbox"}
    kind = {"is_dir": False, "thumb_exists": False}
    return {**file, **kind, "modified": "Sat, 21 Aug 2010 22:31:20 +0000", **more}


def test_files_are_listed_and_folders_are_not(club: Any, stub: Stub) -> None:
    inside = [entry("/byteclub/a.txt"), entry("/byteclub/photos", is_dir=True)]
    folder = entry("/byteclub", is_dir=True, contents=inside)
    stub.on("GET", "http://api.test/1/metadata/dropbox/byteclub?list=true").answer(json=folder)
    (note,) = club.notes()
    assert (note.name, note.bytes, note.rev) == ("a.txt", 5, "1f")
    assert note.modified.isoformat() == "2010-08-21T22:31:20+00:00"
    stub.verify()


def test_requests_are_signed(club: Any, stub: Stub) -> None:
    stub.on("GET", "/1/metadata/dropbox/byteclub").answer(404, json={"error": "not found"})
    assert club.notes() == []
    assert stub.requests[0].headers["authorization"] == (
        'OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", '
        'oauth_consumer_key="byteclub", oauth_token="token", '
        'oauth_signature="club%2520secret%26c%2520d"'
    )


def test_a_note_is_written_over_the_revision_that_was_read(club: Any, stub: Stub) -> None:
    about = {"x-dropbox-metadata": json.dumps(entry("/byteclub/50 %?.txt", "2a"))}
    url = "http://content.test/1/files/dropbox/byteclub/50%20%25%3F.txt"
    stub.on("GET", url).answer(text="hello", headers=about)
    note = club.read("50 %?.txt")
    assert (note.text, note.entry.rev) == ("hello", "2a")
    put = stub.on(
        "PUT", "/1/files_put/dropbox/byteclub/*?parent_rev=2a&overwrite=false", contains="ciao"
    )
    put.answer(json=entry("/byteclub/50 %?.txt"))
    club.write("50 %?.txt", "ciao", replacing=note.entry)
    stub.verify()


def test_photos_are_found_and_uploaded_with_one_connection(
    club: Any, stub: Stub, tmp_path: Path
) -> None:
    found = stub.on("GET", "http://api.test/1/search/dropbox/byteclub/photos?query=.jpg")
    found.answer(json=[entry("/byteclub/photos/b.jpg")]).answer(404, json={"error": "no folder"})
    assert [photo.name for photo in club.photos()] == ["b.jpg"]
    assert club.photos() == []
    put = stub.on("PUT", "http://content.test/1/files_put/dropbox/byteclub/photos/*")
    put.answer(json=entry("/byteclub/photos/c.jpg"))
    file = tmp_path / "a.jpg"
    file.write_bytes(b"photo")
    for _ in range(2):
        club.upload(str(file), lambda *_: None)
    urls = {request.url.partition("?")[0] for request in stub.requests[-2:]}
    assert len(urls) == 2
    assert all(re.fullmatch(r".*/photo-[0-9a-f]{8}\.jpg", url) for url in urls)
    assert club.uploads.get_default("maximumConnectionsPerHost") == 1
    assert club.content.get_default("maximumConnectionsPerHost") is None


def test_a_token_is_asked_for_until_the_user_has_answered(
    club_module: Any, club: Any, stub: Stub, clock: ManualClock
) -> None:
    import oauth

    step = stub.on("POST", "/1/oauth/request_token")
    step.answer(text="oauth_token_secret=s&oauth_token=t")
    with club_module.StorageClient("http://api.test", oauth.Token()) as client:
        client.stub = stub
        first = client.call(oauth.RequestToken())
    assert first == oauth.Token("t", "s")
    assert "oauth_token=" not in stub.requests[0].headers["authorization"]
    step = stub.on("POST", "/1/oauth/access_token")
    step.answer(401, json={}).answer(401, json={})
    step.answer(text="oauth_token=access&oauth_token_secret=secret&uid=5")
    with (
        club_module.StorageClient("http://api.test", first) as client,
        ThreadPoolExecutor(1) as thread,
    ):
        client.stub, client.clock = stub, clock
        access = thread.submit(client.call, oauth.AccessToken())
        for _ in range(2):
            assert clock.wait_for_sleepers(timeout=PATIENCE)
            clock.advance(1)
        assert access.result(30) == oauth.Token("access", "secret")
    assert step.call_count == 3
    assert 'oauth_token="t"' in stub.requests[1].headers["authorization"]


@pytest.mark.parametrize("text", ["", "oauth_token=t", "oauth_token=&oauth_token_secret=s", "{}"])
def test_what_is_no_token_is_an_error(club_module: Any, stub: Stub, text: str) -> None:
    import oauth

    stub.on("POST", "/1/oauth/request_token").answer(text=text)
    with club_module.StorageClient("http://api.test", oauth.Token()) as client:
        client.stub = stub
        with pytest.raises(ntapi.ApiError, match=r"this is no service of OAuth 1\.0"):
            client.call(oauth.RequestToken())


def test_a_busy_service_is_asked_again_when_it_says(
    club: Any, stub: Stub, clock: ManualClock
) -> None:
    rule = stub.on("GET", "/1/search/dropbox/byteclub?query=tea")
    rule.answer(503, json={"error": "busy"}, headers={"Retry-After": "20"})
    rule.answer(json=[entry("/byteclub/tea")])
    with ThreadPoolExecutor(1) as thread:
        found = thread.submit(club.search, "tea")
        assert clock.wait_for_sleepers(timeout=PATIENCE)
        wake = clock.next_wake or 0
        assert wake >= 20
        clock.advance(wake)
        assert [file.path for file in found.result(30)] == ["/byteclub/tea"]
    assert rule.call_count == 2


def test_a_file_that_may_have_been_written_is_not_sent_again(club: Any, stub: Stub) -> None:
    put = stub.on("PUT", "/1/files_put/dropbox/byteclub/a.txt").fail(StubFault.CONNECTION_LOST)
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
        (401, "not signed in any more: byteclub login URL"),
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
        club.delete("a.txt")
    assert club_module.explanation(raised.value) == text
    assert raised.value.domain is ntapi.ErrorDomain.HTTP


def test_json_without_a_response_is_decoded() -> None:
    assert ntapi.decode(list[int], {"a": [1, 2]}, "a") == [1, 2]
    with pytest.raises(ntapi.ApiError, match=r"a\[1\]: int expected, string found"):
        ntapi.decode(list[int], {"a": [1, "x"]}, "a")
