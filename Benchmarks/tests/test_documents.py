"""The documents are what the clients are told they are."""

import json

import pytest
from kit.documents import LARGE, SMALL, TOTAL, json_of_size


@pytest.mark.parametrize("size", [SMALL, LARGE])
def test_a_document_has_its_size_and_the_number_at_its_end(size: int) -> None:
    text = json_of_size(size)
    assert len(text) == size
    assert json.loads(text)["meta"]["total"] == TOTAL
    assert text.endswith(b'"meta":{"page":1,"total":4711}}')


def test_a_document_has_every_type_and_text_beyond_ascii() -> None:
    first = json.loads(json_of_size(LARGE))["list"][0]
    kinds = {type(value) for value in first.values()}
    assert {str, int, float, bool, type(None), dict, list} <= kinds
    assert not json_of_size(SMALL).isascii()
