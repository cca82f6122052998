"""Names of quantities and conditions: kb's own, and the words that documents use."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from kb.types.base import Frozen
from kb.types.spellings import any_of
from kb.types.units import PIECES, Unit, unit_of

SHAPE = "shape"
"""Unit of values such as `128x128`, which are not single numbers."""
NAME = "name"
"""Unit of values in words, such as the name of an instruction or a list of data types."""

CACHED_TEXTS = 4096
"""Texts whose mentions are kept: headings and headers are read again for each sentence and cell below them."""


def written(value: str, unit: str) -> str:
    """The value with its unit; counts, shapes and names have no unit."""
    return value if unit in ("", "1", SHAPE, NAME) else f"{value} {unit}"


class Quantity(Frozen):
    """A row of kb/facts/quantities.toml, which explains the fields."""

    name: str
    unit: str
    names: tuple[str, ...]
    loose: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    per: str = ""
    prefix: bool = False
    many: bool = False
    matrix: bool = False
    confirm: bool = False
    system: bool = False

    def holds(self, text: str, unit: Unit | None) -> bool:
        """Whether `text` in this unit can be a value of this quantity; a count is a whole number above 1."""
        if self.unit == SHAPE or not self.counts(unit):
            return False
        return self.unit not in PIECES or (text.isdecimal() and int(text) > 1)

    def is_of_another(self, labels: Iterable[str]) -> bool:
        """Whether the labels of a value say that it is about another thing than the quantity."""
        return bool(self.unless) and re.search(rf"(?i)(?:{'|'.join(self.unless)})", " ".join(labels)) is not None

    def counts(self, unit: Unit | None) -> bool:
        """Whether this quantity can have a value in this unit; None stands for a bare number."""
        own = unit_of(self.unit)
        if unit is None or own is None or unit.kind == "1":
            return self.unit in PIECES
        if (self.prefix and unit.scale <= 1) or (self.unit == "bit" and unit.scale > 1):
            return False
        return unit.kind == own.kind or (unit.kind in PIECES and own.kind in PIECES)


@dataclass(frozen=True, slots=True)
class Mention:
    """A word of the vocabulary in a text, from character `start` to `end`."""

    start: int
    end: int
    means: str
    """Name of the quantity or condition."""
    loose: bool = False
    """Whether the word often means something else."""


class Vocabulary:
    """Finds the words of a vocabulary in texts. Longer words win, and matches do not overlap."""

    def __init__(self, words: Mapping[str, Iterable[str]], loose: Mapping[str, Iterable[str]] | None = None) -> None:
        spelt = [(w, means, False) for means, group in words.items() for w in group]
        spelt += [(w, means, True) for means, group in (loose or {}).items() for w in group]
        spelt.sort(key=lambda entry: -len(entry[0]))
        self._meanings: dict[str, dict[str, bool]] = {}
        for word, means, is_loose in spelt:
            self._meanings.setdefault(plain(word), {}).setdefault(means, is_loose)
        pattern = any_of(dict.fromkeys(word for word, _, _ in spelt), _pattern)
        self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})s?(?![A-Za-z0-9])", re.ASCII)
        self.mentions = lru_cache(CACHED_TEXTS)(self._mentions)

    def _mentions(self, text: str) -> tuple[Mention, ...]:
        """The mentions in order; a word with several meanings gives one mention for each."""
        return tuple(
            Mention(match.start(), match.end(), means, is_loose)
            for match in self._pattern.finditer(text)
            for means, is_loose in self._meanings.get(plain(match.group()), {}).items()
        )


def _pattern(word: str) -> str:
    """A pattern for the word: a blank also matches a hyphen, and only acronyms are case-sensitive."""
    if len(word) > 3:
        word = word.removesuffix("s")
    parts = [re.escape(part) for part in re.findall(r"[A-Za-z0-9]+|[^A-Za-z0-9\s-]", word)]
    spelt = r"[\s-]?".join(parts)
    short = len(word) <= 3 and word != word.lower()
    return f"(?:{spelt})" if short else f"(?i:{spelt})"


@lru_cache(CACHED_TEXTS)
def plain(word: str) -> str:
    """The word in lower case, without punctuation and plural s."""
    plain = re.sub(r"[^a-z0-9$]", "", word.lower())
    return plain.removesuffix("s") if len(plain) > 2 else plain


@dataclass(frozen=True, slots=True)
class Quantities:
    """The content of kb/facts/quantities.toml."""

    by_name: Mapping[str, Quantity]
    names: Vocabulary
    conditions: Mapping[str, Vocabulary]
    """`dtype`, `density`, `engine`, `direction`, `per`."""
    spelt: Mapping[str, frozenset[str]]
    """kb's own spellings of the conditions of each kind."""
    filler: frozenset[str]
    """Words in labels that carry no meaning."""

    def find(self, spelling: str) -> tuple[Quantity, ...]:
        """The quantities with this spelling as kb's name, or else as a vendor's."""
        wanted = plain(spelling)
        own = tuple(q for q in self.by_name.values() if plain(q.name) == wanted)
        return own or tuple(q for q in self.by_name.values() if wanted in map(plain, q.names))


@cache
def quantities() -> Quantities:
    """The quantities that ship with kb."""
    table = tomllib.loads(files("kb.facts").joinpath("quantities.toml").read_text(encoding="utf-8"))
    by_name = {name: Quantity(name=name, **fields) for name, fields in table["quantity"].items()}
    return Quantities(
        by_name,
        Vocabulary({q.name: q.names for q in by_name.values()}, {q.name: q.loose for q in by_name.values()}),
        {kind: Vocabulary(words) for kind, words in table["condition"].items()},
        {kind: frozenset(words) for kind, words in table["condition"].items()},
        frozenset(table["filler"].split()),
    )
