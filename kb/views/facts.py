"""Facts, the worksheet and a reader's answers as plain data that fits into a number of tokens."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from kb.errors import FactError
from kb.types.base import Frozen, short
from kb.types.fact import Fact, FactAnswer
from kb.types.records import Trust
from kb.views.answers import LABEL_CHARACTERS, NAMES_SHOWN, NOT_THE_VENDOR, STATED_CHARACTERS, Answer, fitting

if TYPE_CHECKING:  # the caller has it open; loading it here would delay the start of the MCP server
    from kb.facts.worksheet import Entry
    from kb.usecases.fact_reading import Question
    from kb.usecases.knowledge_base import KnowledgeBase

SHOW_WAITING = "unconfirmed=true shows what was read and not confirmed: check the quote before you use a value"
NEXT_TOPIC = "kb_worksheet with a topic gives passages that may answer; kb_propose_facts stores what they state"


class StatedFact(Frozen):
    id: str
    """The id to cite."""
    target: str
    """The target that was asked about, or the ancestor from which it inherits the fact."""
    quantity: str
    value: str
    unit: str
    condition: str
    """The condition under which the value holds; empty if it always does."""
    source: str
    """The source that the document names for the value; empty if it names none."""
    quote: str
    """The document's words, if it names no source."""
    place: str
    """File and lines, or pages of a PDF."""
    trust: Trust


class StatedFacts(Answer):
    facts: tuple[StatedFact, ...]
    waiting: int
    """Number of facts that were read and wait to be confirmed."""
    open_questions: tuple[str, ...]
    """What is still to be read in the documents of a chip of which no fact holds."""
    left_out: tuple[str, ...]
    """The first of the quantities that did not fit."""


class WorksheetLine(Frozen):
    topic: str
    question: str
    holds: tuple[str, ...]
    """Facts, each with its id."""
    read: tuple[str, ...]
    """Facts that wait to be confirmed."""
    quantities: tuple[str, ...]
    """kb's names, for answers; use one where it means exactly this."""
    passages: str
    """Passages that may answer an open question, each below its id, unless an earlier line has them."""


class Worksheet(Answer):
    lines: tuple[WorksheetLine, ...]
    left_out: tuple[str, ...]
    """Topics of questions that did not fit."""


class RefusedFact(Frozen):
    quantity: str
    value: str
    reason: str


class Contradiction(Frozen):
    quantity: str
    sides: tuple[StatedFact, ...]


class ProposedFacts(Answer):
    refused: tuple[RefusedFact, ...]
    contradictions: tuple[Contradiction, ...]
    stored: tuple[StatedFact, ...]
    left_out: tuple[str, ...]
    """Ids of stored facts that did not fit."""


def facts(
    kb: "KnowledgeBase", target: str, quantity: str | None, *, unconfirmed: bool = False, max_tokens: int
) -> StatedFacts:
    """The facts that hold for a target, or those that wait to be confirmed. Errors as in `KnowledgeBase.facts`.

    A target whose documents have been read, but of which no fact holds, gets the worksheet's open questions.
    """
    from kb.usecases.sheets import with_sheets

    with with_sheets(kb, target):
        waiting = kb.factbook.unconfirmed(target, quantity)
    if unconfirmed:
        return _listed(waiting, waiting=len(waiting), notes=() if waiting else ("no fact waits to be confirmed",),
                       max_tokens=max_tokens)  # fmt: skip
    notes = (SHOW_WAITING,) if waiting else ()
    try:
        found = kb.facts(target, quantity)
    except FactError as error:
        entries = kb.worksheet(target)
        if any(entry.holds for entry in entries) or not _has_documents(kb, target):
            raise
        notes = (error.message, *notes, NEXT_TOPIC)
        return _nothing_holds(entries, waiting=len(waiting), notes=notes, max_tokens=max_tokens)
    return _listed(found, waiting=len(waiting), notes=notes, max_tokens=max_tokens)


def worksheet(kb: "KnowledgeBase", target: str, topic: str | None, *, max_tokens: int) -> Worksheet:
    """What a kernel's author needs to know of a target; with a topic, with passages for its open questions.

    Errors as in `KnowledgeBase.fact_questions`.
    """
    asked = _once(kb.fact_questions(target, topic=topic)) if topic else []
    entries = [entry for entry in kb.worksheet(target) if topic in (None, entry.line.topic)]
    notes = () if topic else (NEXT_TOPIC,)
    if any(passage.trust is not Trust.VENDOR for question in asked for passage in question.passages):
        notes = (NOT_THE_VENDOR, *notes)

    def dealt(n: int) -> Worksheet:
        """All questions, with the first `n` passages, one to each open question in turn."""
        given = {q.line: _text(q, -(-(n - i) // len(asked))) for i, q in enumerate(asked)}
        lines = tuple(_line(entry, given.get(entry.line, ""), named=bool(topic)) for entry in entries)
        cut = n < most
        more = ("a larger max_tokens shows more of the passages",) if cut else ()
        return Worksheet(lines=lines, left_out=(), truncated=cut, notes=(*notes, *more))

    most = len(asked) * max((len(q.passages) for q in asked), default=0)
    answer = fitting(dealt, most, max_tokens)
    if answer.tokens <= max_tokens:
        return answer

    def first(n: int) -> Worksheet:
        left_out = tuple(dict.fromkeys(line.topic for line in answer.lines[n:]))
        more = ("name a topic, or use a larger max_tokens",)
        return Worksheet(lines=answer.lines[:n], left_out=left_out, truncated=True, notes=(*notes, *more))

    return fitting(first, len(answer.lines) - 1, max_tokens)


def propose(kb: "KnowledgeBase", target: str, given: Sequence[FactAnswer], *, max_tokens: int) -> ProposedFacts:
    """Store the answers whose quotes are found, for a person to confirm. Errors as in `KnowledgeBase.answer_facts`."""
    found = kb.answer_facts(target, given)
    own = kb.targets.get(target).name
    stored = tuple(map(_fact, found.stored))
    refused = tuple(
        RefusedFact(quantity=short(r.answer.quantity, LABEL_CHARACTERS), value=short(r.answer.value, LABEL_CHARACTERS),
                    reason=short(r.reason, STATED_CHARACTERS))
        for r in found.refused
    )  # fmt: skip
    contradictions = tuple(
        Contradiction(quantity=c.quantity, sides=tuple(_fact(side.fact) for side in c.sides))
        for c in found.contradictions
    )
    notes: tuple[str, ...] = ()
    if stored:
        notes = (
            f"stored, but not held: the user confirms with `kb facts review {own}` or `kb facts accept --all {own}`",
        )
    if refused:
        notes = (*notes, "for what was refused, quote the words that state the value, as kb_read shows them")

    def first(n: int) -> ProposedFacts:
        """The first `n` of all; refusals come first, because they need work."""
        after = max(0, n - len(refused))
        shown = max(0, after - len(contradictions))
        cut = n < most
        more = ("a larger max_tokens shows the rest; nothing has to be sent again",) if cut else ()
        return ProposedFacts(
            refused=refused[:n],
            contradictions=contradictions[:after],
            stored=stored[:shown],
            left_out=tuple(fact.id for fact in stored[shown:]),
            truncated=cut,
            notes=(*notes, *more),
        )

    most = len(refused) + len(contradictions) + len(stored)
    return fitting(first, most, max_tokens)


def _has_documents(kb: "KnowledgeBase", target: str) -> bool:
    own = kb.targets.get(target).name
    return any(document.target == own for document in kb.documents.stored(target))


def _listed(found: Sequence[Fact], *, waiting: int, notes: tuple[str, ...], max_tokens: int) -> StatedFacts:
    stated = [_fact(fact) for fact in found]
    if any(fact.trust in (Trust.COMMUNITY, Trust.UNTRUSTED) for fact in stated):
        notes = (NOT_THE_VENDOR, *notes)

    def first(n: int) -> StatedFacts:
        rest = tuple(dict.fromkeys(fact.quantity for fact in stated[n:]))
        more = (f"{len(rest)} quantities left out: name one, or use a larger max_tokens",) if rest else ()
        return StatedFacts(
            facts=tuple(stated[:n]), waiting=waiting, open_questions=(), left_out=rest[:NAMES_SHOWN],
            truncated=bool(rest), notes=(*notes, *more),
        )  # fmt: skip

    return fitting(first, len(stated), max_tokens)


def _nothing_holds(entries: "Sequence[Entry]", *, waiting: int, notes: tuple[str, ...], max_tokens: int) -> StatedFacts:
    asked = [f"{entry.line.topic}: {entry.line.asks}" for entry in entries if entry.line.also]

    def first(n: int) -> StatedFacts:
        cut = n < len(asked)
        more = (f"{len(asked) - n} questions left out: kb_worksheet or a larger max_tokens shows them",) if cut else ()
        return StatedFacts(
            facts=(), waiting=waiting, open_questions=tuple(asked[:n]), left_out=(), truncated=cut,
            notes=(*notes, *more),
        )  # fmt: skip

    return fitting(first, len(asked), max_tokens)


def _line(entry: "Entry", passages: str, *, named: bool) -> WorksheetLine:
    return WorksheetLine(
        topic=entry.line.topic,
        question=entry.line.asks,
        holds=tuple(map(_said, entry.holds)),
        read=tuple(map(_said, entry.read)),
        quantities=entry.line.quantities if named else (),
        passages=passages,
    )


def _said(fact: Fact) -> str:
    condition = f" ({fact.condition})" if fact.condition else ""
    return f"{fact.quantity} = {f'{fact.value} {fact.unit}'.strip()}{condition} [{fact.citation.id}]"


def _once(asked: "Iterable[Question]") -> "list[Question]":
    """The questions without the passages that an earlier one has."""
    seen: set[str] = set()
    found = []
    for question in asked:
        new = tuple(passage for passage in question.passages if passage.citation.id not in seen)
        seen |= {passage.citation.id for passage in new}
        found.append(question.model_copy(update={"passages": new}))
    return found


def _text(question: "Question", n: int) -> str:
    return question.model_copy(update={"passages": question.passages[: max(0, n)]}).text


def _fact(fact: Fact) -> StatedFact:
    shown = {"target", "quantity", "value", "unit", "condition", "source", "trust"}
    quote = "" if fact.source else short(" ".join(fact.quote.split()), LABEL_CHARACTERS)
    return StatedFact(id=fact.citation.id, quote=quote, place=fact.citation.place, **fact.model_dump(include=shown))
