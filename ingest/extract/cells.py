"""Facts from table cells: values whose labels name the quantity."""

import re
from collections.abc import Iterator, Sequence
from itertools import product

from ingest.extract.labels import OTHER_UNIT, Label, conditions, share
from ingest.extract.subjects import Subjects
from ingest.extract.values import Value, values
from kb.facts.quantities import Quantity
from kb.types.records import FactRecord, Form

_CELL_REST = re.compile(
    r"[^\w/%]*(?:up to\s*)?(?:\bper\s+(?:\d+\s+)?[\w-]+(?:\s(?:unit|block))?s?|each|\([^)]*\)|/\s?[\w-]+)?[^\w%]*",
    re.IGNORECASE,
)
"""Text that a cell may hold beside its value."""
_ASIDE = re.compile(r"\(([^()]{0,40}\bper\s[^()]{0,40})\)")
_PER = re.compile(r"\bper\s+$", re.IGNORECASE)
"""Text before a value that counts the things that share an amount: `per 2 CUs`."""
_MARKUP = re.compile(r"\]\([^)]*\)|<[^>]*>|[*`_\[\]]")


def read_fact(
    target: str, quantity: str, value: str, unit: str, conditions: Sequence[str], start: int, end: int
) -> FactRecord:
    """A fact in no section yet; `start` and `end` are those of its span."""
    number, said = None if "x" in value else float(value), ", ".join(conditions)
    return FactRecord(None, target, quantity, value, number, unit, said, "", start, end, Form.TABLE)


def cell_facts(
    cell: str,
    span: tuple[int, int],
    targets: Sequence[str],
    labels: Sequence[str],
    around: Sequence[str],
    subjects: Subjects,
) -> Iterator[FactRecord]:
    """Yield the facts of one cell for each of `targets`; none if not all that the labels or the cell say is understood.

    Args:
        labels: Labels of the value, nearest first. If they name no quantity, the nearest text around may name it.
        around: Caption and headings, nearest first.
    """
    names = list(dict.fromkeys(n for text in labels for n in (subjects.without_names(text), text) if n.strip()))
    texts = [*labels, *around]
    for piece in pieces(cell):
        value = only_value(piece)
        called = _quantity(value, (*names, *around[:1])) if value and not value.rough else None
        if called is None:
            continue
        quantity, (number, unit) = called
        if quantity.is_of_another(names) or (unit == "1" and any(map(OTHER_UNIT.search, labels))):
            continue
        if "per" in quantity.needs and quantity.per != "device" and not share([piece, *texts]):
            continue
        for own, target in product(conditions(quantity, [piece, *texts]), targets):
            yield read_fact(target, quantity.name, number, unit, own, *span)


def pieces(text: str) -> list[str]:
    """Return a cell without its asides, then each aside that states another share: `304 (38 per XCD)`."""
    return [_ASIDE.sub(" ", text), *(aside for aside in _ASIDE.findall(text) if share([aside]))]


def only_value(text: str) -> Value | None:
    """Return the value of a cell that holds one value and little else."""
    found = [value for value in values(text) if not _PER.search(text, 0, value.start)]
    if len(found) != 1 or not _CELL_REST.fullmatch(text[: found[0].start] + " " + text[found[0].end :]):
        return None
    return found[0]


def begins_with_value(text: str) -> bool:
    """Whether a cell begins with a value; `32-bit registers` does not."""
    return any(not text[: value.start].strip() and not value.unit.startswith("bit") for value in values(text))


def _quantity(value: Value, labels: Sequence[str]) -> tuple[Quantity, tuple[str, str]] | None:
    """Return the quantity that the labels name, and the value's number and unit; None if they say more than that."""
    loosely: Quantity | None = None
    for text in labels:
        units = (Label(one).unit for one in (text, *labels) if not value.unit)
        written, counted = next((unit for unit in units if unit[1]), ("", None))
        found = [
            (quantity, read, sure, loose)
            for quantity, sure, loose in Label(text).meanings()
            if (read := value.read_as(quantity, counted))
            and (not loose or (quantity.per and (value.counts or counted)))  # a bare number under `lanes` is an index
        ]
        found = [entry for entry in found if entry[2]] or found
        if not found:
            continue
        (quantity, (number, unit), sure, loose), *others = found
        if others or loosely not in (None, quantity):
            return None
        if sure:
            return quantity, (number, unit if value.is_shape else written or unit)
        if not loose:
            return None
        loosely = quantity  # `Bandwidth` alone is none's: the next label must say that it is this quantity's
    return None


def plain(text: str) -> str:
    """Replace each character of markup by a blank, so that positions stay."""
    return _MARKUP.sub(lambda match: " " * len(match.group()), text).replace("\\|", " |")
