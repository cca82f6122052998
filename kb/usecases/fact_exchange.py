"""Passes decisions about facts to another home, which takes over those whose quoted words it has itself."""

from collections.abc import Iterable
from typing import Literal

from kb.errors import FactError, TargetError
from kb.facts.quantities import written
from kb.facts.resolution import FactDecision
from kb.types.base import Frozen
from kb.types.fact import DecidedFact, Fact, FactAnswer
from kb.types.records import Form
from kb.usecases.knowledge_base import KnowledgeBase


class ImportedDecision(Frozen):
    """What became of one decision."""

    given: DecidedFact
    outcome: Literal["taken over", "known", "left out"]
    reason: str = ""
    """Why it was left out, or where it stands if not in the same document."""


def decided_facts(kb: KnowledgeBase) -> list[DecidedFact]:
    """The decisions about facts that a document of this home states."""
    stated = ((kb.catalog.fact(key), decided) for key, decided in kb.catalog.decisions().items())
    return [
        DecidedFact.model_validate(
            fact.model_dump(include={"target", "quantity", "value", "unit", "condition", "quote", "form"})
            | {"id": fact.citation.id, "sha256": fact.citation.sha256, "label": kb.catalog.label(fact.citation.id)}
            | {"decision": decided.verdict, "reason": decided.reason}
        )
        for fact, decided in stated
        if fact is not None
    ]


def import_decisions(kb: KnowledgeBase, given: Iterable[DecidedFact]) -> list[ImportedDecision]:
    """Take over decisions whose quoted words stand in a document of this home. What was decided here stays.

    Raises:
        StoreError: the home cannot be written.
    """
    return [_imported(kb, one) for one in given]


def _imported(kb: KnowledgeBase, one: DecidedFact) -> ImportedDecision:
    try:
        fact = _stated_here(kb, one)
    except (FactError, TargetError) as error:
        return ImportedDecision(given=one, outcome="left out", reason=error.message)
    decisions, standings = kb.catalog.decisions(), kb.factbook.standings(fact.target, quantities=[fact.quantity])
    here = decisions.get(fact.citation.id)
    if here and here.verdict == one.decision:
        return ImportedDecision(given=one, outcome="known")
    against = next(s.against for s in standings if s.fact.citation.id == fact.citation.id)
    rivals = [fact] if here else [f for f in against if one.decision == "accepted"]
    for rival in rivals:
        if (own := decisions.get(rival.citation.id)) and (here or own.verdict == "accepted"):
            said = f"{written(rival.value, rival.unit)} [{rival.citation.id}] is {own}"
            return ImportedDecision(given=one, outcome="left out", reason=f"here {said}")
    kb.factbook.decide(fact.citation.id, FactDecision(one.decision), reason=f"{one.reason} (imported)".strip())
    other = "" if fact.citation.sha256 == one.sha256 else f"as {fact.citation.place} states it, another text or edition"
    return ImportedDecision(given=one, outcome="taken over", reason=other)


def _stated_here(kb: KnowledgeBase, one: DecidedFact) -> Fact:
    """The fact in this home: of the same document, or of another edition with the same words, or the same table row.

    A reader's answer is stored if a document of the target has its words. Raises FactError or TargetError if nothing
    here states the fact.
    """
    said = one.value, one.unit, one.condition
    facts = kb.catalog.facts([kb.targets.get(one.target).name], quantities=[one.quantity])
    alike = [fact for fact in facts if said == (fact.value, fact.unit, fact.condition)]
    same = [fact for fact in alike if (one.sha256, one.quote) == (fact.citation.sha256, fact.quote)]
    if found := [*(fact for fact in facts if fact.citation.id == one.id), *same]:
        return found[0]
    if one.form is not Form.PROPOSED:
        for fact in alike:
            if fact.form is one.form and one.label and kb.catalog.label(fact.citation.id) == one.label:
                return fact
        row = f"in a row and column named {one.label!r}" if one.label else f"in the document {one.sha256[:12]}"
        raise FactError(f"no document here states it {row}", hint="ingest the document")
    answer = FactAnswer.model_validate(one.model_dump(include=set(FactAnswer.model_fields)))
    read = kb.answer_facts(one.target, [answer])
    if read.refused:
        raise FactError(read.refused[0].reason, hint="ingest the document")
    return read.stored[0]
