"""Where documents define, list, call and mention a name."""

from enum import StrEnum

from kb.types.base import Frozen
from kb.types.passages import Citation
from kb.types.records import Trust


class SymbolKind(StrEnum):
    DEFINITION = "definition"
    """A heading that is the name, a signature, a definition in code, the syntax of an instruction."""
    ROW = "row"
    """A row of a table, or an entry of a list of names."""
    CALL = "call"
    MENTION = "mention"


class SymbolPlace(Frozen):
    """One place that has the name."""

    kind: SymbolKind
    citation: Citation
    """The passage, with the line of the name itself."""
    target: str
    edition: str
    """The version or date that the document states; empty if it states none."""
    trust: Trust
    text: str
    """The line, or the whole signature."""

    @property
    def marks(self) -> str:
        """The edition, and who states it unless it is the vendor, in brackets; empty if there is nothing to say."""
        marks = (self.edition, "" if self.trust is Trust.VENDOR else self.trust.value)
        return f" ({', '.join(filter(None, marks))})" if any(marks) else ""


class SymbolCount(Frozen):
    """How often the documents have the name in one way."""

    kind: SymbolKind
    places: int
    documents: int
    """Documents with these places."""
    shown: int

    @property
    def left_out(self) -> str:
        """How many places are not shown, such as `+23 calls, 26 in 7 documents`; empty if all are."""
        if self.places == self.shown:
            return ""
        return f"+{self.places - self.shown} {self.kind}s ({self.places} in {self.documents} documents)"


class SymbolReport(Frozen):
    """All that the documents say of a name: the best places, in order, and how many there are."""

    name: str
    places: tuple[SymbolPlace, ...]
    """Definitions first, then rows, calls and mentions; newer documents first where that is known."""
    counts: tuple[SymbolCount, ...]
    notes: tuple[str, ...]
    """Documents that disagree, and names that only one place has."""
