"""reStructuredText through docutils."""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from docutils import nodes
from docutils.core import publish_doctree
from docutils.utils import column_width

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers import directives
from ingest.readers.html.reader import add_html, flat_text
from ingest.readers.includes import RST, Expanded, expand
from ingest.readers.macros import with_macro_warning
from ingest.readers.notation import figure, script
from ingest.readers.rst.sphinx import FURNITURE, GENERATED, LABEL, fallbacks
from ingest.source import Source

_SHORT_UNDERLINE = re.compile(r"([=~^\"'*+#-])\1{1,2}")
_EXPLICIT = re.compile(r"\.\.( |$)|[-*+>|:] ?|(\d+|#)[.)] |>>>")
_CRAMPED = re.compile(rf"^( *\.\. (?:{'|'.join(sorted(directives.CODE | directives.ADMONITIONS))})::)(?=\w)")
_USED = re.compile(r"(?<!\.\. )\|([^|\s][^|\n]*)\|")
_MARKS = re.compile(r"[*`|_\[\\]")
_LONGEST_LINE = 20_000
_ERROR = 3
"""Lowest level of a docutils message whose block is lost."""

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
    source = expand(file, RST)
    builder = DocumentBuilder(warnings=source.warnings)
    generated = add_rst(builder, source.lines, source)
    document = with_macro_warning(source.cite(builder.build()), "rst")
    return directives.with_stub_warning(document, generated)


def add_rst(builder: DocumentBuilder, lines: Sequence[str], source: Expanded, *, first_line: int = 1) -> set[str]:
    """Add `lines`, which begin on `first_line` of `source`; return the names in them that a program fills in."""
    lines = _prepared(lines)
    with fallbacks():
        tree = publish_doctree("\n".join(lines), settings_overrides=_SETTINGS)
    reader = _Reader(builder, lines, source, before=first_line - 1)
    reader.blocks(tree.children)
    return reader.generated


def _prepared(lines: Sequence[str]) -> list[str]:
    """Mend lines that docutils would take for text or a comment: underlines of two signs, `.. code-block::cpp`.

    Marks in a very long line are escaped: docutils takes quadratic time for the marks of a paragraph.
    """
    lines = [_CRAMPED.sub(r"\1 ", line) for line in lines]
    prepared = [
        _MARKS.sub(r"\\\g<0>", line) if len(line) > _LONGEST_LINE and line[0] != " " else line for line in lines
    ]
    for at in range(1, len(lines)):
        title, below = lines[at - 1], lines[at + 1] if at + 1 < len(lines) else ""
        stands_alone = not below and (at == 1 or not lines[at - 2])
        if stands_alone and title[:1].strip() and _SHORT_UNDERLINE.fullmatch(lines[at]) and not _EXPLICIT.match(title):
            prepared[at] = lines[at][0] * max(4, column_width(title))
    return prepared


class _Reader:
    def __init__(self, builder: DocumentBuilder, lines: Sequence[str], source: Expanded, *, before: int) -> None:
        self.generated: set[str] = set()
        self._out = builder
        self._lines = lines
        self._source = source
        self._before = before
        """Number of lines of the source before these."""
        self._level = 0
        self._used = {name for line in lines for name in _USED.findall(line)}
        """Names of substitutions that are used, so that their text appears there."""

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
                # docutils reports the line of the underline.
                self._out.heading(self._level, _inline(node), self._before + max(1, (node.parent.line or 1) - 1))
            case nodes.paragraph() if GENERATED in node:
                self.generated.add(" ".join(_inline(node).split()))
                self._out.text(_inline(node), self._line(node), depth=depth)
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
                self._led(f"{type(node).__name__.capitalize()}:", node.children, node, depth)
            case nodes.container() if FURNITURE in node:
                for line, text in node[FURNITURE]:
                    self._out.furniture(text, self._before + line)
            case nodes.field_list() if _is_metadata(node):
                for field in node.children:
                    self._out.furniture(": ".join(map(_flat, field.children)), self._line(field))
            case nodes.footnote() | nodes.citation():
                label, *body = node.children
                self._led(f"[{label.astext()}]", body, node, depth)
            case nodes.raw():
                if "html" in node["format"]:
                    add_html(self._out, node.astext(), self._line(node))
            case nodes.container() if LABEL in node:
                with self._deeper(), self._out.labelled(node[LABEL], self._line(node)):
                    self.blocks(node.children)
            case nodes.substitution_definition():
                for name in set(node["names"]) - self._used:
                    self._out.furniture(f"{name}: {_inline(node)}", self._line(node))
            case nodes.comment() | nodes.Invisible():
                pass
            case nodes.TextElement() | nodes.line_block():
                self._out.text(_inline(node), self._line(node), depth=depth)
            case _:
                self.blocks(node.children, depth=depth)

    @contextmanager
    def _deeper(self) -> Iterator[None]:
        self._level += 1
        yield
        self._level -= 1

    def _list(self, node: nodes.Element, depth: int) -> None:
        for number, item in enumerate(node.children, int(node.get("start", 1))):
            marker = f"{number}." if isinstance(node, nodes.enumerated_list) else "-"
            text, rest = _parted(item.children)
            self._out.text(text, self._line(item), depth=depth, marker=marker)
            self.blocks(rest, depth=depth + 1)

    def _entry(self, node: nodes.Element, depth: int) -> None:
        """Add a term with its definition, a field or an option: the name is joined to the first paragraph."""
        *names, body = node.children
        name = " : ".join(" ".join(_inline(n).split()) for n in names)
        text, rest = _parted(body.children)
        self._out.text(f"{name}: {text}" if text else name, self._line(node), depth=depth, marker="-")
        self.blocks(rest, depth=depth + 1)

    def _led(self, lead: str, body: Sequence[nodes.Node], node: nodes.Node, depth: int) -> None:
        """Add `body` with `lead` before the first paragraph, or alone."""
        text, rest = _parted(body)
        self._out.text(f"{lead} {text}", self._line(body[0] if text else node), depth=depth)
        self.blocks(rest, depth=depth)

    def _table(self, node: nodes.table) -> None:
        caption = next((_inline(c) for c in node.children if isinstance(c, nodes.title)), "")
        head = [row for part in node.findall(nodes.thead) for row in part.children]
        body = [row for part in node.findall(nodes.tbody) for row in part.children]
        while body and not body[-1].astext().strip():
            body.pop()
        rows = [[_cell(entry) for entry in row.children if isinstance(entry, nodes.entry)] for row in head + body]
        lines = [self._line(row) for row in head + body]
        self._out.table(rows, header_rows=len(head), row_lines=lines, caption=caption)

    def _lost_block(self, message: nodes.system_message) -> None:
        """Keep a block that docutils could not parse as it was written."""
        for literal in _lost(message):
            code = literal.astext()
            line = self._first_line(code, message["line"])
            said = message.children[0].astext()
            self._out.warnings.append(f"line {self._source.number(self._before + line)}: kept as plain text: {said}")
            self._out.code(code, self._before + line)

    def _first_line(self, code: str, line: int) -> int:
        """Return the line where `code` begins; docutils reports only the `line` of the error."""
        wanted = [part.strip() for part in code.split("\n")]
        lines = self._lines
        starts = range(min(line, len(lines)), 0, -1)
        return next((n for n in starts if [s.strip() for s in lines[n - 1 : n - 1 + len(wanted)]] == wanted), line)

    def _line(self, node: nodes.Node) -> int:
        """Return the line of `node`, or of the nearest node inside or around it that has one."""
        line = node.line or next((n.line for n in node.findall() if n.line), None)
        around = node.parent
        while line is None and around is not None:
            line, around = around.line, around.parent
        return self._before + (line or 1)


def _parted(body: Sequence[nodes.Node]) -> tuple[str, Sequence[nodes.Node]]:
    """Return the text of the paragraph that `body` begins with, if any, and the rest."""
    return (_inline(body[0]), body[1:]) if body and isinstance(body[0], nodes.paragraph) else ("", body)


def _is_metadata(node: nodes.field_list) -> bool:
    """Whether `node` comes before all text, where Sphinx reads settings such as `:orphan:`."""
    before = node.parent.children[: node.parent.index(node)]
    return isinstance(node.parent, nodes.document) and all(
        isinstance(n, nodes.Invisible | nodes.comment) for n in before
    )


def _lost(message: nodes.system_message) -> list[nodes.literal_block]:
    """Return the blocks that exist only in docutils' message."""
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
    label = node.get(LABEL, "") if isinstance(node, nodes.container) else ""
    return "; ".join(filter(None, [label, *map(_flat, node.children)]))


def _inline(node: nodes.Node) -> str:
    """Return the text of a paragraph: without emphasis and link targets, with literals in backticks."""
    if isinstance(node, nodes.line_block):
        return "\n".join(_inline(child) for child in node.children)
    return "".join(map(_span, node.children))


def _span(node: nodes.Node) -> str:
    match node:
        case nodes.Text():
            return str(node).replace("\0 ", "").replace("\0", "")
        case nodes.literal() | nodes.math():
            return f"`{node.astext()}`"
        case nodes.image():
            return figure(node.get("alt", ""), node["uri"])
        case nodes.raw():
            return flat_text(node.astext()) or " "
        case nodes.footnote_reference() | nodes.citation_reference():
            return f"[{node.astext()}]"
        case nodes.superscript():
            return script("^", node.astext())
        case nodes.subscript():
            return script("_", node.astext())
        case nodes.problematic() if node.astext() == "|br|":
            return " "
        case _:
            return "".join(map(_span, node.children))
