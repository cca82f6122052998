"""Looks up the facts of a target, after the sheets that ship with kb for it are in the home."""

from collections.abc import Collection

from kb.errors import FactError
from kb.facts.resolution import FactStanding
from kb.types.fact import Fact
from kb.usecases.home import Home
from kb.usecases.sheets import ensure_sheets


def known_facts(home: Home, target: str) -> list[Fact]:
    """The facts that hold for a target; none where no document states any. The user is told of missing sheets."""
    if missing := ensure_sheets(home, target):
        home.notify(missing.message)
    try:
        return [standing.fact for standing in home.factbook.holding(target)]
    except FactError:
        return []


def unconfirmed(home: Home, target: str, quantities: Collection[str]) -> list[Fact]:
    """The facts of these quantities that were read of a target, and that hold once a person accepts them."""
    standings = home.factbook.standings(target, quantities=quantities) if quantities else []
    return [s.fact for s in standings if s.standing is FactStanding.UNCONFIRMED]
