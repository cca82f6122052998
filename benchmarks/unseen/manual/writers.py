"""Write a document in each of the six formats."""

import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Iterator

from benchmarks.unseen.manual.document import Block, Bullets, Code, Document, Format, Note, Paragraph, Section, Table

PDF_TEXT_WIDTH = 440
"""Points, on A4 with reportlab's margins of an inch."""

_NAME = re.compile(r"`([^`]+)`")


def written(document: Document) -> bytes:
    """The file of a document.

    Raises:
        ModuleNotFoundError: it is a PDF, and `reportlab` is not installed.
    """
    return _WRITERS[document.format](document)


def _markdown(document: Document) -> bytes:
    lines = [f"# {document.title}", "", f"Version: {document.edition}", ""]
    for depth, block in _flat(document.blocks, depth=2):
        match block:
            case str():
                lines += [f"{'#' * depth} {block}", ""]
            case Paragraph():
                lines += [block.text, ""]
            case Bullets():
                lines += [*(f"- {item}" for item in block.items), ""]
            case Note():
                lines += [f"> **Note:** {block.text}", ""]
            case Code():
                lines += ["```", block.text, "```", ""]
            case Table():
                rule = ["---"] * len(block.header)
                lines += [block.caption, ""] if block.caption else []
                lines += [f"| {' | '.join(row)} |" for row in (block.header, rule, *block.rows)] + [""]
    return _encoded(lines)


def _rest(document: Document) -> bytes:
    lines = [*_underlined(document.title, "="), f":Version: {document.edition}", ""]
    for depth, block in _flat(document.blocks, depth=0):
        match block:
            case str():
                lines += _underlined(block, '-~^"'[depth])
            case Paragraph():
                lines += [_double(block.text), ""]
            case Bullets():
                lines += [*(f"* {_double(item)}" for item in block.items), ""]
            case Note():
                lines += [".. note::", "", f"   {_double(block.text)}", ""]
            case Code():
                lines += ["::", "", *(f"   {line}".rstrip() for line in block.text.splitlines()), ""]
            case Table():
                lines += [f".. list-table:: {_double(block.caption)}".rstrip(), "   :header-rows: 1", ""]
                for row in (block.header, *block.rows):
                    lines += [f"   {' ' if i else '*'} - {_double(cell)}" for i, cell in enumerate(row)]
                lines.append("")
    return _encoded(lines)


def _asciidoc(document: Document) -> bytes:
    lines = [f"= {document.title}", f":revnumber: {document.edition}", ""]
    for depth, block in _flat(document.blocks, depth=2):
        match block:
            case str():
                lines += [f"{'=' * depth} {block}", ""]
            case Paragraph():
                lines += [block.text, ""]
            case Bullets():
                lines += [*(f"* {item}" for item in block.items), ""]
            case Note():
                lines += [f"NOTE: {block.text}", ""]
            case Code():
                lines += ["----", block.text, "----", ""]
            case Table():
                lines += [f".{block.caption}"] if block.caption else []
                lines += ['[options="header"]', "|==="]
                lines += [" ".join(f"|{cell}" for cell in row) for row in (block.header, *block.rows)] + ["|===", ""]
    return _encoded(lines)


def _html(document: Document) -> bytes:
    title = html.escape(document.title)
    lines = ["<!DOCTYPE html>", f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head><body>']
    lines += [f"<h1>{title}</h1>", f"<p>Version: {document.edition}</p>"]
    for depth, block in _flat(document.blocks, depth=2):
        match block:
            case str():
                lines.append(f"<h{depth}>{_tagged(block)}</h{depth}>")
            case Paragraph():
                lines.append(f"<p>{_tagged(block.text)}</p>")
            case Bullets():
                lines += ["<ul>", *(f"<li>{_tagged(item)}</li>" for item in block.items), "</ul>"]
            case Note():
                lines.append(f'<div class="note"><p>{_tagged(block.text)}</p></div>')
            case Code():
                lines.append(f"<pre>{html.escape(block.text)}</pre>")
            case Table():
                lines += ["<table>", f"<caption>{_tagged(block.caption)}</caption>"]
                lines += ["<tr>" + "".join(f"<th>{_tagged(cell)}</th>" for cell in block.header) + "</tr>"]
                lines += ["<tr>" + "".join(f"<td>{_tagged(cell)}</td>" for cell in row) + "</tr>" for row in block.rows]
                lines.append("</table>")
    return _encoded([*lines, "</body></html>"])


def _csv(document: Document) -> bytes:
    (table,) = document.blocks
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([table.header, *table.rows])
    return out.getvalue().replace("`", "").encode()


def _pdf(document: Document) -> bytes:
    from reportlab.lib import colors
    from reportlab.lib.styles import getSampleStyleSheet
    from reportlab.platypus import ListFlowable, Preformatted, SimpleDocTemplate, Spacer, TableStyle
    from reportlab.platypus import Paragraph as Text
    from reportlab.platypus import Table as Grid

    styles = getSampleStyleSheet()
    grid = TableStyle([("GRID", (0, 0), (-1, -1), 0.25, colors.grey), ("VALIGN", (0, 0), (-1, -1), "TOP")])
    story = [Text(html.escape(document.title), styles["Title"]), Text(f"Version: {document.edition}", styles["Normal"])]

    def text(words: str, style: str = "BodyText") -> Text:
        return Text(_NAME.sub(r'<font name="Courier">\1</font>', html.escape(words)), styles[style])

    for depth, block in _flat(document.blocks, depth=1):
        match block:
            case str():
                story.append(text(block, f"Heading{depth}"))
            case Paragraph():
                story.append(text(block.text))
            case Bullets():
                story.append(ListFlowable([text(item) for item in block.items], bulletType="bullet"))
            case Note():
                story.append(text(f"Note: {block.text}", "Italic"))
            case Code():
                story.append(Preformatted(block.text, styles["Code"]))
            case Table():
                story += [text(block.caption, "Italic")] if block.caption else []
                rows = (block.header, *block.rows)
                lengths = [min(40, 4 + max(map(len, column))) for column in zip(*rows, strict=True)]
                widths = [PDF_TEXT_WIDTH * length / sum(lengths) for length in lengths]
                cells = [[text(cell) for cell in row] for row in rows]
                story += [Grid(cells, widths, style=grid, repeatRows=1), Spacer(1, 8)]
    out = io.BytesIO()
    SimpleDocTemplate(out, title=document.title, invariant=1).build(story)
    return out.getvalue()


def _flat(blocks: Iterable[Block], depth: int) -> Iterator[tuple[int, Block | str]]:
    """The blocks in reading order, each heading as its text, with the depth of its section."""
    for block in blocks:
        if isinstance(block, Section):
            yield depth, block.title
            yield from _flat(block.blocks, depth + 1)
        else:
            yield depth, block


def _underlined(title: str, sign: str) -> list[str]:
    return [title, sign * len(title), ""]


def _double(text: str) -> str:
    return _NAME.sub(r"``\1``", text)


def _tagged(text: str) -> str:
    return _NAME.sub(r"<code>\1</code>", html.escape(text))


def _encoded(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines).rstrip() + "\n").encode()


_WRITERS: dict[Format, Callable[[Document], bytes]] = {
    Format.MARKDOWN: _markdown,
    Format.REST: _rest,
    Format.HTML: _html,
    Format.ASCIIDOC: _asciidoc,
    Format.PDF: _pdf,
    Format.CSV: _csv,
}
