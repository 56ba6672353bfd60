"""check_layers.py: what it must find, and what it must accept."""

from __future__ import annotations

from pathlib import Path

import pytest
from check_layers import layer, problems, unicode
from swift_source import read


def found(files: dict[str, str], known: set[tuple[str, str]] | None = None) -> list[str]:
    """The problems in a core of these files."""
    sources = {path: read(text) for path, text in files.items()}
    return list(problems(sources, {}, known or set()))


UPPER = "final class APIRequest { struct Links {} \n enum Kind { case one } }"


def below(text: str, upper: str = UPPER) -> list[str]:
    """The problems in a file of Support, if Request declares a type."""
    return found({"Request/APIRequest.swift": upper, "Support/Tool.swift": text})


@pytest.mark.parametrize(
    "text",
    [
        "let request: APIRequest? = nil",
        "func run(_ request: borrowing APIRequest) {}",
        "struct Tool { let requests: [APIRequest] }",
        "extension APIRequest { func more() {} }",
        "extension Array where Element == APIRequest {}",
        "struct Tool<Value> where Value: APIRequest {}",
        "final class Tool: APIRequest {}",
        "let made = APIRequest()",
        "let kind = APIRequest.Kind.one",
        'let text = "a \\(APIRequest.self) and more"',
        'let text = #"raw \\#(APIRequest.self)"#',
        'let text = """\n  \\(APIRequest.self)\n  """',
        "typealias Tool = APIRequest",
        "@APIRequest var value: Int?",
        "let tool = { (request: APIRequest) in 1 }",
        "#if os(Linux)\nlet request: APIRequest?\n#endif",
    ],
)
def test_a_type_of_a_layer_above_is_found(text: str) -> None:
    assert len(below(text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        "// APIRequest",
        "/// See ``APIRequest``.\nstruct Tool {}",
        "/* APIRequest /* APIRequest */ APIRequest */ struct Tool {}",
        'let text = "APIRequest"',
        'let text = "a \\" APIRequest"',
        'let text = #"a " \\(APIRequest) "#',
        'let text = """\n  "APIRequest" APIRequest\n  """',
        'let text = "\\("APIRequest")"',
        "struct Tool<APIRequest> { let value: APIRequest }",
        "func run<APIRequest: Sendable>(_ value: APIRequest) -> APIRequest { value }",
        "func run<each APIRequest>(_ value: repeat each APIRequest) {}",
        "struct Tool { struct APIRequest {}\n let value: APIRequest }",
        "struct Tool { enum Inner { struct APIRequest {} } }\nextension Tool.Inner { var value: APIRequest { .init() } }",
        "protocol Tool { associatedtype APIRequest\n func run(_ value: APIRequest) }",
        "func run() { struct APIRequest {}\n let value = APIRequest() }",
        "let kind: Kind = Kind()",
        "let made = tool.APIRequest",
        'let text = "" + #""# + "APIRequest"',
        "import APIRequest",
    ],
)
def test_what_is_no_type_of_a_layer_above_is_not_found(text: str) -> None:
    assert below(text) == []


def test_file_line_type_and_both_folders_are_printed() -> None:
    assert below(
        "\n\nlet links: APIRequest.Links?",
        "class APIRequest {}\nextension APIRequest { struct Links {} }",
    ) == [
        "Support/Tool.swift:3: APIRequest is declared in Request (Request/APIRequest.swift), above Support"
    ]


def test_a_nested_type_belongs_to_the_folder_of_its_extension() -> None:
    files = {
        "Support/JSON/JSON.swift": "struct JSON {}",
        "Request/Field.swift": "extension JSON { struct Field {} }",
        "Support/Tool.swift": "let field: JSON.Field?\nextension JSON { var first: Field? { nil } }",
    }
    assert [problem.split(" ")[:2] for problem in found(files)] == [
        ["Support/Tool.swift:1:", "JSON.Field"],
        ["Support/Tool.swift:2:", "JSON.Field"],
    ]


def test_an_inherited_nested_type_hides_one_of_the_module() -> None:
    files = {
        "Request/State.swift": "struct State {}",
        "Support/Base.swift": "class Base { struct State {} }",
        "Support/Tool.swift": "final class Tool: Base { let state = State() }",
    }
    assert found(files) == []


def test_a_type_of_the_same_layer_or_of_one_below_may_be_named() -> None:
    files = {
        "Support/Lock.swift": "struct Lock {}",
        "Client/APIClient.swift": "class APIClient { let lock: Lock\n let request: APIRequest }",
        "Request/APIRequest.swift": "class APIRequest { let client: APIClient }",
        "Transport/Curl/Engine.swift": "class Engine { let lock: Lock }",
    }
    assert found(files) == []


def test_the_error_type_may_be_named_by_the_lowest_layer() -> None:
    files = {
        "Vocabulary/APIError.swift": "struct APIError { enum Domain { case json } }",
        "Vocabulary/Cookie.swift": "struct Cookie {}",
        "Support/Tool.swift": "func run() throws(APIError) -> APIError.Domain {}\nlet cookie: Cookie?",
    }
    assert found(files) == [
        "Support/Tool.swift:2: Cookie is declared in Vocabulary (Vocabulary/Cookie.swift), above Support"
    ]


def test_each_layer_is_above_the_next() -> None:
    folders = [
        "Client",
        "Flow",
        "Pipeline",
        "Transport/Curl",
        "Delivery",
        "Vocabulary",
        "Support/JSON",
    ]
    layers = [layer(f"{folder}/A.swift") for folder in folders]
    assert layers == sorted(layers, key=lambda number: -1 if number is None else number)
    assert len(set(layers)) == len(folders)
    assert layer("Request/A.swift") == layer("Client/A.swift")


def test_generic_parameters_end_with_their_declaration() -> None:
    text = "protocol Tool { func run<APIRequest>(_ value: APIRequest)\n func stop(_ value: APIRequest) }"
    assert [problem.split(":")[1] for problem in below(text)] == ["2"]


def test_a_word_of_the_language_in_backticks_declares_nothing() -> None:
    source = read("enum Policy { case `protocol`\n case Other }")
    assert [declaration.path for declaration in source.declarations] == [("Policy",)]


def test_a_library_of_c_is_imported_by_its_folder_only() -> None:
    files = {
        "Transport/Curl/Multi.swift": "import CCurl",
        "Support/URL/CurlURL.swift": "import CCurl",
        "Support/JSON/JSON+Jansson.swift": "import CJansson",
        "Transport/Cookie.swift": "internal import CCurl",
        "Support/Tool.swift": "import struct CJansson.json_t",
    }
    assert found(files) == [
        "Support/Tool.swift:1: CJansson is imported by Support/JSON only",
        "Transport/Cookie.swift:1: CCurl is imported by Transport/Curl and Support/URL only",
    ]


def test_a_folder_without_a_layer_is_an_error() -> None:
    assert found({"Other/A.swift": "", "B.swift": ""}) == [
        "B.swift: this folder has no layer; add it to LAYERS",
        "Other/A.swift: this folder has no layer; add it to LAYERS",
    ]


def test_the_list_of_known_references_only_gets_shorter() -> None:
    files = {"Request/APIRequest.swift": UPPER, "Support/Tool.swift": "let request: APIRequest?"}
    assert found(files, {("Support/Tool.swift", "APIRequest")}) == []
    files["Support/Tool.swift"] = ""
    assert found(files, {("Support/Tool.swift", "APIRequest")}) == [
        "Support/Tool.swift: no longer names APIRequest; take it out of the list"
    ]


def test_a_table_that_is_not_in_the_library_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "A.swift").write_text("let a = b.lowercasedASCII()\nlet c = d.lowercased()\n")
    assert list(unicode(tmp_path)) == [
        "A.swift:2: .lowercased() needs a table that is not in the library"
    ]
