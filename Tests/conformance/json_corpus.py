"""Writes json_corpus.json: JSON texts, and the expected result of each, the same in all languages.

python3 Tests/conformance/json_corpus.py

The results follow from RFC 8259 and docs/json.md, never from our own parser. Most cases state their
result. For texts that are made by mutation, Python's parser decides, without its extensions.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

CASES: list[dict[str, Any]] = []
LIMIT = 2048
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
LONGEST = 1.7976931348623157e308


def add(name: str, text: str | bytes, **expected: Any) -> None:
    """Adds a case. Bytes that are not UTF-8 are written as hexadecimal digits."""
    case: dict[str, Any] = {"name": name}
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            case["hex"] = text.hex()
    if isinstance(text, str):
        case["text"] = text
    CASES.append(case | expected)


def accept(name: str, text: str | bytes, written: str | None = None, **expected: Any) -> None:
    """Adds valid JSON, which is written again as `written`, or unchanged."""
    if written is None:
        assert isinstance(text, str)
        written = text
    add(name, text, written=written, **expected)


def number(name: str, text: str, value: float) -> None:
    """Adds JSON that is one double. Each language may write it in its own way, but it must read
    back the same.
    """
    add(name, text, double=repr(value))


def refuse(name: str, text: str | bytes, **expected: Any) -> None:
    """Adds text that is not JSON."""
    add(name, text, refused=True, **expected)


def strict(text: str) -> bool:
    """Whether Python's parser, without its extensions, accepts the text."""

    def constant(name: str) -> None:
        raise ValueError(name)

    try:
        json.loads(text, parse_constant=constant)
    except ValueError:
        return False
    return True


def scalars() -> None:
    for word in ("null", "true", "false"):
        accept(f"the word {word}", word)
        for length in range(1, len(word)):
            refuse(f"the word {word} cut to {word[:length]}", word[:length])
        refuse(f"the word {word} in capitals", word.upper())
        refuse(f"the word {word} with a letter more", word + "x")
        refuse(f"the word {word} with a digit more", word + "1")
    for word in (
        "NaN",
        "Infinity",
        "-Infinity",
        "undefined",
        "None",
        "True",
        "nil",
        "inf",
        "-nan",
        "yes",
    ):
        refuse(f"the word {word}", word)
        refuse(f"the word {word} in an array", f"[{word}]")


def white_space() -> None:
    compact = '{"a":[1,true],"b":{}}'
    tokens = re.findall(r'"[^"]*"|[a-z0-9]+|.', compact)
    for name, space in (
        ("space", " "),
        ("tab", "\t"),
        ("line feed", "\n"),
        ("carriage return", "\r"),
    ):
        accept(f"{name} around each token", space + space.join(tokens) + space, compact)
    accept("white space of all kinds", "\r\n\t [\r\n\t 1\r\n\t ,\r\n\t 2\r\n\t ]\r\n\t ", "[1,2]")
    for width in (15, 16, 17, 31, 32, 33, 64):
        accept(f"an indent of {width}", "[\n" + " " * width + "1\n]", "[1]")
        accept(f"{width} line feeds", "\n" * width + "1", "1")
    for name, space in (
        ("form feed", "\f"),
        ("vertical tab", "\v"),
        ("no-break space", "\u00a0"),
        ("line separator", "\u2028"),
        ("next line", "\u0085"),
        ("ideographic space", "\u3000"),
        ("zero width space", "\u200b"),
        ("DEL", "\x7f"),
        ("escape", "\x1b"),
    ):
        refuse(f"{name} for white space", f"[1,{space}2]")
        refuse(f"{name} in front", f"{space}[]", prefix=space)
        refuse(f"{name} behind", f"[]{space}")
    add("nothing", "", refused=True, blank=True)
    add("white space only", " \r\n\t", refused=True, blank=True)
    add("a byte order mark only", "\ufeff", refused=True, blank=True)


def numbers() -> None:
    wholes = ("0", "-0", "1", "-1", "10", "01", "-", "")
    fractions = ("", ".0", ".50", ".")
    exponents = ("", "e2", "E+2", "e-2", "e", "e+")
    for whole in wholes:
        for fraction in fractions:
            for exponent in exponents:
                text = whole + fraction + exponent
                if not text:
                    continue
                if not NUMBER.fullmatch(text):
                    refuse(f"the number {text}", text)
                elif fraction or exponent:
                    number(f"the number {text}", text, float(text))
                else:
                    accept(f"the number {text}", text)
    for text in (
        "007",
        "-01",
        "00",
        "--1",
        "+1",
        "1.-1",
        "1..1",
        "1e1.5",
        "1e0x1",
        "1ee1",
        "1e--1",
        "1e+-1",
    ):
        refuse(f"the number {text}", text)
    for text in (
        "0x10",
        "1_000",
        "1,000",
        "1 000",
        "1.5f",
        "1L",
        "1a",
        "1.2.3",
        "1e5e5",
        "½",
        "١",
        "1'",
        "#1",
        "$1",
    ):
        refuse(f"the number {text}", text)
    for text in ("1.", ".5", "-.5", "1e", "1e-", "-", "2.e3", "0e", "-0e+", "01.5"):
        refuse(f"the number {text} in an array", f"[{text}]")
        refuse(f"the number {text} in an object", f'{{"a":{text}}}')


def extreme_numbers() -> None:
    for integer in (
        2**53 + 1,
        2**63 - 1,
        -(2**63),
        10**18,
        -(10**18) + 1,
        10**17 - 1,
        999999999999999999,
    ):
        accept(f"the integer {integer}", str(integer))
    for integer in (
        2**63,
        -(2**63) - 1,
        2**64 - 1,
        2**64,
        10**19,
        10**20,
        -(10**19),
        10**40,
        9999999999999999999,
    ):
        accept(f"the integer {integer}, beyond 64 bits", str(integer), double=repr(float(integer)))
        accept(f"the integer {integer} in an array", f"[{integer}]", count=1, long=True)
    accept("an integer of 308 digits", "9" * 308, double=repr(float("9" * 308)))
    for text in (
        "1e308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "-1.7976931348623157e308",
        "5e-324",
        "4.9e-324",
        "2.4703282292062328e-324",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "1e-999",
        "-1e-999",
        "1e-99999999999999999999",
        "0e99999999999999999999",
        "0.0e400",
        "-0e400",
        "0.1",
        "0.3",
        "1.1",
        "123456789.123",
        "9007199254740993.0",
        "9007199254740992.5",
        "9007199254740993.5",
        "0.30000000000000004",
        "1e22",
        "1e23",
        "1e-22",
        "1e-23",
        "123456789012345678901234567890e-10",
        "8.5e22",
        "0.000000000000000000001",
        "1" + "0" * 30 + ".5",
        "3.14159265358979323846264338327950288",
        "179769313486231570000" + "0" * 288,
        "0." + "0" * 400 + "1e400",
        "0." + "1" * 500,
        "1" * 300 + "e-300",
        "1" + "0" * 400 + "e-400",
        "-65.613616999999977",
        "43.420273000000009",
        "2.2250738585072012e-308",
        "1.00000000000000011102230246251565",
        "1.00000000000000011102230246251566",
        "7.2057594037927933e16",
        "9214843084008499.0",
        "30078505129381147446200",
        "0.500000000000000166533453693773481063",
    ):
        if "." in text or "e" in text:
            number(f"the double {text[:40]} of {len(text)} characters", text, float(text))
    for text in (
        "1e309",
        "-1e309",
        "1e400",
        "1.7976931348623159e308",
        "-1.7976931348623159e308",
        "1e99999999999999999999",
        "9" * 309,
        "-" + "9" * 309,
        "1" + "0" * 309,
        "9" * 400 + ".5",
        "9" * 200 + "e200",
        "0.1e310",
        "1797693134862315900000" + "0" * 287,
    ):
        refuse(f"beyond a double: {text[:30]} of {len(text)} characters", text)
        refuse(
            f"beyond a double: {text[:30]} of {len(text)} characters in an object",
            f'{{"a":{text}}}',
        )


def escapes() -> None:
    for letter, meaning in (
        ('"', '\\"'),
        ("\\", "\\\\"),
        ("/", "/"),
        ("b", "\\b"),
        ("f", "\\f"),
        ("n", "\\n"),
        ("r", "\\r"),
        ("t", "\\t"),
    ):
        accept(f"the escape \\{letter}", f'"\\{letter}"', f'"{meaning}"')
        accept(f"the escape \\{letter} in a key", f'{{"x\\{letter}y":1}}', f'{{"x{meaning}y":1}}')
    for letter in "acdegqsvx0189'U-. ":
        refuse(f"the escape \\{letter}", f'"\\{letter}"')
    refuse("an escape of a line feed", '"\\\n"')
    refuse("an escape of é", '"\\é"')
    refuse("a backslash at the end", '"\\"')
    refuse("a backslash at the end of the text", '"abc\\')
    for code in (
        0x01,
        0x1F,
        0x20,
        0x22,
        0x2F,
        0x5C,
        0x7F,
        0x80,
        0xE9,
        0x7FF,
        0x800,
        0x20AC,
        0xD7FF,
        0xE000,
        0xFFFF,
    ):
        written = json.dumps(chr(code), ensure_ascii=False)
        accept(f"the escape of U+{code:04X}", f'"\\u{code:04x}"', written)
        accept(f"the escape of U+{code:04X} in capitals", f'"\\u{code:04X}"', written)
        accept(f"the escape of U+{code:04X} in a key", f'{{"\\u{code:04x}":1}}', f"{{{written}:1}}")
    for code in (0x10000, 0x1F600, 0x1D11E, 0x10FFFF):
        high, low = 0xD800 + (code - 0x10000 >> 10), 0xDC00 + (code - 0x10000 & 0x3FF)
        accept(
            f"a pair of surrogates, U+{code:X}", f'"\\u{high:04x}\\u{low:04X}"', f'"{chr(code)}"'
        )
    for name, text in (
        ("high", r"\ud800"),
        ("low", r"\udc00"),
        ("high and a letter", r"\ud800x"),
        ("two high", r"\ud800\ud800"),
        ("low and high", r"\udc00\ud800"),
        ("high and an escape", r"\ud800\n"),
        ("two high and low", r"\ud800\ud800\udc00"),
        ("high and BMP", r"\ud800\u0041"),
        ("low behind a pair", r"\ud83d\ude00\ude00"),
        ("high and a backslash", r"\ud800\\"),
        ("last high", r"\udbff"),
        ("last low", r"\udfff"),
        ("high and half an escape", r"\ud800\udc0"),
    ):
        refuse(f"lone surrogates: {name}", f'"{text}"')
        refuse(f"lone surrogates in a key: {name}", f'{{"{text}":1}}')
    for text in (
        r"\u",
        r"\u0",
        r"\u00",
        r"\u004",
        r"\u004g",
        r"\u00 41",
        r"\u+041",
        r"\u-041",
        r"\u{41}",
        r"\U0041",
        r"\u00é1",
    ):
        refuse(f"the broken escape {text}", f'"{text}"')
        refuse(f"the broken escape {text} at the end", f'"{text}')
    accept("U+0000 escaped", r'"a\u0000b"')
    accept("U+0000 escaped, alone", r'["\u0000"]')
    refuse("U+0000 in a key", r'{"a\u0000b":1}')
    refuse("U+0000 alone in a key", r'{"\u0000":1}')


def strings() -> None:
    for code in range(0x20):
        refuse(f"the control character {code:#04x} in a string", f'"a{chr(code)}b"')
    refuse("a control character in a key", '{"a\nb":1}')
    accept("DEL in a string", '"\x7f"')
    # The scanner reads 16 bytes at once, so test at, before and after each multiple of 16.
    for length in (0, 1, 13, 14, 15, 16, 17, 30, 31, 32, 33, 47, 48, 63, 64, 100):
        plain = "a" * length
        accept(f"a string of {length}", f'"{plain}"')
        accept(f"a key of {length}", f'{{"{plain}":"{plain}"}}')
        accept(f"an escape behind {length}", f'"{plain}\\n{plain}"')
        accept(f"é behind {length}", f'"{plain}é{plain}"')
        accept(f"€ and 😀 behind {length}", f'["{plain}€{plain}😀"]')
        refuse(f"a string of {length} without its end", f'"{plain}')
        refuse(f"a line feed behind {length}", f'"{plain}\n{plain}"')
        refuse(
            f"a byte that is not UTF-8 behind {length}",
            f'"{plain}'.encode() + b"\xff" + f'{plain}"'.encode(),
        )
        refuse(f"a lone surrogate behind {length}", f'"{plain}\\ud800{plain}"')


def encodings() -> None:
    for first, last in ((0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)):
        for code in (first, (first + last) // 2, last):
            accept(f"U+{code:04X} as it is", f'"{chr(code)}"')
            accept(f"U+{code:04X} in a key", f'{{"{chr(code)}":1}}')
    accept("noncharacters", '"\ufdd0\ufffe\U0001ffff"')
    accept("a combining mark", '{"e\u0301":1,"é":2}')
    for name, text in (
        ("a lone continuation", b"\x80"),
        ("the last continuation", b"\xbf"),
        ("two bytes cut", b"\xc3"),
        ("three bytes cut", b"\xe2\x82"),
        ("four bytes cut", b"\xf0\x9f\x98"),
        ("three cut by a letter", b"\xe2\x82x"),
        ("a lead and a lead", b"\xc3\xc3\xa9"),
        ("two bytes, too long a form", b"\xc0\xaf"),
        ("the same of 0", b"\xc0\x80"),
        ("C1 too long a form", b"\xc1\xbf"),
        ("three bytes, too long a form", b"\xe0\x9f\xbf"),
        ("E0 80 80", b"\xe0\x80\x80"),
        ("four bytes, too long a form", b"\xf0\x8f\xbf\xbf"),
        ("F0 80", b"\xf0\x80\x80\x80"),
        ("the first surrogate", b"\xed\xa0\x80"),
        ("the last surrogate", b"\xed\xbf\xbf"),
        ("a pair of surrogates", b"\xed\xa0\xbd\xed\xb8\x80"),
        ("beyond U+10FFFF", b"\xf4\x90\x80\x80"),
        ("F5", b"\xf5\x80\x80\x80"),
        ("five bytes", b"\xf8\x88\x80\x80\x80"),
        ("six bytes", b"\xfc\x84\x80\x80\x80\x80"),
        ("FE", b"\xfe"),
        ("FF", b"\xff"),
        ("Latin-1", b"caf\xe9"),
    ):
        refuse(f"not UTF-8: {name}", b'"' + text + b'"')
        refuse(f"not UTF-8 in a key: {name}", b'{"' + text + b'":1}')
        refuse(f"not UTF-8 between tokens: {name}", b"[1," + text + b"]")
    accept("a byte order mark", "\ufeff{}", "{}")
    accept("a byte order mark and white space", "\ufeff \n[1]", "[1]")
    accept("U+FEFF in a string", '"\ufeff"')
    refuse("two byte order marks", "\ufeff\ufeff1")
    refuse("a byte order mark behind white space", " \ufeff1")
    refuse("a byte order mark at the end", "1\ufeff")
    refuse("half a byte order mark", b"\xef\xbb1")
    for encoding in ("utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"):
        refuse(f"{encoding} without a mark", "1".encode(encoding))
        refuse(f"{encoding} with a mark", '\ufeff"a"'.encode(encoding))
    for text in (
        "\0",
        "1\0",
        "\0001",
        "[1\0]",
        "[\0]",
        '"a\0b"',
        '{"a\0":1}',
        '{"a":1}\0',
        "nul\0",
        "\ufeff\0",
    ):
        refuse(f"a NUL byte: {text!r}", text)


def structures() -> None:
    for text in (
        "[]",
        "{}",
        "[[]]",
        "[{}]",
        '{"a":[]}',
        '{"a":{}}',
        "[[],[]]",
        "[{},{}]",
        "[1]",
        "[1,2]",
        '["a","b"]',
        "[null,true,false]",
        '{"a":1}',
        '{"a":1,"b":2}',
        '{"":1}',
        '{" ":1}',
        "[[[[1],2],3],4]",
        '{"a":{"b":{"c":{"d":[{"e":[]}]}}}}',
        '["[",",","{"]',
        '{"{":"}","[":"]",",":":"}',
        '[1,"1",1.5,[1],{"1":1},null,true,false]',
    ):
        accept(f"the structure {text}", text)
    for text in (
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "[[",
        "]]",
        "[}",
        "{]",
        "[1}",
        '{"a":1]',
        "[1,]",
        "[,1]",
        "[,]",
        "[1,,2]",
        "[1 2]",
        "[1:2]",
        '["a":1]',
        "[1]]",
        "[[1]",
        "[]]",
        "{}}",
        "{{}}",
        '{"a"}',
        '{"a":}',
        '{"a":,}',
        "{:1}",
        '{"a" 1}',
        '{"a":1,}',
        "{,}",
        '{,"a":1}',
        '{"a":1,,"b":2}',
        '{"a":1 "b":2}',
        '{"a":1:2}',
        '{"a"::1}',
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{null:1}",
        "{[]:1}",
        '{"a":1;"b":2}',
        "['a']",
        "[a]",
        "1 2",
        '"a" "b"',
        "1,",
        ",1",
        "null null",
        "[1]x",
        '{"a":1}"',
        '"a""',
        "(1)",
        "<1>",
        "[1;2]",
        '{"a":"b}',
        '["a]',
        '"',
        '""""',
        '["a",\n4\n,1,',
        "[1,\n1\n,1",
        "[{}",
        '{"a":[}',
        "// a\n1",
        "1 // a",
        "/* a */ 1",
        "# a\n1",
        "[1, // a\n2]",
        '{"a":1/* b */}',
        "[--1]",
        "[1+1]",
        '["a" + "b"]',
        "`a`",
        "@",
        "*",
        "&",
        "[?]",
        "\\u0031",
        "[\\n]",
        "\\",
        '{"a":true,"b"',
        '{"a":tru}',
        "[nulll]",
        "[nul]",
        "[truefalse]",
        "[true false]",
        "[1true]",
        "[true1]",
        '["a"1]',
        '[1"a"]',
        "[[]1]",
        "[1[]]",
        "[{}[]]",
    ):
        refuse(f"the structure {text!r}", text)


def behind_stray_text() -> None:
    """Adds text that is refused as JSON. As the body of a response, it is read from the beginning
    of the last array or object.
    """
    for prefix, text in (
        ("[20-Nov-2013 10:00:00 UTC] x ", "[]"),
        ("x [0] => ", '{"a":1}'),
        ("Warning: x\n", '{"a":[1]}'),
        ("<b>[notice]</b> {x}", "[1]"),
    ):
        refuse(f"JSON behind {prefix!r}", prefix + text, prefix=prefix)
    for text in ("Warning: x", "x {} y", '{"a":1}"', "[[1],[2]", 'x {"a":{"b":1}'):
        refuse(f"stray text and no JSON at the end: {text}", text)
    for text in (
        "[] []",
        "{} {}",
        '{"a":1}{"b":2}',
        '{"a":1}\n{"b":2}\n',
        "[1][2]",
        "[1] [2]",
        "5 [1]",
        '"x" {"a":1}',
        'null {"a":1}',
        '{"a":1,} {"a":2}',
        '{"a":1} and {"a":2}',
        'x {"a":1} {"a":2}',
        "x [[1]] [2]",
    ):
        refuse(f"two documents: {text!r}", text)


def mutations() -> None:
    document = '{"a":[1,-2.5e3,{"b":null}],"c":"d\\n","e":[[],{}],"f":true}'
    accept("a document", document)
    for length in range(1, len(document)):
        refuse(f"a document cut to {length}", document[:length])
    seen = {document}
    for index in range(len(document)):
        for mutant in (
            document[:index] + document[index + 1 :],
            document[:index] + "," + document[index:],
            document[:index] + "]" + document[index + 1 :],
        ):
            if mutant not in seen and not strict(mutant):
                # This is the whole document, after a comma.
                expected = {"prefix": ","} if mutant == "," + document else {}
                refuse(f"a document with a fault at {index}: {mutant}", mutant, **expected)
            seen.add(mutant)


def duplicates() -> None:
    for text, written in (
        ('{"a":1,"a":2}', '{"a":2}'),
        ('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
        ('{"a":1,"a":1}', '{"a":1}'),
        ('{"a":{"x":1},"a":{"y":2}}', '{"a":{"y":2}}'),
        ('{"a":[1],"a":null}', '{"a":null}'),
        ('{"":1,"":2}', '{"":2}'),
        ('{"a":1,"\\u0061":2}', '{"a":2}'),
        ('{"\\u0061":1,"a":2}', '{"a":2}'),
        ('{"é":1,"\\u00e9":2}', '{"é":2}'),
        ('{"a":1,"A":2}', '{"a":1,"A":2}'),
        ('{"a":1,"a ":2}', '{"a":1,"a ":2}'),
        ('[{"a":1,"a":2},{"a":3,"a":4}]', '[{"a":2},{"a":4}]'),
        ('{"a":1,"b":{"a":2,"a":3},"a":4}', '{"a":4,"b":{"a":3}}'),
        ('{"x\\ny":1,"x\\u000ay":2}', '{"x\\ny":2}'),
        (
            '{"abcdefghijklmnop":1,"abcdefghijklmnopq":2,"abcdefghijklmnop":3}',
            '{"abcdefghijklmnop":3,"abcdefghijklmnopq":2}',
        ),
    ):
        accept(f"duplicate keys: {text}", text, written)
    for count in (20, 64, 65, 100, 300):
        members = ",".join(f'"key {index}":{index}' for index in range(count))
        accept(f"{count} members", f"{{{members}}}")
        accept(
            f"{count} members and a duplicate of each", f"{{{members},{members}}}", f"{{{members}}}"
        )
        accept(
            f"{count} members and one twice",
            f'{{{members},"key 7":"x"}}',
            f"{{{members}}}".replace(":7,", ':"x",', 1),
        )
    accept("one key a hundred times", "{" + ",".join(['"a":1'] * 99 + ['"a":2']) + "}", '{"a":2}')


def depth() -> None:
    accept("arrays at the limit of depth", "[" * LIMIT + "]" * LIMIT)
    accept("objects at the limit of depth", '{"a":' * LIMIT + "1" + "}" * LIMIT)
    accept("both at the limit of depth", '[{"a":' * (LIMIT // 2) + "1" + "}]" * (LIMIT // 2))
    refuse("arrays beyond the limit of depth", "[" * (LIMIT + 1) + "]" * (LIMIT + 1))
    refuse("objects beyond the limit of depth", '{"a":' * (LIMIT + 1) + "1" + "}" * (LIMIT + 1))
    refuse("arrays that open without end", "[" * 10000)
    refuse("arrays that only close", "]" * 10000)
    accept("depth that comes again and again", "[" + ",".join(["[[[[[[[[]]]]]]]]"] * 50) + "]")


def main() -> None:
    """Writes the corpus."""
    for part in (
        scalars,
        white_space,
        numbers,
        extreme_numbers,
        escapes,
        strings,
        encodings,
        structures,
        behind_stray_text,
        mutations,
        duplicates,
        depth,
    ):
        part()
    lines = ",\n".join(json.dumps(case, ensure_ascii=True) for case in CASES)
    Path(__file__).with_suffix(".json").write_text(f"[\n{lines}\n]\n", "ascii")
    refused = sum("refused" in case for case in CASES)
    print(f"{len(CASES)} cases, {refused} refused")


if __name__ == "__main__":
    main()
