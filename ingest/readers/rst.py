"""reStructuredText through docutils; what only Sphinx knows falls back to its text, so that nothing is lost."""

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import Directive, directives, roles
from docutils.parsers.rst.directives.tables import CSVTable

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers.includes import Expanded, expand
from ingest.source import Source

_LABEL = "kb-label"
_WITH_LANGUAGE = {"code", "code-block", "sourcecode", "prompt"}
_CODE = _WITH_LANGUAGE | {"parsed-literal", "math", "mermaid", "graphviz", "jinja"}
_SILENT = {"toctree", "contents", "meta", "index", "currentmodule", "module", "default-domain", "tocdepth"}
_SILENT |= {"highlight", "date"}
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
    "line_length_limit": sys.maxsize,
    "smart_quotes": False,
    "_disable_config": True,
}


def read(file: Source) -> ParsedDocument:
    source = expand(file.text, path=file.path, root=file.root)
    with _fallbacks():
        tree = publish_doctree("\n".join(source.lines), settings_overrides=_SETTINGS)
    builder = DocumentBuilder(warnings=source.warnings)
    _Reader(builder, source).blocks(tree.children)
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
            return self._code(argument.split("\n") if argument else [])
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

    def _code(self, argument: list[str]) -> list[nodes.Node]:
        """The code below the directive and, unless it names a language, what stands on the directive's own line."""
        begins_below = self.block_text.partition("\n")[0].rstrip().endswith("::")
        names_language = bool(argument) and not begins_below and self.name in _WITH_LANGUAGE
        language = argument[0].split()[0] if names_language else "" if self.name in _WITH_LANGUAGE else self.name
        above = argument[names_language:]
        code = "\n".join([*above, *self.content])
        node = nodes.literal_block(code, code, language=language)
        node.line = self.lineno + (begins_below or names_language) if above else self.content_offset + 1
        return [node]


class _CsvTable(CSVTable):
    def run(self) -> Sequence[nodes.table | nodes.system_message]:
        found = super().run()
        # docutils counts the lines of a cell from the cell's own first.
        for row in (row for node in found for row in node.findall(nodes.row)):
            row.line = self.lineno
        return found


_OURS: dict[str, type[Directive]] = {"csv-table": _CsvTable, **dict.fromkeys(_CODE | _SILENT, _Fallback)}


def _fallback_role(name: str) -> Callable[..., Any]:
    plain = name in _PLAIN_ROLES

    def role(
        _name: str, rawtext: str, text: str, *_rest: object, **_options: object
    ) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        titled = re.fullmatch(r"(.+?)\s*<[^<>]*>", text, re.DOTALL)
        shown = titled.group(1) if titled else text.lstrip("~!")
        return [nodes.inline(rawtext, shown) if plain else nodes.literal(rawtext, shown)], []

    return role


@contextmanager
def _fallbacks() -> Iterator[None]:
    """Within, docutils finds a directive and a role for every name.

    Its registries are the process's: what one document lacks or defines must not change what the next one says.
    """
    find_directive: Callable[..., Any] = directives.directive
    find_role: Callable[..., Any] = roles.role
    known: dict[str, Any] = roles._roles  # type: ignore[attr-defined]  # noqa: SLF001
    before = dict(known)

    def directive(name: str, *where: object) -> tuple[type[Directive], list[nodes.system_message]]:
        return _OURS.get(name.lower()) or find_directive(name, *where)[0] or _Fallback, []

    def role(name: str, *where: object) -> tuple[Callable[..., Any], list[nodes.system_message]]:
        return find_role(name, *where)[0] or _fallback_role(name), []

    directives.directive, roles.role = directive, role  # type: ignore[assignment]
    try:
        yield
    finally:
        directives.directive, roles.role = find_directive, find_role
        known.clear()
        known.update(before)


class _Reader:
    """Walks the doctree in document order."""

    def __init__(self, builder: DocumentBuilder, source: Expanded) -> None:
        self._out = builder
        self._source = source
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
            case nodes.title() if isinstance(node.parent, nodes.section):
                # docutils knows the line of the underline.
                self._out.heading(self._level, _inline(node), self._number((node.parent.line or 1) - 1))
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
        """Keep what docutils could not parse as it was written."""
        for literal in _lost(message):
            code = literal.astext()
            line = self._first_line(code, message["line"])
            said = message.children[0].astext()
            self._out.warnings.append(f"line {self._number(line)}: kept as plain text: {said}")
            self._out.code(code, self._number(line))

    def _first_line(self, code: str, line: int) -> int:
        """Where `code` begins; docutils says in which `line` it found the error."""
        wanted = [part.strip() for part in code.split("\n")]
        lines = self._source.lines
        starts = range(min(line, len(lines)), 0, -1)
        return next((n for n in starts if [s.strip() for s in lines[n - 1 : n - 1 + len(wanted)]] == wanted), line)

    def _line(self, node: nodes.Node) -> int:
        """Line in the file of `node`, or of the nearest thing around or in it that knows its line."""
        line = node.line or next((n.line for n in node.findall() if n.line), None)
        around = node.parent
        while line is None and around is not None:
            line, around = around.line, around.parent
        return self._number(line or 1)

    def _number(self, line: int) -> int:
        """Line in the file of a line of the text with its includes in place."""
        numbers = self._source.numbers
        return numbers[min(max(1, line), len(numbers)) - 1]


def _lost(message: nodes.system_message) -> list[nodes.literal_block]:
    """The blocks that are nowhere but in docutils' message."""
    is_lost = message["level"] >= _ERROR or "directive" in message.children[0].astext()
    return list(message.findall(nodes.literal_block)) if is_lost else []


def _cell(entry: nodes.Element) -> Cell:
    text = " ".join(part for part in (_flat(child) for child in entry.children) if part)
    return Cell(text, rows=1 + entry.get("morerows", 0), columns=1 + entry.get("morecols", 0))


def _flat(node: nodes.Node) -> str:
    if isinstance(node, nodes.system_message):
        return "; ".join(map(_flat, _lost(node)))
    if isinstance(node, nodes.TextElement):
        return " ".join(_inline(node).split())
    label = node.get(_LABEL, "") if isinstance(node, nodes.container) else ""
    return "; ".join(filter(None, [label, *map(_flat, node.children)]))


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
