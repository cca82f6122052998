"""HTML: the main content of a page becomes blocks, everything around it furniture."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from selectolax.lexbor import LexborNode

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers.html.listing import code_of, language_of, line_numbers
from ingest.readers.html.text import (
    INLINE,
    LineText,
    TextFlow,
    children,
    classes,
    line_marks,
    line_of,
    parse,
    path,
    unmarked,
    without_delimiters,
)
from ingest.readers.macros import with_macro_warning
from ingest.source import Source

_MAIN = ("[role=main]", "main", "article", "div.body", "#doc-content", "#content")
_MAIN_SHARE = 0.5
_AROUND = {"aside", "footer", "header"}
_NAVIGATION_ROLES = {"navigation", "search", "banner", "contentinfo"}
_NAVIGATION_CLASSES = {"sphinxsidebar", "related", "toctree-wrapper", "headerlink", "breadcrumb", "breadcrumbs"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_TITLES = ", ".join([*_HEADINGS, ".headertitle"])
_LISTS = {"ul", "ol", "menu", "dir"}
_ADMONITION_TITLES = {"admonition-title", "markdown-alert-title"}
_TAB_SETS = {"sd-tab-set", "tab-set", "tabbed-set", "sphinx-tabs"}
_BOXED_TABS = ".tabbed-labels > label, .tabbed-content > .tabbed-block"
_ROW_GROUPS = {"thead", "tbody", "tfoot"}
_LAYOUT_TABLES = {"highlighttable", "memname", "mlabels", "memberdecls"}
_BLOCKS = "p, ul, ol, dl, div, table, pre, h1, h2, h3, h4, h5, h6"
_NO_CELL_TEXT = "table, pre, h1, h2, h3, h4, h5, h6"
_MOST_SPANNED = 1000  # the limit of browsers
_MOST_CELLS = 1_000_000
_INCLUDE = re.compile(r"<!--\s*#\s*include\s+(?:virtual|file)=[\"']([^\"'\n]+)")
_TITLE_SUFFIX = re.compile(r"\s+[—–|·-]\s[^—–|·]*\b(?:documentation|docs)\b[^—–|·]*$", re.IGNORECASE)


_Rows = Sequence[tuple[LexborNode, Sequence[LexborNode]]]
"""Rows of a table, each with its cells."""


def read(source: Source) -> ParsedDocument:
    builder = DocumentBuilder()
    body = parse(source.text, 1)
    _Reader(builder, body, 1).page(body)
    for include in _INCLUDE.finditer(source.text):
        line = source.text.count("\n", 0, include.start()) + 1
        builder.warnings.append(f"line {line}: include of {include[1]}: a server adds it")
    return with_macro_warning(builder.build(), "html")


def add_html(builder: DocumentBuilder, markup: str, first_line: int) -> None:
    """Add a piece of HTML that begins on `first_line` of its file."""
    body = parse(markup, first_line)
    _Reader(builder, body, first_line).add(body)


def flat_text(markup: str) -> str:
    """Return the visible text of a piece of HTML on one line."""
    run = TextFlow(1)
    run.node(parse(markup, 1))
    return run.flat()


class _Reader:
    def __init__(self, builder: DocumentBuilder, body: LexborNode, line: int) -> None:
        self._out = builder

        self._run = TextFlow(line)
        self._depth = 0
        """Number of lists around the current node."""
        self._marker = ""
        """Marker of the list entry whose text comes next."""
        self._lead: list[LineText] = []
        """Beginning of the next text: the term it defines, or the kind of a note."""
        self._told, self._listings = line_numbers(body)
        """Nodes that are not written where they stand: line numbers, and what was written before its place. Tables
        that hold a line of code in each row."""
        self._furniture = {"nav", "title"}

    def page(self, body: LexborNode) -> None:
        main = _main(body)
        if main is None:
            self._furniture |= _AROUND
        title = next((child for child in children(body) if child.tag == "title"), None)
        if title is not None and not self._begins_with_title(main or body):
            line, text = TextFlow(1).aside(title)
            self._out.heading(1, _TITLE_SUFFIX.sub("", text), line)
        if main is None:
            self.add(body)
        else:
            self._around(body, [node.mem_id for node in path(main)])

    def _begins_with_title(self, content: LexborNode) -> bool:
        for heading in content.css(_TITLES):
            if not any(map(self._is_furniture, path(heading))):
                return _HEADINGS.get(heading.tag or "", 1) == 1
        return False

    def add(self, node: LexborNode) -> None:
        for child in children(node):
            self._walk(child)
        self._end_text(alone=True)

    def _around(self, node: LexborNode, way: Sequence[int]) -> None:
        """Write everything outside the main content; `way` leads from the main content outwards."""
        for child in children(node):
            if child.mem_id == way[0]:
                self.add(child)
            elif child.mem_id in way:
                self._around(child, way)
            else:
                self._furnish(child)

    def _furnish(self, node: LexborNode) -> None:
        run = TextFlow(self._run.line)
        run.node(node)
        for line, text in run.lines():
            self._out.furniture(text.rstrip(";, "), line)
        self._run.line = run.line

    def _end_text(self, *, alone: bool = False) -> None:
        """Write the text so far; a lead without text is kept for the next text, unless it is to stand `alone`."""
        lines = self._run.lines()
        if lines and self._lead and self._lead[-1].line == lines[0].line:
            lines[0] = LineText(lines[0].line, f"{self._lead.pop().text} {lines[0].text}")
        if lines or alone:
            self._out.lines([*self._lead, *lines], depth=self._depth - bool(self._marker), marker=self._marker)
            self._marker, self._lead = "", []
        self._run = TextFlow(self._run.line)

    def _walk(self, node: LexborNode) -> None:
        if node.mem_id in self._told or self._run.leaf(node):
            return
        tag, names = node.tag or "", classes(node)
        if self._is_furniture(node):
            self._furnish(node)
        elif tag in INLINE:
            for child in children(node):
                self._walk(child)
        else:
            self._block(node, tag, names)

    def _is_furniture(self, node: LexborNode) -> bool:
        names = classes(node)
        if node.tag == "header" and node.css_first("h1") is not None:
            return False
        is_navigation = bool(names & _NAVIGATION_CLASSES) or node.attributes.get("role") in _NAVIGATION_ROLES
        return is_navigation or node.tag in self._furniture or {"contents", "topic"} <= names

    def _block(self, node: LexborNode, tag: str, names: set[str]) -> None:
        if tag in _HEADINGS or "headertitle" in names:
            self._end_text(alone=True)
            line, text = self._run.aside(node)
            self._out.heading(_HEADINGS.get(tag, 1), text, line)
        elif tag == "pre" or names & {"fragment", "math"} or node.mem_id in self._listings:
            self._code(node, "math" if "math" in names else language_of(node))
        elif tag in _LISTS:
            self._list(node, _number(node.attributes.get("start")))
        elif tag == "dl":
            self._definitions(node)
        elif tag == "table":
            self._table(node, names)
        elif tag == "details":
            self._labelled(node, next((child for child in children(node) if child.tag == "summary"), None))
        elif "sd-card" in names:
            self._labelled(node, node.css_first(".sd-card-title"))
        elif names & _TAB_SETS:
            self._tabs(node)
        else:
            self._end_text()
            for child in children(node):
                if classes(child) & _ADMONITION_TITLES:
                    line, text = self._run.aside(child)
                    self._lead = [LineText(line, text.removesuffix(":") + ":")]
                else:
                    self._walk(child)
            self._end_text(alone=bool(names & {"admonition", "markdown-alert"}))

    def _code(self, node: LexborNode, language: str) -> None:
        self._end_text(alone=True)
        marked = "".join(code_of(node, self._told))
        (start, first), *_, (end, last) = line_marks(marked) * 2 or [(0, self._run.line)] * 2
        code = unmarked(marked[marked.rfind("\n", 0, start) + 1 :])
        # If tags also break lines, all lines cite the first.
        step = int(marked.count("\n", start, end) == last - first)
        self._out.code(without_delimiters(code) if language == "math" else code, first, language=language, step=step)
        self._run.line = last

    def _list(self, node: LexborNode, number: int) -> None:
        self._end_text(alone=True)
        self._depth += 1
        for child in children(node):
            if child.tag == "li":
                self._end_text(alone=True)
                self._marker = f"{number}." if node.tag == "ol" else "-"
                number += 1
                self.add(child)
            else:
                self._walk(child)
        self._end_text(alone=True)
        self._depth -= 1

    def _definitions(self, node: LexborNode) -> None:
        self._end_text(alone=True)
        terms: list[LexborNode] = []
        entries = (children(child) if child.tag == "div" else [child] for child in children(node))
        for child in chain.from_iterable(entries):
            if child.tag == "dt":
                terms.append(child)
            elif child.tag == "dd" and terms and terms[0].css_first(".descname, .sig-name") is not None:
                self._labelled(child, terms[0], also=terms[1:])
                terms = []
            elif child.tag == "dd":
                self._definition(terms, child)
                terms = []
            else:
                self._walk(child)
        self._definition(terms, None)

    def _definition(self, terms: Sequence[LexborNode], body: LexborNode | None) -> None:
        self._lead = [piece for term in terms if (piece := self._run.aside(term)).text]
        if self._lead and body is not None:
            line, text = self._lead[-1]
            self._lead[-1] = LineText(line, text.removesuffix(":") + ":")
        self._marker = "-" * bool(self._lead)
        self._depth += 1
        if body is not None:
            self.add(body)
        self._end_text(alone=True)
        self._depth -= 1

    def _labelled(self, node: LexborNode, label: LexborNode | None, *, also: Sequence[LexborNode] = ()) -> None:
        """Write `node` as a section titled by `label`, which may be inside `node`."""
        self._end_text(alone=True)
        line, text = self._run.aside(label) if label is not None else LineText(self._run.line, "")
        with self._out.labelled(text, line):
            for other in also:
                self.add(other)
            self._told |= {label.mem_id} if label is not None else set()
            self.add(node)

    def _tabs(self, node: LexborNode) -> None:
        self._end_text(alone=True)
        parts = list(_tab_parts(node))
        labels = [part for part in parts if _is_tab_label(part)]
        for part in parts:
            if part.tag in ("div", "section") and labels:
                self._labelled(part, labels.pop(0))
            elif not _is_tab_label(part):
                self._walk(part)
        for label in labels:
            self._walk(label)

    def _table(self, node: LexborNode, names: set[str]) -> None:
        self._end_text(alone=True)
        caption = " ".join(self._run.aside(child).text for child in children(node) if child.tag == "caption")
        is_placement = bool(names & _LAYOUT_TABLES) or node.attributes.get("role") in ("presentation", "none")
        for rows, header_rows in _tables(node):
            if is_placement or _is_layout(rows):
                self._out.text(caption, self._run.line)
                self._layout(rows)
            else:
                self._data(rows, header_rows or _leading_headers(rows), caption)
            caption = ""

    def _data(self, rows: _Rows, header_rows: int, caption: str) -> None:
        lines = [line_of(row.text() or "", self._run.line) for row, _ in rows]
        table = [[self._cell(cell) for cell in cells] for _, cells in rows]
        if _size(table) <= _MOST_CELLS:
            self._out.table(table, header_rows=header_rows, row_lines=lines, caption=caption)
        else:
            self._out.warnings.append(f"line {lines[0]}: a table whose spans are too wide is kept as lines of text")
            texts = [" | ".join(cell.text for cell in row) for row in table]
            self._out.lines([(line, text) for line, text in zip(lines, texts, strict=True) if text])

    def _cell(self, cell: LexborNode) -> Cell:
        rows, columns = (_number(cell.attributes.get(name)) for name in ("rowspan", "colspan"))
        return Cell(self._run.aside(cell).text, rows or _MOST_SPANNED, columns)

    def _layout(self, rows: _Rows) -> None:
        for row, cells in rows:
            if row.css_first(_BLOCKS) is None:
                for cell in cells:
                    for child in children(cell):
                        self._walk(child)
                    self._run.add(" ")
                self._end_text()
            else:
                for cell in cells:
                    self._walk(cell)


def _main(body: LexborNode) -> LexborNode | None:
    """Return the node of the page's content, if it holds most of the text outside navigation."""
    around = sum(len(node.text() or "") for node in body.css("script, style, nav, aside, header, footer"))
    total = len(body.text() or "") - around
    for selector in _MAIN:
        match body.css(selector):
            case [main] if len(main.text() or "") >= _MAIN_SHARE * total:
                return main
    return None


def _tab_parts(tab_set: LexborNode) -> Iterator[LexborNode]:
    """Yield labels and panels; some generators put all labels into one box and all panels into another."""
    for child in children(tab_set):
        is_box = child.attributes.get("role") == "tablist" or child.css_first(_BOXED_TABS) is not None
        yield from children(child) if is_box else [child]


def _is_tab_label(node: LexborNode) -> bool:
    return node.tag in ("label", "button") or node.attributes.get("role") == "tab"


def _tables(node: LexborNode) -> Iterator[tuple[_Rows, int]]:
    """Yield rows and the number of header rows; each further `thead` begins a new table."""
    rows: list[tuple[LexborNode, list[LexborNode]]] = []
    header_rows = 0
    for part in children(node):
        if part.tag == "thead" and len(rows) > header_rows:
            yield rows, header_rows
            rows, header_rows = [], 0
        for row in [part] if part.tag == "tr" else children(part) if part.tag in _ROW_GROUPS else ():
            if row.tag == "tr":
                rows.append((row, [cell for cell in children(row) if cell.tag in ("td", "th")]))
                header_rows += part.tag == "thead"
    yield rows, header_rows


def _is_layout(rows: _Rows) -> bool:
    """Whether a table only places blocks on the page."""
    if any(cell.tag == "th" for _, cells in rows for cell in cells):
        return False
    return all(len(cells) < 2 for _, cells in rows) or any(row.css_first(_NO_CELL_TEXT) is not None for row, _ in rows)


def _leading_headers(rows: _Rows) -> int:
    count = next((i for i, (_, cells) in enumerate(rows) if any(cell.tag == "td" for cell in cells)), len(rows))
    return count if count < len(rows) else min(1, count)


def _size(table: Sequence[Sequence[Cell]]) -> int:
    """Estimate the number of cells after all spans are filled in."""
    widest = max((sum(cell.columns for cell in row) for row in table), default=0)
    spread = sum(min(cell.rows, len(table)) * cell.columns for row in table for cell in row)
    return max(widest * len(table), spread)


def _number(attribute: str | None) -> int:
    """Return the value of a span or of a list's start; 1 if it is not a number."""
    return min(int(attribute[:9]), _MOST_SPANNED) if attribute and attribute.isdecimal() else 1
