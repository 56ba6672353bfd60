"""Doxygen's INPUT_FILTER for the C headers: says their conventions in Doxygen's words.

A rule with a number and a title begins a group, which the comment below it describes. Declarations without an empty
line between them share their first comment: they are a member group. A comment behind a member of a struct or an enum,
or behind a handle, describes that one; a comment before or behind a macro describes the macro.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

RULE = re.compile(r"/\* =+ (\d+)\. (.+?) =+ \*/\n+")
ESSAY = re.compile(r"/\*\n(.*?) \*/", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
ENTRY = re.compile(r"^ \*( +)(\w+(?:, \w+)*)  +(?=\S)", re.MULTILINE)
"""The beginning of an entry of a list: ` *   proceed   the request goes on`."""
STEP = re.compile(r" \* +\d+\. ")
BODY = re.compile(r"\{.*?^\}", re.DOTALL | re.MULTILINE)
FLAGS = re.compile(r"^typedef int \w+;", re.MULTILINE)
BEHIND = re.compile(
    r"^( {4}\w[^\n]*?|typedef (?:struct \w+|int) \w+;|#define \w+(?: [^\n(/]+)?) */\* ",
    re.MULTILINE,
)
"""What a comment follows that describes it."""
BEFORE_MACRO = re.compile(r"^/\* (?=[^\n]*\n(?:[^\n]*\*/\n)?#define)", re.MULTILINE)


def marked_up(comment: re.Match[str]) -> str:
    """A comment whose lists and special characters Doxygen understands."""
    lines: list[str] = []
    before = 0
    for line in comment[0].split("\n"):
        depth = len(line) - len(line.removeprefix(" *").lstrip())
        is_item = ENTRY.match(line) or STEP.match(line)
        if before > depth + 1 and depth < 5 and not is_item and line.strip() not in ("*", "*/"):
            # The end of a list; else Markdown reads on in its last line.
            lines.append(" *")
        line = re.sub(r'\\(?=u)|[<>](?=\w+>|")', r"\\\g<0>", line)
        lines.append(ENTRY.sub(r" *\1- `\2`: ", line))
        before = depth
    return "\n".join(lines)


def declarations(paragraph: str) -> int:
    """How many things a paragraph declares."""
    # The flags of an enum have a comment of their own.
    code = FLAGS.sub("", BODY.sub("", COMMENT.sub("", paragraph)))
    return code.count(";") + len(re.findall("^#define", code, re.MULTILINE))


def shared(paragraph: str, name: str) -> str:
    """A paragraph whose declarations share its first comment, as a member group of that name."""
    if declarations(paragraph) < 2 or paragraph.startswith("#if"):
        return paragraph
    comment = COMMENT.match(paragraph)
    text = re.sub(r"^/\*+ ?\n?", "", comment[0]) if comment else "*/"
    rest = paragraph[comment.end() :] if comment else f"\n{paragraph}"
    return f"/** @name {name}\n * {text}\n/**@{{*/{rest}\n/**@}}*/"


def section(header: str, text: str) -> str:
    """A section of a header, as a group."""
    rule = RULE.match(text)
    assert rule is not None
    number, title = rule.groups()
    text = text[rule.end() :]
    essay = ""
    if comment := ESSAY.match(text):
        essay, text = comment[1], text[comment.end() :]
    text, end, tail = text.partition("\n#ifdef __cplusplus")
    text = BEFORE_MACRO.sub("/** ", BEHIND.sub(r"\1 /**< ", text))
    group = f"{header}_{number}"
    # Doxygen joins member groups of one name.
    paragraphs = enumerate(re.split(r"\n\n+", text.strip()))
    body = "\n\n".join(shared(paragraph, f"{group} {index}") for index, paragraph in paragraphs)
    start = f"/** @defgroup {group} {number}. {title}\n{essay} * @{{ */"
    return f"{start}\n\n{body}\n\n/** @}} */\n{end}{tail}"


def filtered(path: Path) -> str:
    """A header, as Doxygen gets it."""
    # A warning of compilers is no part of a signature.
    plain = re.sub(
        r"^NTAPI_(NEW|CHECKED) ", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    text = COMMENT.sub(marked_up, plain)
    text = text.replace("/*\n", "/** @file\n", 1)
    # What stands before the first section is a group, too.
    title = "Handles and status" if path.stem == "ntapi" else "Handles"
    rule = rf"\g<0>\n/* ===== 0. {title} ===== */\n\n"
    text = re.sub(r'extern "C" \{\n#endif\n(?!\n/\* =)', rule, text, count=1)
    head, *sections = re.split(r"(?=/\* =+ \d+\. )", text)
    return head + "".join(section(path.stem, item) for item in sections)


if __name__ == "__main__":
    sys.stdout.write(filtered(Path(sys.argv[1])))
