"""Decides which facts hold for a target, which contradict each other, and which rule prefers one.

No choice is silent: a fact that gives way names the better facts, and neither of two equally good facts holds until a
person decides.
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
from kb.facts.select import about_one_thing, comparable, conditions
from kb.types.base import Frozen
from kb.types.edition import document_precedence, is_same_product
from kb.types.fact import Fact
from kb.types.records import Form, Trust
from kb.types.units import PIECES, unit_of

SAME = 0.025
"""Largest relative difference between two roundings of the same value (`989` and `989.5`)."""


class FactDecision(StrEnum):
    """A person's decision about a fact."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class FactStanding(StrEnum):
    """Whether a fact holds, and if not, why."""

    HOLDS = "holds"
    UNCONFIRMED = "unconfirmed"
    """A reader's answer, or a table that needs a second one, and nobody accepted it."""
    AMBIGUOUS = "ambiguous"
    """One table gives several values, and kb does not understand how they differ."""
    GIVES_WAY = "gives way"
    """A better fact contradicts it."""
    CONFLICT = "conflict"
    """An equally good fact contradicts it."""
    REJECTED = "rejected"


class StandingFact(Frozen):
    """A fact and its standing."""

    fact: Fact
    standing: FactStanding
    why: str = ""
    """A decision, and the rule by which a better fact holds; empty if there is neither."""
    against: tuple[Fact, ...] = ()
    """Facts that contradict it."""
    confirmed_by: tuple[Fact, ...] = ()
    """Equal facts of other documents."""

    @property
    def waits(self) -> bool:
        """Whether somebody has to confirm it before it holds."""
        return self.standing in (FactStanding.UNCONFIRMED, FactStanding.AMBIGUOUS, FactStanding.CONFLICT)


def resolve_facts(
    facts: Sequence[Fact],
    *,
    decisions: Mapping[str, FactDecision],
    lineage: Sequence[str],
    families: Collection[str] = (),
    label: Callable[[Fact], str] = lambda fact: fact.quote,
) -> list[StandingFact]:
    """The standing of each fact among the others.

    Args:
        facts: All facts of the targets in `lineage`.
        decisions: Decisions by the id of the fact's citation.
        lineage: The target and its ancestors; facts of a nearer target take precedence.
        families: Targets that stand for several chips. A text about a family may mean only its first chip, which often
            has the family's name, so a fact table must confirm it.
        label: The words beside a value, as `about_one_thing` needs them.
    """
    groups = defaultdict(list)
    for fact in facts:
        groups[fact.quantity].append(fact)
    precedence = _Precedence(decisions, lineage, families, label)
    return [standing for group in groups.values() for standing in _resolve(group, precedence)]


@dataclass(frozen=True)
class _Precedence:
    """Ranks facts by the rules of precedence; the fields are the arguments of `resolve_facts`."""

    decisions: Mapping[str, FactDecision]
    lineage: Sequence[str]
    families: Collection[str]
    label: Callable[[Fact], str]

    def decision(self, fact: Fact) -> FactDecision | None:
        return self.decisions.get(fact.citation.id)

    def told_apart(self, a: Fact, b: Fact) -> bool:
        """Whether a person accepted both, under different conditions or as values that hold at once."""
        both = self.decision(a) is self.decision(b) is FactDecision.ACCEPTED
        return both and (_many(a) or conditions(a) != conditions(b))

    def before(self, a: Fact, b: Fact) -> str:
        """The rule by which `a` takes precedence over `b`, in words; empty if there is none."""
        paths = a.citation.path, b.citation.path
        are_editions = is_same_product(*paths) and len({path.rsplit("/", 1)[-1] for path in paths}) == 1
        scores: list[tuple[str, Callable[[Fact], Any]]] = [
            ("accepted", lambda f: self.decision(f) is FactDecision.ACCEPTED),
            ("stated for a nearer target", lambda f: -self.lineage.index(f.target)),
            ("errata outrank what they correct, and all outranks drafts and archives", precedence_of),
            ("a fact table outranks what was read from other text", lambda f: f.form is Form.STATED),
            ("a table outranks a reader's answer", lambda f: f.form is Form.TABLE),
            ("the vendor outranks the community", lambda f: f.trust is Trust.VENDOR),
            ("its condition is more specific", conditions),
            ("from a newer version of the document", lambda f: _release(f.version) if are_editions else []),
        ]
        for rule, score in scores:
            ours, theirs = score(a), score(b)
            if ours > theirs or ours < theirs:
                return rule if ours > theirs else ""
        return ""

    def is_sure(self, fact: Fact) -> bool:
        """Whether the fact holds without a second document."""
        if fact.form is Form.STATED or self.decision(fact) is FactDecision.ACCEPTED:
            return True
        if fact.form is not Form.TABLE or precedence_of(fact) < 0:
            return False
        known = quantities().by_name.get(fact.quantity)
        return known is not None and not known.confirm and fact.target not in self.families


def precedence_of(fact: Fact) -> int:
    """The precedence of the document that states it; see `kb.types.edition.document_precedence`."""
    return document_precedence(fact.citation.path, " ".join(fact.citation.section[:1]), fact.trust)


def _release(version: str) -> list[tuple[int, str]]:
    """A version as a sort key: numbers compare as numbers, so 10 comes after 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[^\d.]+", version)]


@dataclass(eq=False)
class _Statement:
    """A fact among `stated`: the facts of its quantity that are not rejected, measured or ambiguous."""

    fact: Fact
    stated: "list[_Statement]"
    precedence: _Precedence

    @cached_property
    def agreeing(self) -> "list[_Statement]":
        others = (o for o in self.stated if o is not self and comparable(self.fact, o.fact))
        return [o for o in others if same_value(self.fact, o.fact)]

    @cached_property
    def denying(self) -> "list[_Statement]":
        own, many = self.fact.citation.sha256, _many(self.fact)
        others = (o for o in self.stated if not (many and o.fact.citation.sha256 == own))
        others = (o for o in others if contradict(self.fact, o.fact))
        others = (o for o in others if not self.precedence.told_apart(self.fact, o.fact))
        return [o for o in others if not many or _are_of_one_thing(self, o)]

    @cached_property
    def is_confirmed(self) -> bool:
        """Whether the fact is sure, or a table confirms it: of another document, or of any for a reader's answer.

        For a family only a fact table confirms: facts with less confirmation were too often wrong (counts in
        benchmarks/README.md).
        """
        if self.precedence.is_sure(self.fact):
            return True
        if self.fact.target in self.precedence.families:
            return any(o.fact.form is Form.STATED for o in self.agreeing)
        own = self.fact.citation.sha256 if self.fact.form is Form.TABLE else ""
        tables = (o.fact for o in self.agreeing if o.fact.form in (Form.STATED, Form.TABLE))
        return any(table.citation.sha256 != own and precedence_of(table) >= 0 for table in tables)

    @cached_property
    def rivals(self) -> "list[_Statement]":
        """Confirmed facts that contradict this one, unless one of the two is vague about a third."""
        return [o for o in self.denying if o.is_confirmed and not _means_more(self, o) and not _means_more(o, self)]

    @cached_property
    def better(self) -> "list[_Statement]":
        return [o for o in self.rivals if self.precedence.before(o.fact, self.fact)]

    def standing(self) -> StandingFact:
        if not self.is_confirmed:
            rules = (self.precedence.before(o.fact, self.fact) for o in self.denying if o.is_confirmed)
            why, rivals = next(filter(None, rules), ""), _facts(self.denying)
            return StandingFact(fact=self.fact, standing=FactStanding.UNCONFIRMED, why=why, against=rivals)
        why = self.precedence.before(self.better[0].fact, self.fact) if self.better else ""
        equal = (o for o in self.rivals if not o.better and not self.precedence.before(self.fact, o.fact))
        against = self.better or list(equal)
        standing = FactStanding.GIVES_WAY if self.better else FactStanding.CONFLICT if against else FactStanding.HOLDS
        others = [o for o in self.agreeing if o.fact.citation.sha256 != self.fact.citation.sha256]
        return StandingFact(
            fact=self.fact, standing=standing, why=why, against=_facts(against), confirmed_by=_facts(others)
        )


def _resolve(group: Sequence[Fact], precedence: _Precedence) -> list[StandingFact]:
    """The standings of the facts of one quantity."""
    ambiguous = _ambiguous([f for f in group if precedence.decision(f) is None and f.trust is not Trust.MEASURED])
    stated: list[_Statement] = []
    found: list[StandingFact | _Statement] = []
    for fact in group:
        if precedence.decision(fact) is FactDecision.REJECTED:
            found.append(StandingFact(fact=fact, standing=FactStanding.REJECTED))
        elif fact.trust is Trust.MEASURED:
            found.append(StandingFact(fact=fact, standing=FactStanding.HOLDS, why="measured"))
        elif fact.citation.id in ambiguous:
            found.append(StandingFact(fact=fact, standing=FactStanding.AMBIGUOUS))
        else:
            stated.append(_Statement(fact, stated, precedence))
            found.append(stated[-1])
    return [entry.standing() if isinstance(entry, _Statement) else entry for entry in found]


def _means_more(vague: _Statement, special: _Statement) -> bool:
    """Whether `vague` has a less specific condition than `special`, and agrees with a third, more specific fact."""
    said = conditions(vague.fact)
    return said < conditions(special.fact) and any(said < conditions(o.fact) for o in vague.agreeing)


def _are_of_one_thing(a: _Statement, b: _Statement) -> bool:
    """Whether both are about one thing, of which neither's document also states the other's value."""

    def lists(one: _Statement, value: Fact) -> bool:
        own = (o.fact for o in a.stated if o.fact.citation.sha256 == one.fact.citation.sha256)
        return any(same_value(f, value) and about_one_thing(f, value, a.precedence.label) for f in own)

    return about_one_thing(a.fact, b.fact, a.precedence.label) and not (lists(a, b.fact) or lists(b, a.fact))


def _facts(sides: Iterable[_Statement]) -> tuple[Fact, ...]:
    return tuple(side.fact for side in sides)


def _many(fact: Fact) -> bool:
    known = quantities().by_name.get(fact.quantity)
    return known is not None and known.many


def _ambiguous(group: Sequence[Fact]) -> set[str]:
    """Ids of the facts whose own section gives another value under the same condition."""
    places: dict[tuple[object, ...], list[Fact]] = defaultdict(list)
    for fact in group:
        if fact.form is Form.TABLE and not _many(fact):
            place = (fact.citation.sha256, fact.citation.section, fact.target, fact.conditions)
            places[place].append(fact)
    return {
        fact.citation.id
        for facts in places.values()
        if any(not same_value(a, b) for a, b in combinations(facts, 2))
        for fact in facts
    }


def contradict(a: Fact, b: Fact) -> bool:
    """Whether both cannot hold: they state different values of one quantity under comparable conditions.

    A range does not contradict a number, which may be the default or one choice.
    """
    return a.is_range == b.is_range and comparable(a, b) and not same_value(a, b)


def same_value(a: Fact, b: Fact) -> bool:
    """Whether two values are equal up to their unit and rounding."""
    if a.amount is None or b.amount is None:
        return a.value.lower() == b.value.lower()
    if a.number == b.number and a.unit.replace("i", "") == b.unit.replace("i", ""):
        return True  # documents confuse GB and GiB of memory
    if a.amount == b.amount:
        return True
    last = max(_last_digit(a), _last_digit(b))
    difference = abs(a.amount - b.amount)
    return difference <= SAME * max(abs(a.amount), abs(b.amount)) and difference <= last / 2 * (1 + 1e-9)


def _last_digit(fact: Fact) -> float:
    """The weight of the last digit of the value, in base units; 0 for a count."""
    unit = unit_of(fact.unit)
    if unit is None or unit.kind in PIECES:
        return 0.0
    mantissa, _, exponent = fact.value.lower().partition("e")
    return 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])) * unit.scale


def holding(standings: Sequence[StandingFact], *, lineage: Sequence[str]) -> list[StandingFact]:
    """The facts that hold, each once: from the nearest target, and from a fact table if there is one."""
    order = [Form.STATED, Form.TABLE, Form.PROPOSED]
    holding = [s for s in standings if s.standing is FactStanding.HOLDS]
    holding.sort(key=lambda s: (lineage.index(s.fact.target), order.index(s.fact.form), -len(conditions(s.fact))))
    kept: list[StandingFact] = []
    for standing in holding:
        if standing.fact.trust is Trust.MEASURED or not any(_repeats(standing.fact, better.fact) for better in kept):
            kept.append(standing)
    return sorted(kept, key=lambda s: (lineage.index(s.fact.target), s.fact.quantity))


def _repeats(fact: Fact, better: Fact) -> bool:
    if fact.citation.id == better.citation.id or better.trust is Trust.MEASURED or not comparable(fact, better):
        return False
    return same_value(fact, better) and not conditions(fact) > conditions(better)
