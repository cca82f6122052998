"""Definitions that end with a brace: those of the family of C by the form of their headers, others by keywords."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ingest.readers.code.text import Code, Definition, blank

_LONGEST_HEADER = 4000
"""Most characters before a brace in which the name of a definition is sought."""
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w*)(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
_GOES_ON = re.compile(r"\}\s*[,{]")
"""A brace behind which its statement goes on, as that of an initialised member does."""
_NAME_BEHIND = re.compile(r"\}\s*(\w+)")
_TOKEN = re.compile(r"[{};]")
_TEMPLATE = re.compile(r"\btemplate\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*+>)*+>)*+>")
_PARENTHESES = r"\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\)"
_ALIGNED = re.compile(rf"\b(?:alignas|__align__|__attribute__|__declspec)\s*{_PARENTHESES}")
_TYPE = re.compile(r"\b(?:class|struct|union|enum|interface)\b([^(){}=]*)$")
_CALL = re.compile(r"(\boperator\s*(?:\(\s*\)|[^\s\w(]+)|(?<!\w)~?[A-Za-z_][\w:~]*)\s*\(")
_AFTER_ARGUMENTS = re.compile(
    rf"(?:\s*(?:const\b|noexcept\b|override\b|final\b|volatile\b|mutable\b|try\b|&&?|[A-Z][A-Z_]+\b)"
    rf"(?:\s*{_PARENTHESES})?)*+\s*(?:(?:->|:(?!:)|requires\b).*)?$",
    re.DOTALL,
)
_NO_NAMES = {"if", "for", "while", "switch", "catch", "return", "else", "do", "sizeof", "decltype", "defined", "asm"}
_OPEN = re.compile(r"\b(?:namespace\b[^(){};=]*|extern|export)\s*$")
"""A header whose block holds definitions of the file."""


def braced(code: Code) -> list[Definition]:
    """Return the outermost definitions of `code`."""
    return _Braces(code, _finder(code.language.definition) if code.language.definition else _c_name).read()


@dataclass(slots=True)
class _Block:
    """What stands between two braces."""

    begin: int
    """Where the statement begins that the block belongs to."""
    definition: Definition | None = None
    inner: list[Definition] = field(default_factory=list)
    is_searched: bool = False
    """Whether definitions are sought in it."""


class _Braces:
    def __init__(self, code: Code, name: Callable[[str], tuple[str, int] | None]) -> None:
        self._code = code
        self._name = name
        self._is_c = not code.language.definition
        self._bare = _without_directives(code.bare) if self._is_c else code.bare

    def read(self) -> list[Definition]:
        blocks = [_Block(0, is_searched=True)]
        begin = 0
        for token in _TOKEN.finditer(self._bare):
            at = token.start()
            if token[0] == "{":
                blocks.append(self._opened(begin, at, blocks[-1]))
            elif token[0] == "}" and len(blocks) > 1:
                closed = blocks.pop()
                self._close(closed, blocks[-1], at)
                if closed.definition and at - closed.begin < _LONGEST_HEADER and _GOES_ON.match(self._bare, at):
                    begin = closed.begin
                    continue
            elif blocks[-1].is_searched and self._is_c:
                blocks[-1].inner += filter(None, [self._defined(begin, at, with_type=True)])
            begin = at + 1
        while len(blocks) > 1:
            self._close(blocks.pop(), blocks[-1], len(self._bare))
        return blocks[0].inner

    def _header(self, begin: int, at: int) -> str:
        return self._bare[max(begin, at - _LONGEST_HEADER) : at]

    def _defined(self, begin: int, at: int, *, with_type: bool = False) -> Definition | None:
        """Return what the statement from `begin` to the brace or semicolon at `at` defines or declares.

        A declaration has a type before its name (`with_type`); without one, it is a call.
        """
        header = self._header(begin, at)
        name, place = self._name(header) or ("", -1)
        if place < 0 or (with_type and not header[:place].strip()):
            return None
        line = self._code.line_of(at - len(header) + place)
        first = self._code.line_of(at - len(header.lstrip())) if self._is_c else line
        return Definition(name, self._code.above(first), line, self._code.line_of(at) + 1)

    def _opened(self, begin: int, at: int, outer: _Block) -> _Block:
        if not outer.is_searched:
            return _Block(begin)
        header = self._header(begin, at)
        if (definition := self._defined(begin, at)) is None:
            return _Block(begin, is_searched=not self._is_c or bool(_OPEN.search(header)))
        is_type = not self._is_c or bool(_TYPE.search(_plain(header)))
        return _Block(begin, definition, definition.inner, is_type)

    def _close(self, block: _Block, outer: _Block, at: int) -> None:
        if (definition := block.definition) is None:
            outer.inner += block.inner
            return
        definition.end = self._code.line_of(at) + 1
        if not definition.name and (named := _NAME_BEHIND.match(self._bare, at)):
            definition.name = named[1]
        if outer.inner and outer.inner[-1].header == definition.header:
            outer.inner[-1].end = definition.end
        elif definition.name:
            outer.inner.append(definition)


def _finder(pattern: str) -> Callable[[str], tuple[str, int] | None]:
    """Return a function that finds the last name that a header defines, and its place."""
    compiled = re.compile(pattern, re.MULTILINE)

    def find(header: str) -> tuple[str, int] | None:
        names = [
            (found[number], found.start(number)) for found in compiled.finditer(header) if (number := found.lastindex)
        ]
        return (" ".join(names[-1][0].split()), names[-1][1]) if names else None

    return find


def _c_name(header: str) -> tuple[str, int] | None:
    """Return the name that a header in the family of C defines, and its place; an empty name follows the braces."""
    plain = _plain(header)
    if found := _TYPE.search(plain):
        names = re.findall(r"[\w:]*\w", re.split(r"(?<!:):(?!:)|<|\bfinal\b", found[1])[0])
        is_named_later = not names and "typedef" in plain[: found.start()]
        return (names[-1], found.start()) if names else ("", found.start()) if is_named_later else None
    if "=" in re.sub(r"operator\s*\S+", "", plain).partition("(")[0]:
        return None
    for found in _CALL.finditer(plain):
        end = _closing(plain, found.end() - 1)
        if end and found[1] not in _NO_NAMES and _AFTER_ARGUMENTS.match(plain, end):
            return "".join(found[1].split()), found.start(1)
    return None


def _plain(header: str) -> str:
    """Return `header` with its template parameters and attributes blank."""
    return _ALIGNED.sub(lambda m: blank(m[0]), _TEMPLATE.sub(lambda m: blank(m[0]), header))


def _closing(text: str, at: int) -> int:
    """Return the place behind the bracket that closes the one at `at`; 0 if none does."""
    depth = 0
    for bracket in re.compile(r"[()]").finditer(text, at):
        depth += 1 if bracket[0] == "(" else -1
        if not depth:
            return bracket.end()
    return 0


def _without_directives(text: str) -> str:
    """Blank the preprocessor's lines, and all branches of a condition but the first, whose braces would count twice."""
    parts: list[str] = []
    at = depth = 0
    hidden = 0
    """Depth of the condition whose branch is blank; 0 if none is."""
    for found in _DIRECTIVE.finditer(text):
        between = text[at : found.start()]
        parts += [blank(between) if hidden else between, blank(found[0])]
        at = found.end()
        match found[1]:
            case "if" | "ifdef" | "ifndef":
                depth += 1
            case "else" | "elif" | "elifdef" | "elifndef" if depth:
                hidden = hidden or depth
            case "endif" if depth:
                hidden = 0 if hidden == depth else hidden
                depth -= 1
    return "".join([*parts, text[at:]])
