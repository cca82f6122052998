"""What kb holds true of a target: which facts stand, which contradict each other, and by what rule one goes before.

Nothing is chosen in silence: a fact that gives way says to which, and two that are equally good both stay out of the
profile until a person decides.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations

from kb.facts.quantities import quantities
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


class _Ranks:
    def __init__(self, verdicts: Mapping[str, Verdict], lineage: Sequence[str], families: Collection[str]) -> None:
        self.verdicts = verdicts
        self.families = families
        self.lineage = lineage

    def verdict(self, fact: Fact) -> Verdict | None:
        return self.verdicts.get(fact.citation.id)

    def before(self, a: Fact, b: Fact) -> str:
        """The rule by which `a` goes before `b`, in words; empty where none says so."""
        rules: list[tuple[str, bool, bool]] = [
            ("accepted", self._accepted(a), self._accepted(b)),
            ("said of a nearer target", *self._nearer(a, b)),
            ("a fact table goes before what kb read off a text", a.form is Form.STATED, b.form is Form.STATED),
            ("a table goes before running text", a.form is Form.TABLE, b.form is Form.TABLE),
            ("the vendor goes before the community", a.trust is Trust.VENDOR, b.trust is Trust.VENDOR),
            ("it says more of its condition", conditions(a) > conditions(b), conditions(b) > conditions(a)),
            ("a newer version of the document", *self._newer(a, b)),
        ]
        decided = next(((rule, ours) for rule, ours, theirs in rules if ours != theirs), ("", False))
        return decided[0] if decided[1] else ""

    def _accepted(self, fact: Fact) -> bool:
        return self.verdict(fact) is Verdict.ACCEPTED

    def _nearer(self, a: Fact, b: Fact) -> tuple[bool, bool]:
        mine, theirs = self.lineage.index(a.target), self.lineage.index(b.target)
        return mine < theirs, theirs < mine

    def _newer(self, a: Fact, b: Fact) -> tuple[bool, bool]:
        """Of two editions of one document, told by the file's name."""
        if a.citation.path.rsplit("/", 1)[-1] != b.citation.path.rsplit("/", 1)[-1]:
            return False, False
        mine, theirs = _release(a.version), _release(b.version)
        return mine > theirs, theirs > mine

    def is_sure(self, fact: Fact) -> bool:
        """Whether it holds without a second document."""
        if fact.form is Form.STATED or self._accepted(fact):
            return True
        if fact.form is not Form.TABLE:
            return False
        known = quantities().by_name.get(fact.quantity)
        return known is not None and not known.confirm and fact.target not in self.families


def _release(version: str) -> list[tuple[int, str]]:
    """A version for comparing: its numbers as numbers, so that 10 comes after 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.findall(r"\d+|[^\d.]+", version)]


def _judge(group: Sequence[Fact], ranks: _Ranks) -> Iterable[StandingFact]:
    """The standing of facts about one quantity."""
    left = [f for f in group if ranks.verdict(f) is not Verdict.REJECTED and f.trust is not Trust.MEASURED]
    ambiguous = _ambiguous([f for f in left if ranks.verdict(f) is None])
    counted = [f for f in left if f.citation.id not in ambiguous]
    agreeing: dict[str, list[Fact]] = defaultdict(list)
    denying: dict[str, list[Fact]] = defaultdict(list)
    for a, b in combinations(counted, 2):
        if comparable(a, b) and (same_value(a, b) or not _many(a)):
            into = agreeing if same_value(a, b) else denying
            into[a.citation.id].append(b)
            into[b.citation.id].append(a)
    held = {f.citation.id for f in counted if _confirmed(f, agreeing[f.citation.id], ranks)}
    denied = {
        f.citation.id: [o for o in denying[f.citation.id] if o.citation.id in held and not _explained(f, o, agreeing)]
        for f in counted
    }
    better = {f.citation.id: [other for other in denied[f.citation.id] if ranks.before(other, f)] for f in counted}
    for fact in group:
        key = fact.citation.id
        confirmed = tuple(o for o in agreeing[key] if o.citation.sha256 != fact.citation.sha256)
        if ranks.verdict(fact) is Verdict.REJECTED:
            yield StandingFact(fact=fact, standing=FactStanding.REJECTED, why="rejected")
        elif fact.trust is Trust.MEASURED:
            yield StandingFact(fact=fact, standing=FactStanding.HOLDS, why="measured")
        elif key in ambiguous:
            yield StandingFact(fact=fact, standing=FactStanding.AMBIGUOUS)
        elif key not in held:
            yield StandingFact(fact=fact, standing=FactStanding.UNCONFIRMED, against=tuple(denying[key]))
        elif better[key]:
            why = ranks.before(better[key][0], fact)
            yield StandingFact(
                fact=fact, standing=FactStanding.GIVES_WAY, why=why, against=tuple(better[key]), confirmed_by=confirmed
            )
        else:
            equal = tuple(o for o in denied[key] if not better[o.citation.id] and not ranks.before(fact, o))
            standing = FactStanding.CONFLICT if equal else FactStanding.HOLDS
            yield StandingFact(fact=fact, standing=standing, against=equal, confirmed_by=confirmed)


def _many(fact: Fact) -> bool:
    known = quantities().by_name.get(fact.quantity)
    return known is not None and known.many


def _ambiguous(group: Sequence[Fact]) -> set[str]:
    """Facts whose own section gives another value under the very same condition."""
    if not group or _many(group[0]):
        return set()
    places: dict[tuple[object, ...], list[Fact]] = defaultdict(list)
    for fact in group:
        if fact.form is not Form.STATED:
            place = (fact.citation.sha256, fact.citation.section, fact.form, fact.target, fact.conditions)
            places[place].append(fact)
    return {
        fact.citation.id
        for facts in places.values()
        if any(not same_value(a, b) for a, b in combinations(facts, 2))
        for fact in facts
    }


def _confirmed(fact: Fact, agreeing: Sequence[Fact], ranks: _Ranks) -> bool:
    """Whether it holds by itself, or a table says the same: another document's, or for running text any.

    Of a family only a fact table will do, and of the rest no second text: facts that were judged one by one were right
    too rarely with less (counts in benchmarks/README.md).
    """
    if ranks.is_sure(fact):
        return True
    if fact.target in ranks.families:
        return any(other.form is Form.STATED for other in agreeing)
    return any(
        other.form in (Form.STATED, Form.TABLE)
        and (fact.form is not Form.TABLE or other.citation.sha256 != fact.citation.sha256)
        for other in agreeing
    )


def _explained(vague: Fact, special: Fact, agreeing: Mapping[str, Sequence[Fact]]) -> bool:
    """Whether one of the two says less of its condition and agrees with a third that says more: it means that one."""
    for less, more in ((vague, special), (special, vague)):
        if conditions(less) < conditions(more) and any(
            conditions(less) < conditions(third) for third in agreeing[less.citation.id]
        ):
            return True
    return False


def conditions(fact: Fact) -> frozenset[str]:
    """Of a fact, in the words of kb/facts/quantities.toml where it has them."""
    known = quantities().by_name.get(fact.quantity)
    own = set(map(canonical, fact.conditions))
    if known and known.per and not any(phrase.startswith("per ") for phrase in own):
        own.add(f"per {known.per}")
    return frozenset(own)


def canonical(phrase: str) -> str:
    """A phrase of a condition as kb/facts/quantities.toml writes it."""
    return _SPELT.get(phrase, phrase)


_SPELT = {
    "whole device": "per device",
    "per XCD": "per die",
    "per SM": "per compute unit",
    "per thread": "per lane",
    "float8_e4m3fn": "float8",
    "float8_e4m3fnuz": "float8",
    "float8_e5m2": "float8",
}
"""How sheets write what a document's words are reduced to."""


def comparable(a: Fact, b: Fact) -> bool:
    """Whether both speak of the same thing: under one condition, or one says less of it than the other."""
    if a.quantity != b.quantity:
        return False
    mine, theirs = conditions(a), conditions(b)
    if not (mine <= theirs or theirs <= mine):
        return False
    return not any(bool(_kind(mine, k)) != bool(_kind(theirs, k)) for k in ("dtype", "per"))


def _kind(phrases: frozenset[str], kind: str) -> frozenset[str]:
    if kind == "per":
        return frozenset(p for p in phrases if p.startswith("per "))
    return frozenset(p for p in phrases if p in quantities().spelt[kind])


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
