"""Markdown: CommonMark with pipe tables, front matter, footnotes, formulas, and the directives of MyST."""

import csv
import html
import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, NamedTuple

import yaml
from markdown_it.tree import SyntaxTreeNode

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers import directives
from ingest.readers.delimited import csv_rows
from ingest.readers.html.reader import add_html, flat_text
from ingest.readers.includes import Expanded, expand
from ingest.readers.macros import with_macro_warning
from ingest.readers.markdown import mdx
from ingest.readers.markdown.dialects import DEEPEST, common, markdown
from ingest.readers.markdown.includes import MARKDOWN
from ingest.readers.markdown.text import flat, inline
from ingest.readers.notation import figure
from ingest.readers.rst.reader import add_rst
from ingest.source import Source

_DIRECTIVE = re.compile(r"[ \t]*\{([\w:+.-]+)\}[ \t]*(.*)")
_DIV = re.compile(r"[ \t]*(\w+)[ \t]*(.*)")
_OPTION = re.compile(r":?([\w-]+):(?:[ \t]+(.*))?")
_ALERT = re.compile(r"\[!(\w+)\]\s*")
_NUMBERED = re.compile(r"(?:Table|Tab\.)\s*\d", re.IGNORECASE)
_TABLE = re.compile(r"<table\b[^<>]*>", re.IGNORECASE)
_PAIRED = re.compile(r"<(/?)(table|details)\b[^<>]*>", re.IGNORECASE)
_SUMMARY = re.compile(r"\s*<summary[^<>]*>(.{0,1000}?)</summary\s*>", re.IGNORECASE | re.DOTALL)
_LONGEST_CAPTION = 300
_DEEPEST = 20
"""Depth limit for nested directives and for nested details."""
_METADATA = {"facts", "title", "version", "licence", "license", "target"}


def read(source: Source) -> ParsedDocument:
    is_mdx = source.path.suffix.lower() == ".mdx" or mdx.is_mdx(source.text)
    expanded = expand(source, mdx.MDX if is_mdx else MARKDOWN)
    builder = DocumentBuilder(warnings=expanded.warnings)
    reader = _Reader(builder, expanded)
    reader.add("\n".join(expanded.lines), 1)
    document = with_macro_warning(expanded.cite(builder.build()), "mdx" if is_mdx else "markdown")
    return directives.with_stub_warning(document, reader.generated)


class _Directive(NamedTuple):
    name: str
    argument: str
    options: dict[str, str]
    body: str
    line: int
    """Line on which the directive begins."""
    body_line: int


class _Reader:
    """Walks the blocks of a document in order; their maps hold line numbers of the file."""

    def __init__(self, builder: DocumentBuilder, source: Expanded) -> None:
        self.generated: set[str] = set()
        self._out = builder
        self._source = source
        self._names: dict[str, Any] = {}
        """Names of links and footnotes: a directive's content may use those of the text around it."""
        self._folds: list[ExitStack] = []
        """Open sections, which end with the block around them or earlier."""
        self._nested = 0
        """Number of directives around the current block."""
        self._depth = 0
        """Number of lists around the current block."""
        self._caption = ""
        """Caption of the next table."""

    def add(self, text: str, line: int) -> None:
        """Add the blocks of `text`, which begins on `line` of the file."""
        self._blocks(self._parsed(text, line))

    def _parsed(self, text: str, line: int) -> Sequence[SyntaxTreeNode]:
        tokens = markdown.parse(common(text), self._names)
        if any(token.level >= DEEPEST - 1 for token in tokens):
            raise RecursionError
        for token in tokens:
            token.map = [line + n for n in token.map or (0, 0)]
        return SyntaxTreeNode(tokens).children

    def _blocks(self, nodes: Sequence[SyntaxTreeNode], *, enclosed: bool = False) -> None:
        """Add `nodes`; if `enclosed` in a list or quotation, the sections of their headings end with it."""
        outer, self._folds = self._folds, []
        closings = _closings(nodes)
        skip = 0
        for at, node in enumerate(nodes):
            following = nodes[at + 1] if at + 1 < len(nodes) else None
            if at < skip:
                continue
            if node.type == "html_block":
                skip = closings.get(at, at) + 1
                self._html(self._joined(nodes[at:skip]), _line(node))
            elif node.type == "heading" and enclosed:
                self._unfold()
                self._fold(inline(node), _line(node))
            elif node.type == "paragraph" and following and (caption := _caption(node, following)):
                self._caption = caption
                continue
            else:
                self._block(node, _line(node))
            self._out.text(self._take_caption(), _line(node))
        while self._folds:
            self._unfold()
        self._folds = outer

    def _block(self, node: SyntaxTreeNode, line: int) -> None:
        match node.type:
            case "heading":
                self._out.heading(int(node.tag[1]), inline(node), line)
            case "paragraph":
                self._text(_ALERT.sub(lambda mark: f"{mark[1].capitalize()}: ", inline(node), count=1), line)
            case "bullet_list" | "ordered_list":
                for number, item in enumerate(node.children, int(node.attrs.get("start", 1))):
                    self._item(item, f"{number}." if node.type == "ordered_list" else "-")
            case "dl":
                self._definitions(node)
            case "fence" | "colon_fence" if self._nested < _DEEPEST:
                self._nested += 1
                self._fence(node, line)
                self._nested -= 1
            case "fence" | "colon_fence":
                self._out.code(node.content, line + 1)
            case "code_block":
                self._out.code(node.content, line)
            case "math_block" | "math_block_label":
                self._out.code(node.content, line, language="math")
            case "table":
                self._table(node)
            case "front_matter":
                self._front_matter(node.content, line)
            case "footnote_reference":
                self._led(f"[^{node.meta['label']}]:", node.children, line)
            case "hr":
                pass
            case _:
                self._blocks(node.children, enclosed=node.type == "blockquote")

    def _text(self, text: str, line: int) -> None:
        self._out.text(text, line, depth=self._depth)

    def _led(self, lead: str, nodes: Sequence[SyntaxTreeNode], line: int) -> None:
        """Add `nodes` with `lead` before the first paragraph, or alone."""
        if nodes and nodes[0].type == "paragraph":
            self._text(f"{lead} {inline(nodes[0]).lstrip()}", _line(nodes[0]))
            nodes = nodes[1:]
        else:
            self._text(lead, line)
        self._blocks(nodes)

    def _item(self, node: SyntaxTreeNode, marker: str, *, term: str = "") -> None:
        """Add a list entry; `term` is joined to the first paragraph of its definition."""
        nodes = list(node.children)
        first = inline(nodes.pop(0)) if nodes and nodes[0].type == "paragraph" else ""
        self._out.text(f"{term}: {first}" if term else first, _line(node), depth=self._depth, marker=marker)
        self._depth += 1
        self._blocks(nodes, enclosed=True)
        self._depth -= 1

    def _definitions(self, node: SyntaxTreeNode) -> None:
        term = ""
        for part in node.children:
            if part.type == "dt":
                term = flat(part)
            else:
                self._item(part, "-", term=term)
                term = ""

    # HTML

    def _fold(self, label: str, line: int) -> None:
        fold = ExitStack()
        if len(self._folds) < _DEEPEST:
            fold.enter_context(self._out.labelled(label, line))
        else:
            self._out.text(label, line)
        self._folds.append(fold)

    def _unfold(self) -> None:
        if self._folds:
            self._folds.pop().close()

    def _joined(self, nodes: Sequence[SyntaxTreeNode]) -> str:
        """Return `nodes` as HTML: Markdown is rendered, and each node begins on its own line."""
        markup = ""
        line = _line(nodes[0])
        for node in nodes:
            begin, end = node.map or (line, line)
            is_html = node.type == "html_block" or (node.type == "code_block" and node.content.lstrip()[:1] == "<")
            tokens = [] if is_html else node.to_tokens()
            piece = node.content if is_html else markdown.renderer.render(tokens, markdown.options, self._names)
            if piece.count("\n") > end - begin:
                piece = piece.replace("\n", " ")
            markup += "\n" * (begin - line) + piece
            line = max(line, begin) + piece.count("\n")
        if not self._caption or "<caption" in markup:
            return markup
        caption = f"<caption>{html.escape(self._take_caption())}</caption>"
        return _TABLE.sub(lambda table: table[0] + caption, markup, count=1)

    def _html(self, markup: str, line: int) -> None:
        """Add HTML; `<details>` opens a section titled by its summary, which may contain Markdown."""
        at = tables = 0
        for tag in _PAIRED.finditer(markup):
            closes, is_table = bool(tag[1]), tag[2].lower() == "table"
            tables += (-1 if closes else 1) if is_table else 0
            if is_table or tables > 0:
                continue
            line = self._add_html(markup[at : tag.start()], line)
            at = tag.end()
            if closes:
                self._unfold()
                continue
            summary = _SUMMARY.match(markup, at)
            self._fold(flat_text(summary[1]) if summary else "Details", line)
            at = summary.end() if summary else at
            line += markup.count("\n", tag.start(), at)
        self._add_html(markup[at:], line)

    def _add_html(self, markup: str, line: int) -> int:
        """Add `markup`, which begins on `line`; return the line on which it ends."""
        if markup.strip():
            add_html(self._out, markup, line)
        return line + markup.count("\n")

    # Directives

    def _fence(self, node: SyntaxTreeNode, line: int) -> None:
        if directive := _DIRECTIVE.match(node.info):
            options, body, skipped = _options(node.content)
            self._directive(_Directive(directive[1], directive[2].strip(), options, body, line, line + 1 + skipped))
        elif node.type == "fence":
            words = node.info.split()
            if words and node.info.rstrip()[-1] in ";,(){" and "{" not in words[0]:
                # The line of the fence holds code itself.
                self._out.code(f"{node.info}\n{node.content}", line)
            else:
                self._out.code(node.content, line + 1, language=words[0] if words else "")
        else:
            div = _DIV.fullmatch(node.info)
            name, title = div.groups() if div else ("", "")
            if name.lower() in directives.ADMONITIONS or title:
                self._directive(_Directive(name.lower(), title, {}, node.content, line, line + 1))
            else:
                self.add(node.content, line + 1)

    def _directive(self, directive: _Directive) -> None:
        name, argument, options, body, _, line = directive
        if name in directives.NAVIGATION:
            for number, entry in enumerate(body.split("\n"), line):
                self._out.furniture(entry, number)
        elif name in directives.CODE:
            language = argument if name in directives.WITH_LANGUAGE else name
            self._out.code(body, line, language="python" if language.startswith("ipython") else language)
        elif name == "list-table" and (rows := self._list_rows(body, line)):
            header_rows = min(_count(options.get("header-rows", "")), len(rows))
            lines = [number for number, _ in rows]
            self._out.table([cells for _, cells in rows], header_rows=header_rows, row_lines=lines, caption=argument)
        elif name == "csv-table":
            self._csv_table(directive)
        elif name == "raw":
            add_html(self._out, body, line)
        elif name == "eval-rst":
            self.generated |= add_rst(self._out, body.split("\n"), self._source, first_line=line)
        elif name not in directives.SILENT:
            self._prose(directive)

    def _prose(self, directive: _Directive) -> None:
        name, argument, options, body, line, body_line = directive
        if label := directives.label(name, argument):
            with self._out.labelled(label, line):
                self.add(body, body_line)
            return
        if name in directives.ADMONITIONS and not argument:
            self._led(f"{name.capitalize()}:", self._parsed(body, body_line), line)
            return
        if name in directives.ADMONITIONS or name in directives.CHANGES:
            argument = f"{name.capitalize()}: {argument}"
        elif name in ("figure", "image"):
            argument = figure(options.get("alt", ""), argument)
        elif name == "table":
            self._caption, argument = argument, ""
        elif name in directives.CONTAINERS:
            argument = ""
        if directives.is_generated(name):
            self.generated.add(argument)
        self._text(argument, line)
        self.add(body, body_line)

    # Tables

    def _take_caption(self) -> str:
        caption, self._caption = self._caption, ""
        return caption

    def _list_rows(self, body: str, line: int) -> list[tuple[int, list[Cell]]]:
        """Return the rows of a list of lists, each with its line; none if there is other content too."""
        tops = self._parsed(body, line)
        if any(top.type != "bullet_list" for top in tops):
            return []
        rows = []
        for item in (item for top in tops for item in top.children):
            cells = [c for part in item.children for c in (part.children if part.type == "bullet_list" else [part])]
            rows.append((_line(item), [Cell(flat(cell)) for cell in cells]))
        return rows

    def _csv_table(self, directive: _Directive) -> None:
        _, caption, options, body, _, line = directive
        delimiter = {"tab": "\t", "space": " "}.get(given := options.get("delim", ","), given)
        head = [options["header"]] if "header" in options else []
        try:
            rows = list(csv_rows([*head, *body.split("\n")], delimiter))
        except (csv.Error, TypeError) as error:
            self._out.warnings.append(f"line {line}: kept as plain text: {error}")
            self._out.code(body, line)
            return
        cells = [[Cell(" ".join(map(flat, self._parsed(cell, line)))) for cell in row] for _, row in rows]
        lines = [max(line, line + n - 1 - len(head)) for n, _ in rows]
        header_rows = min(len(head) + _count(options.get("header-rows", "")), len(rows))
        self._out.table(cells, header_rows=header_rows, row_lines=lines, caption=caption)

    def _table(self, node: SyntaxTreeNode) -> None:
        rows = [row for part in node.children for row in part.children]
        # Doxygen writes a blank cell as a single backslash.
        cells = [[Cell("" if (text := inline(cell)) == "\\" else text) for cell in row.children] for row in rows]
        self._out.table(cells, header_rows=1, row_lines=list(map(_line, rows)), caption=self._take_caption())

    def _front_matter(self, content: str, line: int) -> None:
        try:
            # BaseLoader is safe too, and keeps a version such as 1.10 as text.
            fields = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506
        except yaml.YAMLError:
            fields = None
            self._out.warnings.append("front matter is not valid YAML and was left out")
        fields = {k: v for k, v in fields.items() if isinstance(v, str)} if isinstance(fields, dict) else {}
        for key in fields.keys() & _METADATA:
            self._out.metadata["licence" if key == "license" else key] = fields[key]
        for n, entry in enumerate(content.split("\n"), line + 1):
            if entry.partition(":")[0] not in fields.keys() & _METADATA:
                self._out.furniture(entry, n)


def _line(node: SyntaxTreeNode) -> int:
    return node.map[0] if node.map else 1


def _closings(nodes: Sequence[SyntaxTreeNode]) -> dict[int, int]:
    """Map each HTML block that opens a table without closing it to the block that closes it."""
    opened: list[int] = []
    closings = {}
    for at, node in enumerate(nodes):
        for tag in _PAIRED.finditer(node.content) if node.type == "html_block" else ():
            if tag[2].lower() == "table" and not tag[1]:
                opened.append(at)
            elif tag[2].lower() == "table" and opened:
                closings[opened.pop()] = at
    return closings


def _caption(node: SyntaxTreeNode, following: SyntaxTreeNode) -> str:
    """Return the text of a paragraph that captions the table below: `Table 1: ...`, or entirely bold; else empty."""
    is_html = following.type == "html_block" and _TABLE.match(following.content.lstrip())
    if not (is_html or following.type == "table"):
        return ""
    text = inline(node)
    spans = [
        s for s in node.children[0].children if s.type != "html_inline" and (s.type != "text" or s.content.strip())
    ]
    is_bold = len(spans) == 1 and spans[0].type == "strong"
    return text if len(text) <= _LONGEST_CAPTION and (is_bold or _NUMBERED.match(text)) else ""


def _options(content: str) -> tuple[dict[str, str], str, int]:
    """Return a directive's options, its content without them, and the number of their lines."""
    lines = content.split("\n")
    skipped = 0
    if lines and lines[0].strip() == "---":
        skipped = next((i + 1 for i in range(1, len(lines)) if lines[i].strip() == "---"), 0)
    else:
        while skipped < len(lines) and _OPTION.fullmatch(lines[skipped].strip()):
            skipped += 1
    given = (_OPTION.fullmatch(line.strip()) for line in lines[:skipped])
    return {option[1]: option[2] or "" for option in given if option}, "\n".join(lines[skipped:]), skipped


def _count(digits: str) -> int:
    return int(digits) if digits.isdecimal() and len(digits) < 10 else 0
