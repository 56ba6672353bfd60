"""Builds the documentation site: `make docs`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from header_filter import filtered
from swift_pages import Module

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "build" / "site"
SOURCE = WORK / "source"
MODULES = (
    "NTApi",
    "NTApiFoundation",
    "NTApiTesting",
    "NTApiLogging",
    "NTApiHTTPTypes",
    "NTApiTracing",
    "NTApiRedis",
)
HEADERS = ("ntapi.h", "ntapi_store.h", "ntapi_redis.h", "ntapi_testing.h", "ntapi_jansson.h")


def run(command: str) -> None:
    """Runs a command in the root of the repository."""
    subprocess.run(command.split(), cwd=ROOT, check=True)


def symbol_graphs(folder: str) -> None:
    """Symbol graphs of our modules.

    The compiler reads only their declarations: compiling them, too, takes a minute and a half longer.
    """
    packages = "swift build --scratch-path build/site/swift --traits SwiftLog,HTTPTypes,Tracing"
    for other in ("Logging", "HTTPTypes", "Tracing", "CoreMetrics"):
        run(f"{packages} --target {other}")
    flags = "-wmo -emit-module -parse-as-library -swift-version 6 -package-name ntapi"
    flags += " -Xfrontend -experimental-skip-non-inlinable-function-bodies-without-types"
    flags += (
        " -enable-upcoming-feature ExistentialAny -enable-upcoming-feature MemberImportVisibility"
    )
    flags += (
        " -enable-upcoming-feature InternalImportsByDefault -D SwiftLog -D HTTPTypes -D Tracing"
        " -D Redis"
    )
    flags += " -emit-extension-block-symbols -symbol-graph-skip-synthesized-members"
    flags += (
        f" -symbol-graph-skip-inherited-docs -emit-symbol-graph -emit-symbol-graph-dir {folder}"
    )
    flags += " -I build/site/swift/debug/Modules -I build/site/modules"
    for module_map in sorted((ROOT / "Sources").glob("C*/**/module.modulemap")):
        flags += f" -I {module_map.parent.relative_to(ROOT)}"
    (WORK / "modules").mkdir(exist_ok=True)
    for module in MODULES:
        found = sorted((ROOT / "Sources" / module).rglob("*.swift"))
        files = " ".join(str(file.relative_to(ROOT)) for file in found)
        target = f"-emit-module-path build/site/modules/{module}.swiftmodule"
        run(f"swiftc {flags} -module-name {module} {target} {files}")


def swift() -> None:
    """The Swift reference: symbol graphs of the compiler, made into pages by DocC."""
    shutil.rmtree(WORK / "graphs", ignore_errors=True)
    (WORK / "graphs").mkdir(parents=True)
    symbol_graphs("build/site/graphs")
    docc = Path(shutil.which("swift") or "").resolve().parent / "docc"
    archive = WORK / "NTApi.doccarchive"
    run(
        f"{docc} convert docs/site/NTApi.docc --additional-symbol-graph-dir build/site/graphs"
        " --fallback-bundle-identifier NTApi --output-dir build/site/NTApi.doccarchive"
        # A comment describes the parameters that need it.
        " --warnings-as-errors --disable-parameters-and-returns-validation"
        " --enable-experimental-markdown-output"
    )
    out = SOURCE / "reference" / "swift"
    shutil.rmtree(out, ignore_errors=True)
    names: dict[str, str] = {}
    for module in MODULES:
        pages = Module(archive, out)
        pages.write(module)
        names.update(pages.names)
    (WORK / "swift-names.json").write_text(json.dumps(names), encoding="utf-8")


def c() -> None:
    """The C reference: XML of Doxygen, and a page for each section of a header."""
    shutil.rmtree(WORK / "doxygen", ignore_errors=True)
    run("doxygen docs/site/Doxyfile")
    folder = SOURCE / "reference" / "c"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in HEADERS:
        sections = re.findall(r"@defgroup (\w+) (.+)", filtered(ROOT / "include" / name))
        for group, title in sections:
            text = f"# {title}\n\n```{{doxygengroup}} {group}\n:members:\n:undoc-members:\n```\n"
            (folder / f"{group}.md").write_text(text, encoding="utf-8")
        text = f"# {name}\n\n```{{doxygenfile}} {name}\n:sections: detaileddescription\n```\n\n"
        text += "\n".join(
            ["```{toctree}", ":titlesonly:", "", *(group for group, _ in sections), "```\n"]
        )
        (folder / f"{Path(name).stem}.md").write_text(text, encoding="utf-8")


def contents() -> str:
    """The table of contents: the pages in the order of docs/README.md, then the references."""
    groups: dict[str, list[str]] = {"Start": ["Start here <self>", "All pages <docs/README>"]}
    for line in (ROOT / "docs" / "README.md").read_text(encoding="utf-8").splitlines():
        if caption := re.match(r"\| \*\*(.+)\*\* \|", line):
            groups[caption[1]] = []
        elif page := re.search(r"\[([^\]]+)\]\(([\w-]+)\.md\) \|$", line):
            groups[list(groups)[-1]].append(f"{page[1][0].upper()}{page[1][1:]} <docs/{page[2]}>")
    groups["Reference"] = [f"reference/{name}" for name in ("swift", "c", "python", "names")]
    groups["Project"] = [
        *(f"bindings/{name}/README" for name in ("swift", "c", "python")),
        "CHANGELOG",
        "CONTRIBUTING",
    ]
    trees = (
        ["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]
        for caption, pages in groups.items()
    )
    return "".join("\n\n" + "\n".join(tree) for tree in trees)


def within_site(page: Path, text: str, pages: list[Path]) -> str:
    """The text of a page whose links lead to pages of the site only."""

    def link(match: re.Match[str]) -> str:
        name, path, _ = match.groups()
        target = (page.parent / path).resolve()
        if target == ROOT / "README.md":
            return match[0].replace("README.md", "index.md")
        if target in pages or target.suffix == ".svg":
            return match[0]
        if target.parent == ROOT / "include":
            reference = os.path.relpath(ROOT / "reference" / "c" / target.stem, page.parent)
            return f"[{name}]({reference}.md)"
        inside = target.relative_to(ROOT)
        return name if name.strip("`") == str(inside) else f"{name} (`{inside}`)"

    return re.sub(r"\[([^\]]+)\]\((?!\w+:)([^)#\s]+)(#[^)\s]*)?\)", link, text)


def stage() -> None:
    """Copies the pages of the repository beside those that are made, all of which Sphinx reads."""
    for folder in ("docs", "bindings", "reference/python"):
        shutil.rmtree(SOURCE / folder, ignore_errors=True)
    sources = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
    sources += [*(ROOT / "docs").glob("*.md"), *(ROOT / "bindings").glob("*/README.md")]
    for page in sources:
        text = within_site(page, page.read_text(encoding="utf-8"), sources)
        place = SOURCE / page.relative_to(ROOT)
        if page == ROOT / "README.md":
            text, place = text + contents(), SOURCE / "index.md"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    shutil.copytree(ROOT / "docs" / "site" / "reference", SOURCE / "reference", dirs_exist_ok=True)
    for image in (ROOT / "docs").glob("*.svg"):
        shutil.copy2(image, SOURCE / "docs")


class Page(HTMLParser):
    """What a page of the site links to, and where it can be linked to."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors = {""}
        self.links: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and not re.match(r"\w+:", value):
                self.links.add(value)


def check_links() -> None:
    """Ends the program when a link within the site leads nowhere."""
    pages = {file.resolve(): Page(file) for file in (ROOT / "site").rglob("*.html")}
    problems = []
    for file, page in pages.items():
        for link in page.links:
            path, _, anchor = unquote(link).partition("#")
            target = (file.parent / path.partition("?")[0]).resolve() if path else file
            if not target.exists() or target in pages and anchor not in pages[target].anchors:
                problems.append(f"{file.relative_to(ROOT)}: {link} leads nowhere")
    if problems:
        raise SystemExit("\n".join(problems))


def main() -> None:
    """Builds all, or the named parts: swift, c, sphinx."""
    parts = sys.argv[1:] or ["swift", "c", "sphinx"]
    stage()
    if "swift" in parts:
        swift()
    if "c" in parts:
        c()
    if "sphinx" in parts:
        for old in (ROOT / "site", WORK / "doctrees"):
            shutil.rmtree(old, ignore_errors=True)
        options = "--fail-on-warning --keep-going --quiet --jobs auto"
        run(
            f"{sys.executable} -m sphinx --builder html --conf-dir docs/site {options}"
            " --doctree-dir build/site/doctrees build/site/source site"
        )
        check_links()
        print("The site is in site/: open site/index.html.")


if __name__ == "__main__":
    main()
