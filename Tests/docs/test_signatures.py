"""The comparison of the signatures in the documentation with those in the sources."""

from __future__ import annotations

import pytest
from signatures import BLOCK, CHECKS, ROOT, wrong_signatures

PAGES = ("background", "interceptors", "services", "testing")


def block(language: str, code: str) -> str:
    return f"<!-- signatures -->\n```{language}\n{code}\n```\n"


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_signatures_of_each_language(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    counts = dict.fromkeys(CHECKS, 0)
    for language, code in BLOCK.findall(text):
        found = list(CHECKS[language](code))
        assert [name for name, is_right in found if not is_right] == []
        counts[language] += len(found)
    assert all(count >= 3 for count in counts.values()), counts


RIGHT = [
    ("c", "void ntapi_stub_free(ntapi_stub *stub);"),
    ("c", "ntapi_status ntapi_client_set_stub(ntapi_client *client,\n    ntapi_stub *stub);"),
    ("swift", "class Stub {\n    func verify() throws(APIError)\n}"),
    ("swift", "class StubRule {\n    var callCount: Int { get }\n    func usedUp() -> StubRule\n}"),
    ("swift", "protocol APIService {\n    var method: String? { get }\n}"),
    ("python", "class Stub:\n    def verify(self) -> None: ...\n    requests: list[StubRequest]"),
    ("python", "class AsyncClient:\n    background_error: Optional[ApiError]"),
    ("python", "def run(timeout: Optional[float] = ...) -> bool: ..."),
]


@pytest.mark.parametrize(("language", "code"), RIGHT)
def test_right_signatures(language: str, code: str) -> None:
    assert list(wrong_signatures(block(language, code))) == []


WRONG = [
    ("c", "void ntapi_stub_free(ntapi_stub *rule);"),
    ("c", "int ntapi_stub_free(ntapi_stub *stub);"),
    ("c", "ntapi_stub_free(ntapi_stub *stub);"),
    ("c", "typedef struct ntapi_stub_answer { size_t size; } ntapi_stub_answer;"),
    ("c", "/* none */"),
    ("swift", "class Stub {\n    func verify()\n}"),
    ("swift", "class Stub {\n    func check() throws(APIError)\n}"),
    ("swift", "struct Stub {\n    func verify() throws(APIError)\n}"),
    ("swift", "class StubRule {\n    func verify() throws(APIError)\n}"),
    ("swift", "class StubRule {\n    var callCount: Double { get }\n}"),
    ("swift", "class StubRule {\n    var shortfall: String? { get }\n}"),
    ("swift", "protocol APIService {\n    var method: String { get }\n}"),
    ("swift", "protocol APIService {\n    func mapError(_ error: APIError) -> APIError?\n}"),
    ("python", "class Stub:\n    def verify(self) -> bool: ..."),
    ("python", "class Stub:\n    def verify(self, count: int) -> None: ..."),
    ("python", "class Stub:\n    requests: list[str]"),
    ("python", "class StubRule:\n    def verify(self) -> None: ..."),
    (
        "python",
        "class AsyncClient:\n    def drain(self, timeout: Optional[float] = None) -> int: ...",
    ),
    ("python", "def run(timeout: Optional[float] = 5) -> bool: ..."),
    ("python", "def run(timeout: Optional[float]) -> bool: ..."),
    ("lua", "ntapi.client(url)"),
]


@pytest.mark.parametrize(("language", "code"), WRONG)
def test_wrong_signatures(language: str, code: str) -> None:
    assert list(wrong_signatures(block(language, code))) != []


def test_the_block_has_to_follow() -> None:
    assert list(wrong_signatures("<!-- signatures -->\nno code\n")) != []
