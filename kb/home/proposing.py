"""Stores the facts that a model proposes from a document."""

from kb.catalog import write_lock
from kb.home.knowledge_base import KnowledgeBase
from kb.model.fact import Fact
from kb.model.records import FactRecord, Form
from synth.chat import ChatModel
from synth.fact_proposals import ProposedFact, propose_facts


def propose(kb: KnowledgeBase, model: ChatModel, document: str) -> list[Fact]:
    """See `KnowledgeBase.propose_facts`."""
    read = kb.documents.get(document)
    text, named_in = kb.catalog.text(read.source), kb.targets.finder(kb.targets.family(read.target))
    found: list[FactRecord] = []
    for proposal, start in propose_facts(model, text, target=read.target):
        target = kb.targets.find(proposal.target)
        spoken_of = {read.target, *(name for _, _, name in named_in(proposal.quote))}
        if target and target.name in spoken_of:
            found.append(_record(proposal, target.name, start))
    with write_lock(kb.settings.home):
        keys = kb.catalog.add_facts(read.source, found)
    return [fact for key in keys if (fact := kb.catalog.fact(key))]


def _record(proposal: ProposedFact, target: str, start: int) -> FactRecord:
    return FactRecord(
        None, target, proposal.quantity, proposal.value,
        None if "x" in proposal.value else float(proposal.value), proposal.unit or "1",
        ", ".join(proposal.condition), "", start, start + len(proposal.quote), Form.PROPOSED,
    )  # fmt: skip
