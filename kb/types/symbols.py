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


class SymbolReport(Frozen):
    """All that the documents say of a name: the best places, in order, and how many there are."""

    name: str
    places: tuple[SymbolPlace, ...]
    """Definitions first, then rows, calls and mentions; newer documents first where that is known."""
    found: dict[SymbolKind, int]
    """Number of places of each kind."""
    notes: tuple[str, ...]
    """Documents that disagree, and names that only one place has."""
