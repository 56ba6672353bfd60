"""Each server does what it promises. So if another test fails, the server is not to blame."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import select
import socket
import ssl
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import parse_qsl, urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest
from talk import connection, fetch, on, raw

Table = dict[str, str]


def test_weather_finds_cities(servers: Table) -> None:
    found = fetch(servers["weather"], "/data/2.5/find?q=lond&type=like&units=metric&appid=x").json
    assert found["cod"] == "200"
    assert found["count"] == len(found["list"]) > 3
    assert {"id", "name", "coord", "main", "dt", "wind", "sys", "clouds", "weather"} <= set(
        found["list"][0]
    )


def test_weather_units_differ_and_repeat(servers: Table) -> None:
    base, path = servers["weather"], "/data/2.5/weather?id=2643743&appid=x&units="
    metric, kelvin = (fetch(base, path + unit).json for unit in ("metric", "standard"))
    assert kelvin["main"]["temp"] == pytest.approx(metric["main"]["temp"] + 273.15)
    assert fetch(base, path + "metric").json == metric


@pytest.mark.parametrize(
    ("target", "status", "cod"),
    [
        ("/data/2.5/find?q=London", 401, 401),
        ("/data/2.5/find?q=Nowhere&appid=x", 200, "404"),
        ("/data/2.5/find?q=Lo&appid=x", 200, "404"),
        ("/data/2.5/find?q=error500&appid=x", 200, "500"),
    ],
)
def test_weather_errors(servers: Table, target: str, status: int, cod: object) -> None:
    answer = fetch(servers["weather"], target)
    assert (answer.status, answer.json["cod"]) == (status, cod)


def test_notes_have_pages(servers: Table) -> None:
    first = fetch(servers["weather"], "/notes")
    assert [note["id"] for note in first.json] == [1, 2]
    assert (first.header("Link") or "").startswith('</notes?page=2>; rel="next"')
    assert fetch(servers["weather"], "/notes?page=3").header("Link") is None
    page = fetch(servers["weather"], "/notes/since?cursor=4").json
    assert page == {"notes": [{"id": 5, "text": "Note 5"}], "next": None}


def test_a_document_changes_only_by_its_version(servers: Table) -> None:
    base, target = servers["weather"], "/document?name=test"
    version = {"If-Match": fetch(base, target).header("ETag") or ""}
    assert fetch(base, target, "PUT", b"{}").status == 428
    assert fetch(base, target, "PUT", b'{"views": 1}', version).status == 200
    assert fetch(base, target, "PUT", b'{"views": 2}', version).status == 412
    assert fetch(base, target).json == {"views": 1}


def test_graphql_has_its_errors_in_a_200(servers: Table) -> None:
    def ask(query: str, name: str) -> Any:
        text = json.dumps({"query": query, "variables": {"name": name}}).encode()
        answer = fetch(servers["weather"], "/graphql", "POST", text)
        assert answer.status == 200
        return answer.json

    query = "{ city(name: $name) { name country } }"
    assert ask(query, "Oslo") == {"data": {"city": {"name": "Oslo", "country": "NO"}}}
    assert ask(query, "Atlantis")["errors"][0]["extensions"] == {"code": "NOT_FOUND"}
    assert "data" not in ask("{ river }", "Rhine")


SEARCH = "/2.3/search/advanced?site=superuser&order=desc&sort=creation&pagesize=4&q=retry"


def test_qanda_has_pages_and_a_quota(servers: Table) -> None:
    pages = [
        fetch(servers["qanda"], f"{SEARCH}&key=pages&page={number}").json for number in (1, 2, 3, 4)
    ]
    assert [page["has_more"] for page in pages] == [True, True, False, False]
    assert [len(page["items"]) for page in pages] == [4, 4, 3, 0]
    assert [page["quota_remaining"] for page in pages] == [9999, 9998, 9997, 9996]
    numbers = [item["question_id"] for page in pages for item in page["items"]]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize(
    ("target", "number", "name", "message"),
    [
        ("/2.3/users/1", 400, "bad_parameter", "site is required"),
        ("/2.3/users/x?site=superuser", 400, "bad_parameter", "ids"),
        (f"{SEARCH}&pagesize=101", 400, "bad_parameter", "pagesize"),
        (f"{SEARCH}&sort=reputation", 400, "bad_parameter", "sort"),
        ("/2.3/badges?site=superuser", 404, "no_method", "this method is not recognized"),
        ("/with/error/503/2.3/users/1", 503, "temporarily_unavailable", "simulated"),
    ],
)
def test_qanda_errors(servers: Table, target: str, number: int, name: str, message: str) -> None:
    answer = fetch(servers["qanda"], target)
    wrapper = {"error_id": number, "error_name": name, "error_message": message}
    assert (answer.status, answer.json) == (400, wrapper)


def test_qanda_punishes_who_does_not_wait(servers: Table) -> None:
    below = "/with/backoff/3600/2.3/users/1?site=superuser&key=impatient"
    assert fetch(servers["qanda"], below).json["backoff"] == 3600
    assert fetch(servers["qanda"], below).json["error_name"] == "throttle_violation"
    other = "/2.3/questions/1?site=superuser&key=impatient"
    assert fetch(servers["qanda"], other).json["items"]


def test_weather_keeps_connections_after_unread_bodies(servers: Table) -> None:
    link = connection(servers["weather"])
    assert on(link, "/nothing", "POST", b"unread").status == 404
    own = link.sock
    assert on(link, "/echo?a=1&a=2").json["query"] == [["a", "1"], ["a", "2"]]
    assert link.sock is own
    link.close()


def test_weather_download_has_its_hash(servers: Table) -> None:
    answer = fetch(servers["weather"], "/download?size=200000")
    assert len(answer.body) == 200000
    assert hashlib.sha256(answer.body).hexdigest() == answer.header("X-SHA256")


def test_weather_download_goes_on(servers: Table) -> None:
    whole = fetch(servers["weather"], "/download?size=200000")
    etag = whole.header("ETag") or "none"
    for condition, status, first in ((etag, 206, 150_000), ('"other"', 200, 0)):
        headers = {"Range": "bytes=150000-", "If-Range": condition}
        answer = fetch(servers["weather"], "/download?size=200000", headers=headers)
        assert (answer.status, answer.body) == (status, whole.body[first:])
    beyond = fetch(servers["weather"], "/download?size=10", headers={"Range": "bytes=10-"})
    assert (beyond.status, len(beyond.body)) == (200, 10)


def test_weather_photo_describes_parts(servers: Table) -> None:
    body = (
        b'--B\r\nContent-Disposition: form-data; name="photo"; filename="photo.png"\r\n'
        b"Content-Type: image/png\r\n\r\n\x89PNG\r\n--B--\r\n"
    )
    headers = {"Content-Type": "multipart/form-data; boundary=B"}
    parts = fetch(servers["weather"], "/photo", "POST", body, headers).json["parts"]
    assert [(part["name"], part["filename"], part["size"]) for part in parts] == [
        ("photo", "photo.png", 4)
    ]


def test_httpbin_takes_chunks_and_keeps_alive(servers: Table) -> None:
    link = connection(servers["httpbin"])
    link.request("POST", "/post", iter([b"ab", b"cd"]), {"Content-Type": "text/plain"})
    assert json.loads(link.getresponse().read())["data"] == "abcd"
    own = link.sock
    assert on(link, "/bytes/10").status == 200
    assert link.sock is own
    link.close()


def test_nginx_tells_connections(servers: Table) -> None:
    link = connection(servers["nginx"])
    first, second = on(link, "/small.json"), on(link, "/small.json")
    link.close()
    assert len(first.body) == 1024
    assert len(fetch(servers["nginx"], "/big-100k.json").body) == 100 * 1024
    assert first.header("X-Connection") == second.header("X-Connection")
    assert second.header("X-Connection-Requests") == "2"


def test_nginx_locations(servers: Table) -> None:
    base = servers["nginx"]
    zipped = fetch(base, "/gzip/big-100k.json", headers={"Accept-Encoding": "gzip"})
    assert len(gzip.decompress(zipped.body)) == 100 * 1024
    assert [fetch(base, path).status for path in ("/404", "/500", "/auth/small.json")] == [
        404,
        500,
        401,
    ]
    secret = base64.b64encode("user:pässword".encode()).decode()
    allowed = fetch(base, "/auth/small.json", headers={"Authorization": f"Basic {secret}"})
    assert allowed.status == 200
    assert fetch(base, "/upload", "PUT", b"x" * 100_000).json["size"] == 100_000
    part = fetch(base, "/256M.bin", headers={"Range": "bytes=268435450-"})
    assert (part.status, len(part.body)) == (206, 6)


def test_nginx_speaks_http2(servers: Table) -> None:
    parts = urlsplit(servers["nginx_tls"])
    context = ssl.create_default_context(cafile=servers["ca"])
    context.set_alpn_protocols(["h2"])
    with (
        socket.create_connection(("127.0.0.1", parts.port or 0), 10) as link,
        context.wrap_socket(link, server_hostname="localhost") as tls,
    ):
        assert tls.selected_alpn_protocol() == "h2"


@pytest.mark.parametrize(
    ("server", "message"),
    [
        ("tls_expired", "expired"),
        ("tls_wrong_host", "ostname mismatch"),
        ("tls_self_signed", "self-signed"),
        ("tls_close", "EOF|reset"),
        ("tls_client", "handshake failure|EOF|reset"),
        ("tls_old", "unsupported protocol|alert|version|EOF|reset|sigalg"),
        ("tls_to_plain", "wrong version number|WRONG_VERSION"),
    ],
)
def test_tls_faults(servers: Table, server: str, message: str) -> None:
    with pytest.raises(OSError, match=message):
        fetch(servers[server], "/ok", ca=servers["ca"])


def test_tls_works(servers: Table) -> None:
    assert fetch(servers["fault_tls"], "/ok", ca=servers["ca"]).json["ok"] is True


def test_blackhole_never_connects(servers: Table) -> None:
    with socket.socket() as link:
        link.setblocking(False)
        link.connect_ex(("127.0.0.1", urlsplit(servers["blackhole"]).port or 0))
        assert select.select([], [link], [], 0.2)[1] == []


def test_resets_and_closes(servers: Table) -> None:
    base = servers["fault"]
    for place in ("before", "in-headers", "after-headers", "in-body"):
        with pytest.raises(ConnectionResetError):
            raw(base, f"/reset/{place}")
    assert raw(base, "/close/before") == b""
    assert raw(base, "/close/after-headers").endswith(b"\r\n\r\n")


def test_keepalive_close_swallows_a_post(servers: Table) -> None:
    base = servers["fault"]
    token = str(time.monotonic_ns())
    link = connection(base)
    on(link, "/keepalive-close")
    with pytest.raises(ConnectionError):
        on(link, f"/keepalive-count?token={token}", "POST", b"once")
    link.close()
    assert fetch(base, f"/count?token={token}").json == {"count": 1, "methods": {"POST": 1}}


def test_other_listener_records(servers: Table) -> None:
    token = str(time.monotonic_ns())
    fetch(servers["fault_other"], f"/record?token={token}", headers={"X-API-Key": "k"})
    seen = fetch(servers["fault"], f"/seen?token={token}").json
    assert seen["count"] == 1
    assert seen["requests"][0]["listener"] == "fault_other"
    assert seen["requests"][0]["header"]["x-api-key"] == "k"


def test_gzip_bomb_is_valid_gzip(servers: Table) -> None:
    answer = fetch(servers["fault"], "/gzip-bomb?mib=3")
    assert gzip.decompress(answer.body) == bytes(3 * 1024 * 1024)


def test_random_keeps_to_its_plan(servers: Table) -> None:
    base = servers["fault"]
    plan = fetch(base, "/random-plan?seed=s&count=200").json["plan"]
    assert set(plan) >= {"ok", "slow", "reset", "truncated", "bad-chunk", "error500", "redirect"}
    for number in [plan.index("ok"), plan.index("slow")]:
        assert fetch(base, f"/random?seed=s&n={number}").json["n"] == number
    assert fetch(base, f"/random?seed=s&n={plan.index('error500')}").status == 500


def test_every_scenario_is_documented(servers: Table) -> None:
    listed = fetch(servers["fault"], "/").json["scenarios"]
    assert len(listed) > 40
    assert all(listed.values())


def test_proxy_forwards_tunnels_and_records(servers: Table) -> None:
    base = servers["proxy"]
    fetch(base, "/__log", "DELETE")
    assert fetch(base, servers["weather"] + "/echo?via=proxy").json["query"] == [["via", "proxy"]]
    target = urlsplit(servers["fault"])
    link = connection(base)
    link.set_tunnel(target.hostname or "", target.port)
    assert on(link, "/ok").status == 200
    link.close()
    assert [entry["method"] for entry in fetch(base, "/__log").json] == ["GET", "CONNECT"]


def test_proxy_wants_credentials(servers: Table) -> None:
    base, target = servers["proxy_auth"], servers["weather"] + "/echo"
    assert fetch(base, target).status == 407
    secret = base64.b64encode(servers["proxy_credentials"].encode()).decode()
    allowed = fetch(base, target, headers={"Proxy-Authorization": f"Basic {secret}"})
    assert allowed.status == 200


def test_files_for_uploads_exist(servers: Table) -> None:
    assert (Path(servers["tmp"]) / "hello.txt").read_text() == "Hello, file!\n"


def signed(token: str) -> dict[str, str]:
    """The Authorization header for the storage."""
    fields = {
        "oauth_version": "1.0",
        "oauth_signature_method": "PLAINTEXT",
        "oauth_consumer_key": "byteclub",
        **({"oauth_token": token} if token else {}),
        "oauth_signature": f"club%2520secret%26{token[::-1]}",
    }
    return {"Authorization": "OAuth " + ", ".join(f'{key}="{fields[key]}"' for key in fields)}


def test_storage_keeps_files_by_revision(servers: Table) -> None:
    base, headers = servers["storage"], signed("smoke")
    put = f"{base}/1/files_put/dropbox/a/b%20c.txt"
    first = request(put, "PUT", headers, b"hello")
    assert first["path"] == "/a/b c.txt"
    request(put, "PUT", headers, b"HELLO")
    late = request(f"{put}?parent_rev={first['rev']}", "PUT", headers, b"late")
    assert late["path"] == "/a/b c (smoke's conflicted copy).txt"
    folder = request(f"{base}/1/metadata/dropbox/a", "GET", headers)
    assert [entry["bytes"] for entry in folder["contents"]] == [4, 5]
    beside = f"{base}/1/files_put/dropbox/new.txt?overwrite=false"
    paths = [request(beside, "PUT", headers, b"note")["path"] for _ in range(3)]
    assert paths == ["/new.txt", "/new (1).txt", "/new (2).txt"]
    moved = {"root": "dropbox", "from_path": "/a", "to_path": "/b"}
    request(f"{base}/1/fileops/move", "POST", headers, urlencode(moved).encode())
    assert len(request(f"{base}/1/metadata/dropbox/b", "GET", headers)["contents"]) == 2
    with pytest.raises(HTTPError, match="404"):
        request(f"{base}/1/metadata/dropbox/a", "GET", headers)


def test_storage_gives_tokens_to_those_that_users_let_in(servers: Table) -> None:
    base = f"{servers['storage']}/1/oauth"

    def token(step: str, before: str) -> str:
        with urlopen(Request(f"{base}/{step}", b"", signed(before), method="POST")) as answer:
            fields = dict(parse_qsl(answer.read().decode()))
            assert fields["oauth_token_secret"] == fields["oauth_token"][::-1]
            return str(fields["oauth_token"])

    def answered(asked: str, consent: str) -> None:
        with urlopen(f"{base}/authorize?oauth_token={asked}") as page:
            assert f'value="{asked}"' in page.read().decode()
        fields = {"oauth_token": asked, "name": "smoke club", "consent": consent}
        urlopen(f"{base}/authorize", urlencode(fields).encode()).close()

    asked = token("request_token", "")
    with pytest.raises(HTTPError, match="401"):
        token("access_token", asked)
    answered(asked, "allow")
    access = signed(token("access_token", asked))
    url = f"{servers['storage']}/1/account/info"
    assert request(url, "GET", access)["display_name"] == "Smoke club"
    with pytest.raises(HTTPError, match="403"):
        token("access_token", asked)
    refused = token("request_token", "")
    answered(refused, "deny")
    with pytest.raises(HTTPError, match="403"):
        token("access_token", refused)
    with pytest.raises(HTTPError, match="404"):
        urlopen(f"{base}/authorize?oauth_token={refused}")


def test_storage_sends_ranges_and_troubles(servers: Table) -> None:
    base, headers = servers["storage"], signed("range")
    request(f"{base}/1/files_put/dropbox/a.txt", "PUT", headers, b"0123456789")
    url = f"{base}/1/files/dropbox/a.txt"
    with urlopen(Request(url, headers={**headers, "Range": "bytes=4-"})) as answer:
        assert answer.status == 206
        assert answer.headers["Content-Range"] == "bytes 4-9/10"
        assert json.loads(answer.headers["x-dropbox-metadata"])["bytes"] == 10
        assert answer.read() == b"456789"
    fault = {"token": "range", "status": 503, "retry_after": "7"}
    request(f"{base}/faults", "POST", {}, json.dumps(fault).encode())
    with pytest.raises(HTTPError) as raised:
        urlopen(Request(url, headers=headers))
    assert (raised.value.code, raised.value.headers["Retry-After"]) == (503, "7")
    raised.value.close()


def request(url: str, method: str, headers: dict[str, str], data: bytes | None = None) -> Any:
    """The answer of the storage."""
    with urlopen(Request(url, data, headers, method=method)) as answer:
        return json.load(answer)
