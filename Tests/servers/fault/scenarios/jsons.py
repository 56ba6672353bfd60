"""Odd JSON, each with one result in all three languages."""

from __future__ import annotations

from fault.exchange import Exchange
from fault.registry import scenario

CASES: dict[str, bytes] = {
    "ok": b'{"a":1,"b":[true,false,null],"c":{"d":"e"}}',
    "bom": b'\xef\xbb\xbf{"a":1}',
    "nul-in-string": b'{"a":"x\\u0000y","b":1}',
    "raw-nul": b'{"a":"x\x00y"}',
    "control-in-string": b'{"a":"x\ny"}',
    "invalid-utf8": b'{"a":"\xff\xfe"}',
    "overlong-utf8": b'{"a":"\xc0\xaf"}',
    "surrogate-utf8": b'{"a":"\xed\xa0\x80"}',
    "utf16": '{"a":1}'.encode("utf-16"),
    "latin-1": b'{"a":"caf\xe9"}',
    "huge-int": b'{"a":123456789012345678901234567890}',
    "max-int": b'{"a":9223372036854775807,"b":-9223372036854775808}',
    "over-max-int": b'{"a":9223372036854775808}',
    "huge-real": b'{"a":1e999}',
    "tiny-real": b'{"a":1e-999}',
    "negative-zero": b'{"a":-0,"b":-0.0}',
    "integral-real": b'{"a":1.0,"b":1e2}',
    "nan": b'{"a":NaN}',
    "leading-zero": b'{"a":01}',
    "duplicate-keys": b'{"a":1,"a":2,"b":3}',
    "empty-key": b'{"":1}',
    "lone-surrogate": b'{"a":"\\ud800"}',
    "surrogate-pair": b'{"a":"\\ud83d\\ude00"}',
    "trailing-garbage": b'{"a":1} garbage',
    "trailing-comma": b'{"a":1,}',
    "trailing-space": b'{"a":1} \r\n\t ',
    "two-values": b'{"a":1}{"b":2}',
    "comments": b'{"a":1 /* one */}',
    "single-quotes": b"{'a':1}",
    "prefix-text": b'<b>Warning</b>: mysql_connect() failed on line 17<br />\n{"a":1}',
    "prefix-array": b'Notice: something\n[1,2,"three"]',
    "prefix-with-brackets": b'Warning: array(3) { [0]=> "x" } in [main]\n{"a":1}',
    "two-objects": b'{"a":1}{"a":2}',
    "two-lines": b'{"a":1}\n{"a":2}\n',
    "two-arrays": b"[1] [2]",
    "number-array": b"5 [1]",
    "string-object": b'"x" {"a":1}',
    "null-object": b'null\n{"a":1}',
    "object-text-object": b'{"a":1}\nWarning: x\n{"a":2}',
    "array-text-object": b'[0] => x\n{"a":1}',
    "cut-object": b'[{"a":1,]\n{"a":2}',
    "record-separators": b'\x1e{"a":1}\n\x1e{"a":2}\n',
    "text-two-objects": b'Warning: x\n{"a":1}\n{"a":2}',
    "two-events": b'data: {"a":1}\n\ndata: {"a":2}\n\n',
    "prefix-date": b'[20-Nov-2013 10:00:00 UTC] PHP Notice: x\n{"a":1}',
    "prefix-word": b'nullable: {"a":1}',
    "prefix-bom": b'\xef\xbb\xbfNotice: x\n{"a":1}',
    "empty": b"",
    "whitespace-only": b" \r\n\t \n",
    "scalar-number": b"42",
    "scalar-string": b'"text"',
    "scalar-null": b"null",
    "scalar-true": b"true",
    "html": b"<!DOCTYPE html><html><body><h1>It works!</h1></body></html>",
    "html-with-braces": b"<html><style>p {color: red}</style><p>[1]</p></html>",
    "text": b"just some text",
    "truncated": b'{"a":1,"b":[1,2',
    "truncated-string": b'{"a":"unfin',
    "unicode": '{"city":"Zürich","emoji":"\U0001f600","clef":"\\ud834\\udd1e"}'.encode(),
    "escapes": rb'{"a":"\"\\\/\b\f\n\r\t\u00e9"}',
    "empty-object": b"{}",
    "empty-array": b"[]",
    "problem": b'{"type":"https://example.com/probs/out-of-credit","title":"You do not have enough credit",'
    b'"status":402,"detail":"Your current balance is 30, but that costs 50.",'
    b'"instance":"/account/12345/msgs/abc","balance":30,"accounts":["/account/12345"]}',
    "problem-wrong-types": b'{"type":7,"title":["a"],"status":"403","detail":{"a":1},"instance":null,'
    b'"errors":[{"field":"age"}],"":false}',
    "problem-odd-numbers": b'{"status":403.0,"title":"","detail":"only a detail"}',
    "problem-half-number": b'{"status":403.5,"title":"only a title"}',
    "problem-secret": b'{"title":"k3y-0f-min3 is no key","detail":"password=hunter2, and h3ader-s3cret"}',
    "problem-controls": b'{"title":"red \\u001b[31m","detail":"two\\nlines \\u202e\\u0000end"}',
    "problem-long": b'{"title":"%s","detail":"%s"}' % (b"t" * 200, b"d" * 5000),
    "problem-unicode": '{"title":"Zürich hat kein Guthaben","detail":"\U0001f600","größe":"é"}'.encode(),
}


@scenario("json")
async def json(exchange: Exchange) -> None:
    """/json/<case> (bom, huge-int, prefix-text, ...; deep?levels=N); ?status=200; ?type=."""
    if exchange.rest == "deep":
        levels = max(1, exchange.number("levels", 3000))
        body = b"[" * levels + b"]" * levels
    elif exchange.rest == "deep-objects":
        levels = max(1, exchange.number("levels", 3000))
        body = b'{"a":' * levels + b"1" + b"}" * levels
    elif exchange.rest in CASES:
        body = CASES[exchange.rest]
    else:
        await exchange.respond_json({"cases": sorted(CASES)}, 404)
        return
    content_type = exchange.text("type", "application/json")
    headers = [("Content-Type", content_type)]
    await exchange.respond(body, exchange.number("status", 200), headers)
