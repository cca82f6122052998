"""Find a name in the text of a document, and tell definitions, table rows, calls and mentions apart.

The text is normalised Markdown, as all readers write it.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from kb.types.symbols import SymbolKind
from retrieval.symbols.definitions import ROLE, are_formal, defines, family_of, is_output, operands
from retrieval.symbols.signatures import Signature, arguments, bracketed, keywords, signature

NEARBY_LINES = 3
"""How far around a bare instruction the lines tell whether it stands in a list of syntax or in a program."""

NEARBY_CHARACTERS = 1000
"""Longest text in which those lines are sought."""

_FENCE = re.compile(r"^```(.*)\n((?:.*\n)*?)(?:```$|\Z)", re.MULTILINE)
_QUALIFIER = re.compile(r"(?:[A-Za-z_]\w*(?:\[[^\]]*\]|\(\))?(?:\.|::|->))+$")
_MARKUP = re.compile(r"[`*]+|\\(?=[_*<])")
_LISTED = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_LINKING = re.compile(r"\b(?:and|or|of|for|with|from|to|in|on|by|via|vs|versus|using|\w+ing)\b", re.IGNORECASE)
_RECORD_LEAD = re.compile(
    r"[-{\s\"']*(?:name|id|mnemonic|instruction|opcode|register|field|function|command|symbol|signal)[\"']?\s*[:=]"
    r"\s*[\"']?",
    re.IGNORECASE,
)
"""In a file of data, the entry that gives a record its name: `- mnemonic: vadd`."""
_PARAMETER = re.compile(
    r"\.\.\.|[*/]|\*{0,2}\[?[A-Za-z_]\w*(?:[\s*&<>,:\[\]\w]|\.(?!\.)(?=\w+[\s\w\]*&]*(?:=|\s)))*(?::\s*[^=]+)?"
    r"(?:=\s*(?:[-\w.]*\d[\w.]*|\"[^\"]*\"|'[^']*'|None|True|False|true|false|nullptr|NULL|\{\}|\[\]|\(\)|\w+(?:\.|::)\S+)\s*)?"
)
_KEYWORD = re.compile(r"\b(?:def|fn|fun|func|function|proc|sub|class|macro|define|task)\b")
"""Words before a name that are no type of its result."""
_COMMENT = re.compile(r"\s*(?:/?\*|//|--|;|#(?!\s*(?:define|undef|if|el|end|incl|pragma))(?=\s|!|$))|.*?\s//\s")
_NUMBERING = re.compile(r"^(?:chapter |section |appendix )?[\dA-Z]?[\d.]+\s+(?=\D)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One place of a name in a text."""

    start: int
    kind: SymbolKind
    rank: int
    """0 is the plainest form of its kind; a higher number is less certain."""
    text: str
    """The line without its markup, or the whole signature."""
    qualifier: str = ""
    """What stands before the name: `nki.isa.`."""
    signature: Signature | None = None
    """Of a definition or row that states parameters."""
    keywords: tuple[str, ...] = ()
    """Of a call."""
    has_body: bool = False
    """Whether a definition is a program's own, with its body, and not a statement about an interface."""
    in_heading: bool = False


def occurrences(text: str, name: str, *, is_code: bool = False, ignore_case: bool = False) -> list[Occurrence]:
    """Every place of `name` as a whole word, in order; `x.y` is also a place of `y`.

    Args:
        is_code: Whether the document is a file of source code: its text outside fences is a comment.
    """
    flags = re.IGNORECASE if ignore_case else 0
    plain = re.escape(name)
    found = re.finditer(rf"{plain}(?<!\w{plain})(?!\w)", text, flags)  # the plain text first: re seeks it fast
    first = next(found, None)
    if first is None:
        return []
    page = _Page(text, is_code)
    places = [page.occurrence(match) for match in (first, *found)]
    return [one for i, one in enumerate(places) if i == 0 or not _repeats(text, places[i - 1], one)]


@dataclass(frozen=True)
class _Page:
    text: str
    is_code: bool

    @cached_property
    def _fences(self) -> list[re.Match[str]]:
        return list(_FENCE.finditer(self.text))

    def occurrence(self, match: re.Match[str]) -> Occurrence:
        start, end = match.span()
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self.text.find("\n", end)
        line = self.text[line_start : line_end if line_end >= 0 else len(self.text)]
        before = _QUALIFIER.search(self.text[line_start:start])
        place = _Place(self.text, match[0], start, line_start, line, before[0] if before else "")
        at = bisect_right(self._fences, start, key=re.Match.start) - 1
        fence = self._fences[at] if at >= 0 and start < self._fences[at].end() else None
        if fence:
            return place.in_code(fence[1].strip("{} ").split(" ")[0], *fence.span(2))
        if line.startswith("#"):
            return replace(place.in_heading(), in_heading=True)
        if self.is_code:
            return place.in_comment()
        return place.in_table() if line.startswith("|") else place.in_prose()


@dataclass(frozen=True)
class _Place:
    text: str
    name: str
    start: int
    line_start: int
    line: str
    qualifier: str

    def _as(
        self, kind: SymbolKind, rank: int, text: str = "", *, stated: Signature | None = None, has_body: bool = False
    ) -> Occurrence:
        shown = " ".join(_MARKUP.sub("", ROLE.sub(r"\1", text or self.line)).split()).lstrip("#| ").rstrip("| ")
        return Occurrence(self.start, kind, rank, shown, self.qualifier, stated, has_body=has_body)

    @cached_property
    def _after(self) -> int:
        """Where the text goes on after the name and the markup that ends it."""
        at = self.start + len(self.name)
        skipped = re.match(r"[`*]*(?:<[^<>()\n]*>|\[[\w, ]*\])?", self.text[at : at + 100])
        return at + (skipped.end() if skipped else 0)

    @cached_property
    def _list(self) -> str | None:
        """The list of parameters or arguments after the name; None if there is none."""
        return bracketed(self.text, self._after) if self.text[self._after : self._after + 1] == "(" else None

    @cached_property
    def _has_parameters(self) -> bool:
        """Whether the list may be one of parameters: names with types and constant defaults, and not values."""
        if self._list is None:
            return False
        given = arguments(self._list)
        if given and len(keywords(self._list)) == len(given):
            return False
        return all(_PARAMETER.fullmatch(argument) for argument in given)

    @cached_property
    def _rest(self) -> str:
        """What follows the list on its last line."""
        at = self._after + (len(self._list) + 2 if self._list is not None else 0)
        return self.text[at : at + 300].partition("\n")[0].strip("` *")

    @property
    def _stated(self) -> str:
        return f"{self.qualifier}{self.name}({self._list})"

    @cached_property
    def _lead(self) -> str:
        """What stands before the name on its line, without markup."""
        lead = _MARKUP.sub("", self.text[self.line_start : self.start])
        return _LISTED.sub("", lead).removesuffix(self.qualifier).lstrip("#| ")

    @property
    def _begins_paragraph(self) -> bool:
        above = self.text[self.text.rfind("\n", 0, max(0, self.line_start - 1)) + 1 : self.line_start]
        return not above.strip() or _LISTED.match(self.line) is not None or not self._rest

    @property
    def _is_longer(self) -> bool:
        """Whether the name is only the first part of a dotted one."""
        at = self.start + len(self.name)
        return re.match(r"(?:\.|::|-)\w", self.text[at : at + 3]) is not None

    def _signature(self) -> Signature | None:
        if self._list is None:
            return None
        return signature(self._list, typed=bool(self._lead.strip()) and not _KEYWORD.search(self._lead))

    def in_heading(self) -> Occurrence:
        lead = _NUMBERING.sub("", self._lead)
        behind = self.line[min(len(self.line), self._after - self.line_start) :]
        others = re.sub(r"\(.*?\)", " ", f"{lead} {behind}")
        words = [w for w in re.findall(r"[A-Za-z][\w.]*", _MARKUP.sub("", others)) if not re.search(r"[_.\d]", w)]
        plain = [
            word for word in re.findall(r"[A-Za-z]\w*", lead) if word in words and word.lower() not in ("the", "a")
        ]
        if self._is_longer or len(plain) > 1 or (plain and _LINKING.search(lead)):
            return self._as(SymbolKind.MENTION, 0)
        if not lead.strip() or len(words) <= 2 or self._list is not None:
            return self._as(SymbolKind.DEFINITION, int(bool(words)), stated=self._signature())
        return self._as(SymbolKind.MENTION, 0)

    def in_table(self) -> Occurrence:
        cells = [_MARKUP.sub("", cell).strip() for cell in re.split(r"(?<!\\)\|", self.line.strip().strip("|"))]
        own = len(re.findall(r"(?<!\\)\|", self.text[self.line_start : self.start].lstrip("|")))
        cell = cells[min(own, len(cells) - 1)]
        rest = cell.removeprefix(self.qualifier).removeprefix(self.name)
        line_end = self.line_start + len(self.line)
        stated = self._signature() if self._after < line_end else None
        if self.text.startswith("|---", line_end + 1):
            return self._as(SymbolKind.ROW, 4)
        if not rest or (stated and cell.endswith(")")):
            return self._as(SymbolKind.ROW, 0 if own == 0 else 1, stated=stated)
        if len(rest) < len(cell) and not re.match(r"\.?\w", rest):
            return self._as(SymbolKind.ROW, 1 if own == 0 else 2, stated=stated)
        return self._as(SymbolKind.ROW, 3)

    def in_prose(self) -> Occurrence:
        if self._names_record():
            return self._as(SymbolKind.DEFINITION, 1)
        if self._list is not None and self._is_statement(self._rest):
            if not self._list and not self._lead:
                return self._as(SymbolKind.ROW, 2)
            return self._as(SymbolKind.DEFINITION, 1, f"{self._lead}{self._stated}", stated=self._signature())
        if self._lead.strip() or self._is_longer or not self._begins_paragraph:
            return self._called(rank=1) or self._as(SymbolKind.MENTION, 1)
        if self._has_parameters:
            return self._as(SymbolKind.DEFINITION, 3, stated=self._signature())
        if not self._rest:
            return self._as(SymbolKind.ROW, 2)
        if re.match(r"(?::|=|[-–—]+)\s", self._rest):
            return self._as(SymbolKind.DEFINITION, 3)
        return self._as(SymbolKind.MENTION, 0)

    def in_comment(self) -> Occurrence:
        said = self.in_prose()
        return replace(said, rank=max(said.rank, 2))

    def _is_statement(self, rest: str) -> bool:
        """Whether nothing but types stands around the name and its list on their lines."""
        return (
            len(self._lead.split()) <= 5
            and self._has_parameters
            and re.fullmatch(r"[\w:<>,*&\s\[\]]*", self._lead) is not None
            and not re.search(
                r"\b(?:return|await|see|use|using|with|call|and|or|of|the|to|a|an|by|if)\b", self._lead.lower()
            )
            and not self._lead.rstrip().endswith((":", ","))
            and re.fullmatch(r"(?:(?:const|noexcept|override)\s*)*(?:->[^()=`]+|[;:{]?)", rest) is not None
        )

    def in_code(self, language: str, begin: int, end: int) -> Occurrence:
        """Its kind in a block of code that begins and ends at these offsets."""
        family = family_of(language)
        if is_output(language):
            return self._called() or self._as(SymbolKind.MENTION, 2)
        if self._names_record():
            return self._as(SymbolKind.DEFINITION, 1)
        if self._is_in_comment(begin):
            return self.in_comment()
        if not self._is_longer and defines(self.line, self.name, family=family) and not self._is_called_here(family):
            return self._defined(family)
        if self._is_signature(family, begin, end):
            return self._as(SymbolKind.DEFINITION, 2, self._stated, stated=self._signature())
        if called := self._called():
            return called
        may_be_assembly = family in ("", "assembly", "mlir") and not self.qualifier
        return self._instruction(begin, end) if may_be_assembly else self._as(SymbolKind.MENTION, 1)

    def _defined(self, family: str) -> Occurrence:
        rest = self._rest
        has_body = self._list is not None and (not rest or "{" in rest or ":" in (rest[0], rest[-1]))
        text = f"{self._lead}{self._stated}" if self._list is not None else self.line
        is_label = not family and self.line.startswith(f"{self.name}:")
        rank = 3 if is_label else 1
        return self._as(SymbolKind.DEFINITION, rank, text, stated=self._signature(), has_body=has_body)

    def _is_signature(self, family: str, begin: int, end: int) -> bool:
        """Whether a line of code only states a call with its types, or is all that its block has."""
        if self._list is None or self._lead.strip() or not self._is_statement(self._rest):
            return False
        is_alone = not family and self.text[begin:end].strip().removesuffix(";") == self._stated
        is_annotated = any(re.match(r"\w+\s*:\s*[A-Za-z]", argument) for argument in arguments(self._list))
        return is_alone or is_annotated or self._rest.startswith("->")

    def _instruction(self, begin: int, end: int) -> Occurrence:
        """Its kind in what may be assembly: the syntax of an instruction, or its use in a program."""
        given = operands(self.line, self.name)
        if given is None:
            is_term = not self._lead.strip() and re.match(r":\s+\w+\s+\w+\s+\w", self._rest)
            return self._as(SymbolKind.DEFINITION, 3) if is_term else self._as(SymbolKind.MENTION, 1)
        above = self.text[max(begin, self.line_start - NEARBY_CHARACTERS) : self.line_start]
        below = self.text[self.line_start + len(self.line) + 1 : min(end, self.start + NEARBY_CHARACTERS)]
        around = [*above.splitlines()[-NEARBY_LINES:], *below.splitlines()[:NEARBY_LINES]]
        if are_formal(given) or (not given and _is_syntax(around)):
            return self._as(SymbolKind.DEFINITION, 2)
        if not given and all(len(line.split()) < 2 for line in around):
            return self._as(SymbolKind.ROW, 2)
        return self._as(SymbolKind.CALL, 0)

    def _names_record(self) -> bool:
        """Whether the line gives a record of a data file this name and says no more."""
        lead = self.text[self.line_start : self.start]
        return _RECORD_LEAD.fullmatch(lead) is not None and re.fullmatch(r"[\"'`,\s]*", self._rest) is not None

    def _is_in_comment(self, begin: int) -> bool:
        if self.text.rfind("/*", begin, self.start) > self.text.rfind("*/", begin, self.start):
            return True
        match = _COMMENT.match(self.line)
        return match is not None and match.end() + self.line_start <= self.start

    def _is_called_here(self, family: str) -> bool:
        """Whether what looks like a prototype is a statement of a program: its arguments are no parameters."""
        if family not in ("", "c") or self._list is None or _KEYWORD.search(self._lead):
            return False
        return bool(re.search(r"(?<![=!<>])==|\"|\w\(|\s[-+/]\s|->", self._list))

    def _called(self, *, rank: int = 0) -> Occurrence | None:
        if self._list is None:
            return None
        return replace(self._as(SymbolKind.CALL, rank), keywords=keywords(self._list))


def _repeats(text: str, before: Occurrence, one: Occurrence) -> bool:
    """Whether one line has the name twice in the same way."""
    same = (before.kind, before.rank, before.keywords) == (one.kind, one.rank, one.keywords)
    return same and "\n" not in text[before.start : one.start]


def _is_syntax(lines: Sequence[str]) -> bool:
    """Whether lines of assembly give the syntax of instructions: some have operands, and those are formal."""
    named = [(words[0], line) for line in lines if (words := line.split())]
    if any(word.startswith(".") or word.endswith(":") for word, _ in named):
        return False
    given = [own for word, line in named if (own := operands(line, word))]
    return bool(given) and all(map(are_formal, given))
