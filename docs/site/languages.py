"""Marks what is in one language where a page has the same in others: programs, sections, columns and rows of tables.

The pages are plain Markdown, in which nothing is marked. A node of Python beside the same in C gets the classes
`for-python`, `or-python` and `or-c`: style.css hides what is not for the chosen language if that language is among
those. What exists in one language only is always shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LANGUAGES = {"swift": "Swift", "c": "C", "python": "Python"}
LABEL = re.compile(r"(?:In )?(Swift|C|Python)\b")
TITLE = re.compile(r"(?:In )?(Swift|C|Python)")
CELL = re.compile(r"(Swift|C|Python)\b(?! and\b|,)")


def mark(parts: Iterable[tuple[str, nodes.Element]]) -> None:
    """Marks nodes, given with their languages, if there is a choice."""
    parts = list(parts)
    languages = {language for language, _ in parts}
    if len(languages) > 1:
        for language, node in parts:
            node["classes"] += [f"for-{language}", *(f"or-{each}" for each in sorted(languages))]


def label_of(node: nodes.Node) -> str | None:
    """The language of a line such as **Python**: save as `weather.py`, or: In **C** it is a loop."""
    if not isinstance(node, nodes.paragraph):
        return None
    strong = next(iter(node.findall(nodes.strong)), None)
    found = LABEL.match(node.astext())
    return found[1].lower() if found and strong and strong.astext() == found[1] else None


def program_of(node: nodes.Node) -> str | None:
    """The language of a program."""
    language = node.get("language") if isinstance(node, nodes.literal_block) else None
    return language if language in LANGUAGES else None


def mark_programs(section: nodes.Element) -> None:
    """The programs of a section that stand one after the other, with their labels, outputs and remarks.

    A remark is what stands between two parts of one language, or between a part and the label of the next.
    """
    run: list[tuple[str, nodes.Element]] = []
    remarks: list[nodes.Element] = []
    current: str | None = None
    for node in section.children:
        if not isinstance(node, nodes.Element) or isinstance(node, nodes.raw):
            continue  # a comment
        label, program = label_of(node), program_of(node)
        language = label or program
        if language:
            if remarks and not label and language != current:
                # A sentence about what follows in several languages.
                mark(run)
                run = []
            elif current:
                run += [(current, remark) for remark in remarks]
            run.append((language, node))
            current, remarks = language, []
        elif isinstance(node, nodes.literal_block) and current and not remarks:
            run.append((current, node))  # what the program prints
        elif isinstance(node, nodes.section):
            break
        elif current:
            remarks.append(node)
    mark(run)


def mark_sections(section: nodes.Element) -> None:
    """Parts such as In Swift, In C, In Python."""
    parts = [part for part in section.children if isinstance(part, nodes.section)]
    titles = [TITLE.fullmatch(part[0].astext()) for part in parts]
    mark((title[1].lower(), part) for title, part in zip(titles, parts) if title)


def mark_table(table: nodes.table) -> None:
    """Columns by their heads, and rows by their first cells."""
    rows = [list(row.children) for row in table.findall(nodes.row)]
    heads = [CELL.match(cell.astext()) for cell in rows[0]]
    if len({head[1] for head in heads if head}) > 1:
        cells = ((head, row[column]) for row in rows for column, head in enumerate(heads) if head)
        mark((head[1].lower(), cell) for head, cell in cells)
        return
    firsts = [CELL.match(row[0].astext()) for row in rows[1:]]
    if all(firsts):
        mark((first[1].lower(), row[0].parent) for first, row in zip(firsts, rows[1:]) if first)


def mark_page(app: Sphinx, tree: nodes.document) -> None:
    """Marks a page. The references compare languages or have one."""
    if app.env.docname.startswith("reference/"):
        return
    for section in tree.findall(nodes.section):
        mark_programs(section)
        mark_sections(section)
    for table in tree.findall(nodes.table):
        mark_table(table)


def add_switch(
    app: Sphinx, name: str, template: str, context: dict[str, Any], tree: nodes.document | None
) -> None:
    """Tells the template whether the page has something to switch."""
    classes = (
        {each for node in tree.findall(nodes.Element) for each in node["classes"]}
        if tree
        else set()
    )
    if any(each.startswith("or-") for each in classes):
        context["switched_languages"] = [*LANGUAGES.items(), ("all", "all")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    # After crosslinks has added the links to the reference.
    app.connect("doctree-read", mark_page, priority=250)
    app.connect("html-page-context", add_switch)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
