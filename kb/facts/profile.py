"""What kb holds true of a target: which facts stand, which contradict each other, and by what rule one goes before.

Nothing is chosen in silence: a fact that gives way says to which, and two that are equally good both stay out of the
profile until a person decides.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import combinations
from typing import Any

from kb.facts.quantities import quantities
from kb.facts.select import comparable, conditions
from kb.model.base import Frozen
from kb.model.fact import Fact
from kb.model.records import Form, Trust
from kb.model.units import PIECES, unit_of

SAME = 0.025
"""Largest relative difference of two values that are the same one, rounded differently (`989` and `989.5`)."""


class Verdict(StrEnum):
    """What a person decided."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class FactStanding(StrEnum):
    """Whether a fact belongs to the profile."""

    HOLDS = "holds"
    UNCONFIRMED = "unconfirmed"
    """Read off running text, and no table says the same."""
    AMBIGUOUS = "ambiguous"
    """One table or paragraph gives several values, which differ by something that kb does not understand."""
    GIVES_WAY = "gives way"
    """A better fact says otherwise."""
    CONFLICT = "conflict"
    """An equally good fact says otherwise."""
    REJECTED = "rejected"


class StandingFact(Frozen):
    """A fact and how it stands."""

    fact: Fact
    standing: FactStanding
    why: str = ""
    against: tuple[Fact, ...] = ()
    """Those that say otherwise."""
    confirmed_by: tuple[Fact, ...] = ()
    """Those of other documents that say the same."""


def judge_facts(
    facts: Sequence[Fact], *, verdicts: Mapping[str, Verdict], lineage: Sequence[str], families: Collection[str] = ()
) -> list[StandingFact]:
    """How each fact stands among the others.

    Args:
        facts: All that are stated of the targets in `lineage`.
        verdicts: By the id of a fact's citation.
        lineage: The target and its ancestors: what is stated of a nearer one goes before.
        families: Targets that stand for several chips. What a text says of one may hold for its first chip alone,
            which often has the family's name: a fact table must say the same.
    """
    groups = defaultdict(list)
    for fact in facts:
        groups[fact.quantity].append(fact)
    ranks = _Ranks(verdicts, lineage, families)
    return [standing for group in groups.values() for standing in _judge(group, ranks)]


@dataclass(frozen=True)
class _Ranks:
    """Which fact is sure, and which of two goes before; the fields are the arguments of `judge_facts`."""

    verdicts: Mapping[str, Verdict]
    lineage: Sequence[str]
    families: Collection[str]

    def verdict(self, fact: Fact) -> Verdict | None:
        return self.verdicts.get(fact.citation.id)

    def before(self, a: Fact, b: Fact) -> str:
        """The rule by which `a` goes before `b`, in words; empty where none says so."""
        are_editions = a.citation.path.rsplit("/", 1)[-1] == b.citation.path.rsplit("/", 1)[-1]
        scores: list[tuple[str, Callable[[Fact], Any]]] = [
            ("accepted", lambda f: self.verdict(f) is Verdict.ACCEPTED),
            ("said of a nearer target", lambda f: -self.lineage.index(f.target)),
            ("a fact table goes before what kb read off a text", lambda f: f.form is Form.STATED),
            ("a table goes before running text", lambda f: f.form is Form.TABLE),
            ("the vendor goes before the community", lambda f: f.trust is Trust.VENDOR),
            ("it says more of its condition", conditions),
            ("a newer version of the document", lambda f: _release(f.version) if are_editions else []),
        ]
        for rule, score in scores:
            ours, theirs = score(a), score(b)
            if ours > theirs or ours < theirs:
                return rule if ours > theirs else ""
        return ""

    def is_sure(self, fact: Fact) -> bool:
        """Whether it holds without a second document."""
        if fact.form is Form.STATED or self.verdict(fact) is Verdict.ACCEPTED:
            return True
        if fact.form is not Form.TABLE:
            return False
        known = quantities().by_name.get(fact.quantity)
        return known is not None and not known.confirm and fact.target not in self.families


def _release(version: str) -> list[tuple[int, str]]:
    """A version for comparing: its numbers as numbers, so that 10 comes after 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[^\d.]+", version)]


@dataclass(eq=False)
class _Side:
    """A fact beside the others of its quantity, `stated`: those that are not rejected, measured or ambiguous."""

    fact: Fact
    stated: "list[_Side]"
    ranks: _Ranks

    @cached_property
    def agreeing(self) -> "list[_Side]":
        others = (o for o in self.stated if o is not self and comparable(self.fact, o.fact))
        return [o for o in others if same_value(self.fact, o.fact)]

    @cached_property
    def denying(self) -> "list[_Side]":
        others = () if _many(self.fact) else (o for o in self.stated if comparable(self.fact, o.fact))
        return [o for o in others if not same_value(self.fact, o.fact)]

    @cached_property
    def is_confirmed(self) -> bool:
        """Whether it holds by itself, or a table says the same: another document's, or for running text any.

        Of a family only a fact table will do, and of the rest no second text: facts that were judged one by one were
        right too rarely with less (counts in benchmarks/README.md).
        """
        if self.ranks.is_sure(self.fact):
            return True
        if self.fact.target in self.ranks.families:
            return any(o.fact.form is Form.STATED for o in self.agreeing)
        own = self.fact.citation.sha256 if self.fact.form is Form.TABLE else ""
        return any(o.fact.form in (Form.STATED, Form.TABLE) and o.fact.citation.sha256 != own for o in self.agreeing)

    @cached_property
    def rivals(self) -> "list[_Side]":
        """Those that deny it and are confirmed, where neither of the two means a third."""
        return [o for o in self.denying if o.is_confirmed and not _means_more(self, o) and not _means_more(o, self)]

    @cached_property
    def better(self) -> "list[_Side]":
        return [o for o in self.rivals if self.ranks.before(o.fact, self.fact)]

    def standing(self) -> StandingFact:
        if not self.is_confirmed:
            return StandingFact(fact=self.fact, standing=FactStanding.UNCONFIRMED, against=_facts(self.denying))
        why = self.ranks.before(self.better[0].fact, self.fact) if self.better else ""
        equal = (o for o in self.rivals if not o.better and not self.ranks.before(self.fact, o.fact))
        against = self.better or list(equal)
        standing = FactStanding.GIVES_WAY if self.better else FactStanding.CONFLICT if against else FactStanding.HOLDS
        others = [o for o in self.agreeing if o.fact.citation.sha256 != self.fact.citation.sha256]
        return StandingFact(
            fact=self.fact, standing=standing, why=why, against=_facts(against), confirmed_by=_facts(others)
        )


def _judge(group: Sequence[Fact], ranks: _Ranks) -> list[StandingFact]:
    """The standing of facts about one quantity."""
    ambiguous = _ambiguous([f for f in group if ranks.verdict(f) is None and f.trust is not Trust.MEASURED])
    stated: list[_Side] = []
    found: list[StandingFact | _Side] = []
    for fact in group:
        if ranks.verdict(fact) is Verdict.REJECTED:
            found.append(StandingFact(fact=fact, standing=FactStanding.REJECTED, why="rejected"))
        elif fact.trust is Trust.MEASURED:
            found.append(StandingFact(fact=fact, standing=FactStanding.HOLDS, why="measured"))
        elif fact.citation.id in ambiguous:
            found.append(StandingFact(fact=fact, standing=FactStanding.AMBIGUOUS))
        else:
            stated.append(_Side(fact, stated, ranks))
            found.append(stated[-1])
    return [entry.standing() if isinstance(entry, _Side) else entry for entry in found]


def _means_more(vague: _Side, special: _Side) -> bool:
    """Whether the first says less of its condition, and agrees with a third that says more of it."""
    said = conditions(vague.fact)
    return said < conditions(special.fact) and any(said < conditions(o.fact) for o in vague.agreeing)


def _facts(sides: Iterable[_Side]) -> tuple[Fact, ...]:
    return tuple(side.fact for side in sides)


def _many(fact: Fact) -> bool:
    known = quantities().by_name.get(fact.quantity)
    return known is not None and known.many


def _ambiguous(group: Sequence[Fact]) -> set[str]:
    """Facts whose own section gives another value under the very same condition."""
    places: dict[tuple[object, ...], list[Fact]] = defaultdict(list)
    for fact in group:
        if fact.form is not Form.STATED and not _many(fact):
            place = (fact.citation.sha256, fact.citation.section, fact.form, fact.target, fact.conditions)
            places[place].append(fact)
    return {
        fact.citation.id
        for facts in places.values()
        if any(not same_value(a, b) for a, b in combinations(facts, 2))
        for fact in facts
    }


def same_value(a: Fact, b: Fact) -> bool:
    """Whether two values are the same one, written in another unit or rounded to fewer digits."""
    if a.amount is None or b.amount is None:
        return a.value.lower() == b.value.lower()
    if a.number == b.number and a.unit.replace("i", "") == b.unit.replace("i", ""):
        return True  # GB and GiB of memory are written for one another
    if a.amount == b.amount:
        return True
    last = max(_last_digit(a), _last_digit(b))
    difference = abs(a.amount - b.amount)
    return difference <= SAME * max(abs(a.amount), abs(b.amount)) and difference <= last / 2 * (1 + 1e-9)


def _last_digit(fact: Fact) -> float:
    """What one more in the last digit of the value is worth, in base units; nothing where it is a count."""
    unit = unit_of(fact.unit)
    if unit is None or unit.kind in PIECES:
        return 0.0
    mantissa, _, exponent = fact.value.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) * unit.scale


def profile_of(standings: Sequence[StandingFact], *, lineage: Sequence[str]) -> list[StandingFact]:
    """The facts that hold, each said once: in a fact table where there is one, of the nearest target."""
    order = [Form.STATED, Form.TABLE, Form.SENTENCE, Form.PROPOSED]
    holding = [s for s in standings if s.standing is FactStanding.HOLDS]
    holding.sort(key=lambda s: (lineage.index(s.fact.target), order.index(s.fact.form), -len(conditions(s.fact))))
    kept: list[StandingFact] = []
    for standing in holding:
        if standing.why == "measured" or not any(_repeats(standing.fact, better.fact) for better in kept):
            kept.append(standing)
    return sorted(kept, key=lambda s: (lineage.index(s.fact.target), s.fact.quantity))


def _repeats(fact: Fact, better: Fact) -> bool:
    if fact.citation.id == better.citation.id or better.trust is Trust.MEASURED or not comparable(fact, better):
        return False
    return same_value(fact, better) and not conditions(fact) > conditions(better)
