"""An arg has the same effect whether it goes to C by its own call or as JSON."""

from __future__ import annotations

import pytest

import ntapi
from ntapi import _args as args
from ntapi._bridge.library import lib, take_text

PLAIN = [
    ntapi.url("q", "Zürich 😀"),
    ntapi.url("n", 20),
    ntapi.url_default("appid"),
    ntapi.url_default("appid", "Key"),
    ntapi.path("a", "é/b"),
    ntapi.form("a", ""),
    ntapi.header("X-A", "b"),
    ntapi.add_header("X-A", "ü"),
    ntapi.multipart("note", "Zoë"),
    ntapi.multipart_file("f", "/tmp/ü.txt"),
    ntapi.multipart_file("f", "/tmp/a", filename="b", content_type="text/plain"),
    ntapi.file("/tmp/a"),
    ntapi.file("/tmp/a", "text/plain"),
    ntapi.base_url("http://a.example/ü"),
    ntapi.basic_auth("Zoë", "secret"),
    ntapi.digest_auth("a", "secret"),
    ntapi.bearer("abc"),
    ntapi.method("PUT"),
    ntapi.idempotency_key("k"),
    ntapi.cache_policy("no_store"),
    ntapi.option("raw_data"),
    ntapi.option("mine", "ü"),
    ntapi.download("/tmp/ü"),
]


def described(pointer: int) -> str:
    try:
        return take_text(lib.ntapi_describe(pointer)) or ""
    finally:
        lib.ntapi_args_free(pointer)


@pytest.mark.parametrize("arg", PLAIN, ids=lambda arg: f"{arg.kind} {len(arg.values)}")
def test_both_ways_are_the_same(arg: ntapi.Arg, monkeypatch: pytest.MonkeyPatch) -> None:
    batches = []
    append_batch = args._append_batch

    def count(pointer: int, batch: list[list[object]]) -> None:
        batches.extend(batch)
        append_batch(pointer, batch)

    monkeypatch.setattr(args, "_append_batch", count)
    pointer = lib.ntapi_args_create()
    args.append_args(pointer, [arg], [])
    assert not batches
    monkeypatch.setattr(args, "_SIMPLE", {})
    monkeypatch.setattr(args, "_DIRECT", {})
    other = lib.ntapi_args_create()
    args.append_args(other, [arg], [])
    assert len(batches) == 1
    assert described(pointer) == described(other) != ""
