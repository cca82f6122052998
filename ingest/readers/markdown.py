"""Markdown: CommonMark with pipe tables, front matter, footnotes, formulas, and the directives of MyST."""

import csv
import html
import re
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import yaml
from markdown_it.tree import SyntaxTreeNode

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers import directives
from ingest.readers.dialects import DEEPEST, common, markdown
from ingest.readers.html import add_html, flat_text
from ingest.readers.includes import MYST, Expanded, expand
from ingest.readers.markdown_text import figure, flat, inline
from ingest.readers.rst import add_rst
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
"""Directives within directives, details within details."""
_METADATA = {"title", "version", "licence", "license", "target"}


def read(source: Source) -> ParsedDocument:
    expanded = expand(source, MYST)
    builder = DocumentBuilder(warnings=expanded.warnings)
    reader = _Reader(builder, expanded)
    reader.blocks(reader.parsed("\n".join(expanded.lines)), first_line=1)
    return directives.with_stub_warning(expanded.cite(builder.build()), reader.generated)


class _Reader:
    def __init__(self, builder: DocumentBuilder, source: Expanded) -> None:
        self.generated: set[str] = set()
        self._out = builder
        self._source = source
        self._names: dict[str, Any] = {}
        """Of links and footnotes: a directive's content may use those of the text around it."""
        self._folds: list[ExitStack] = []
        """Sections that end where the block around them does, or before."""
        self._nested = 0
        """Directives around the current block."""
        self._caption = ""
        """Of the table that comes next."""

    def parsed(self, text: str) -> Sequence[SyntaxTreeNode]:
        tokens = markdown.parse(common(text), self._names)
        if any(token.level >= DEEPEST - 1 for token in tokens):
            raise RecursionError
        return SyntaxTreeNode(tokens).children

    def blocks(
        self, nodes: Sequence[SyntaxTreeNode], *, first_line: int, depth: int = 0, enclosed: bool = False
    ) -> None:
        """Add `nodes`.

        Args:
            nodes: Blocks that stand one after another.
            first_line: Line of the file that their line 0 is.
            depth: Lists around them.
            enclosed: Whether a list or quotation holds them, out of which their headings do not reach.
        """
        outer, self._folds = self._folds, []
        closings = _closings(nodes)
        skip = 0
        for at, node in enumerate(nodes):
            line = first_line + (node.map[0] if node.map else 0)
            following = nodes[at + 1] if at + 1 < len(nodes) else None
            if at < skip:
                continue
            if node.type == "html_block":
                skip = closings.get(at, at) + 1
                self._html(self._joined(nodes[at:skip]), line)
            elif node.type == "heading" and enclosed:
                self._unfold()
                self._fold(inline(node), line)
            elif node.type == "paragraph" and following and (caption := _caption(node, following)):
                self._caption = caption
                continue
            else:
                self._block(node, line=line, first_line=first_line, depth=depth)
            unused, self._caption = self._caption, ""
            self._out.text(unused, line)
        while self._folds:
            self._unfold()
        self._folds = outer

    def _block(self, node: SyntaxTreeNode, *, line: int, first_line: int, depth: int) -> None:
        match node.type:
            case "heading":
                self._out.heading(int(node.tag[1]), inline(node), line)
            case "paragraph":
                self._out.text(_ALERT.sub(_admonition, inline(node), count=1), line, indent=2 * depth)
            case "bullet_list" | "ordered_list":
                self._list(node, first_line=first_line, depth=depth)
            case "dl":
                self._definitions(node, first_line=first_line, depth=depth)
            case "fence" | "colon_fence" if self._nested < _DEEPEST:
                self._nested += 1
                self._fence(node, line=line, depth=depth)
                self._nested -= 1
            case "fence" | "colon_fence":
                self._out.code(node.content, line + 1)
            case "code_block":
                self._out.code(node.content, line)
            case "math_block" | "math_block_label":
                self._out.code(node.content, line, language="math")
            case "table":
                self._table(node, first_line=first_line)
            case "front_matter":
                self._front_matter(node.content, line)
            case "footnote_reference":
                self._led(f"[^{node.meta['label']}]:", node.children, line, first_line=first_line, depth=depth)
            case "hr":
                pass
            case _:
                enclosed = node.type == "blockquote"
                self.blocks(node.children, first_line=first_line, depth=depth, enclosed=enclosed)

    def _led(self, lead: str, nodes: Sequence[SyntaxTreeNode], line: int, *, first_line: int, depth: int) -> None:
        """`nodes` with `lead` before the first paragraph, or by itself."""
        if nodes and nodes[0].type == "paragraph":
            begin = first_line + (nodes[0].map[0] if nodes[0].map else 0)
            self._out.text(f"{lead} {inline(nodes[0]).lstrip()}", begin, indent=2 * depth)
            nodes = nodes[1:]
        else:
            self._out.text(lead, line, indent=2 * depth)
        self.blocks(nodes, first_line=first_line, depth=depth)

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
        """HTML of `nodes`, what is Markdown among them rendered, each beginning in its own line."""
        markup = []
        line = nodes[0].map[0] if nodes[0].map else 0
        for node in nodes:
            begin, end = node.map or (line, line)
            is_html = node.type == "html_block" or (node.type == "code_block" and node.content.lstrip()[:1] == "<")
            tokens = [] if is_html else node.to_tokens()
            piece = node.content if is_html else markdown.renderer.render(tokens, markdown.options, self._names)
            if piece.count("\n") > end - begin:
                piece = piece.replace("\n", " ")
            markup.append("\n" * (begin - line) + piece)
            line = max(line, begin) + piece.count("\n")
        return self._captioned("".join(markup))

    def _captioned(self, markup: str) -> str:
        """`markup` with the caption that stands above it, unless its table has one."""
        if not self._caption or "<caption" in markup:
            return markup
        caption, self._caption = f"<caption>{html.escape(self._caption)}</caption>", ""
        return _TABLE.sub(lambda table: table[0] + caption, markup, count=1)

    def _html(self, markup: str, line: int) -> None:
        """HTML, of which `<details>` opens a section that its summary names and that Markdown may fill."""
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
            line += markup.count("\n", tag.start(), summary.end()) if summary else 0
            at = summary.end() if summary else at
        self._add_html(markup[at:], line)

    def _add_html(self, markup: str, line: int) -> int:
        """Add `markup`, which begins in `line`; return the line in which it ends."""
        if markup.strip():
            add_html(self._out, markup, line)
        return line + markup.count("\n")

    def _list(self, node: SyntaxTreeNode, *, first_line: int, depth: int) -> None:
        number = int(node.attrs.get("start", 1))
        for item in node.children:
            marker = f"{number}." if node.type == "ordered_list" else "-"
            number += 1
            line = first_line + (item.map[0] if item.map else 0)
            parts = list(item.children)
            if parts and parts[0].type == "paragraph":
                self._out.item(inline(parts.pop(0)), line, depth=depth, marker=marker)
            self.blocks(parts, first_line=first_line, depth=depth + 1, enclosed=True)

    def _definitions(self, node: SyntaxTreeNode, *, first_line: int, depth: int) -> None:
        """A term and the first paragraph of its definition belong together."""
        term = ""
        for part in node.children:
            line = first_line + (part.map[0] if part.map else 0)
            if part.type == "dt":
                if term:
                    self._out.item(term, line, depth=depth)
                term = " ".join(inline(part).split())
                continue
            parts = list(part.children)
            first = inline(parts.pop(0)) if parts and parts[0].type == "paragraph" else ""
            self._out.item(f"{term}: {first}" if term else first, line, depth=depth)
            term = ""
            self.blocks(parts, first_line=first_line, depth=depth + 1, enclosed=True)
        if term:
            self._out.item(term, first_line + (node.map[0] if node.map else 0), depth=depth)

    def _fence(self, node: SyntaxTreeNode, *, line: int, depth: int) -> None:
        directive = _DIRECTIVE.match(node.info)
        if directive is not None:
            options, body, skipped = _options(node.content)
            self._directive(directive[1], directive[2].strip(), options, body, line, skipped, depth)
        elif node.type == "fence":
            words = node.info.split()
            if words and node.info.rstrip()[-1] in ";,(){" and "{" not in words[0]:
                # Code on the line of the fence itself.
                self._out.code(f"{node.info}\n{node.content}", line)
            else:
                self._out.code(node.content, line + 1, language=words[0] if words else "")
        else:
            div = _DIV.fullmatch(node.info)
            name, title = div.groups() if div else ("", "")
            if name.lower() in directives.ADMONITIONS or title:
                self._directive(name.lower(), title, {}, node.content, line, 0, depth)
            else:
                self.blocks(self.parsed(node.content), first_line=line + 1, depth=depth)

    def _directive(
        self, name: str, argument: str, options: dict[str, str], body: str, line: int, skipped: int, depth: int
    ) -> None:
        """`skipped` lines, the options, stand between `line`, where the directive begins, and its `body`."""
        first_line = line + 1 + skipped
        if name in directives.NAVIGATION:
            for n, entry in enumerate(body.split("\n")):
                self._out.furniture(entry, first_line + n)
        elif name in directives.CODE:
            language = argument if name in directives.WITH_LANGUAGE else name
            self._out.code(body, first_line, language="python" if language.startswith("ipython") else language)
        elif name == "list-table" and (rows := self._list_rows(body)):
            header_rows = min(_count(options.get("header-rows", "")), len(rows))
            lines = [first_line + at for at, _ in rows]
            self._out.table([cells for _, cells in rows], header_rows=header_rows, row_lines=lines, caption=argument)
        elif name == "csv-table":
            self._csv_table(body, options, caption=argument, line=first_line)
        elif name == "raw":
            self._add_html(body, first_line)
        elif name == "eval-rst":
            self.generated |= add_rst(self._out, body.split("\n"), self._source, first_line=first_line)
        elif name not in directives.SILENT:
            self._prose(name, argument, options, body, line, first_line, depth)

    def _prose(
        self, name: str, argument: str, options: dict[str, str], body: str, line: int, first_line: int, depth: int
    ) -> None:
        nodes = self.parsed(body)
        if directives.is_labelled(name) and argument:
            with self._out.labelled(argument, line):
                self.blocks(nodes, first_line=first_line, depth=depth)
            return
        if name in directives.ADMONITIONS and not argument:
            self._led(f"{name.capitalize()}:", nodes, line, first_line=first_line, depth=depth)
            return
        if name in directives.ADMONITIONS or name in directives.CHANGES:
            argument = f"{name.capitalize()}: {argument}"
        elif name in ("figure", "image"):
            argument = figure(options.get("alt", ""), argument)
        elif name == "table":
            self._caption, argument = argument, ""
        elif name in directives.CONDITIONS:
            argument = ""
        if directives.is_generated(name):
            self.generated.add(argument)
        self._out.text(argument, line, indent=2 * depth)
        self.blocks(nodes, first_line=first_line, depth=depth)

    def _list_rows(self, body: str) -> list[tuple[int, list[Cell]]]:
        """The rows of a list of lists, each with its line in `body`; none when something else stands there too."""
        tops = self.parsed(body)
        if any(top.type != "bullet_list" for top in tops):
            return []
        rows = []
        for item in (item for top in tops for item in top.children):
            cells = [c for part in item.children for c in (part.children if part.type == "bullet_list" else [part])]
            rows.append((item.map[0] if item.map else 0, [Cell(flat(cell)) for cell in cells]))
        return rows

    def _csv_table(self, body: str, options: dict[str, str], *, caption: str, line: int) -> None:
        delimiter = {"tab": "\t", "space": " "}.get(given := options.get("delim", ","), given)
        head = [options["header"]] if "header" in options else []
        try:
            reader = csv.reader([*head, *body.split("\n")], delimiter=delimiter, skipinitialspace=True)
            rows = [(reader.line_num, row) for row in reader if row]
        except (csv.Error, TypeError) as error:
            self._out.warnings.append(f"line {line}: kept as plain text: {error}")
            self._out.code(body, line)
            return
        cells = [[Cell(" ".join(map(flat, self.parsed(cell)))) for cell in row] for _, row in rows]
        lines = [max(line, line + n - 1 - len(head)) for n, _ in rows]
        header_rows = min(len(head) + _count(options.get("header-rows", "")), len(rows))
        self._out.table(cells, header_rows=header_rows, row_lines=lines, caption=caption)

    def _table(self, node: SyntaxTreeNode, *, first_line: int) -> None:
        rows, lines = [], []
        for part in node.children:
            for row in part.children:
                # A backslash alone is how a blank cell is written in Doxygen.
                rows.append([Cell("" if (text := inline(cell)) == "\\" else text) for cell in row.children])
                lines.append(first_line + (row.map[0] if row.map else 0))
        caption, self._caption = self._caption, ""
        self._out.table(rows, header_rows=1, row_lines=lines, caption=caption)

    def _front_matter(self, content: str, line: int) -> None:
        try:
            # Safe too, and it takes a version 1.10 for neither a number nor a date.
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


def _closings(nodes: Sequence[SyntaxTreeNode]) -> dict[int, int]:
    """For each HTML block that opens a table without closing it: where the block is that does."""
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
    """The text of a paragraph that can only be the caption of the table below: `Table 1: ...`, or all of it bold."""
    is_html = following.type == "html_block" and _TABLE.match(following.content.lstrip())
    if not (is_html or following.type == "table"):
        return ""
    text = inline(node)
    spans = [
        s for s in node.children[0].children if s.type != "html_inline" and (s.type != "text" or s.content.strip())
    ]
    is_bold = len(spans) == 1 and spans[0].type == "strong"
    return text if len(text) <= _LONGEST_CAPTION and (is_bold or _NUMBERED.match(text)) else ""


def _admonition(mark: re.Match[str]) -> str:
    return f"{mark[1].capitalize()}: "


def _options(content: str) -> tuple[dict[str, str], str, int]:
    """A directive's options, its content without them, and how many lines they took."""
    lines = content.split("\n")
    skipped = 0
    if lines and lines[0].strip() == "---":
        skipped = next((i + 1 for i in range(1, len(lines)) if lines[i].strip() == "---"), 0)
    else:
        while skipped < len(lines) and _OPTION.fullmatch(lines[skipped].strip()):
            skipped += 1
    given = (re.match(r":?([\w-]+):[ \t]*(.*)", line.strip()) for line in lines[:skipped])
    return {option[1]: option[2] for option in given if option}, "\n".join(lines[skipped:]), skipped


def _count(digits: str) -> int:
    return int(digits) if digits.isdecimal() and len(digits) < 10 else 0
