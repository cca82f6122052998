"""What stands in the journal of a run: one entry a line."""

import json
from collections.abc import Sequence
from typing import Any, Literal

from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.protocols import Proposal, Tried
from synth.authors.asking import Exchange
from synth.search.moves import Ask


class JournalEntry(Frozen):
    """One event of a run."""

    kind: Literal["asked", "answered", "tried", "proposed", "judged", "published", "ended"]
    step: int
    """Number of the candidate, counted from 1."""
    exchange: Exchange | None = None
    ask: Ask | None = None
    """What the author is asked in an exchange."""
    proposal: Proposal | None = None
    evidence: Evidence | None = None
    tried: Tried | None = None
    text: str = ""
    """Name of the published skill, the reason why the run ended, or the batch that brought the evidence."""


def entries_of(lines: Sequence[bytes]) -> list[JournalEntry]:
    """The entries of a journal, also of one that an earlier version wrote. Raises ValueError."""
    written = set[int]()
    entries = [_entry(json.loads(line)) for line in lines]
    for place, entry in enumerate(entries):
        written |= {entry.step} if entry.proposal and not entry.proposal.is_tuned else set()
        if (made := entry.exchange) and not made.question:  # of an earlier version, which asked one after another
            numbered = made.model_copy(update={"question": 1 + len(written)})
            entries[place] = entry.model_copy(update={"exchange": numbered})
    return entries


def _entry(fields: dict[str, Any]) -> JournalEntry:
    if proposal := fields.get("proposal"):
        proposal.pop("usage", None)  # earlier versions kept the tokens there
    return JournalEntry.model_validate(fields)
