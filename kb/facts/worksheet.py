"""The worksheet of a target: what a kernel's author needs to know, and what the documents say of it so far."""

import tomllib
from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

from kb.facts.resolution import StandingFact
from kb.types.base import Frozen
from kb.types.fact import Fact
from kb.types.passages import Passage


class Line(Frozen):
    """A question of kb/facts/worksheet.toml, which explains the fields."""

    topic: str
    asks: str
    also: tuple[str, ...] = ()
    quantities: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def phrasings(self) -> list[str]:
        return [self.asks, *self.also]


FEATURES = Line(topic="features", asks="What do overviews and lists of features state?")
"""It is asked first, and no fact belongs to it."""
OTHER = Line(topic="other", asks="What else do the documents state?")
"""The line of the facts that belong to no other."""


class Entry(Frozen):
    """A line with the facts of one target. It is open if it has none of either kind, or lacks what it needs."""

    line: Line
    holds: tuple[Fact, ...]
    read: tuple[Fact, ...]
    """Facts that somebody has to confirm before they hold."""
    passages: tuple[Passage, ...] = ()
    """Those that may answer the line, if it is asked."""

    @property
    def missing(self) -> tuple[str, ...]:
        """The quantities that the line asks for and for which no fact holds."""
        held = {fact.quantity for fact in self.holds}
        return tuple(name for name in self.line.needs if name not in held)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(files("kb.facts").joinpath("worksheet.toml").read_text(encoding="utf-8"))


def topics() -> tuple[str, ...]:
    """The topics in the order in which they are shown."""
    return tuple(_table()["topics"])


@cache
def lines() -> tuple[Line, ...]:
    """The questions in the order in which they claim facts; all but `OTHER`."""
    return tuple(Line(**entry) for entry in _table()["line"])


def worksheet(holding: Iterable[StandingFact], all_standings: Iterable[StandingFact]) -> list[Entry]:
    """Every line, by topic, with the facts that hold and those to be confirmed.

    Args:
        holding: Those that hold for the target, inherited ones included.
        all_standings: All statements about the target and its ancestors.
    """
    held, read = defaultdict(list), defaultdict(list)
    for standing in holding:
        held[line_of(standing.fact.quantity)].append(standing.fact)
    for standing in all_standings:
        if standing.waits:
            read[line_of(standing.fact.quantity)].append(standing.fact)
    shown = sorted((*lines(), OTHER), key=lambda line: topics().index(line.topic))
    entries = [Entry(line=line, holds=tuple(held[line]), read=tuple(read[line])) for line in shown]
    return [entry for entry in entries if entry.line != OTHER or entry.holds or entry.read]


def line_of(quantity: str) -> Line:
    """The line to which a quantity belongs, by kb's name or by a word of the vendor's."""
    parts = set(quantity.lower().split("_"))
    named = (line for line in lines() if quantity in line.quantities)
    worded = (line for line in lines() if parts & set(line.words))
    return next(named, None) or next(worded, OTHER)
