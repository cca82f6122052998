"""The text of paragraphs, headings and cells of Markdown."""

import re

from markdown_it.tree import SyntaxTreeNode

from ingest.readers.directives import PLAIN_ROLES, role_text
from ingest.readers.html.reader import flat_text
from ingest.readers.notation import figure, script

_ROLE = re.compile(r"\{([\w:+.-]+)\}$")
_RAISED = re.compile("([\x02\x03])([^\x02-\x04]*)\x04")
_TAG = re.compile(r"</?([a-zA-Z][\w-]*)")
_ATTRIBUTE = re.compile(r"""\b(alt|src)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_HTML = re.compile(
    "a|abbr|acronym|address|article|aside|audio|b|bdi|bdo|big|blockquote|body|br|button|caption|center|cite|code|col|"
    "colgroup|d-cite|d-footnote|dd|del|details|dfn|div|dl|dt|em|embed|fieldset|figcaption|figure|font|footer|form|h[1-6]|"
    "head|header|hr|html|i|iframe|img|input|ins|kbd|label|legend|li|link|main|map|mark|math|meta|nav|nobr|noscript|object|"
    "ol|option|p|param|picture|pre|q|rp|rt|ruby|s|samp|script|section|select|small|source|span|strike|strong|style|sub|"
    "summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|track|tt|u|ul|var|video|wbr",
    re.IGNORECASE,
)
_SHOWN = {
    **dict.fromkeys(("<br", "<td", "<th", "<li", "<p", "<tr", "<div"), " "),
    "<sup": "\x02",
    "<sub": "\x03",
    **dict.fromkeys(("</sup", "</sub"), "\x04"),
    "<d-footnote": " [footnote: ",
    "</d-footnote": "]",
}


def inline(node: SyntaxTreeNode) -> str:
    """Return the text of a paragraph, heading or cell: without emphasis and link targets, with code in backticks."""
    text = "".join(map(_text, node.children))
    text = _RAISED.sub(lambda part: script("^" if part[1] == "\x02" else "_", part[2].strip()), text)
    return text.translate({2: "^", 3: "_", 4: None})


def flat(node: SyntaxTreeNode) -> str:
    """Return all text inside a block, on one line."""
    if node.type in ("fence", "code_block"):
        return f"`{' '.join(node.content.split())}`"
    if node.type.startswith("math_block"):
        return f"${' '.join(node.content.split())}$"
    if node.type in ("paragraph", "heading", "td", "th", "dt"):
        return " ".join(inline(node).split())
    if node.type == "html_block":
        return flat_text(node.content)
    return " ".join(filter(None, map(flat, node.children)))


def _text(node: SyntaxTreeNode) -> str:
    shown: list[str] = []
    for child in node.children:
        role = _ROLE.search(shown[-1]) if child.type == "code_inline" and shown else None
        if role:
            shown[-1] = shown[-1][: role.start()]
            shown.append(_of_role(role[1], child.content))
        else:
            shown.append(_span(child))
    return "".join(shown)


def _of_role(name: str, content: str) -> str:
    shown = role_text(content)
    if name in ("sup", "sub"):
        return script("^" if name == "sup" else "_", shown)
    return shown if name in PLAIN_ROLES else f"`{shown}`"


def _span(node: SyntaxTreeNode) -> str:
    match node.type:
        case "text":
            return node.content
        case "code_inline":
            return f"`{node.content}`" + "\n" * int(node.meta.get("line_ends", 0))
        case "softbreak" | "hardbreak":
            return "\n"
        case "image":
            said, title = node.content, str(node.attrs.get("title", ""))
            description = said if title in said else ": ".join(filter(None, (said, title)))
            return figure(description, str(node.attrs.get("src", "")))
        case "math_inline":
            return f"${node.content}$"
        case "math_inline_double":
            return f"$${node.content}$$"
        case "footnote_ref":
            return f"[^{node.meta['label']}]"
        case "html_inline":
            return _tag(node.content)
        case _:
            return _text(node)


def _tag(markup: str) -> str:
    tag = _TAG.match(markup)
    if tag is None:
        return ""
    if tag[0].lower() == "<img":
        found = {m[1].lower(): m[2] or m[3] or m[4] or "" for m in _ATTRIBUTE.finditer(markup)}
        return figure(found.get("alt", ""), found.get("src", ""))
    # `vector<int>` looks like HTML, but is not.
    return _SHOWN.get(tag[0].lower(), "") if _HTML.fullmatch(tag[1]) else markup
