"""Looks up the facts of a target, after the sheets that ship with kb for it are in the home."""

from kb.errors import FactError
from kb.types.fact import Fact
from kb.usecases.home import Home
from kb.usecases.sheets import ensure_sheets, with_sheets


def facts(home: Home, target: str, quantity: str | None = None, *conditions: str) -> list[Fact]:
    """The facts that hold for a target. Arguments and errors as in `KnowledgeBase.facts`."""
    book = home.factbook
    with with_sheets(home, target):
        found = book.holding(target) if quantity is None else book.find(target, quantity, conditions)
    return [standing.fact for standing in found]


def known_facts(home: Home, target: str) -> list[Fact]:
    """The facts that hold for a target; none where no document states any. The user is told of missing sheets."""
    if missing := ensure_sheets(home, target):
        home.notify(missing.message)
    try:
        return [standing.fact for standing in home.factbook.holding(target)]
    except FactError:
        return []
