"""Chooses what a prompt says of the hardware: the facts and passages that matter for one task in one language."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from pathlib import PurePosixPath

from kb.facts.quantities import quantities
from kb.facts.select import conditions
from kb.facts.worksheet import line_of, lines, topics
from kb.runs.loop import task_words
from kb.types.documents import Document
from kb.types.edition import document_precedence
from kb.types.evidence import Evidence
from kb.types.fact import Fact
from kb.types.kernels import Interface, Language, Task
from kb.types.passages import Passage
from kb.types.records import Form, Trust
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home
from retrieval.examples import Phrasings, choose_example
from retrieval.precedence import is_set_aside
from retrieval.scope import Scope
from synth.briefing.follow_up import refused_names
from synth.briefing.needs import needs, operation

FACTS = 32
"""Most facts in a prompt."""
PASSAGE_TOKENS = 4500
"""Size of all passages offered to a prompt, in tokens; what does not fit beside the rest stays out."""
BEST = 5
"""First passages of a question that count as answers."""
WHOLE_TOKENS = 9000
"""Size of all documents that a prompt may have from end to end, beside the other passages, in tokens."""
WHOLE_ANSWERS = 2
"""Questions that such a document must have answered."""
PASSAGE_LIMIT = 400
"""Size of the longest passage in a prompt, in tokens."""
FOUND = 30
"""Passages that are found for each question: candidates for the example, and the documents about kernels."""
HITS = 3
"""Passages that each question may bring into the prompt."""
PROGRAMMING_MODEL = (
    "programming model: how a kernel is written, started and split over cores",
    "execution model threads cores",
)
"""What every kernel needs first, in phrasings for a search."""


def prompt_context(
    home: Home, task: Task, interface: Interface, language: Language, target: str, diagnosis: Sequence[str]
) -> tuple[list[Fact], list[Passage]]:
    """The facts and passages for the next prompt, the most needed first.

    A whole example comes first, then errata and the short documents that answered most questions, from end to end,
    since the parts of a short manual explain each other. Then come the answers to the questions about the task, its
    language and its operations, then what the facts leave open. The last is taken only from documents that answered
    one of the questions before: others are about tools, boards or other chapters of the chip.

    Args:
        diagnosis: Phrasings for what the last candidate lacked; they come before all others.
    """
    facts = fitting_facts(known_facts(home, target), interface)
    known = {line_of(fact.quantity) for fact in facts}
    examples = example_questions(task, language)
    questions: list[Phrasings] = [
        *((phrase,) for phrase in diagnosis),
        *examples[:2],
        *((phrase,) for phrase in language.searched),
        PROGRAMMING_MODEL,
        *((phrase,) for phrase in needs(task)),
    ]
    found = {question: _found(home, question, target) for question in dict.fromkeys((*questions, *examples))}
    answered = Counter(path for own in found.values() for path in dict.fromkeys(p.citation.path for p in own[:BEST]))
    still_open = [_found(home, tuple(line.phrasings), target) for line in lines() if line not in known]
    answers = [
        *_in_turn([found[question] for question in questions]),
        *_in_turn([[p for p in own if p.citation.path in answered] for own in still_open]),
    ]
    stated = {fact.citation.place for fact in facts if fact.form is Form.STATED}
    others = [p for p in answers if p.tokens <= PASSAGE_LIMIT and p.citation.place not in stated]
    example = choose_example(home.catalog, examples, found)
    many = [path for path, count in answered.most_common() if count >= WHOLE_ANSWERS]
    whole = _whole(home, [*_errata(home, target), *many])
    fitting = _fitting(p for p in (*example, *others) if p not in whole)
    return facts, list(dict.fromkeys((*example, *whole, *fitting)))


def example_questions(task: Task, language: Language) -> list[Phrasings]:
    """Questions for code that does what the task does: by its description, its operation, its name, and any code."""
    words, kind = task_words(task), operation(task)
    return [
        (f"{language.name} {words} kernel example", f"{words} in {language.name}"),
        (f"{kind} kernel example", f"{language.name} {kind} example code"),
        (task.name,),
        (f"{language.name} kernel example",),
    ]


def _errata(home: Home, target: str) -> list[str]:
    """The paths of the documents that say in their name or title that they correct others."""
    stored = [document for name in sorted(home.targets.scope(target)) for document in home.documents.stored(name)]
    return [d.path for d in stored if document_precedence(d.path, d.title, d.trust) > 0]


def _whole(home: Home, paths: Iterable[str]) -> list[Passage]:
    """The passages of the documents that fit into `WHOLE_TOKENS`, and of the sheets of numbers beside them.

    Documents that nobody vouches for are left out, and those that ship with kb: their facts are in the prompt.
    """
    chosen: list[Passage] = []
    for document in map(home.documents.get, dict.fromkeys(paths)):
        chosen += _if_fitting(home, document, chosen)
    folders = {PurePosixPath(passage.citation.path).parent for passage in chosen}
    for document in home.documents.stored():
        if document.format == "delimited" and PurePosixPath(document.path).parent in folders:
            chosen += _if_fitting(home, document, chosen)
    return chosen


def _if_fitting(home: Home, document: Document, chosen: Sequence[Passage]) -> list[Passage]:
    if document.ships_with_kb or document.trust is Trust.UNTRUSTED:
        return []
    passages = home.catalog.passages(home.catalog.chunk_ids(document.source))
    return passages if sum(passage.tokens for passage in (*chosen, *passages)) <= WHOLE_TOKENS else []


def stated_of(home: Home, evidence: Evidence, source: str) -> list[Passage]:
    """What the target's documents state of the names in a refusal, a passage for each name that they have."""
    found = {name: _found(home, (name,), evidence.target) for name in refused_names(evidence, source)}
    return _fitting([next((p for p in passages if name in p.text), None) for name, passages in found.items()])


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
    of_matrices = (known is not None and known.matrix) or "matrix" in said
    stated = said & quantities().spelt["dtype"]
    return (matrices or not of_matrices) and (not stated or bool(stated & dtypes))


def _in_turn(found: Sequence[Sequence[Passage]]) -> list[Passage]:
    """The first passage of each, then the second of each, up to `HITS`."""
    return [passage for turn in zip_longest(*(own[:HITS] for own in found)) for passage in turn if passage is not None]


def _fitting(passages: Iterable[Passage | None]) -> list[Passage]:
    """The passages in order, each once, up to `PASSAGE_TOKENS`."""
    left = PASSAGE_TOKENS
    chosen: dict[str, Passage] = {}
    for passage in passages:
        if passage and passage.citation.id not in chosen and passage.tokens <= left:
            chosen[passage.citation.id] = passage
            left -= passage.tokens
    return list(chosen.values())


def _found(home: Home, question: Phrasings, target: str) -> list[Passage]:
    """The best passages for a question, without those that nobody vouches for or that are about a sibling.

    Passages of documents that are set aside count only if there are no others.
    """
    hits = home.search_engine.rank(question, Scope(target, home.targets.scope(target)), limit=FOUND).hits
    passages = [p for hit in hits if (p := hit.passage).trust is not Trust.UNTRUSTED and not p.about]
    return [p for p in passages if not is_set_aside(p)] or passages
