"""Directives and roles of Sphinx and MyST, by what a reader does with them."""

import re
from collections.abc import Collection
from dataclasses import replace

from ingest.builder import BlockKind, ParsedDocument

SILENT = frozenset(
    {"currentmodule", "date", "default-domain", "highlight", "index", "module", "py:currentmodule", "role"}
    | {"rst-class", "section-numbering", "sectnum", "tabularcolumns"}
)
"""They say nothing."""

NAVIGATION = frozenset({"contents", "meta", "toctree"})

WITH_LANGUAGE = frozenset({"code", "code-block", "code-cell", "prompt", "sourcecode"})
CODE = WITH_LANGUAGE | {"graphviz", "jinja", "literalinclude", "math", "mermaid", "parsed-literal", "testcode"}
"""Their content is no markup."""

_LABELLED = frozenset(
    {"attribute", "card", "class", "data", "describe", "dropdown", "envvar", "exception", "function", "grid-item-card"}
    | {"group-tab", "method", "option", "tab", "tab-item", "versionset"}
)

ADMONITIONS = frozenset(
    {"attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip", "todo", "warning"}
)

CHANGES = frozenset({"deprecated", "versionadded", "versionchanged"})
"""Their argument, a version, says nothing without their name."""

CONDITIONS = frozenset({"container", "div", "grid", "ifconfig", "only"})
"""Their argument is no text."""

PLAIN_ROLES = frozenset(
    {"abbr", "any", "cite", "dfn", "doc", "eq", "guilabel", "menuselection", "numref", "ref", "term"}
)
"""Their text is no code."""


def role_text(content: str) -> str:
    """What a role shows of its content: the title of `title <target>`, the target without a sign that shortens it."""
    titled = re.fullmatch(r"(.+?)\s*<[^<>]*>", content, re.DOTALL)
    return titled[1] if titled else content.lstrip("~!")


def is_labelled(name: str) -> bool:
    """Whether the directive's argument is the title of a section that its content is: tabs, cards, signatures."""
    return name in _LABELLED or ":" in name


def is_generated(name: str) -> bool:
    """Whether the directive's content is written by a program from source code that is not here."""
    return name.startswith(("auto", "doxygen"))


def with_stub_warning(document: ParsedDocument, generated: Collection[str]) -> ParsedDocument:
    """`document`, warned of if it says no more than headings and `generated`, the names that a program fills in."""
    said = [
        document.text[b.start : b.end]
        for b in document.blocks
        if b.kind not in (BlockKind.HEADING, BlockKind.FURNITURE)
    ]
    if not said or not all(" ".join(text.split()).removeprefix("- ") in generated for text in said):
        return document
    return replace(document, warnings=(*document.warnings, "stub: generated reference is not in the file"))
