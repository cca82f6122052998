"""Facts from cells of tables, and from what stands behind a colon: a value whose labels say what it is."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from ingest.extract.labels import Label, conditions, share
from ingest.extract.subjects import Subjects
from ingest.extract.values import Value, before_per, values
from kb.facts.quantities import SHAPE, Quantity
from kb.model.units import PIECES, Unit

_CELL_REST = re.compile(
    r"[^\w/]*(?:up to\s*)?(?:\bper\s+(?:\d+\s+)?[\w-]+(?:\s(?:unit|block))?s?|each|\([^)]*\)|/\s?[\w-]+)?[^\w]*",
    re.IGNORECASE,
)
"""What may stand in a cell beside its value."""
_ASIDE = re.compile(r"\(([^()]{0,40}\bper\s[^()]{0,40})\)")
_MARKUP = re.compile(r"\]\([^)]*\)|<[^>]*>|[*`_\[\]]")


@dataclass(frozen=True, slots=True)
class FoundFact:
    """A fact as a text says it, before it has a place in a document."""

    target: str
    quantity: str
    value: str
    unit: str
    conditions: tuple[str, ...]
    start: int
    """Span of the value within what was read."""
    end: int
    sure: bool = True
    """Whether all that the text says of it was understood."""


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a cell, a sentence or a list entry."""

    targets: tuple[str, ...]
    """Of which it speaks where it names none itself."""
    texts: tuple[str, ...]
    """The entries above it in a list, what introduces it, captions and headings; the nearest first."""
    named: bool = True
    """Whether the targets are named there, or are those of the document."""


def cell_facts(
    text: str, span: tuple[int, int], labels: Sequence[str], around: Around, subjects: Subjects
) -> Iterator[FoundFact]:
    """The facts of one cell, or of what stands behind a colon.

    Args:
        labels: What it is called, the nearest first. Where they name no quantity, the nearest text around may.
    """
    names = list(dict.fromkeys(n for text in labels for n in (subjects.without_names(text), text) if n.strip()))
    plain_names = [text for text in labels if not subjects.named(text)]
    texts = [*labels, *around.texts]
    for piece in pieces(text):
        value = only_value(piece)
        called = value and (_quantity(value, (*names, *around.texts[:1])) or _by_unit(value, plain_names))
        if not value or not called:
            continue
        quantity, (number, unit), sure = called
        assumed = "per" in quantity.needs and quantity.per != "device" and not share([piece, *texts])
        for own, target in product(conditions(quantity, [piece, *texts]), around.targets):
            certain = sure and not assumed and not value.rough
            yield FoundFact(target, quantity.name, number, unit, tuple(own), *span, certain)


def pieces(text: str) -> list[str]:
    """A cell without its asides, and those that say another share: `304 (38 per XCD)`."""
    return [_ASIDE.sub(" ", text), *(aside for aside in _ASIDE.findall(text) if share([aside]))]


def only_value(text: str) -> Value | None:
    """The value of a cell that holds one and little else."""
    found = [value for value in values(text) if not before_per(text, value)]
    if len(found) != 1 or not _CELL_REST.fullmatch(text[: found[0].start] + " " + text[found[0].end :]):
        return None
    return found[0]


def begins_with_value(text: str) -> bool:
    """Whether a cell gives a value, whatever stands behind it; `32-bit registers` is none."""
    return any(not text[: value.start].strip() and not value.unit.startswith("bit") for value in values(text))


def _quantity(value: Value, labels: Sequence[str]) -> tuple[Quantity, tuple[str, str], bool] | None:
    """What the labels call the value, its number and unit, and whether they say nothing else."""
    for text in labels:
        written, counted = ("", None) if value.unit else _unit((text, *labels))
        found = [
            (quantity, read, sure)
            for quantity, sure, loose in Label(text).meanings()
            if (read := value.read_as(quantity, counted))
            and (not loose or (quantity.per and (value.counts or counted)))  # a bare number under `lanes` is an index
        ]
        found = [entry for entry in found if entry[2]] or found
        if found:
            (quantity, (number, unit), sure), *others = found
            return None if others else (quantity, (number, unit if value.is_shape else written or unit), sure)
    return None


def _by_unit(value: Value, labels: Sequence[str]) -> tuple[Quantity, tuple[str, str], bool] | None:
    """What is called by its unit alone, under labels that name nothing else: `INT8 | 624 TOPS`. It may be measured."""
    others = {q.unit for text in labels for q in Label(text).quantities} - {SHAPE, *PIECES}
    called = _quantity(value, [f"{text} {value.unit}" for text in labels]) if value.unit and not others else None
    return (*called[:2], False) if called else None


def _unit(labels: Sequence[str]) -> tuple[str, Unit | None]:
    """The first that the labels name."""
    return next((unit for text in labels if (unit := Label(text).unit)[1]), ("", None))


def plain(text: str) -> str:
    """Without markup, each character of which becomes a blank, so that places stay."""
    return _MARKUP.sub(lambda match: " " * len(match.group()), text).replace("\\|", " |")
