"""HTML inside Markdown: its text, a line for each paragraph, list entry and table row."""

from html.parser import HTMLParser

_INLINE = {
    *("a", "abbr", "b", "cite", "code", "del", "em", "font", "i", "ins", "kbd", "label", "mark", "q", "s", "samp"),
    *("small", "span", "strong", "sub", "sup", "tt", "u", "var"),
}
_CELLS = {"td", "th"}
_NO_TEXT = {"script", "style"}


def numbered_lines(markup: str) -> list[tuple[int, str]]:
    """Lines of text, each with the line of `markup`, counted from 0, on which it begins."""
    parser = _Parser()
    parser.feed(markup)
    parser.close()
    return parser.lines()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self._lines: list[tuple[int, str]] = []
        self._text = ""
        self._number: int | None = None
        self._cells = 0
        """Begun in the current table row."""

    def lines(self) -> list[tuple[int, str]]:
        self._end_line()
        return self._lines

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _CELLS:
            self._text += " | " if self._cells else ""
            self._cells += 1
        elif tag == "img":
            description = (dict(attrs).get("alt") or "").strip()
            self.handle_data(f"[figure: {description}]" if description else "")
        else:
            self._separate(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _CELLS:
            self._separate(tag)

    def handle_data(self, data: str) -> None:
        if self.cdata_elem in _NO_TEXT:
            return
        for i, part in enumerate(data.split("\n")):
            if i:
                self._break()
            if part.strip() and self._number is None:
                self._number = self.getpos()[0] - 1 + i
            self._text += part

    def _separate(self, tag: str) -> None:
        if tag in ("tr", "table"):
            self._end_line()
        elif tag not in _INLINE:
            self._break()

    def _break(self) -> None:
        """Within a table row, a blank."""
        if self._cells:
            self._text += " "
        else:
            self._end_line()

    def _end_line(self) -> None:
        if self._number is not None:
            self._lines.append((self._number, " ".join(self._text.split())))
        self._text, self._number, self._cells = "", None, 0
