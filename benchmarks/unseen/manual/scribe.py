"""Writes one document, and notes which of its passages state which facts."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from benchmarks.unseen.chip import Chip
from benchmarks.unseen.manual.document import Bullets, Note, Paragraph, Section, Table
from benchmarks.unseen.manual.statements import Fact, names_of
from benchmarks.unseen.manual.wording import Wording

_MARKED = re.compile(r"«([^»]*)»")
HEADERS = (("Of", "Property", "Value"), ("Item", "Parameter", "Number"), ("Name", "Quantity", "Amount"))


class Manner(StrEnum):
    """How a document states a fact."""

    PROSE = "prose"
    TABLE = "table"
    CSV = "csv"


@dataclass(frozen=True)
class Place:
    """A passage that states a fact or gives advice."""

    key: str
    path: str
    must: tuple[str, ...]
    """What the passage holds."""
    manner: Manner
    text: str
    """The sentence or row."""
    value: str
    """A number, or the words that decide a rule."""


class Scribe:
    """The author of one document about a chip.

    Args:
        manners: How the documents of this chip state each fact, by key.
    """

    def __init__(
        self, chip: Chip, path: PurePosixPath, style: Wording, manners: Mapping[str, frozenset[Manner]]
    ) -> None:
        self.chip, self.path, self.style = chip, path, style
        self.names = names_of(chip)
        self.places: list[Place] = []
        self._manners = manners
        self._header = style.chance.choice(HEADERS)

    def said(self, template: str, **values: object) -> str:
        return self.style.say(template, **self.names | values)

    def paragraphs(self, *templates: str) -> list[Paragraph]:
        return [Paragraph(self.said(template)) for template in templates]

    def sentence(self, fact: Fact) -> str:
        """The sentence that states a fact; it is noted as a place of it."""
        return self.marked(fact.key, fact.sentence, near=fact.subject, **fact.names, amount=self.amount(fact))

    def marked(self, key: str, template: str, *, near: str = "", heading: str = "", **values: object) -> str:
        """A sentence of which what stands between « and » answers a question.

        Args:
            near: A name that a passage with the answer holds, too, if the sentence has it.
            heading: A name that the passage holds because the sentence stands below it.
        """
        text = self.said(template, **values)
        must = [name for name in (heading, near if near in text else "") if name] + _MARKED.findall(text)
        plain, number = _MARKED.sub(r"\1", text), must[-1].split()[0]
        value = number if number.isdecimal() else must[-1]
        self.places.append(Place(key, str(self.path), tuple(must), Manner.PROSE, plain, value))
        return plain

    def quoted(self, fact: Fact) -> str:
        """A sentence that states a fact which does not hold: it is noted as no place."""
        return _MARKED.sub(r"\1", self.said(fact.sentence, **fact.names | {"amount": self.amount(fact)}))

    def sentences(self, facts: Iterable[Fact]) -> list[Paragraph]:
        """One paragraph of the facts that stand in prose."""
        own = [self.sentence(fact) for fact in facts if Manner.PROSE in self._manners[fact.key]]
        return [Paragraph(" ".join(own))] if own else []

    def table(self, facts: Iterable[Fact], caption: str) -> list[Table]:
        """A table of the facts that stand in tables. Each row begins with the fact's subject."""
        own = [fact for fact in facts if Manner.TABLE in self._manners[fact.key]]
        rows = tuple(self._row(fact, Manner.TABLE) for fact in own)
        return [Table(self._header, rows, caption)] if rows else []

    def sheet(self, facts: Iterable[Fact]) -> Table:
        """The table of a document in CSV."""
        own = [fact for fact in facts if Manner.CSV in self._manners[fact.key]]
        return Table(self._header, tuple(self._row(fact, Manner.CSV) for fact in own))

    def section(self, title: str, *blocks: object) -> Section:
        flat = [part for block in blocks for part in (block if isinstance(block, list) else [block])]
        return Section(self.said(title), tuple(flat))

    def bullets(self, *templates: str) -> Bullets:
        return Bullets(tuple(self.said(template) for template in templates))

    def note(self, template: str) -> Note:
        return Note(self.said(template))

    def amount(self, fact: Fact) -> str:
        """A number with its unit in the vendor's word."""
        unit = self.style.habits.get(fact.unit, fact.unit)
        return f"{fact.value} {unit[:-1] if fact.value == '1' else unit}"

    def _row(self, fact: Fact, manner: Manner) -> tuple[str, ...]:
        row = (f"`{fact.subject}`", self.said(fact.label), self.amount(fact))
        text = " ".join(row).replace("`", "")
        self.places.append(Place(fact.key, str(self.path), (text,), manner, text, fact.value))
        return row
