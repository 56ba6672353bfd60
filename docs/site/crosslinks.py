"""The part of the site that Sphinx and its extensions do not have: links between the references, and to them.

- A name of C, Swift or Python in code in a sentence becomes a link to its entry in the reference.
- Each page that has programs ends with the entries of what they use.
- An entry of a type names its counterparts in the other languages, from the table in reference/names.md.
- Declarations of C stand in the header's order, and those that share a comment are one entry.
- A public name that no reference has is a warning, which fails the build.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import ntapi
from docutils import nodes
from languages import mark
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "site"
LANGUAGES = {"c": "C", "swift": "Swift", "python": "Python"}
FIXTURES = {"ntapi_stub", "ntapi_clock", "ntapi_recorder"}
"""Of the pytest plugin. Types of C have the same names."""
NAME_OF_C = re.compile(r"\b((?:ntapi|NTAPI)_\w*[a-zA-Z0-9])\b")
PRIVATE = re.compile(r"\b(?:Handle|Outcome|Facts|BaseClient|pointer)\b")
"""What stands in the signature of a class that only the package makes."""

SWIFT_NAMES: dict[str, str] = {}
"""The label of each name of Swift."""
SWIFT_TYPES: dict[str, str] = {}
"""The types of Swift, by the names of their pages."""
ROWS: list[dict[str, list[str]]] = []
"""The table of reference/names.md."""
KNOWN: dict[str, set[str]] = {}
"""The public names of each language."""
LINES: dict[str, int] = {}
"""Where each name of the C headers is declared."""


def code_of_docstring(
    app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    """Docstrings are written in Markdown: what is indented after an empty line is code."""
    result: list[str] = []
    for number, line in enumerate(lines):
        begins = line.startswith("    ") and number and not lines[number - 1].strip()
        if begins and not any(other.startswith("    ") for other in result[-2:-1]):
            result += [".. code-block:: python", ""]
        result.append(line)
    lines[:] = result


def read_names(app: Sphinx) -> None:
    """Reads the names that the other parts have written."""
    for file in (WORK / "doxygen" / "xml").glob("*.xml"):
        for item in ElementTree.parse(file).iter():
            place = item.find("location")
            name = item.findtext("name") or item.findtext("compoundname")
            if name and place is not None and "line" in place.attrib:
                LINES[name] = int(place.attrib["line"])
    SWIFT_NAMES.update(json.loads((WORK / "swift-names.json").read_text(encoding="utf-8")))
    SWIFT_TYPES.update({label.removeprefix("swift."): name for name, label in SWIFT_NAMES.items()})
    ROWS.extend(table_of_names())
    testing = importlib.import_module("ntapi.testing")
    KNOWN["python"] = {*vars(ntapi)["__all__"], *(f"testing.{name}" for name in testing.__all__)}
    KNOWN["swift"] = {name for name in SWIFT_NAMES if "." not in name or name.startswith("APIArg.")}
    KNOWN["c"] = {name for name in LINES if name.lower().startswith("ntapi_")}


def together(container: nodes.container) -> Iterator[list[nodes.Node]]:
    """The entries of a member group: one with all signatures and the comment that they share."""
    shared: list[nodes.Node] = []
    before: list[nodes.Node] = []
    entries: list[list[nodes.Node]] = []
    for child in container.children[1:]:
        if isinstance(child, addnodes.desc):
            entries.append([*before, child])
            before = []
        elif isinstance(child, addnodes.index):
            before.append(child)
        else:
            shared.append(child)
    descs = [entry[-1] for entry in entries]
    if any(desc[-1].children for desc in descs):
        # Some have comments of their own.
        yield shared + [node for entry in entries for node in entry]
        return
    first = descs[0]
    first[-1].extend(shared)
    for desc in descs[1:]:
        for signature in desc.children[:-1]:
            first.insert(-1, signature)
    yield [node for entry in entries for node in entry[:-1]] + [first]


def in_order(app: Sphinx, tree: nodes.document) -> None:
    """Puts the entries of a section of a C header in the header's order; Breathe sorts them by kind."""
    for group in list(tree.findall(addnodes.desc)):
        if group["objtype"] != "group":
            continue
        entries: list[list[nodes.Node]] = [[]]
        waiting: list[nodes.Node] = []
        essay: list[nodes.Node] = []
        for child in group[-1].children:
            if isinstance(child, nodes.container) and child.get("objtype") == "user-defined":
                entries += together(child)
            elif isinstance(child, nodes.container):
                entries += one_by_one(child.children)
            elif isinstance(child, (addnodes.index, addnodes.desc)):
                waiting.append(child)
            else:
                essay.append(child)
        entries += one_by_one(waiting)
        entries = sorted(filter(None, entries), key=lambda entry: min(map(line_of, entry)))
        group.replace_self([*essay, *(node for entry in entries for node in entry)])


def one_by_one(children: Iterable[nodes.Node]) -> Iterator[list[nodes.Node]]:
    """Each entry with its line of the index."""
    before: list[nodes.Node] = []
    for child in children:
        if isinstance(child, addnodes.desc):
            yield [*before, child]
            before = []
        elif isinstance(child, addnodes.index):
            before.append(child)


def line_of(node: nodes.Node) -> int:
    """The line of a declaration in its header."""
    names = (
        [name.astext() for name in node.findall(addnodes.desc_name)]
        if isinstance(node, addnodes.desc)
        else []
    )
    return next((LINES[name] for name in names if name in LINES), sys.maxsize)


def table_of_names() -> list[dict[str, list[str]]]:
    """The rows of reference/names.md: what one thing is called in each language."""
    lines = (
        (ROOT / "docs" / "site" / "reference" / "names.md").read_text(encoding="utf-8").splitlines()
    )
    cells = [[re.findall(r"`([^`]+)`", cell) for cell in line.split("|")[1:-1]] for line in lines]
    return [dict(zip(LANGUAGES, row)) for row in cells if len(row) == 3 and row[0]]


def named(language: str, names: Iterable[str]) -> list[nodes.Node]:
    """A language, and names in it as code, with commas between them."""
    result: list[nodes.Node] = []
    for name in names:
        result += [
            nodes.Text(", " if result else f"{LANGUAGES[language]}: "),
            nodes.literal("", name, language=language),
        ]
    return result


def counterparts(language: str, name: str) -> nodes.paragraph | None:
    """What a type is called in the other languages; None when the table does not say."""
    found: dict[str, list[str]] = {}
    for row in ROWS:
        if name in row[language]:
            for other in LANGUAGES.keys() - {language}:
                found.setdefault(other, []).extend(
                    item for item in row[other] if item not in found.get(other, ())
                )
    parts = [named(other, found[other]) for other in LANGUAGES if found.get(other)]
    if not parts:
        return None
    paragraph = nodes.paragraph(classes=["counterparts"])
    for part in parts:
        paragraph += [nodes.Text(" · ") if len(paragraph) else nodes.Text("In "), *part]
    return paragraph


def add_counterparts(app: Sphinx, tree: nodes.document) -> None:
    """Says at the entry of a type what it is called in the other languages."""
    document = app.env.docname
    if document.startswith("reference/swift/"):
        section = next(iter(tree.findall(nodes.section)))
        name = SWIFT_TYPES.get(document.rpartition("/")[2])
        if name and (paragraph := counterparts("swift", name)):
            section.insert(1, paragraph)
    for entry in tree.findall(addnodes.desc):
        for signature in entry.findall(addnodes.desc_signature):
            language = {"c": "c", "py": "python"}.get(entry["domain"])
            name = signature.get("fullname") or "".join(
                part.astext() for part in signature.findall(addnodes.desc_name)
            )
            if signature.get("module") == "ntapi.testing":
                name = f"testing.{name}"
            if language and (paragraph := counterparts(language, name)):
                entry[-1].insert(0, paragraph)


def names_in(language: str, program: str) -> Iterator[str]:
    """The names of the library in a program."""
    known = KNOWN[language]
    if language == "swift":
        for dot, word in re.findall(r"((?<=[\[(,: ])\.|\b)([A-Za-z]\w*)", program):
            name = f"APIArg.{word}" if dot else word
            if name in known and (dot or word[0].isupper()):
                yield name
        return
    for word in re.findall(r"[A-Za-z_][\w.]*", program):
        name = word.removeprefix("ntapi.") if language == "python" else word
        if name in known and (language == "c" or name != word or name[0].isupper()):
            yield name


def add_reference(app: Sphinx, tree: nodes.document) -> None:
    """Ends a page that has programs with links to what they use."""
    if app.env.docname.startswith("reference/"):
        return
    used: dict[str, set[str]] = {language: set() for language in LANGUAGES}
    for block in tree.findall(nodes.literal_block):
        language = block.get("language", "")
        if language in used:
            used[language].update(names_in(language, block.astext()))
    parts = {
        language: nodes.paragraph("", "", *named(language, sorted(names)))
        for language, names in used.items()
        if names
    }
    mark(parts.items())
    if parts:
        section = nodes.section(
            "",
            nodes.title("", "In the reference"),
            *parts.values(),
            ids=["in-the-reference"],
            names=["in the reference"],
        )
        next(iter(tree.findall(nodes.section))).append(section)


def targets(app: Sphinx) -> dict[str, dict[str, tuple[str, str]]]:
    """The page and anchor of each name, by language."""
    found: dict[str, dict[str, tuple[str, str]]] = {language: {} for language in LANGUAGES}
    for name, _, kind, document, anchor, _ in app.env.get_domain("c").get_objects():
        if kind not in ("functionParam", "member"):
            found["c"][name.rpartition(".")[2]] = (document, anchor)
    for name, _, _, document, anchor, _ in app.env.get_domain("py").get_objects():
        found["python"][name.removeprefix("ntapi.")] = (document, anchor)
    labels = app.env.get_domain("std").anonlabels
    for name, label in SWIFT_NAMES.items():
        if label in labels:
            found["swift"][name] = labels[label]
    return found


def check_complete(app: Sphinx, env: BuildEnvironment) -> None:
    """Warns of public names that no reference has, and of unknown ones in reference/names.md."""
    found = targets(app)
    names = {(language, name) for language, known in KNOWN.items() for name in known}
    names |= {("python", f"codes.{name}") for name in ntapi.codes.__all__ if name.isupper()}
    names |= {("python", name) for name in ntapi.arg.__all__}
    names |= {(language, name) for row in ROWS for language in row for name in row[language]}
    for language, name in sorted(names):
        if name not in found[language] and not isinstance(getattr(ntapi, name, None), ModuleType):
            logging.getLogger(__name__).warning(
                "%s is not in the reference of %s", name, LANGUAGES[language]
            )


def link_names(app: Sphinx, tree: nodes.document, document: str) -> None:
    """Makes links of the names in sentences."""
    places = targets(app)
    for literal in list(tree.findall(nodes.literal)):
        if isinstance(literal.parent, (nodes.reference, nodes.title, addnodes.pending_xref)):
            continue
        name = re.fullmatch(r"(\.?[A-Za-z_][\w.]*)(\(.*\))?", literal.astext())
        if not name or (name[1] in FIXTURES and not document.startswith("reference/")):
            continue
        place = place_of(
            name[1], literal.get("language") or language_of(document), "language" in literal, places
        )
        if place:
            uri = app.builder.get_relative_uri(document, place[0]) + f"#{place[1]}"
            link = nodes.reference("", "", literal.deepcopy(), internal=True, refuri=uri)
            literal.replace_self(link)


def link_sentences(app: Sphinx, tree: nodes.document) -> None:
    """The headers write names as they are: makes code of those in sentences, so that they become links."""
    if not app.env.docname.startswith("reference/c/"):
        return
    for text in list(tree.findall(nodes.Text)):
        if not isinstance(text.parent, nodes.paragraph) or not NAME_OF_C.search(text):
            continue
        parts: list[nodes.Node] = []
        for number, part in enumerate(NAME_OF_C.split(text.astext())):
            parts.append(nodes.literal("", part) if number % 2 else nodes.Text(part))
        text.parent.replace(text, parts)


def plain_signature(
    app: Sphinx,
    what: str,
    name: str,
    thing: object,
    options: Any,
    signature: str | None,
    result: str | None,
) -> tuple[str, str | None] | None:
    """A signature without what only refuses unknown words; none for a class that programs do not make."""
    if signature is None:
        return None
    if isinstance(thing, type) and (issubclass(thing, Enum) or PRIVATE.search(signature)):
        return "", None
    signature = re.sub(r", \*\*unknown: [\w.~]*NoReturn", "", signature)
    return re.sub(r"\*surplus: [\w.~]*NoReturn", "*", signature), result


def skipped(
    app: Sphinx, what: str, name: str, thing: object, skip: bool, options: Any
) -> bool | None:
    """Leaves out attributes that only say what to write in place of them."""
    return True if type(thing).__name__ == "_OfAnotherLibrary" else None


def language_of(document: str) -> str:
    """The language that names on a page are in, where several have them."""
    return next((language for language in LANGUAGES if f"/{language}/" in f"{document}/"), "swift")


def place_of(
    name: str, language: str, is_sure: bool, places: dict[str, dict[str, tuple[str, str]]]
) -> tuple[str, str] | None:
    """Where the reference has a name."""
    if name.startswith("ntapi."):
        return places["python"].get(name.removeprefix("ntapi."))
    if name.startswith("."):
        return places["swift"].get(f"APIArg{name}")
    if place := places[language].get(name):
        return place
    if is_sure or name.islower() and not name.startswith("ntapi_"):
        return None
    return next(
        (places[other][name] for other in ("swift", "python", "c") if name in places[other]), None
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", code_of_docstring)
    app.connect("builder-inited", read_names)
    # Before Sphinx takes the page's table of contents.
    app.connect("doctree-read", in_order, priority=100)
    app.connect("doctree-read", add_counterparts, priority=200)
    app.connect("doctree-read", add_reference, priority=200)
    app.connect("doctree-read", link_sentences, priority=300)
    app.connect("env-check-consistency", check_complete)
    app.connect("autodoc-process-signature", plain_signature)
    app.connect("autodoc-skip-member", skipped)
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
