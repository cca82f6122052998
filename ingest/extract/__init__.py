"""Facts that documents state outside fact tables: read from tables and sentences, each with the words it rests on."""

from collections.abc import Iterator, Sequence

from ingest.builder import Block, BlockKind, ParsedDocument
from ingest.extract.cells import Around, FoundFact, plain
from ingest.extract.instructions import instruction_shapes
from ingest.extract.labels import as_share
from ingest.extract.sentences import sentence_facts, spec_lines
from ingest.extract.subjects import UNKNOWN, Subjects
from ingest.extract.tables import table_facts
from kb.catalog import FactRecord
from kb.model.records import Form


def extracted(document: ParsedDocument, *, title: str, subjects: Subjects) -> Iterator[FactRecord]:
    """Yield the facts that tables and sentences of `document` state in the words of kb/facts/quantities.toml.

    Args:
        subjects: Made for the document's target, which owns the numbers where the text names no other.
    """
    outline = _Outline(document, title, subjects)
    for block in document.blocks:
        around, headings = outline.around(block), outline.headings(block)
        for found, form, offset in _found(document.text, block, headings, around, subjects):
            number = None if "x" in found.value else float(found.value)
            yield FactRecord(
                block.section, found.target, found.quantity, found.value, number, found.unit,
                ", ".join(found.conditions), "", offset + found.start, offset + found.end, form,
            )  # fmt: skip


def _found(
    document: str, block: Block, headings: Sequence[str], around: Around, subjects: Subjects
) -> Iterator[tuple[FoundFact, Form, int]]:
    """Yield the facts of one block, each with its form and the offset of its span in the document."""
    text = document[block.start : block.end]
    if block.table:
        for found in table_facts(block.table, headings=headings, subjects=subjects):
            yield found, Form.TABLE if found.sure else Form.SENTENCE, 0
    if UNKNOWN in around.targets:
        return
    if block.table or block.kind is BlockKind.CODE:
        for found in instruction_shapes(text, around=around.targets, subjects=subjects):
            yield found, Form.TABLE, block.start
    if block.kind is BlockKind.CODE:
        for found in spec_lines(text, around=around, subjects=subjects):
            yield found, Form.SENTENCE, block.start
    elif block.kind in (BlockKind.TEXT, BlockKind.ITEM):
        for found in sentence_facts(plain(text), around=around, subjects=subjects):
            yield found, Form.SENTENCE, block.start


class _Outline:
    """The context of each block: headings, the paragraph that introduces a list, the parents of a list entry."""

    def __init__(self, document: ParsedDocument, title: str, subjects: Subjects) -> None:
        self._document = document
        self._subjects = subjects
        sections = {block.section for block in document.blocks}
        self._headings = {s: (title, *document.trail(s)) for s in sections}
        self._owners = {s: subjects.of_headings(h) for s, h in self._headings.items()}
        self._section: int | None = None
        self._above: list[tuple[int, str]] = []
        """Indentation and text of blocks that introduce the next one; a paragraph introduces entries of any depth."""

    def headings(self, block: Block) -> Sequence[str]:
        return self._headings[block.section]

    def around(self, block: Block) -> Around:
        """Return the context of `block`; call this for every block, in document order."""
        text = plain(self._document.text[block.start : block.end])
        indent = -1 if block.kind is BlockKind.TEXT else len(text) - len(text.lstrip())
        if block.section != self._section:
            self._section, self._above = block.section, []
        self._above = [(i, above) for i, above in self._above if i < indent]
        texts = [above for _, above in reversed(self._above)]
        owners = self._owners[block.section]
        for above in reversed(texts):
            names = self._subjects.all_of(above)
            if UNKNOWN not in names or above.rstrip().endswith(":"):
                owners = self._subjects.narrowed(names, owners) or owners
        if block.kind in (BlockKind.TEXT, BlockKind.ITEM):
            self._above.append((indent, text))
        return Around(
            owners or (self._subjects.own,),
            tuple(as_share(above) for above in (*texts, self._headings[block.section][-1])),
            named=bool(owners),
        )
