"""reStructuredText through docutils; what only Sphinx knows falls back to its text, so that nothing is lost."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.languages import en

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers.includes import expand

_LABEL = "kb-label"
_CODE = {
    "code",
    "code-block",
    "sourcecode",
    "highlight",
    "prompt",
    "parsed-literal",
    "math",
    "mermaid",
    "graphviz",
    "jinja",
}
_SILENT = {"toctree", "contents", "meta", "index", "currentmodule", "module", "default-domain", "tocdepth"}
_LABELLED = {"tab-item", "tab", "group-tab", "code-tab", "dropdown", "card", "grid-item-card"}
_PLAIN_ROLES = {
    "ref",
    "doc",
    "term",
    "numref",
    "abbr",
    "any",
    "sup",
    "sub",
    "guilabel",
    "menuselection",
    "eq",
    "cite",
    "dfn",
}
_LABEL_CHARACTERS = 100

_DIRECTIVE_NAME = re.compile(r"^\s*(?:\.\. )?(?:\|[^|]+\| )?\.\. ([\w:+.-]+?)::(?:\s|$)", re.MULTILINE)
_ROLE_NAME = re.compile(r":([a-zA-Z][\w:+.-]*):`|`:([a-zA-Z][\w:+.-]*):")

_ERROR = 3
"""Level of docutils messages from which on the block they speak of is lost."""

_SETTINGS = {
    "report_level": 2,
    "halt_level": 5,
    "warning_stream": False,
    "file_insertion_enabled": False,
    "raw_enabled": True,
    "doctitle_xform": False,
    "docinfo_xform": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "_disable_config": True,
}


def read(text: str, *, path: Path, root: Path) -> ParsedDocument:
    source = expand(text, path=path, root=root)
    expanded = "\n".join(source.lines)
    _register_unknown(expanded)
    tree = publish_doctree(expanded, settings_overrides=_SETTINGS)
    builder = DocumentBuilder(warnings=source.warnings)
    _Reader(builder, source.numbers).blocks(tree.children)
    return builder.build(includes=source.files)


class _AnyOption(dict[str, Callable[[str], Any]]):
    """Takes every option of a directive as text. Never empty, since docutils reads an empty one as 'no options'."""

    def __init__(self) -> None:
        super().__init__(name=directives.unchanged)

    def __missing__(self, key: str) -> Callable[[str], Any]:
        return directives.unchanged


class _Fallback(Directive):
    """A directive that docutils does not know: its argument and its content, parsed."""

    optional_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = _AnyOption()

    def run(self) -> list[nodes.Node]:
        argument = "\n".join(self.arguments).strip()
        if self.name in _SILENT:
            return []
        if self.name in _CODE:
            return self._code(argument)
        node = nodes.container()
        node.line = self.lineno
        if argument:
            is_label = self.name in _LABELLED or ":" in self.name
            if is_label:
                node[_LABEL] = " ".join(argument.split())[:_LABEL_CHARACTERS]
            if not is_label or len(argument) > _LABEL_CHARACTERS:
                paragraph = nodes.paragraph(argument, argument)
                paragraph.line = self.lineno
                node += paragraph
        self.state.nested_parse(self.content, self.content_offset, node, match_titles=True)
        return [node]

    def _code(self, argument: str) -> list[nodes.Node]:
        has_language = self.name in ("code", "code-block", "sourcecode", "highlight") or not self.content
        lines = list(self.content) if has_language else [argument, *self.content]
        code = "\n".join(lines).strip("\n")
        language = argument if has_language else self.name
        if self.name == "highlight" or not code:
            return []
        node = nodes.literal_block(code, code, language=language)
        node.line = self.content_offset + 1
        return [node]


def _fallback_role(name: str) -> Callable[..., Any]:
    plain = name in _PLAIN_ROLES

    def role(
        _name: str, rawtext: str, text: str, *_rest: object, **_options: object
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        titled = re.fullmatch(r"(.+?)\s*<[^<>]*>", text, re.DOTALL)
        shown = titled.group(1) if titled else text.lstrip("~!")
        return [nodes.inline(rawtext, shown) if plain else nodes.literal(rawtext, shown)], []

    return role


def _register_unknown(text: str) -> None:
    """Give every directive and role of `text` that docutils lacks a fallback; the registries are docutils' own."""
    for name in set(_DIRECTIVE_NAME.findall(text)) | _CODE | _SILENT:
        if name not in en.directives or name in _CODE | _SILENT:
            directives.register_directive(name, _Fallback)
    for name in {a or b for a, b in _ROLE_NAME.findall(text)}:
        if name not in en.roles:
            roles.register_local_role(name, _fallback_role(name))


class _Reader:
    """Walks the doctree in document order."""

    def __init__(self, builder: DocumentBuilder, numbers: Sequence[int]) -> None:
        self._out = builder
        self._numbers = numbers
        self._level = 0

    def blocks(self, children: Sequence[nodes.Node], *, depth: int = 0) -> None:
        for node in children:
            self._block(node, depth)

    def _block(self, node: nodes.Node, depth: int) -> None:
        match node:
            case nodes.section():
                if "system-messages" not in node["classes"]:
                    with self._deeper():
                        self.blocks(node.children)
            case nodes.title() | nodes.subtitle():
                self._out.heading(max(1, self._level), _inline(node), self._line(node))
            case nodes.rubric():
                self._out.text(_inline(node), self._line(node))
            case nodes.paragraph() | nodes.attribution() | nodes.caption() | nodes.line_block():
                self._out.text(_inline(node), self._line(node), indent=2 * depth)
            case nodes.bullet_list() | nodes.enumerated_list():
                self._list(node, depth)
            case nodes.definition_list_item() | nodes.field() | nodes.option_list_item():
                self._entry(node, depth)
            case nodes.literal_block() | nodes.doctest_block() | nodes.math_block():
                self._out.code(node.astext(), self._line(node), language=node.get("language", ""))
            case nodes.table():
                self._table(node)
            case nodes.image():
                self._out.text(_span(node), self._line(node))
            case nodes.system_message():
                self._lost_block(node)
            case nodes.Element() if isinstance(node, nodes.Admonition) and not isinstance(node, nodes.admonition):
                self._admonition(node, depth)
            case nodes.container() if _LABEL in node:
                with self._deeper(), self._out.labelled(node[_LABEL], self._line(node)):
                    self.blocks(node.children)
            case nodes.comment() | nodes.substitution_definition() | nodes.raw() | nodes.Invisible():
                pass
            case nodes.TextElement():
                self._out.text(_inline(node), self._line(node), indent=2 * depth)
            case _:
                self.blocks(node.children, depth=depth)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._level += 1
        yield
        self._level -= 1

    def _list(self, node: nodes.Element, depth: int) -> None:
        start = int(node.get("start", 1))
        for number, item in enumerate(node.children, start):
            marker = f"{number}." if isinstance(node, nodes.enumerated_list) else "-"
            first, *rest = item.children or (None,)
            if isinstance(first, nodes.paragraph):
                self._out.item(_inline(first), self._line(first), depth=depth, marker=marker)
            else:
                rest = list(item.children)
            self.blocks(rest, depth=depth + 1)

    def _entry(self, node: nodes.Element, depth: int) -> None:
        """A term with its definition, a field, an option: the name and the first paragraph belong together."""
        *names, body = node.children
        name = " : ".join(" ".join(_inline(n).split()) for n in names)
        first, *rest = body.children or (None,)
        text = f"{name}: {_inline(first)}" if isinstance(first, nodes.paragraph) else name
        self._out.item(text, self._line(node), depth=depth)
        self.blocks(rest if isinstance(first, nodes.paragraph) else list(body.children), depth=depth + 1)

    def _admonition(self, node: nodes.Element, depth: int) -> None:
        name = type(node).__name__.capitalize()
        first, *rest = node.children or (None,)
        if isinstance(first, nodes.paragraph):
            self._out.text(f"{name}: {_inline(first)}", self._line(first), indent=2 * depth)
        else:
            self._out.text(f"{name}:", self._line(node), indent=2 * depth)
            rest = list(node.children)
        self.blocks(rest, depth=depth)

    def _table(self, node: nodes.table) -> None:
        caption = next((_inline(c) for c in node.children if isinstance(c, nodes.title)), "")
        head = [row for part in node.findall(nodes.thead) for row in part.children]
        body = [row for part in node.findall(nodes.tbody) for row in part.children]
        rows = [[_cell(entry) for entry in row.children if isinstance(entry, nodes.entry)] for row in head + body]
        lines = [self._line(row) for row in head + body]
        self._out.table(rows, header_rows=len(head), row_lines=lines, caption=caption)

    def _lost_block(self, message: nodes.system_message) -> None:
        """What docutils could not parse stands in its error message: keep it as it was written."""
        if message["level"] < _ERROR:
            return
        for literal in message.findall(nodes.literal_block):
            self._out.warnings.append(f"line {self._line(message)}: kept as plain text: {message.children[0].astext()}")
            self._out.code(literal.astext(), self._line(literal))

    def _line(self, node: nodes.Node) -> int:
        """Line in the file of `node`, or of the nearest thing around or in it that knows its line."""
        line = node.line or next((n.line for n in node.findall() if n.line), None)
        around = node.parent
        while line is None and around is not None:
            line, around = around.line, around.parent
        return self._numbers[min(max(1, line or 1), len(self._numbers)) - 1]


def _cell(entry: nodes.Element) -> Cell:
    text = " ".join(part for part in (_flat(child) for child in entry.children) if part)
    return Cell(text, rows=1 + entry.get("morerows", 0), columns=1 + entry.get("morecols", 0))


def _flat(node: nodes.Node) -> str:
    if isinstance(node, nodes.TextElement):
        return " ".join(_inline(node).split())
    return "; ".join(filter(None, map(_flat, node.children)))


def _inline(node: nodes.Node) -> str:
    """Text of a paragraph: emphasis and link targets dropped, literals kept in backticks."""
    if isinstance(node, nodes.line_block):
        return "\n".join(_inline(child) for child in node.children)
    return "".join(map(_span, node.children))


def _span(node: nodes.Node) -> str:
    match node:
        case nodes.Text():
            return str(node).replace("\0", "")
        case nodes.literal() | nodes.math():
            return f"`{node.astext()}`"
        case nodes.image():
            return f"[figure: {alt}]" if (alt := node.get("alt", "")) else ""
        case nodes.raw() | nodes.footnote_reference():
            return ""
        case _:
            return "".join(map(_span, node.children))
