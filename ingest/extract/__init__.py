"""Facts that documents state outside fact tables: read from tables and the names of instructions, with their words.

Only what is fully understood becomes a fact. Rules for prose were cut: on two chips for which they were not made, 12 of
187 facts that they read were right, and in the corpus they added 6 of 531 facts that hold. Readers answer for prose
(kb/usecases/fact_reading.py).
"""

from collections.abc import Iterator
from dataclasses import replace

from ingest.builder import BlockKind, ParsedDocument
from ingest.extract.instructions import instruction_shapes
from ingest.extract.subjects import UNKNOWN, Subjects
from ingest.extract.tables import table_facts
from ingest.facts import introduced
from kb.types.records import FactRecord


def extracted(document: ParsedDocument, *, title: str, subjects: Subjects) -> Iterator[FactRecord]:
    """Yield the facts that tables and instructions of `document` state in the words of kb/facts/quantities.toml.

    Args:
        subjects: Made for the document's target, which owns the numbers where the text names no other.
    """
    for block, above in introduced(document):
        if block.table or block.kind is BlockKind.CODE:
            headings = (title, *document.trail(block.section))
            facts = table_facts(block.table, headings=headings, above=above, subjects=subjects) if block.table else ()
            text = document.text[block.start : block.end]
            around = subjects.of_headings(headings) or (subjects.own,)
            shapes = () if UNKNOWN in around else instruction_shapes(text, block.start, around, subjects)
            yield from (replace(found, section=block.section) for found in (*facts, *shapes))
