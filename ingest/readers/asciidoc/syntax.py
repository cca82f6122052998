"""How blocks of AsciiDoc begin, and what the lines above a block say about it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from ingest.readers.asciidoc.source import ATTRIBUTE

HEADING = re.compile(r"(={1,6}|#{1,6}) +(\S.*)$")
UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
ATTRIBUTE_LIST = re.compile(r"""\[((?:[\w.#%{,"'*][^\[\]]*)?)\]$""")
ANCHOR = re.compile(r"\[\[[\w:][^\[\]]*\]\]$")
LABELLED_ANCHOR = re.compile(
    r"^(?:\[\[([^\[\],\n]+)(?:, *([^\[\]\n]*))?\]\]|\[#([\w:.-]+)\])(?:\n={2,6} +(\S.*)|\n\.([^\s.].*))?$", re.MULTILINE
)
ARGUMENT = re.compile(r"""\s*(?:([\w-]+)\s*=\s*)?(?:"((?:[^"\\]|\\.)*)"|'([^']*)'|([^,]*))\s*(?:,|$)""")
TITLE = re.compile(r"\.(\.?[^\s.].*)$")
DELIMITER = re.compile(r"(?:--|-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|[|,:!]={3,}|```+ *[\w+#.,-]*)$")
MACRO = re.compile(r"([a-zA-Z]\w*)::([^\s\[\]]*)\[(.*)\]$")
COMMENT = re.compile(r"//(?!/)")
BREAK = re.compile(r"'{3,}|<{3,}|-{3}|\*{3}|- - -|\* \* \*")
ITEM = re.compile(r" *(-|\*{1,6}|\u2022|\.{1,6}|\d{1,9}\.|[a-zA-Z]\.|[ivxIVX]{1,8}\)) +(\S.*)$")
CALLOUT = re.compile(r"<(\d{1,4}|\.)> +(\S.*)$")
TERM = re.compile(r" *(\S[^\n]{0,1000}?)(:{2,4}|;;)(?: +(.*))?$")
ADMONITIONS = {"NOTE", "TIP", "IMPORTANT", "WARNING", "CAUTION"}
ADMONITION = re.compile(rf"({'|'.join(sorted(ADMONITIONS))}): +")
REVISION = re.compile(r"(?:[Vv]ersion +|v)(\d[^,:;\s]*)")

ENTRIES = (ITEM, CALLOUT, TERM)
ENDS_OF_PARAGRAPH = (DELIMITER, ATTRIBUTE_LIST, ANCHOR)
NOT_PROSE = (*ENTRIES, *ENDS_OF_PARAGRAPH, TITLE, HEADING, MACRO, ATTRIBUTE, COMMENT)

PLAIN_CODE = {"source", "listing", "literal"}
PROSE = {"quote", "verse", "abstract", "partintro", "sidebar", "example", "normal"}
PROSE |= {"discrete", "float", "horizontal", "qanda"}
DRAWINGS = {"wavedrom", "bytefield", "ditaa", "graphviz", "plantuml", "mermaid", "svgbob", "vega", "blockdiag"}
MATH = {"stem", "latexmath", "asciimath"}
CODE = PLAIN_CODE | DRAWINGS | MATH


@dataclass(slots=True)
class Style:
    """The `[...]` lines and the title above a block."""

    positional: list[str] = field(default_factory=list)
    named: dict[str, str] = field(default_factory=dict)
    options: set[str] = field(default_factory=set)
    title: str = ""
    title_at: int = 0

    def add(self, content: str) -> None:
        positional: list[str] = []
        for match in ARGUMENT.finditer(content):
            name, *values = match.groups()
            value = next((v for v in values if v is not None), "").strip()
            if name:
                self.named[name] = value
            elif match[0]:
                positional.append(value)
        if positional:
            name, *shorthands = re.split(r"(?=[%#.])", positional[0])
            self.options |= {s[1:] for s in shorthands if s[0] == "%"}
            self.positional = [name or self.name, *positional[1:]]
        self.options |= {o.strip() for key in ("options", "opts") for o in self.named.get(key, "").split(",")}

    @property
    def name(self) -> str:
        return self.positional[0] if self.positional else ""

    @property
    def language(self) -> str:
        if self.name in ("source", ""):
            return self.named.get("language", "") or "".join(self.positional[1:2])
        return "math" if self.name in MATH else "" if self.name in PLAIN_CODE | PROSE else self.name


def labels(text: str) -> dict[str, str]:
    """Map each anchor to the text of its references: the anchor's own text, or the title below it."""
    found = LABELLED_ANCHOR.findall(text)
    return {name or short: label for name, own, short, *below in found if (label := own or below[0] or below[1])}


def begins(line: str, rules: Iterable[re.Pattern[str]]) -> bool:
    return any(rule.match(line) for rule in rules)
