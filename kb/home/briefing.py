"""Chooses what a prompt says of the hardware: the facts and passages that matter for one task in one language."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, zip_longest

from kb.facts.quantities import quantities
from kb.facts.select import conditions
from kb.facts.worksheet import line_of, lines, topics
from kb.home.knowledge_base import KnowledgeBase
from kb.home.searching import ranked
from kb.model.fact import Fact
from kb.model.kernels import Interface, Language, Task
from kb.model.passages import Passage
from kb.model.records import Form, Trust
from kb.runs.loop import task_words
from synth.prompts.needs import needs

FACTS = 32
"""Most facts in a prompt."""
PASSAGE_TOKENS = 3500
"""Size of all passages in a prompt, in tokens."""
EXAMPLE_TOKENS = 1000
"""Size of the part of one document that shows a whole example, in tokens."""
PASSAGE_LIMIT = 400
"""Size of the longest passage in a prompt, in tokens."""
HITS = 6
"""Passages that are considered for each subject."""
EXAMPLE_HITS = 30
"""Passages that are considered for the example."""
MODEL = ("programming model: how a kernel is written, started and split over cores", "execution model threads cores")
"""What every kernel needs first, in phrasings for a search."""


def brief(
    kb: KnowledgeBase, task: Task, interface: Interface, language: Language, target: str, diagnosis: Sequence[str]
) -> tuple[list[Fact], list[Passage]]:
    """The facts and passages for the next prompt, the most needed first.

    Args:
        diagnosis: Phrasings for what the last candidate lacked; they come before all others.
    """
    facts = fitting_facts(kb.known_facts(target), interface)
    known = {line_of(fact.quantity) for fact in facts}
    subjects = [
        *((phrase,) for phrase in diagnosis),
        *filter(None, [language.searched]),
        MODEL,
        *((phrase,) for phrase in needs(task)),
        *(tuple(line.phrasings) for line in lines() if line not in known),
    ]
    words = task_words(task)
    example = _example(kb, (f"{language.name} {words} kernel example", f"{words} in {language.name}"), target)
    places = {f.citation.place for f in facts if f.form is Form.STATED}
    return facts, _passages(kb, example, subjects, target, places)


def fitting_facts(facts: Sequence[Fact], interface: Interface) -> list[Fact]:
    """The facts that matter for a task: of its data types, and of matrix units only if it has matrix products."""
    dtypes = {tensor.dtype for tensor in (*interface.inputs, *interface.state, *interface.outputs)}
    fitting = [fact for fact in facts if _matters(fact, dtypes, matrices=interface.matrix_operations > 0)]
    ordered = sorted(fitting, key=lambda fact: topics().index(line_of(fact.quantity).topic))
    first = {fact.quantity: fact for fact in reversed(ordered)}.values()
    return [*(f for f in ordered if f in first), *(f for f in ordered if f not in first)][:FACTS]


def _matters(fact: Fact, dtypes: set[str], *, matrices: bool) -> bool:
    known = quantities().by_name.get(fact.quantity)
    if known and known.system:
        return False
    said = conditions(fact)
    of_matrices = quantities().group_of(fact.quantity) == "matrix units" or "matrix" in said
    stated = said & quantities().spelt["dtype"]
    return (matrices or not of_matrices) and (not stated or bool(stated & dtypes))


def _example(kb: KnowledgeBase, question: tuple[str, ...], target: str) -> list[Passage]:
    """The best code for a question with the passages that follow it in its document, up to `EXAMPLE_TOKENS`."""
    best = next((p for p in _trusted(kb, question, target, limit=EXAMPLE_HITS) if "```" in p.text), None)
    if best is None:
        return []
    following = kb.documents.passage(best.citation.id, around=HITS).after
    total = accumulate((p.tokens for p in following), initial=best.tokens)
    return [p for p, tokens in zip((best, *following), total, strict=True) if tokens <= EXAMPLE_TOKENS]


def _passages(
    kb: KnowledgeBase,
    example: Sequence[Passage],
    subjects: Sequence[tuple[str, ...]],
    target: str,
    places: set[str],
) -> list[Passage]:
    """The example, then passages about each subject in turn, each once, up to `PASSAGE_TOKENS`.

    Passages at `places` are left out.
    """
    found = [list(_trusted(kb, subject, target)) for subject in subjects]
    chosen = {p.citation.id: p for p in example}
    left = PASSAGE_TOKENS - sum(p.tokens for p in example)
    for passage in (p for turn in zip_longest(*found) for p in turn if p is not None):
        citation = passage.citation
        fits = passage.tokens <= min(left, PASSAGE_LIMIT)
        if fits and citation.id not in chosen and citation.place not in places:
            chosen[citation.id] = passage
            left -= passage.tokens
    return list(chosen.values())


def _trusted(kb: KnowledgeBase, subject: tuple[str, ...], target: str, *, limit: int = HITS) -> Iterator[Passage]:
    found = ranked(kb, subject, target=target, scope=kb.targets.scope(target), limit=limit)
    yield from (hit.passage for hit in found.hits if hit.passage.trust is not Trust.UNTRUSTED)
