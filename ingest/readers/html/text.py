"""The text of HTML elements, each part with its line in the file.

The parser reports no lines, so each piece of text is marked before parsing: its line number is written in binary with
blanks and tabs, which change nothing wherever they end up in the markup.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from ingest.readers.notation import figure, script
from kb.errors import DocumentError

DEEPEST = 2000
"""Largest number of open elements; with more, the parser takes very long."""
INLINE = {
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "ins"),
    *("label", "mark", "nobr", "output", "q", "rp", "rt", "ruby", "s", "small", "span", "strike", "strong", "time"),
    *("u", "var", "wbr"),
}
_UNCLOSED = {
    *("a", "area", "base", "br", "col", "colgroup", "dd", "dt", "embed", "hr", "img", "input", "li", "link", "meta"),
    *("option", "p", "param", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr"),
}
_UNSEEN = {"script", "style", "template", "-comment", "-doctype"}
UNSEEN_CLASSES = {"lineno", "linenos", "linenodiv", "katex-html", "MathJax_Preview", "viewcode-link", "viewcode-back"}
_PERMALINKS = {"¶", "#", "§", "\uf0c1", "\N{LINK SYMBOL}", "\N{LINK SYMBOL}\ufe0f"}
_CODE = {"code", "kbd", "samp", "tt"}
_FORMULA_SIGNS = {"msup": "^", "msub": "_", "mfrac": "/"}
_SEPARATORS = {"li": "; ", "tr": "; ", "td": ", ", "th": ", "}

_TOKEN = re.compile(r"<(?P<end>/?)(?P<tag>[a-zA-Z][^\s/<>]*+)[^<>]*+>|<[a-zA-Z/!?][^<>]*+>?|\n|(?P<text>\S[^<\n]*+)")
_FORM_FEED = re.compile(r"\f|&#(?:0*12|[xX]0*[cC])(?![0-9a-fA-F]);?")
_MARK = re.compile(r"\f([ \t]+)\f")
_BLANKS = str.maketrans("01", " \t")
_BITS = str.maketrans(" \t", "01")


class LineText(NamedTuple):
    line: int
    text: str


def parse(markup: str, first_line: int) -> LexborNode:
    """Return the `body` of `markup`, which includes the content of its head.

    Raises:
        DocumentError: its elements are nested too deeply.
    """
    body = LexborHTMLParser(f"<!doctype html><body>{_marked(markup, first_line)}").body
    if body is None:
        raise DocumentError("the markup cannot be parsed", hint="check that the file is HTML")
    return body


def _marked(markup: str, line: int) -> str:
    depth = 0

    def mark(token: re.Match[str]) -> str:
        nonlocal line, depth
        piece, tag = token[0], (token["tag"] or "").lower()
        if tag and tag not in _UNCLOSED and not piece.endswith("/>"):
            depth += -1 if token["end"] else 1
            if depth > DEEPEST:
                raise DocumentError(f"line {line}: more than {DEEPEST} elements are open", hint="close the elements")
        marked = f"\f{line:b}\f".translate(_BLANKS) + piece if token["text"] or tag == "img" else piece
        line += piece.count("\n")
        return marked

    return _TOKEN.sub(mark, _FORM_FEED.sub(" ", markup))


def unmarked(text: str) -> str:
    return _MARK.sub("", text)


def without_delimiters(formula: str) -> str:
    """Return TeX without the delimiters that mark it for a page's script."""
    return re.sub(r"^\s*\\[(\[]|\\[)\]]\s*$", "", formula).strip(" ")


def line_marks(text: str) -> list[tuple[int, int]]:
    """Return the positions of marks in front of words of a marked text, and their lines."""
    return [(mark.start(), _number(mark[1])) for mark in _MARK.finditer(text) if not text.startswith("\f", mark.end())]


def line_of(text: str, otherwise: int) -> int:
    """Return the line on which a marked text begins."""
    mark = _MARK.search(text)
    return _number(mark[1]) if mark else otherwise


def _number(blanks: str) -> int:
    return int(blanks.translate(_BITS), 2)


def children(node: LexborNode) -> Iterator[LexborNode]:
    return node.iter(include_text=True)


def path(node: LexborNode | None) -> Iterator[LexborNode]:
    """Yield `node` and its ancestors."""
    while node is not None:
        yield node
        node = node.parent


def classes(node: LexborNode) -> set[str]:
    return set((node.attributes.get("class") or "").split()) if node.is_element_node else set()


class TextFlow:
    """Running text, until a block ends it."""

    def __init__(self, line: int) -> None:
        self.line = line
        """Line of the last text seen."""
        self._pieces: list[LineText] = []
        self._separator = ""
        """Written before the next text if other text precedes it."""

    def add(self, text: str) -> None:
        if self._separator and text.strip():
            while self._pieces and not self._pieces[-1].text.strip():
                self._pieces.pop()
            if self._pieces:
                line, before = self._pieces.pop()
                before = before.rstrip()
                self._pieces.append(LineText(line, before + (" " if before[-1] in ":;,." else self._separator)))
            self._separator = ""
        if text:
            self._pieces.append(LineText(self.line, text))

    def lines(self) -> list[LineText]:
        """Return the readable text, line by line."""
        lines: list[tuple[int, list[str]]] = []
        for line, text in self._pieces:
            number, parts = lines[-1] if lines else (0, ["\n"])
            # A word may continue after a tag that spans several lines.
            goes_on = line == number or not (parts[-1][-1].isspace() or text[0].isspace())
            if goes_on and not parts[-1].endswith("\n"):
                parts.append(text)
            else:
                lines.append((line, [text]))
        told = [LineText(line, " ".join("".join(parts).split())) for line, parts in lines]
        return [piece for piece in told if piece.text]

    def flat(self) -> str:
        return " ".join("".join(piece.text for piece in self._pieces).split())

    def aside(self, *nodes: LexborNode) -> LineText:
        """Return all text of `nodes` on one line, with its line, without adding it; this run continues after it."""
        run = TextFlow(self.line)
        for node in nodes:
            run.node(node)
        self.line = run.line
        return LineText(next((line for line, _ in run.lines()), run.line), run.flat())

    def node(self, node: LexborNode) -> None:
        """Add all visible text of `node`; a block inside it is only separated from its neighbours."""
        if self.leaf(node):
            return
        separator = _SEPARATORS.get(node.tag or "", "" if node.tag in INLINE else " ")
        self._separate(separator)
        for child in children(node):
            self.node(child)
        self._separate(" " * bool(separator))

    def leaf(self, node: LexborNode) -> bool:
        """Add `node` and return True if it can never hold blocks."""
        if node.is_text_node:
            self._text(node.text_content or "")
            return True
        tag, names = node.tag or "", classes(node)
        if tag in _UNSEEN or names & UNSEEN_CLASSES or (tag == "a" and (node.text() or "").strip() in _PERMALINKS):
            if tag == "script" and (node.attributes.get("type") or "").startswith("math/"):
                self._literal(node)
        elif tag == "br":
            self.add("\n")
        elif tag == "img":
            alt = node.attributes.get("alt") or ""
            source = node.attributes.get("src") or ""
            self.add(f"`{' '.join(alt.split())}`" if "math" in names else figure(alt, source))
        elif tag == "svg":
            text = self.aside(*children(node)).text
            self.add(f"[figure: {text}]" if text else "")
        elif tag in _CODE or tag == "math" or (tag == "span" and "math" in names):
            self._literal(node.css_first("annotation") or node)
        elif tag in ("sup", "sub"):
            self._raised(node, "^" if tag == "sup" else "_")
        elif tag in _FORMULA_SIGNS:
            self.add(_FORMULA_SIGNS[tag].join(filter(None, (self.aside(child).text for child in children(node)))))
        else:
            if "classifier" in names:
                self.add(" : ")
            return False
        return True

    def _text(self, text: str) -> None:
        before, *marked = _MARK.split(text.replace("\n", " "))
        self.add(before)
        for blanks, part in zip(marked[::2], marked[1::2], strict=True):
            self.line = _number(blanks)
            self.add(part)

    def _separate(self, separator: str) -> None:
        if separator.strip() or not self._separator:
            self._separator = separator

    def _literal(self, node: LexborNode) -> None:
        text = without_delimiters(self.aside(*children(node)).text)
        self.add(f"`{text}`" if text and not text.startswith("`") else text)

    def _raised(self, node: LexborNode, sign: str) -> None:
        """Add a power or an index: its digits must not join those before it."""
        text = self.aside(*children(node)).text
        before = self._pieces[-1].text[-1:] if self._pieces else ""
        joins = (before.isalnum() or before in ")]}`") and not text.startswith("[")
        self.add(script(sign, text) if joins else text)
