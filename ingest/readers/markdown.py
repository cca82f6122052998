"""Markdown (CommonMark with pipe tables, front matter and MyST directive fences)."""

import re
from collections.abc import Sequence

import yaml
from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

from ingest.builder import Cell, DocumentBuilder, ParsedDocument
from ingest.readers.html_fragment import numbered_lines
from ingest.source import Source

_DIRECTIVE = re.compile(r"\{([\w:+.-]+)\}[ \t]*(.*)")
_OPTION = re.compile(r":[\w-]+:.*")
_SILENT = {"toctree", "meta", "contents", "raw", "include", "image"}
_VERBATIM = {
    "code-block",
    "code",
    "sourcecode",
    "code-cell",
    "literalinclude",
    "math",
    "mermaid",
    "prompt",
    "parsed-literal",
}

_markdown = (
    MarkdownIt("commonmark").enable("table").enable("strikethrough").use(front_matter_plugin).use(colon_fence_plugin)
)


def read(source: Source) -> ParsedDocument:
    builder = DocumentBuilder()
    _Reader(builder).blocks(_parse(source.text), first_line=1)
    return builder.build()


def _parse(text: str) -> Sequence[SyntaxTreeNode]:
    return SyntaxTreeNode(_markdown.parse(text)).children


class _Reader:
    def __init__(self, builder: DocumentBuilder) -> None:
        self._out = builder

    def blocks(self, nodes: Sequence[SyntaxTreeNode], *, first_line: int, depth: int = 0) -> None:
        """Add `nodes`; `first_line` is the line of the file that their line 0 is, `depth` counts lists around them."""
        for node in nodes:
            line = first_line + (node.map[0] if node.map else 0)
            match node.type:
                case "heading":
                    self._out.heading(int(node.tag[1]), _inline(node), line)
                case "paragraph":
                    self._out.text(_inline(node), line, indent=2 * depth)
                case "bullet_list" | "ordered_list":
                    self._list(node, first_line=first_line, depth=depth)
                case "fence" | "colon_fence":
                    self._fence(node, line=line, depth=depth)
                case "code_block":
                    self._out.code(node.content, line)
                case "table":
                    self._table(node, first_line=first_line)
                case "html_block":
                    self._out.lines([(line + n, text) for n, text in numbered_lines(node.content)])
                case "front_matter":
                    self._front_matter(node.content)
                case "hr":
                    pass
                case _:
                    self.blocks(node.children, first_line=first_line, depth=depth)

    def _list(self, node: SyntaxTreeNode, *, first_line: int, depth: int) -> None:
        number = int(node.attrs.get("start", 1))
        for item in node.children:
            marker = f"{number}." if node.type == "ordered_list" else "-"
            number += 1
            line = first_line + (item.map[0] if item.map else 0)
            parts = list(item.children)
            if parts and parts[0].type == "paragraph":
                self._out.item(_inline(parts.pop(0)), line, depth=depth, marker=marker)
            self.blocks(parts, first_line=first_line, depth=depth + 1)

    def _fence(self, node: SyntaxTreeNode, *, line: int, depth: int) -> None:
        directive = _DIRECTIVE.match(node.info)
        if directive is None:
            self._out.code(node.content, line + 1, language=node.info.split()[0] if node.info.split() else "")
            return
        name, argument = directive.group(1), directive.group(2).strip()
        body, skipped = _without_options(node.content)
        if name in _VERBATIM:
            self._out.code(body, line + 1 + skipped, language=argument if name.startswith("code") else name)
        elif name == "list-table" and (rows := _list_table(body)):
            self._list_table(rows, node.content, caption=argument, first_line=line + 1 + skipped)
        elif name in ("tab-item", "tab", "dropdown", "grid-item-card") and argument:
            with self._out.labelled(argument, line):
                self.blocks(_parse(body), first_line=line + 1 + skipped, depth=depth)
        elif name not in _SILENT:
            is_path = name == "figure"
            if argument and not is_path:
                self._out.text(argument, line)
            self.blocks(_parse(body), first_line=line + 1 + skipped, depth=depth)

    def _list_table(
        self, rows: Sequence[tuple[int, list[Cell]]], content: str, *, caption: str, first_line: int
    ) -> None:
        header = re.search(r"^:header-rows:\s*(\d+)", content, re.MULTILINE)
        header_rows = min(int(header.group(1)) if header else 0, len(rows))
        lines = [first_line + line for line, _ in rows]
        self._out.table([cells for _, cells in rows], header_rows=header_rows, row_lines=lines, caption=caption)

    def _table(self, node: SyntaxTreeNode, *, first_line: int) -> None:
        rows, lines = [], []
        for part in node.children:
            for row in part.children:
                rows.append([Cell(_inline(cell)) for cell in row.children])
                lines.append(first_line + (row.map[0] if row.map else 0))
        self._out.table(rows, header_rows=1, row_lines=lines)

    def _front_matter(self, content: str) -> None:
        try:
            # Safe too, and it takes a version 1.10 for neither a number nor a date.
            fields = yaml.load(content, Loader=yaml.BaseLoader)  # noqa: S506
        except yaml.YAMLError:
            self._out.warnings.append("front matter is not valid YAML and was left out")
            return
        for key in ("title", "version", "licence", "license", "target"):
            if isinstance(fields, dict) and isinstance(value := fields.get(key), str):
                self._out.metadata["licence" if key == "license" else key] = value


def _without_options(content: str) -> tuple[str, int]:
    """A directive's content without its options, and how many lines they took."""
    lines = content.split("\n")
    skipped = 0
    if lines and lines[0].strip() == "---":
        skipped = next((i + 1 for i in range(1, len(lines)) if lines[i].strip() == "---"), 0)
    else:
        while skipped < len(lines) and _OPTION.fullmatch(lines[skipped].strip()):
            skipped += 1
    return "\n".join(lines[skipped:]), skipped


def _list_table(body: str) -> list[tuple[int, list[Cell]]]:
    """The rows of a list of lists, each with its line in `body`; none when something else stands there too."""
    tops = _parse(body)
    if any(top.type != "bullet_list" for top in tops):
        return []
    rows = []
    for item in (item for top in tops for item in top.children):
        cells = [c for part in item.children for c in (part.children if part.type == "bullet_list" else [part])]
        rows.append((item.map[0] if item.map else 0, [Cell(_flat(cell)) for cell in cells]))
    return rows


def _flat(node: SyntaxTreeNode) -> str:
    """All text below a block, on one line."""
    if node.type in ("fence", "code_block"):
        return f"`{' '.join(node.content.split())}`"
    if node.type == "inline":
        return " ".join(_text(node).split())
    if node.type == "html_block":
        return " ".join(text for _, text in numbered_lines(node.content))
    return " ".join(filter(None, map(_flat, node.children)))


def _inline(node: SyntaxTreeNode) -> str:
    """Text of a paragraph, heading or cell: emphasis and link targets dropped, code kept in backticks."""
    return "".join(map(_text, node.children))


def _text(inline: SyntaxTreeNode) -> str:
    return "".join(map(_span, inline.children))


def _span(node: SyntaxTreeNode) -> str:
    match node.type:
        case "text":
            return node.content
        case "code_inline":
            return f"`{node.content}`"
        case "softbreak" | "hardbreak":
            return "\n"
        case "image":
            return f"[figure: {alt}]" if (alt := node.content.strip()) else ""
        case "html_inline":
            return " " if node.content.lower().startswith("<br") else ""
        case _:
            return _text(node)
