"""Directives and roles of Sphinx and MyST, grouped by how a reader treats them."""

import re
from collections.abc import Collection
from dataclasses import replace

from ingest.builder import BlockKind, ParsedDocument

SILENT = frozenset(
    {"currentmodule", "date", "default-domain", "highlight", "index", "module", "py:currentmodule", "role"}
    | {"rst-class", "section-numbering", "sectnum", "tabularcolumns"}
)
"""They show no text."""

NAVIGATION = frozenset({"contents", "meta", "toctree"})

WITH_LANGUAGE = frozenset({"code", "code-block", "code-cell", "prompt", "sourcecode"})
CODE = WITH_LANGUAGE | {"graphviz", "jinja", "literalinclude", "math", "mermaid", "parsed-literal", "testcode"}
"""Their content is not markup."""

_LABELLED = frozenset(
    {"attribute", "card", "class", "data", "describe", "dropdown", "envvar", "exception", "function", "grid-item-card"}
    | {"group-tab", "method", "option", "tab", "tab-item", "versionset"}
)

ADMONITIONS = frozenset(
    {"attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip", "todo", "warning"}
)

CHANGES = frozenset({"deprecated", "versionadded", "versionchanged"})
"""Their argument, a version, means nothing without their name."""

_CONDITIONS = frozenset({"ifconfig", "only"})
"""Their content holds if their argument does, such as for one of several chips."""

CONTAINERS = _CONDITIONS | {"container", "div", "grid"}
"""Their argument is not text."""

_FORMATS = frozenset({"and", "draft", "epub", "html", "latex", "man", "not", "or", "pdf", "texinfo", "text", "xml"})
"""A condition of these words alone asks for the form in which the page is shown, and says nothing about the chip."""

PLAIN_ROLES = frozenset(
    {"abbr", "any", "cite", "dfn", "doc", "eq", "guilabel", "menuselection", "numref", "ref", "term"}
)
"""Their text is not code."""


def role_text(content: str) -> str:
    """Return the text that a role shows: the title of `title <target>`, or the target without its prefix `~` or `!`."""
    titled = re.fullmatch(r"(.+?)\s*<[^<>]*>", content, re.DOTALL)
    return titled[1] if titled else content.lstrip("~!")


def label(name: str, argument: str) -> str:
    """Return the title if the directive is a section titled by its argument: tab, card, signature, or condition."""
    if name in _CONDITIONS:
        return "" if _FORMATS.issuperset(re.findall(r"\w+", argument)) else f"Only: {argument}"
    return argument if name in _LABELLED or ":" in name else ""


def is_generated(name: str) -> bool:
    """Whether a program generates the directive's content from source code that is not available."""
    return name.startswith(("auto", "doxygen"))


def with_stub_warning(document: ParsedDocument, generated: Collection[str]) -> ParsedDocument:
    """Add a warning to a `document` that holds only headings and `generated` names, which a program fills in."""
    said = [
        document.text[b.start : b.end]
        for b in document.blocks
        if b.kind not in (BlockKind.HEADING, BlockKind.FURNITURE)
    ]
    if not said or not all(" ".join(text.split()).removeprefix("- ") in generated for text in said):
        return document
    return replace(document, warnings=(*document.warnings, "stub: the generated reference is not in the file"))
