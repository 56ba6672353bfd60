"""Reads enough Swift to find the types that a file declares and those that it names.

Skips comments and the text of strings, but reads the code in interpolations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

Path = tuple[str, ...]
"""The name of a type from the outermost: ("Outer", "Inner")."""

DECLARES_TYPE = {"struct", "class", "enum", "protocol", "actor", "typealias", "associatedtype"}
HAS_GENERICS = {"func", "init", "subscript"}
# Words that begin another declaration. They end the generic parameters of a declaration without a
# body.
BEGINS = DECLARES_TYPE | HAS_GENERICS | {"extension", "var", "let", "case", "deinit", "import"}

TOKEN = re.compile(
    r"""(?P<space>[ \t\r\f]+)
      | (?P<newline>\n)
      | (?P<line_comment>//[^\n]*)
      | (?P<block_comment>/\*)
      | (?P<string>\#*\"(?:\"\")?)
      | (?P<name>`?[^\W\d]\w*`?)
      | (?P<number>\d[\w.]*?(?![\w]))
      | (?P<other>.)""",
    re.VERBOSE,
)


@dataclass(frozen=True)
class Token:
    """A word or a sign of the source."""

    text: str
    line: int
    is_escaped: bool = False
    """In backticks, and so not a keyword."""

    @property
    def is_name(self) -> bool:
        return self.text[0].isalpha() or self.text[0] == "_"


class Lexer:
    """Splits a source into tokens."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.place = 0
        self.line = 1

    def tokens(self) -> Iterator[Token]:
        """All tokens of the file."""
        yield from self.until_closed(is_interpolation=False)

    def until_closed(self, is_interpolation: bool) -> Iterator[Token]:
        """The tokens up to the end, or up to the parenthesis that ends an interpolation."""
        depth = 0
        while match := TOKEN.match(self.source, self.place):
            self.place = match.end()
            text = match.group()
            kind = match.lastgroup
            if kind == "newline":
                self.line += 1
            elif kind == "block_comment":
                self.skip_comment()
            elif kind == "string":
                yield from self.string(text)
            elif kind == "name":
                yield Token(text.strip("`"), self.line, is_escaped=text[0] == "`")
            elif kind == "number":
                yield Token("0", self.line)
            elif kind == "other":
                depth += {"(": 1, ")": -1}.get(text, 0)
                if is_interpolation and depth < 0:
                    return
                yield Token(text, self.line)

    def skip_comment(self) -> None:
        """Comments nest."""
        depth = 1
        while depth and (match := re.compile(r"/\*|\*/|\n").search(self.source, self.place)):
            self.place = match.end()
            if match.group() == "\n":
                self.line += 1
            else:
                depth += 1 if match.group() == "/*" else -1

    def string(self, opening: str) -> Iterator[Token]:
        """A string becomes a token that names nothing, followed by the tokens of its
        interpolations.
        """
        yield Token('"', self.line)
        hashes = opening.count("#")
        quotes = opening.lstrip("#")
        closing = quotes + "#" * hashes
        escape = "\\" + "#" * hashes
        while self.place < len(self.source):
            if self.source.startswith(closing, self.place):
                self.place += len(closing)
                return
            if self.source.startswith(escape, self.place):
                self.place += len(escape)
                if self.source.startswith("(", self.place):
                    self.place += 1
                    yield from self.until_closed(is_interpolation=True)
                    continue
            if self.source.startswith("\n", self.place):
                self.line += 1
            self.place += 1


@dataclass(frozen=True)
class Declaration:
    """A type that a file declares."""

    path: Path
    line: int


@dataclass(frozen=True)
class Mention:
    """A chain of names in a file, as `Outer.Inner.member`, and where it stands."""

    names: Path
    line: int
    enclosing: tuple[Path, ...]
    """The types around it, the innermost first."""
    hidden: frozenset[str]
    """Names of generic parameters and of local types, which hide those of the module."""


@dataclass
class Scope:
    """The code between two braces."""

    type: Path | None = None
    is_function: bool = False
    hidden: set[str] = field(default_factory=set)


@dataclass
class Source:
    """What a file declares, names and imports."""

    declarations: list[Declaration] = field(default_factory=list)
    mentions: list[Mention] = field(default_factory=list)
    parents: dict[Path, set[str]] = field(default_factory=dict)
    """What stands after the colon of a type or an extension: a superclass and protocols."""
    imports: list[tuple[str, int]] = field(default_factory=list)


def read(text: str) -> Source:
    """Reads a file."""
    return Reader(list(Lexer(text).tokens())).read()


class Reader:
    """Walks over the tokens of a file, and keeps the enclosing scopes."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.source = Source()
        self.scopes = [Scope()]
        self.pending = Scope()
        self.parentheses = [0]

    def read(self) -> Source:
        while self.at < len(self.tokens):
            self.step()
        return self.source

    def text(self, offset: int = 0) -> str:
        at = self.at + offset
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def step(self) -> None:
        """Takes one token, or one name with its members."""
        token = self.tokens[self.at]
        is_member = self.text(-1) == "."
        if token.text in "([":
            self.parentheses[-1] += 1
        elif token.text in ")]":
            self.parentheses[-1] -= 1
        elif token.text == "{":
            self.open()
        elif token.text == "}":
            self.close()
        elif token.is_name and not is_member:
            if token.text in BEGINS and not token.is_escaped and self.is_declaration(token.text):
                self.begin(token.text)
                return
            if token.text[0].isupper():
                self.mention()
                return
        self.at += 1

    def open(self) -> None:
        """A brace inside parentheses begins a closure, not the body of the declaration."""
        if self.parentheses[-1] == 0:
            self.scopes.append(self.pending)
            self.pending = Scope()
        else:
            self.scopes.append(Scope())
        self.parentheses.append(0)

    def close(self) -> None:
        if len(self.scopes) > 1:
            self.scopes.pop()
            self.parentheses.pop()
        if self.parentheses[-1] == 0:
            self.pending = Scope()

    def is_declaration(self, word: str) -> bool:
        """`class func` does not declare a type. `.init(…)` and `case .init` declare nothing; `init`
        also occurs in expressions.
        """
        if word == "class":
            return (
                self.text(1) not in BEGINS | {"override", "final", "private", "public", "open"}
                and self.text(1) != "{"
            )
        if word in DECLARES_TYPE or word == "extension":
            return bool(self.text(1)) and self.tokens[self.at + 1].is_name
        return self.parentheses[-1] == 0

    def begin(self, word: str) -> None:
        """The head of a declaration: what it declares, and its generic parameters."""
        self.at += 1
        if word == "import":
            self.import_module()
            return
        self.pending = Scope()
        if word in {"let", "var", "case", "deinit"}:
            return
        if word == "extension":
            self.pending.type = self.extended()
            self.inherit(self.pending.type)
        elif word in DECLARES_TYPE:
            self.declare(word)
        else:
            self.pending.is_function = True
            while self.at < len(self.tokens) and self.text() not in "<(":
                self.at += 1
            self.generics()

    def import_module(self) -> None:
        if self.text() in {"struct", "class", "enum", "protocol", "func", "var", "typealias"}:
            self.at += 1
        self.source.imports.append((self.text(), self.tokens[self.at].line))
        self.at += 1
        while self.text() == ".":
            self.at += 2

    def extended(self) -> Path:
        """An extension names its type and does not declare it."""
        names = [self.text()]
        line = self.tokens[self.at].line
        self.at += 1
        while self.text() == ".":
            names.append(self.text(1))
            self.at += 2
        self.source.mentions.append(Mention(tuple(names), line, (), frozenset()))
        return tuple(names)

    def declare(self, word: str) -> None:
        """A local type is only known in its function."""
        token = self.tokens[self.at]
        self.at += 1
        outer = self.enclosing()
        if any(scope.is_function for scope in self.scopes):
            self.scopes[-1].hidden.add(token.text)
            self.pending.type = (*(outer[0] if outer else ()), token.text)
            self.generics()
            return
        path = (*(outer[0] if outer else ()), token.text)
        self.source.declarations.append(Declaration(path, token.line))
        if word not in {"typealias", "associatedtype"}:
            self.pending.type = path
        self.generics()
        self.inherit(path)

    def generics(self) -> None:
        """In `<A: P, B>`, the names hide those of the module; protocols are named as usual."""
        if self.text() != "<":
            return
        depth, at = 0, self.at
        while at < len(self.tokens):
            text = self.tokens[at].text
            depth += {"<": 1, ">": -1, "(": 1, ")": -1}.get(text, 0)
            if depth == 0:
                return
            previous = self.tokens[at - 1].text
            if (
                depth == 1
                and (previous in "<," or previous == "each")
                and text not in "<,"
                and text != "each"
            ):
                self.pending.hidden.add(text)
            at += 1

    def inherit(self, path: Path) -> None:
        """Notes the names after the colon, without consuming them."""
        at = self.at
        if at < len(self.tokens) and self.tokens[at].text == "<":
            depth = 0
            while at < len(self.tokens):
                depth += {"<": 1, ">": -1}.get(self.tokens[at].text, 0)
                at += 1
                if depth == 0:
                    break
        if at < len(self.tokens) and self.tokens[at].text in ":=":
            while (
                at + 1 < len(self.tokens)
                and self.tokens[at].text not in "{\n"
                and self.tokens[at].text != "where"
            ):
                if self.tokens[at].text in BEGINS:
                    break
                if self.tokens[at].text[0].isupper() and self.tokens[at - 1].text != ".":
                    self.source.parents.setdefault(path, set()).add(self.tokens[at].text)
                at += 1

    def enclosing(self) -> tuple[Path, ...]:
        """The enclosing types, the innermost first, each with its own enclosing types."""
        found: list[Path] = []
        for scope in (
            [self.pending, *reversed(self.scopes)] if self.pending.type else reversed(self.scopes)
        ):
            path = scope.type
            while path:
                if path not in found:
                    found.append(path)
                path = path[:-1]
        return tuple(found)

    def mention(self) -> None:
        """A name with the members that follow it."""
        line = self.tokens[self.at].line
        names = [self.text()]
        self.at += 1
        while True:
            if self.text() == "." and self.text(1)[:1].isupper():
                names.append(self.text(1))
                self.at += 2
            elif self.text() in ("?", "!") and self.text(1) == "." and self.text(2)[:1].isupper():
                self.at += 1
            else:
                break
        hidden: set[str] = set(self.pending.hidden)
        for scope in self.scopes:
            hidden |= scope.hidden
        self.source.mentions.append(
            Mention(tuple(names), line, self.enclosing(), frozenset(hidden))
        )


class Types:
    """The types of a module, found as the compiler finds them."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.known: set[Path] = set()
        self.parents: dict[Path, set[str]] = {}
        for source in sources:
            self.known.update(declaration.path for declaration in source.declarations)
            for path, names in source.parents.items():
                self.parents.setdefault(path, set()).update(names)

    def member(self, path: Path, name: str, seen: frozenset[Path] = frozenset()) -> Path | None:
        """A nested type, declared in the type or inherited."""
        if (*path, name) in self.known:
            return (*path, name)
        for parent in sorted(self.parents.get(path, ())):
            if (parent,) in self.known and (parent,) not in seen:
                found = self.member((parent,), name, seen | {path})
                if found:
                    return found
        return None

    def named(self, mention: Mention) -> list[Path]:
        """The types of the module that a mention names, the outermost first."""
        first, *rest = mention.names
        path = self.first(first, mention)
        found = [path] if path else []
        for name in rest:
            path = self.member(path, name) if path else None
            if not path:
                break
            found.append(path)
        return found

    def first(self, name: str, mention: Mention) -> Path | None:
        """Looks in the scopes from the inside to the outside, then among the types of the
        module.
        """
        if name == "Self":
            return mention.enclosing[0] if mention.enclosing else None
        if name in mention.hidden:
            return None
        for path in mention.enclosing:
            if path[-1] == name and path in self.known:
                return path
            found = self.member(path, name)
            if found:
                return found
        return (name,) if (name,) in self.known else None
