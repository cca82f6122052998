"""AsciiDoc, line by line: no maintained library under a free licence parses it to a tree.

Sections, lists, tables and verbatim blocks of the language are read as such; macros and styles of extensions become
plain text or code, so that nothing is lost.
"""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ingest.builder import Block, BlockKind, Cell, DocumentBuilder, ParsedDocument
from ingest.readers.asciidoc import syntax
from ingest.readers.asciidoc.inline import inline
from ingest.readers.asciidoc.source import ATTRIBUTE, Attributes, expand
from ingest.readers.asciidoc.syntax import Style
from ingest.readers.asciidoc.table import RawCell, raw_table
from ingest.readers.html.reader import add_html
from ingest.readers.macros import with_macro_warning
from ingest.source import Source


def read(source: Source) -> ParsedDocument:
    expanded = expand(source)
    builder = DocumentBuilder(warnings=expanded.warnings)
    document = _Document(builder, syntax.labels("\n".join(expanded.lines)))
    _Blocks(document, expanded.lines, is_whole=True).read()
    return with_macro_warning(expanded.cite(builder.build()), "asciidoc")


@dataclass(slots=True)
class _Document:
    out: DocumentBuilder
    labels: dict[str, str]
    attributes: Attributes = field(default_factory=Attributes)
    level: int = 0
    """Level of the last heading that opened a section."""

    def inline(self, text: str) -> str:
        return inline(self.attributes.fill(text), self.labels)


class _Blocks:
    """Reads lines block by block; the content of a delimited block or a cell is read by another instance."""

    def __init__(
        self, document: _Document, lines: Sequence[str], *, first: int = 1, depth: int = 0, is_whole: bool = False
    ) -> None:
        self._document = document
        self._out = document.out
        self._lines = lines
        self._first = first
        self._depth = depth
        self._is_whole = is_whole
        self._at = 0
        self._style = Style()
        self._markers: list[str] = []
        """Markers of the open lists, outermost first."""
        self._counts: dict[str, int] = {}
        self._is_attached = False
        """Whether the next block belongs to the last entry of a list."""
        self._lead = ""
        """Beginning of the next paragraph."""

    def read(self, *, lead: str = "") -> None:
        self._lead = lead
        while self._at < len(self._lines):
            self._block(self._lines[self._at])
        self._end_lead()
        self._caption()

    def _block(self, line: str) -> None:
        """Read the block that begins with `line`, or a line above a block."""
        if not line or syntax.COMMENT.match(line) or syntax.BREAK.fullmatch(line):
            self._at += 1
        elif line == "+":
            self._is_attached = True
            self._at += 1
        elif ATTRIBUTE.match(line):
            self._attribute()
        elif match := syntax.ATTRIBUTE_LIST.match(line):
            self._style.add(self._document.attributes.fill(match[1]))
            self._at += 1
        elif syntax.ANCHOR.match(line):
            self._at += 1
        elif match := syntax.TITLE.match(line):
            self._style.title, self._style.title_at = self._document.inline(match[1]), self._number()
            self._at += 1
        elif not self._item(line):
            if not self._is_attached:
                self._markers.clear()
            self._other(line)
            self._style = Style()
            self._is_attached = False

    def _other(self, line: str) -> None:
        if (heading := self._heading(line)) is None and syntax.DELIMITER.match(line):
            self._delimited(line)
            return
        self._caption()
        if heading:
            self._section(*heading)
        elif match := syntax.MACRO.match(line):
            self._macro(*match.groups())
        elif line[0] == " " and self._style.name not in ("normal", *syntax.ADMONITIONS):
            self._literal()
        else:
            self._paragraph()

    # Places

    def _number(self) -> int:
        return self._first + self._at

    @property
    def _indent(self) -> int:
        return self._depth + len(self._markers)

    # Blocks

    def _attribute(self) -> None:
        """Read `:name: value`; a backslash continues the value on the next line."""
        first = self._number()
        line = self._lines[self._at]
        while line.endswith(" \\") and self._at + 1 < len(self._lines):
            self._at += 1
            line = f"{line[:-2].rstrip()} {self._lines[self._at].strip()}"
        self._at += 1
        attributes = self._document.attributes
        name, value = attributes.define(line)
        if name != "leveloffset":
            self._out.furniture(f"{name}: {value}" if value else "", first)
        if name == "revnumber" and value:
            self._out.metadata["version"] = value

    def _heading(self, line: str) -> tuple[int, str, int] | None:
        """Return level, title and number of lines of the heading that begins with `line`."""
        if match := syntax.HEADING.match(line):
            return len(match[1]), match[2].removesuffix(f" {match[1]}"), 1
        below = self._lines[self._at + 1] if self._at + 1 < len(self._lines) else ""
        is_underline = len(below) > 1 and below[0] in syntax.UNDERLINES and below == below[0] * len(below)
        if is_underline and abs(len(below) - len(line)) < 2 and line[0].isalnum():
            return syntax.UNDERLINES[below[0]], line, 2
        return None

    def _section(self, level: int, title: str, length: int) -> None:
        title, line = self._document.inline(title), self._number()
        level = max(1, level + self._document.attributes.level_offset)
        self._at += length
        if not self._is_whole:
            self._out.text(title, line, depth=self._indent)
        elif self._style.name in ("discrete", "float"):
            # It opens no section of the document, so it must not end one.
            self._out.heading(max(level, self._document.level + 1), title, line)
        else:
            is_title = level == 1 and not self._document.level
            self._document.level = level
            self._out.heading(level, title, line)
            if is_title:
                self._header(title)

    def _header(self, title: str) -> None:
        """Read authors, revision and attributes below the title of the document."""
        self._out.metadata["title"] = " ".join(title.split())
        while self._at < len(self._lines) and (line := self._lines[self._at]):
            if ATTRIBUTE.match(line):
                self._attribute()
                continue
            if match := syntax.REVISION.match(line):
                self._out.metadata["version"] = match[1]
            if not line.startswith("//"):
                self._out.text(self._document.inline(line), self._number())
            self._at += 1

    def _delimited(self, line: str) -> None:
        begin = self._at + 1
        closing = line[: len(line) - len(line.lstrip("`"))] if line[0] == "`" else line
        end = next((at for at in range(begin, len(self._lines)) if self._lines[at] == closing), None)
        if end is None:
            self._out.warnings.append(f"line {self._number()}: the block that begins with {line} is not closed")
            end = len(self._lines)
        body, first = self._lines[begin:end], self._first + begin
        self._at = end + 1
        name = self._style.name
        if line[0] == "/" or name == "comment":
            self._caption()
            return
        if line[-1] == "=" and line[0] in "|,:!":
            self._table(body, first, line[0])
        elif line[0] == "`":
            self._code(body, first, line.strip("` ").partition(",")[0])
        elif line[:2] == "++" and name not in syntax.MATH:
            self._end_lead()
            self._caption()
            add_html(self._out, "\n".join(body), first)
        elif line[:4] in ("----", "....") or line[:2] == "++" or name in syntax.CODE:
            self._code(body, first, self._style.language)
        else:
            self._nested(body, first)

    def _nested(self, body: Sequence[str], first: int) -> None:
        label = f"{self._style.name.capitalize()}: " if self._style.name in syntax.ADMONITIONS else ""
        self._end_lead()
        if self._style.title:
            self._caption(label)
            label = ""
        _Blocks(self._document, body, first=first, depth=self._indent).read(lead=label)
        self._attribution(first)

    def _attribution(self, line: int) -> None:
        if self._style.name in ("quote", "verse"):
            self._text(", ".join(filter(None, self._style.positional[1:])), line)

    def _text(self, text: str, line: int) -> None:
        self._out.text(self._document.inline(text), line, depth=self._indent)

    def _code(self, body: Sequence[str], first: int, language: str) -> None:
        self._end_lead()
        self._caption()
        substitutes = "attributes" in self._style.named.get("subs", "")
        code = "\n".join(body)
        self._out.code(self._document.attributes.fill(code) if substitutes else code, first, language=language)

    def _macro(self, name: str, target: str, content: str) -> None:
        self._end_lead()
        if name in ("image", "video", "audio"):
            self._text(f"{name}::{target}[{content}]".replace("::", ":", 1), self._number())
        elif name != "toc":
            self._text(" ".join(filter(None, (target, content))), self._number())
        self._at += 1

    def _caption(self, label: str = "") -> None:
        """Write the title above a block as a separate text."""
        if self._style.title:
            self._out.text(label + self._style.title, self._style.title_at, depth=self._indent)
        self._style.title = ""

    def _end_lead(self) -> None:
        """Write the lead as a separate text, before a block that cannot begin with it."""
        self._out.text(self._lead.rstrip(), self._number())
        self._lead = ""

    # Paragraphs

    def _paragraph_lines(self, *, in_item: bool = False) -> list[str]:
        """Return the lines of the paragraph that begins here; an empty one for each comment."""
        lines: list[str] = []
        while self._at < len(self._lines) and (line := self._lines[self._at]):
            if (lines or in_item) and (line == "+" or syntax.begins(line, syntax.ENDS_OF_PARAGRAPH)):
                break
            if in_item and syntax.begins(line, syntax.ENTRIES):
                break
            lines.append("" if syntax.COMMENT.match(line) else line)
            self._at += 1
        return lines

    def _paragraph(self) -> None:
        first = self._number()
        lines = self._paragraph_lines()
        name = self._style.name
        if name in syntax.CODE:
            self._code(lines, first, self._style.language)
            return
        if name == "comment":
            return
        text = "\n".join(map(str.strip, lines))
        label = f"{name.capitalize()}: " if name in syntax.ADMONITIONS else ""
        if match := syntax.ADMONITION.match(text):
            label, text = f"{match[1].capitalize()}: ", text[match.end() :]
        self._out.text(self._lead + label + self._document.inline(text), first, depth=self._indent)
        self._lead = ""
        self._attribution(first)

    def _literal(self) -> None:
        first = self._number()
        self._code(textwrap.dedent("\n".join(self._paragraph_lines())).split("\n"), first, self._style.language)

    # Lists

    def _item(self, line: str) -> bool:
        """Read the list entry that begins with `line`; return False if there is none."""
        match = next(filter(None, (rule.match(line) for rule in syntax.ENTRIES)), None)
        if match is None or syntax.HEADING.match(line):
            return False
        self._caption()
        self._end_lead()
        first = self._number()
        mark, text = match[1], match[2]
        if match.re is syntax.TERM:
            kind, shown = match[2], "-"
            text = self._definition(mark.strip(), match[3] or "")
        else:
            kind, shown = self._marker(mark, is_callout=match.re is syntax.CALLOUT)
            if match.re is syntax.CALLOUT:
                text = f"<{mark}> {text}"
            self._at += 1
            text = "\n".join([text, *self._paragraph_lines(in_item=True)])
        if kind in self._markers:
            del self._markers[self._markers.index(kind) + 1 :]
        else:
            self._markers.append(kind)
        self._out.text(self._document.inline(text), first, depth=self._indent - 1, marker=shown)
        self._is_attached = match.re is syntax.TERM and text.endswith(":")
        self._style = Style()
        return True

    def _marker(self, mark: str, *, is_callout: bool) -> tuple[str, str]:
        """Return the kind of list that `mark` belongs to, and the marker of its entry in the text."""
        if is_callout or mark[0] in "-*\u2022":
            return "<1>" if is_callout else mark, "-"
        if mark[0] != ".":
            return re.sub(r"\w+", "1", mark), mark
        start = self._style.named.get("start", "1")
        if mark not in self._markers or "start" in self._style.named:
            self._counts[mark] = int(start) - 1 if re.fullmatch(r"\d{1,9}", start) else 0
        self._counts[mark] += 1
        return mark, f"{self._counts[mark]}."

    def _definition(self, term: str, text: str) -> str:
        """Return a term and the first paragraph of its definition, on as many lines as in the file."""
        self._at += 1
        if not text:
            begin = next((at for at in range(self._at, len(self._lines)) if self._lines[at]), self._at)
            below = self._lines[begin] if begin < len(self._lines) else "+"
            if below == "+" or syntax.begins(below, syntax.NOT_PROSE):
                return f"{term}:"
            term += ":" + "\n" * (begin - self._at)
            self._at = begin
        else:
            term += f": {text}"
        return "\n".join([term, *self._paragraph_lines(in_item=True)])

    # Tables

    def _table(self, body: Sequence[str], first: int, mark: str) -> None:
        lines = ["" if syntax.COMMENT.match(line) else line for line in body]
        rows, header_rows = raw_table(lines, mark=mark, named=self._style.named, options=self._style.options)
        self._end_lead()
        if any(cell.style == "a" and any(ln.startswith("!===") for ln in cell.lines) for row in rows for cell in row):
            self._caption()
            self._layout(rows, first)
            return
        numbers = [first]
        for row in rows:
            numbers.append(first + row[0].at if row else numbers[-1])
        cells = [
            [Cell(self._cell(cell, first, is_header=r < header_rows), cell.rows, cell.columns) for cell in row]
            for r, row in enumerate(rows)
        ]
        self._out.table(cells, header_rows=header_rows, row_lines=numbers[1:], caption=self._style.title)

    def _cell(self, cell: RawCell, first: int, *, is_header: bool) -> str:
        if cell.style == "a" and not is_header:
            parsed = self._apart(cell, first)
            return " ".join(_flat(parsed, block) for block in parsed.blocks)
        return cell.text if cell.style in ("l", "v") else self._document.inline(cell.text)

    def _apart(self, cell: RawCell, first: int) -> ParsedDocument:
        """Parse the blocks of a cell as a separate document."""
        builder = DocumentBuilder(warnings=self._out.warnings)
        _Blocks(replace(self._document, out=builder), cell.lines, first=first + cell.at).read()
        return builder.build()

    def _layout(self, rows: Sequence[Sequence[RawCell]], first: int) -> None:
        """Write a table that only places others: tables side by side become one if they have equally many rows."""
        for row in rows:
            grids = [_grid(self._apart(cell, first)) for cell in row]
            if all(grids) and len({len(grid) for grid in grids}) == 1:
                joined = zip(*grids, strict=True)
                cells = [[Cell(text) for _, texts in together for text in texts] for together in joined]
                self._out.table(cells, header_rows=0, row_lines=[line for line, _ in grids[0]])
            else:
                for cell in row:
                    _Blocks(self._document, cell.lines, first=first + cell.at, depth=self._indent).read()


def _flat(document: ParsedDocument, block: Block) -> str:
    text = document.text[block.start : block.end]
    return f"`{' '.join(text.split(chr(10))[1:-1])}`" if block.kind is BlockKind.CODE else text


def _grid(document: ParsedDocument) -> list[tuple[int, tuple[str, ...]]]:
    """Return lines and cells of the rows of a document that is only a table without a header; else nothing."""
    if len(document.blocks) != 1 or not (table := document.blocks[0].table) or table.header:
        return []
    first = document.text.count("\n", 0, table.rows[0].start)
    return [(line, row.cells) for line, row in zip(document.lines[first:], table.rows, strict=False)]
