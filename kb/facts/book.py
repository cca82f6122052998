"""The facts of one home: those that hold for a target, contradictions, and the user's decisions."""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, get_args

from kb.catalog import Catalog, write_lock
from kb.catalog.words import STOP_WORDS
from kb.errors import CitationError, FactError, did_you_mean, nearest
from kb.facts.amounts import places
from kb.facts.quantities import plain, quantities, written
from kb.facts.quantity_question import asked_quantity
from kb.facts.resolution import FactDecision, FactStanding, StandingFact, holding, precedence_of, resolve_facts
from kb.facts.select import answers
from kb.targets import Targets
from kb.types.base import Frozen, short
from kb.types.documents import Document
from kb.types.edition import document_precedence
from kb.types.fact import Fact
from kb.types.records import Form
from kb.types.units import unit_of

State = Literal["open", "not confirmed", "settled"]
STATES: tuple[State, ...] = get_args(State)
SUGGESTIONS = 5
NAMES_SHOWN = 20
LONGEST_SHOWN = 160
"""Most characters of an erratum in the reason why an answer is left to a person."""

_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\|)")
_HEADING = re.compile(r"^(?:##+ *(.+)|[=~^-]{3,})\n\s*\n", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z]\w+")


class Conflict(Frozen):
    """Statements about one quantity of a target that contradict each other."""

    target: str
    quantity: str
    sides: tuple[StandingFact, ...]

    @property
    def state(self) -> State:
        """`open`: equally good values; `settled`: one holds, by a decision or a rule against each other value."""
        if any(side.standing is FactStanding.CONFLICT for side in self.sides):
            return "open"
        held = {side.standing is FactStanding.HOLDS for side in self.sides if not side.why or side.standing == "holds"}
        return "settled" if held == {True} else "not confirmed"


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
        decisions = {key: FactDecision(decided.verdict) for key, decided in stored.items()}
        found = self._catalog.facts(lineage, quantities=quantities)
        facts = [_under(f, stored[f.citation.id].condition) if f.citation.id in stored else f for f in found]
        judged = resolve_facts(
            facts, decisions=decisions, lineage=lineage, families=self._targets.families, label=self._label
        )
        why = {key: str(decided) for key, decided in stored.items()}
        told = (
            s.model_copy(update={"why": "; ".join(filter(None, (why.get(s.fact.citation.id), s.why)))}) for s in judged
        )
        return sorted(told, key=lambda s: (lineage.index(s.fact.target), s.fact.quantity))

    def _label(self, fact: Fact) -> str:
        """The words beside the value, as `about_one_thing` needs them."""
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
            hint = f"its documents are about {', '.join(read)}: ask about one; or, if {own} is one chip, "
            hint += f"`kb ingest` its folder with --target {own}"
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
        return sorted(found, key=lambda c: (STATES.index(c.state), c.target, c.quantity))

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
            raise CitationError(f"no fact has the id {key!r}", hint="`kb facts TARGET --all` shows the ids of facts")
        with write_lock(self._catalog.home):
            self._catalog.put_decisions([key], decision, reason=reason)
        standings = self.standings(fact.target, quantities=[fact.quantity])
        return next(s for s in standings if s.fact.citation.id == fact.citation.id)

    def accept_answers(self, target: str, *, reason: str = "") -> list[Fact]:
        """Accept what readers answered about the target, except the `waiting_answers` that are doubtful; return it.

        Raises:
            StoreError: the home cannot be written.
        """
        with write_lock(self._catalog.home):
            chosen = [fact for fact, doubt in self.waiting_answers(target) if not doubt]
            self._catalog.put_decisions([fact.citation.id for fact in chosen], FactDecision.ACCEPTED, reason=reason)
        return chosen

    def waiting_answers(self, target: str) -> Iterator[tuple[Fact, str]]:
        """The readers' answers about the target itself that do not hold, each with a reason to doubt it, if any.

        The reason is a document of greater precedence that says otherwise, a fact that holds, or another answer. An
        erratum may say otherwise if it names the quantity, or has words of the quote or of its row, beside another
        number, even if nobody read a fact there.
        """
        own = self._targets.get(target).name
        standings, errata = self.standings(own), [*self._errata(own)]
        held = {s.fact.citation.id for s in standings if s.standing is FactStanding.HOLDS}

        def doubts(answer: StandingFact) -> Iterator[str]:
            fact = answer.fact
            for other in answer.against:
                more = precedence_of(other) - precedence_of(fact)
                as_good = other.form is Form.PROPOSED or other.citation.id in held
                if answer.standing is not FactStanding.UNCONFIRMED or more > 0 or (more == 0 and as_good):
                    yield f"{other.citation.place} states {written(other.value, other.unit)}"
            words = fact.quantity.replace("_", " "), fact.quote, self._catalog.label(fact.citation.id)
            labels = [*map(self._targets.without_names, words)]
            for path, text in errata if precedence_of(fact) < 1 else ():
                if _may_correct(text, fact, labels):
                    yield f"{path} says of it: {short(text, LONGEST_SHOWN)}"

        for standing in standings:
            out = standing.standing in (FactStanding.HOLDS, FactStanding.REJECTED)
            if standing.fact.target == own and standing.fact.form is Form.PROPOSED and not out:
                yield standing.fact, next(doubts(standing), "")

    def unread_errata(self, target: str) -> list[str]:
        """Paths of the errata of a target's lineage in which nobody has read a fact."""
        read = {fact.citation.path for fact in self._catalog.facts(self._targets.lineage(target))}
        return sorted({document.path for document in self._errata_of(target)} - read)

    def _errata_of(self, target: str) -> Iterator[Document]:
        for document in self._catalog.documents():
            is_errata = document_precedence(document.path, document.title, document.trust) > 0
            if is_errata and document.target in self._targets.lineage(target):
                yield document

    def _errata(self, target: str) -> Iterator[tuple[str, str]]:
        """Path and text of each paragraph (after its heading) and row in the errata of a target's lineage."""
        for document in self._errata_of(target):
            text = _HEADING.sub(r"\1: ", self._catalog.text(document.source))
            yield from ((document.path, " ".join(part.split())) for part in _PARAGRAPH.split(text))


def _may_correct(text: str, fact: Fact, labels: Iterable[str]) -> bool:
    """Whether a text has another number than the fact, and may be about it.

    It names the quantity, or one that the quote names; or it has two words of a label, of which one is enough if the
    text also has the fact's own number.
    """
    own, stated = ({place.number for place in places(said)} for said in (f"{fact.value} {fact.unit}", text))
    find, words = quantities().names.mentions, set(map(plain, _WORD.findall(text)))
    asked = {fact.quantity, *(mention.means for mention in find(fact.quote) if not mention.loose)}
    enough = 1 if own & stated else 2
    alike = any(label and len(label & words) >= min(enough, len(label)) for label in map(_telling, labels))
    return bool(stated - own) and (alike or any(mention.means in asked for mention in find(text)))


def _telling(label: str) -> set[str]:
    """The words of a label that tell it from others; all but units if there are none."""
    words = {plain(w) for w in _WORD.findall(label) if not (unit_of(w) or w.lower() in STOP_WORDS)}
    return words - set(map(plain, quantities().filler)) or words


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
