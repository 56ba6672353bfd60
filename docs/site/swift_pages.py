"""Joins what DocC has written of a Swift module into pages for Sphinx: one for each type, with its members.

DocC's Markdown has the texts, its JSON the order and the relations.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

TYPES = {"Class", "Structure", "Enumeration", "Protocol", "Type Alias"}
IMPLIED = {"Copyable", "Escapable", "SendableMetatype"}
"""What every type conforms to."""
LINK = re.compile(r"\]\(/documentation/((?:[^()\s]|\([^()\s]*\))+)\)")


def label(path: str) -> str:
    """The target of a symbol, by its path: `NTApi/APIError/init(_:)`."""
    path = path.lower().replace("(", "--").replace(")", "").replace("_", "u").replace("/", ".")
    return "swift." + re.sub(r"[^a-z0-9.-]", lambda sign: f"-{ord(sign[0]):x}", path)


def name_of(path: str) -> str:
    """A symbol's name as one writes it, without the module and what tells overloads apart."""
    name = re.sub(r"-swift\.[a-z.]+", "", path.partition("/")[2]).partition("(")[0]
    return re.sub(r"-[0-9a-z]+$", "", name).replace("/", ".")


def plain_link(link: re.Match[str]) -> str:
    """A link that DocC has left as it was written."""
    return f"[`{name_of(link[1])}`](#{label(link[1])})"


class Module:
    """A module's pages."""

    def __init__(self, archive: Path, out: Path) -> None:
        self.data = archive / "data"
        self.out = out
        self.names: dict[str, str] = {}
        """The labels of names as one writes them: `APIError.code`."""

    def write(self, name: str) -> None:
        """Writes the page of the module, and those of its types."""
        self.out.mkdir(parents=True, exist_ok=True)
        self.page(f"/documentation/{name.lower()}", name)

    def page(self, url: str, name: str) -> str:
        """Writes the page of a type or module, and of the types in it. Returns the name of the file."""
        symbol = json.loads((self.data / f"{url[1:]}.json").read_text(encoding="utf-8"))
        path: str = symbol["identifier"]["url"].partition("/documentation/")[2]
        lines = [f"({label(path)})=", f"# {name}", "", *self.text(url)]
        pages: list[str] = []
        for relation in symbol.get("relationshipsSections", ()):
            titles = [
                symbol["references"][item]["title"].removeprefix("Swift.")
                for item in relation["identifiers"]
            ]
            if names := [f"`{title}`" for title in titles if title not in IMPLIED]:
                lines += ["", f"{relation['title'].capitalize()} {', '.join(names)}."]
        for topic in symbol.get("topicSections", ()):
            lines += ["", f"## {topic['title']}", ""]
            for item in topic["identifiers"]:
                if symbol["references"][item]["title"].endswith(" Implementations"):
                    # What the protocols of the standard library bring: `!=`.
                    continue
                lines += self.member(symbol["references"][item], pages)
        if pages:
            lines += ["", "```{toctree}", ":hidden:", "", *pages, "```"]
        file = path.replace("/", ".").lower()
        (self.out / f"{file}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.names[name_of(path) or path] = label(path)
        return file

    def member(self, reference: dict[str, Any], pages: list[str]) -> list[str]:
        """What the page of a type says of a member: everything; of a type in it, a line that leads to its page."""
        url, title = reference["url"], reference["title"]
        path = reference["identifier"].partition("/documentation/")[2]
        file = self.data / f"{url[1:]}.md"
        if '"kind" : "Module"' in (head := file.read_text(encoding="utf-8")) or any(
            f'"role" : "{kind}"' in head for kind in TYPES
        ):
            pages.append(self.page(url, title))
            parts = reference.get("abstract", ())
            abstract = "".join(self.abstract(part) for part in parts)
            return [f"- [`{title}`](#{label(path)}): {abstract}"]
        self.names.setdefault(name_of(path), label(path))
        return ["", f"({label(path)})=", f"### `{title}`", "", *self.text(url)]

    def abstract(self, part: dict[str, Any]) -> str:
        """A part of a type's first sentence, as Markdown."""
        if part["type"] == "reference":
            path = part["identifier"].partition("/documentation/")[2]
            return f"[`{name_of(path)}`](#{label(path)})"
        return f"`{part['code']}`" if "code" in part else str(part.get("text", ""))

    def text(self, url: str) -> list[str]:
        """What DocC's page says below its title, without headings."""
        text = (self.data / f"{url[1:]}.md").read_text(encoding="utf-8")
        text = re.sub(r"\A<!--.*?-->\s*# [^\n]*\n?", "", text, flags=re.DOTALL)
        # The topics are in the JSON, with those that DocC makes itself.
        text = text.partition("## Topics\n")[0]
        text, _, parameters = text.partition("## Parameters\n")
        parameters = re.sub(r"^`(\w+)`\n\n", r"- `\1`: ", parameters.strip(), flags=re.MULTILINE)
        parameters = re.sub(r"\n(?=[^-\n#])", "\n  ", parameters)
        text = f"{text}\n{parameters}" if parameters else text
        text = re.sub(r"^## (?:Overview|Discussion) *", "", text, flags=re.MULTILINE)
        text = re.sub(r"^## (.*)$", r"**\1**", text, flags=re.MULTILINE)
        text = re.sub(r"^> (?=\w+:)", "", text, flags=re.MULTILINE)
        text = re.sub(r"^```\n(.*?)^```$", r"```swift\n\1```", text, flags=re.DOTALL | re.MULTILINE)
        # A first one of one line is the declaration.
        declaration = r"\A([^`]*)```swift\n(?=[^\n]*\n```)"
        text = re.sub(declaration, r"\1```{code-block} swift\n:class: declaration\n\n", text)
        text = re.sub(r"``doc://[^/`]*/documentation/([^`]+)``", plain_link, text)
        return LINK.sub(lambda link: f"](#{label(link[1])})", text).strip("\n").split("\n")
