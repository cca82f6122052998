"""Macros, which only other programs can expand: they stay as they are written, and a warning counts them."""

import re
from dataclasses import replace

from ingest.builder import BlockKind, ParsedDocument

_ANY = (
    r"\{\{-?\s*(?:[A-Za-z_][\w.]*\s*(?:\([^{}]*\)\s*|\|[^{}]*)?"  # Jinja, Liquid
    r"|#(?!include\b|rustdoc_include\b|playground\b|title\b)[^{}]*)-?\}\}"  # mdBook
    r"|\{\{[%<]\s*(?!include\b|read[fF]ile\b)[^{}\n]*[%>]\}\}"  # Hugo
    r"|\{%-?\s*(?:include|import|call|render|snippet)\b[^{}\n]*%\}"
    r"|<%=?[^%<>\n]+%>"
    r"|^(?:!include|@include|!!!include)\b[^\n]*"
)
"""Includes that kb knows are reported where they are followed."""
_OWN = {
    "asciidoc": r"|(?<![$\\{])\{[a-z][\w-]{2,}\}",
    "rst": r"|(?<![\w|])\|[A-Za-z][\w.-]*\|(?![\w|])",
    "mdx": r"|(?<!\{)\{[A-Za-z_][\w.]*(?:\([^{}]*\))?\}",
    "html": "",
    "markdown": "",
}
"""Those of each format: attributes, substitutions, expressions."""
_VERBATIM = re.compile(r"(`+).*?\1|\$[^$\n]*\$")
"""Code and formulas."""


def with_macro_warning(document: ParsedDocument, format_: str) -> ParsedDocument:
    """Add a warning to a `document` whose text names macros."""
    pattern = re.compile(_ANY + _OWN[format_], re.MULTILINE)
    found = [
        (macro[0], block.start)
        for block in document.blocks
        if block.kind not in (BlockKind.CODE, BlockKind.FURNITURE)
        for macro in pattern.finditer(_VERBATIM.sub("", document.text[block.start : block.end]))
    ]
    if not found:
        return document
    (first, start), *more = found
    line = document.lines[document.text.count("\n", 0, start)]
    others = f", nor are {len(more)} more" if more else ""
    return replace(document, warnings=(*document.warnings, f"line {line}: the macro {first} is not expanded{others}"))
