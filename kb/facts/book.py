"""The facts of one home: those that hold for a target, contradictions, and the user's decisions."""

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from kb.catalog import Catalog, write_lock
from kb.errors import CitationError, FactError, did_you_mean, nearest
from kb.facts.quantities import quantities
from kb.facts.quantity_question import asked_quantity
from kb.facts.resolution import (
    FactDecision,
    FactStanding,
    StandingFact,
    holding,
    precedence_of,
    resolve_facts,
)  # fmt: skip
from kb.facts.select import answers
from kb.targets import Targets
from kb.types.base import Frozen
from kb.types.fact import Fact
from kb.types.records import Form

SUGGESTIONS = 5
NAMES_SHOWN = 20


class Conflict(Frozen):
    """Statements about one quantity of a target that contradict each other."""

    target: str
    quantity: str
    sides: tuple[StandingFact, ...]

    @property
    def is_open(self) -> bool:
        """Whether a person has to decide."""
        return any(side.standing is FactStanding.CONFLICT for side in self.sides)


class FactBook:
    def __init__(self, catalog: Catalog, targets: Targets) -> None:
        self._catalog = catalog
        self._targets = targets

    def standings(self, target: str, *, quantities: Collection[str] | None = None) -> list[StandingFact]:
        """The standings of the facts of the target and its ancestors, nearest target first.

        Args:
            quantities: kb's names of the quantities (default: all).
        """
        lineage = self._targets.lineage(target)
        stored = self._catalog.decisions()
        decisions = {key: FactDecision(decision) for key, (decision, _) in stored.items()}
        found = self._catalog.facts(lineage, quantities=quantities)
        facts = [_under(fact, stored.get(fact.citation.id, ("", ""))[1]) for fact in found]
        judged = resolve_facts(
            facts, decisions=decisions, lineage=lineage, families=self._targets.families, label=self._label
        )
        return sorted(judged, key=lambda s: (lineage.index(s.fact.target), s.fact.quantity))

    def _label(self, fact: Fact) -> str:
        """The words beside the value: its quote, or the header and the first cell of its row."""
        return self._catalog.label(fact.citation.id) if fact.form is Form.TABLE else fact.quote

    def all_of(self, target: str, spelling: str | None) -> list[StandingFact]:
        """The standings of all facts, or of those of one quantity. Raises FactError if there are none."""
        standings = self.standings(target)
        if spelling is None:
            return standings or self.holding(target)
        names = _names(spelling, standings)
        if found := [s for s in standings if s.fact.quantity in names]:
            return found
        raise self._no_such(target, spelling, names, self.holding(target))

    def unconfirmed(self, target: str, spelling: str | None = None) -> list[Fact]:
        """The facts that were read about a target, or about one of its quantities, and wait to be confirmed."""
        standings = self.standings(target)
        names = _names(spelling, standings) if spelling else {s.fact.quantity for s in standings}
        return [s.fact for s in standings if s.waits and s.fact.quantity in names]

    def holding(self, target: str) -> list[StandingFact]:
        """The facts that hold for the target, each once.

        Raises:
            FactError: none does; the hint names the descendants that have facts.
        """
        standings = self.standings(target)
        if held := holding(standings, lineage=self._targets.lineage(target)):
            return held
        own = self._targets.get(target).name
        if standings:
            raise FactError(
                f"no fact of {own} holds: {_counted(standings)}",
                hint=f"`kb facts {own} --all` shows them, `kb facts accept ID` lets one hold",
            )
        inside = self._targets.scope(target) - set(self._targets.lineage(target))
        below = sorted({f.target for f in self._catalog.facts(inside)})
        read = sorted(inside & self._catalog.count_by_target().keys())
        hint = f"facts are known of {', '.join(below)}" if below else "ingest a document that states facts"
        if read and self._targets.is_own(own):
            hint = (
                f"its documents are about {', '.join(read)}: ask about one; or, if {own} is one chip, `kb ingest` its "
            )
            hint += f"folder with --target {own}"
        raise FactError(f"no document states facts of {own}", hint=hint)

    def answering(self, target: str, phrasings: Sequence[str]) -> list[StandingFact]:
        """The facts that hold and that the first of the phrasings which asks for a quantity asks for, best first."""
        rest = map(self._targets.without_names, phrasings)
        if not (asked := next(filter(None, map(asked_quantity, rest)), None)):
            return []
        standings = self.standings(target, quantities=asked.quantities)
        held = holding(standings, lineage=self._targets.lineage(target))
        return sorted((s for s in held if asked.is_answered_by(s.fact)), key=lambda s: asked.unasked(s.fact))

    def find(self, target: str, spelling: str, wanted: Sequence[str] = ()) -> list[StandingFact]:
        """The facts of one quantity, by kb's or a vendor's name, whose conditions contain all of `wanted`.

        Raises:
            FactError: no such fact holds for the target; the hint names known facts, never a sibling's value.
        """
        held = self.holding(target)
        names = _names(spelling, held)
        chosen = [s for s in held if s.fact.quantity in names]
        if not chosen:
            raise self._no_such(target, spelling, names, held)
        if fitting := [s for s in chosen if answers(s.fact, wanted)]:
            return fitting
        known = sorted({s.fact.condition or "no condition" for s in chosen})
        raise FactError(
            f"no document states {spelling} of {self._targets.get(target).name} for {', '.join(wanted)}",
            hint=f"it is stated for: {'; '.join(known)}",
        )

    def _no_such(self, target: str, spelling: str, names: set[str], held: Sequence[StandingFact]) -> FactError:
        own = self._targets.get(target).name
        message = f"no document states {spelling!r} of {own}"
        if out := [s for s in self.standings(target) if s.fact.quantity in names]:
            why = ", ".join(sorted({s.standing.value for s in out}))
            command = f"kb facts {own} {shlex.quote(spelling)} --all"
            return FactError(f"{message} that holds", hint=f"`{command}` shows {len(out)}: {why}")
        stated = sorted({f.target for f in self._catalog.facts(self._targets.family(target)) if f.quantity in names})
        if siblings := [name for name in stated if name != own and self._holds(name, names)][:SUGGESTIONS]:
            return FactError(message, hint=f"it is stated of {', '.join(siblings)}, whose value is not {own}'s")
        known = sorted({s.fact.quantity for s in held})
        wanted = "_".join(spelling.lower().split())
        near = nearest(wanted, known) or [name for name in known if any(part in name for part in wanted.split("_"))]
        if near:
            return FactError(message, hint=did_you_mean(near[:SUGGESTIONS]).rstrip())
        more = f" and {len(known) - NAMES_SHOWN} more" if len(known) > NAMES_SHOWN else ""
        return FactError(message, hint=f"known: {', '.join(known[:NAMES_SHOWN])}{more}")

    def _holds(self, target: str, names: Collection[str]) -> bool:
        """Whether a fact of one of these quantities holds for the target: only then it is a hint to ask there."""
        held = holding(self.standings(target), lineage=self._targets.lineage(target))
        return any(s.fact.quantity in names for s in held)

    def conflicts(self, target: str | None = None) -> list[Conflict]:
        """The contradictions about `target` (default: about all targets), open ones first."""
        stated = {fact.target for fact in self._catalog.facts(None)}
        names = [self._targets.get(target).name] if target else sorted(stated & {t.name for t in self._targets})
        found = [conflict for name in names for conflict in self._conflicts_of(name)]
        return sorted(found, key=lambda c: (not c.is_open, c.target, c.quantity))

    def _conflicts_of(self, name: str) -> Iterator[Conflict]:
        standings = {s.fact.citation.id: s for s in self.standings(name)}
        sides: dict[str, dict[str, StandingFact]] = defaultdict(dict)
        for standing in standings.values():
            if standing.standing is FactStanding.REJECTED or all(
                f.target != name for f in (standing.fact, *standing.against)
            ):
                continue
            for fact in (standing.fact, *standing.against) if standing.against else ():
                side = standings[fact.citation.id]
                if fact.target == name or side.standing is not FactStanding.UNCONFIRMED:
                    sides[fact.quantity][fact.citation.id] = side
        for quantity, own in sides.items():
            if len(own) > 1:
                yield Conflict(target=name, quantity=quantity, sides=tuple(own.values()))

    def decide(self, key: str, decision: FactDecision | None, *, reason: str = "") -> StandingFact:
        """Record the user's decision about a fact; None withdraws it. Return what becomes of the fact.

        Raises:
            CitationError: no fact has this id.
            StoreError: the home cannot be written.
        """
        fact = self._catalog.fact(key)
        if fact is None:
            raise CitationError(f"no fact has the id {key!r}", hint="`kb facts` shows ids")
        with write_lock(self._catalog.home):
            self._put([key], decision, reason=reason)
        standings = self.standings(fact.target, quantities=[fact.quantity])
        return next(s for s in standings if s.fact.citation.id == fact.citation.id)

    def accept_answers(self, target: str, *, reason: str = "") -> list[Fact]:
        """Accept what readers answered about the target, except values that other answers or held facts contradict.

        Returns:
            The accepted facts.

        Raises:
            StoreError: the home cannot be written.
        """
        own = self._targets.get(target).name
        with write_lock(self._catalog.home):
            standings = self.standings(own)
            held = {s.fact.citation.id for s in standings if s.standing is FactStanding.HOLDS}

            def equals(standing: StandingFact) -> list[Fact]:
                return [other for other in standing.against if precedence_of(other) >= precedence_of(standing.fact)]

            chosen = [
                s.fact
                for s in standings
                if s.fact.target == own and s.fact.form is Form.PROPOSED and s.standing is FactStanding.UNCONFIRMED
                if not any(o.form is Form.PROPOSED or o.citation.id in held for o in equals(s))
            ]
            self._put([fact.citation.id for fact in chosen], FactDecision.ACCEPTED, reason=reason)
        return chosen

    def _put(self, keys: Collection[str], decision: FactDecision | None, *, reason: str) -> None:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        value = None if decision is None else decision.value
        self._catalog.put_decisions(keys, value, reason=reason, at=now)


def _counted(standings: Sequence[StandingFact]) -> str:
    """`66 read, unconfirmed; 2 read, conflict`."""
    counts = Counter(s.standing.value for s in standings)
    return "; ".join(f"{number} read, {standing}" for standing, number in counts.most_common())


def _under(fact: Fact, condition: str) -> Fact:
    """The fact with a condition added to its own, as a person could do in earlier versions."""
    return fact.model_copy(update={"condition": ", ".join(filter(None, (fact.condition, condition)))})


def _names(spelling: str, standings: Sequence[StandingFact]) -> set[str]:
    """Names of the quantities with this spelling; a name that facts use precedes one of kb/facts/quantities.toml."""
    own = "_".join(spelling.lower().split())
    if any(s.fact.quantity == own for s in standings):
        return {own}
    return {own, *(quantity.name for quantity in quantities().find(spelling))}
