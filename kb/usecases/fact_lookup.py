"""Looks up the facts of a target, after the sheets that ship with kb for it are in the home."""

from kb.errors import FactError, LockedError, ReadOnlyError
from kb.facts.book import Conflict, Difference, in_unit
from kb.facts.resolution import StandingFact
from kb.types.fact import Fact
from kb.usecases.home import Home
from kb.usecases.sheets import with_sheets


def facts(
    home: Home, target: str, quantity: str | None = None, *conditions: str, unit: str | None = None
) -> list[Fact]:
    """The facts that hold for a target. Arguments and errors as in `KnowledgeBase.facts`."""
    book = home.factbook
    with with_sheets(home, target):
        found = book.holding(target) if quantity is None else book.find(target, quantity, conditions)
    return [in_unit(standing.fact, unit) if unit else standing.fact for standing in found]


def known_facts(home: Home, target: str) -> list[Fact]:
    """The facts that hold for a target; none where no document states any, or they cannot be read."""
    try:
        return facts(home, target)
    except (FactError, LockedError, ReadOnlyError):
        return []


def standings(home: Home, target: str, quantity: str | None = None) -> list[StandingFact]:
    """All statements about a target. Arguments and errors as in `KnowledgeBase.standings`."""
    with with_sheets(home, target):
        return home.factbook.all_of(target, quantity)


def conflicts(home: Home, target: str | None = None) -> list[Conflict]:
    """Where documents contradict each other about a target, or about any."""
    with with_sheets(home, *([target] if target else ())):
        return home.factbook.conflicts(target)


def differences(home: Home, first: str, second: str) -> list[Difference]:
    """The quantities and conditions for which two targets' facts differ."""
    with with_sheets(home, first, second):
        return home.factbook.differences(first, second)
