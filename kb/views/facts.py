"""Facts of a target, the worksheet with its questions, and what became of a reader's answers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Self

from kb.errors import FactError
from kb.facts.quantities import written
from kb.facts.resolution import FactStanding, StandingFact
from kb.facts.worksheet import line_of, topics
from kb.types.base import Frozen, short
from kb.types.fact import Fact, FactAnswer
from kb.types.records import Trust
from kb.views.response import LABEL_CHARACTERS, STATED_CHARACTERS, Listing, view_of

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.facts.book import Conflict
    from kb.facts.worksheet import Entry
    from kb.types.passages import Passage
    from kb.usecases.fact_reading import FactsAnswered
    from kb.usecases.knowledge_base import KnowledgeBase
    from synth.authors.spending import Budget


class StatedFact(Frozen):
    id: str
    """The id to cite."""
    target: str
    """The one that was asked about, or its ancestor."""
    topic: str
    quantity: str
    value: str
    unit: str
    condition: str
    """When the value holds; empty: always."""
    source: str
    """What the document names as its source."""
    quote: str
    """The document's words, if it names no source."""
    place: str
    """File and lines, or pages of a PDF."""
    trust: Trust
    standing: str
    why: str

    @property
    def amount(self) -> str:
        return written(self.value, self.unit)

    @property
    def path(self) -> str:
        """The document of its place."""
        return self.place.rpartition("#page=" if "#page=" in self.place else ":")[0]


class QuotedPassage(Frozen):
    id: str
    """The id to cite."""
    place: str
    trust: Trust
    text: str
    """Headings, and the lines that may state a fact; `(above)` if earlier questions have them all."""


class Facts(Listing):
    of = "facts"
    named = "quantity"
    target: str
    facts: tuple[StatedFact, ...]
    waiting: int
    """Number of facts that were read and wait to be confirmed."""
    unread: tuple[QuotedPassage, ...] = ()
    """If no fact holds and none waits: what the documents state with a number."""


class WorksheetLine(Frozen):
    topic: str
    question: str
    holds: tuple[str, ...]
    """Facts in words, each with its id."""
    read: tuple[str, ...]
    """Facts that wait to be confirmed, each with its quote."""
    missing: tuple[str, ...]
    """kb's names of the quantities without which kb computes no bound, if no fact of them holds."""
    quantities: tuple[str, ...]
    """kb's names, for answers; use one where it means exactly this."""
    passages: tuple[QuotedPassage, ...]


class Worksheet(Listing):
    of = "lines"
    named = "topic"
    target: str
    lines: tuple[WorksheetLine, ...]

    @property
    def parts(self) -> int:
        """The lines, and their passages."""
        return len(self.lines) + sum(len(line.passages) for line in self.lines)

    def first(self, n: int) -> Self:
        """The first lines without passages; or all, with the first passages, one to each line in turn."""
        order = sorted((rank, at) for at, line in enumerate(self.lines) for rank in range(len(line.passages)))
        dealt = Counter(at for _, at in order[: max(0, n - len(self.lines))])
        lines = (line.model_copy(update={"passages": line.passages[: dealt[at]]}) for at, line in enumerate(self.lines))
        return super().first(n).with_(lines=(*lines,)[:n])


class Answered(Frozen):
    """A question of the worksheet with what a person decides about."""

    topic: str
    question: str
    holds: tuple[StatedFact, ...]
    waiting: tuple[StatedFact, ...]
    """They do not hold before somebody accepts them."""
    rejected: tuple[StatedFact, ...]
    missing: tuple[str, ...]
    """As in `WorksheetLine`."""


class ConflictView(Frozen):
    """Statements about one quantity of a target that contradict each other."""

    target: str
    quantity: str
    state: str
    """As in `kb.facts.book.Conflict`; a person has to decide unless it is `settled`."""
    sides: tuple[StatedFact, ...]


class RefusedFact(Frozen):
    quantity: str
    value: str
    reason: str


class AnsweredFacts(Listing):
    of = "stored"
    target: str
    refused: tuple[RefusedFact, ...]
    contradictions: tuple[ConflictView, ...]
    stored: tuple[StatedFact, ...]
    complete: bool
    """Whether no model stopped too early."""

    @property
    def parts(self) -> int:
        return len(self.refused) + len(self.contradictions) + len(self.stored)

    def first(self, n: int) -> Self:
        """The first of all; refusals come first, because they need work."""
        after = max(0, n - len(self.refused))
        cut = super().first(max(0, after - len(self.contradictions)))
        return cut.with_(refused=self.refused[:n], contradictions=self.contradictions[:after])


def facts(kb: "KnowledgeBase", target: str, quantity: str | None = None, *conditions: str) -> Facts:
    """The facts that hold for a target. Arguments and errors as in `KnowledgeBase.facts`.

    None is no error for a target whose documents have been read, but of which no fact holds yet: there is a worksheet.
    """
    own = kb.targets.get(target).name
    found: list[Fact] = []
    notes: tuple[str, ...] = ()
    decided = kb.catalog.decisions()
    try:
        found = kb.facts(target, quantity, *conditions)
    except FactError as error:
        if any(entry.holds for entry in kb.worksheet(target)) or own not in kb.catalog.count_by_target():
            raise
        notes = (error.message,)
    waiting = len(kb.factbook.unconfirmed(target, quantity))
    unread = kb.unread_amounts(target) if not (found or waiting) else ()
    shown = tuple(view_of(QuotedPassage, passage) for passage in unread)
    return Facts(
        target=own,
        facts=_ordered(_holding(f, str(decided.get(f.citation.id, ""))) for f in found),
        waiting=waiting,
        unread=shown,
        notes=(*notes, *unread_errata(kb, own)),
    )


def unread_errata(kb: "KnowledgeBase", target: str) -> Iterator[str]:
    """What to read, in one line, if there are errata in which nobody has read a fact."""
    if paths := kb.factbook.unread_errata(target):
        yield f"no fact was read in {short(', '.join(paths), STATED_CHARACTERS)}: `kb facts ask {target}`"


def statements(kb: "KnowledgeBase", target: str, quantity: str | None = None, *, waiting: bool = False) -> Facts:
    """All statements about a target, or those that wait to be confirmed. Errors as in `KnowledgeBase.standings`."""
    found = kb.standings(target, quantity)
    shown = _ordered(_stated(standing) for standing in found if standing.waits or not waiting)
    return Facts(target=kb.targets.get(target).name, facts=shown, waiting=sum(standing.waits for standing in found))


def worksheet(kb: "KnowledgeBase", target: str) -> Worksheet:
    """What a kernel's author needs to know of a target. Errors as in `KnowledgeBase.worksheet`."""
    return _worksheet(kb, target, kb.worksheet(target))


def questions(kb: "KnowledgeBase", target: str, *, topic: str | None = None, everything: bool = False) -> Worksheet:
    """The worksheet's questions, open ones with passages. Arguments and errors as in `KnowledgeBase.fact_questions`."""
    return _worksheet(kb, target, kb.fact_questions(target, topic=topic, everything=everything))


def answered(kb: "KnowledgeBase", target: str) -> list[Answered]:
    """The worksheet with its facts as they stand. Errors as in `KnowledgeBase.worksheet`."""
    entries = kb.worksheet(target)
    standings = {s.fact.citation.id: s for s in kb.factbook.standings(target)}
    out = [s for s in standings.values() if s.standing is FactStanding.REJECTED]
    return [
        Answered(
            topic=entry.line.topic,
            question=entry.line.asks,
            holds=tuple(_stated(standings[fact.citation.id]) for fact in entry.holds),
            waiting=tuple(_stated(standings[fact.citation.id]) for fact in entry.read),
            rejected=tuple(_stated(s) for s in out if line_of(s.fact.quantity) == entry.line),
            missing=entry.missing,
        )
        for entry in entries
    ]


def _worksheet(kb: "KnowledgeBase", target: str, entries: "Iterable[Entry]") -> Worksheet:
    own, shown = kb.targets.get(target).name, set[tuple[str, str]]()
    return Worksheet(target=own, lines=tuple(_line(entry, own, shown) for entry in entries))


def conflicts(kb: "KnowledgeBase", target: str | None) -> list[ConflictView]:
    """Where documents contradict each other. Arguments and errors as in `KnowledgeBase.conflicts`."""
    return [_conflict(conflict) for conflict in kb.conflicts(target)]


def answer(kb: "KnowledgeBase", target: str, given: Sequence[FactAnswer]) -> AnsweredFacts:
    """Store the answers whose quotes are found. Arguments and errors as in `KnowledgeBase.answer_facts`."""
    return _answered(kb, target, kb.answer_facts(target, given))


def propose(kb: "KnowledgeBase", target: str, *, authors: Sequence[str], budget: "Budget") -> AnsweredFacts:
    """Let authors answer. Arguments and errors as in `KnowledgeBase.propose_facts`."""
    return _answered(kb, target, kb.propose_facts(target, authors=authors, budget=budget))


def _answered(kb: "KnowledgeBase", target: str, found: "FactsAnswered") -> AnsweredFacts:
    names = {fact.target for fact in found.stored}
    standings = {s.fact.citation.id: s for name in names for s in kb.factbook.standings(name)}
    return AnsweredFacts(
        target=kb.targets.get(target).name,
        refused=tuple(
            RefusedFact(
                quantity=short(refused.answer.quantity, LABEL_CHARACTERS),
                value=short(f"{refused.answer.value} {refused.answer.unit}".strip(), LABEL_CHARACTERS),
                reason=short(refused.reason, STATED_CHARACTERS),
            )
            for refused in found.refused
        ),
        contradictions=tuple(map(_conflict, found.contradictions)),
        stored=tuple(_stated(standings[fact.citation.id]) for fact in found.stored),
        complete=not found.stopped,
        notes=tuple(_unasked(found)),
    )


def _unasked(found: "FactsAnswered") -> Iterator[str]:
    """What a model was not asked, why, and what it said that was no answer."""
    yield from (f"not asked: {question}" for question in found.unread)
    if found.unread:
        yield found.stopped or "the budget is spent; a larger --budget asks the rest"
    if found.unreadable:
        yield f"{found.unreadable} lines of the model were no answers"


def _line(entry: "Entry", own: str, shown: set[tuple[str, str]]) -> WorksheetLine:
    return WorksheetLine(
        topic=entry.line.topic,
        question=entry.line.asks,
        holds=tuple(in_words(fact, own) for fact in entry.holds),
        read=tuple(f'{in_words(fact, own)}: "{_quote(fact)}"' for fact in entry.read),
        missing=entry.missing,
        quantities=entry.line.quantities,
        passages=tuple(_quoted(passage, shown) for passage in entry.passages),
    )


def in_words(fact: Fact, own: str) -> str:
    """`lds_size = 64 KiB (per compute unit) [0123456789ab]`, also its target and trust if they are not the usual."""
    marks = [fact.target] * (fact.target != own) + [fact.trust.value] * (fact.trust is not Trust.VENDOR)
    conditions = ", ".join(filter(None, (fact.condition, *marks)))
    return f"{fact.quantity} = {_holding(fact).amount}{f' ({conditions})' if conditions else ''} [{fact.citation.id}]"


def _quoted(passage: "Passage", shown: set[tuple[str, str]]) -> QuotedPassage:
    """The passage without the lines that are `shown` already; its lines are added."""
    lines = [(passage.citation.id, line) for line in passage.body.split("\n")]
    fresh = [line for key, line in lines if (key, line) not in shown]
    shown.update(lines)
    return view_of(QuotedPassage, passage, text="\n".join((passage.trail, *fresh)) if fresh else "(above)")


def _conflict(conflict: "Conflict") -> ConflictView:
    return view_of(ConflictView, conflict, state=conflict.state, sides=tuple(map(_stated, conflict.sides)))


def _ordered(found: Iterable[StatedFact]) -> tuple[StatedFact, ...]:
    return tuple(sorted(found, key=lambda fact: (topics().index(fact.topic), fact.quantity)))


def _holding(fact: Fact, why: str = "") -> StatedFact:
    return _stated(StandingFact(fact=fact, standing=FactStanding.HOLDS, why=why))


def _stated(standing: StandingFact) -> StatedFact:
    fact = standing.fact
    return view_of(
        StatedFact,
        fact,
        topic=line_of(fact.quantity).topic,
        quote="" if fact.source else _quote(fact),
        standing=standing.standing,
        why=standing.why,
    )


def _quote(fact: Fact) -> str:
    return short(" ".join(fact.quote.split()), LABEL_CHARACTERS)
