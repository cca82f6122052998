"""Fills the worksheet of a target: asks a reader, checks what it quotes, and stores what holds the value."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from kb.catalog import write_lock
from kb.catalog.words import match_expression, query_words
from kb.errors import CitationError, FactError
from kb.facts.book import Conflict
from kb.facts.quantities import quantities
from kb.facts.quotes import LONGEST_QUOTE, number_of, plain_list, quote_spans, refusal
from kb.facts.resolution import holding
from kb.facts.worksheet import FEATURES, Entry, Line, topics, worksheet
from kb.siblings import siblings_of
from kb.types.base import Frozen
from kb.types.fact import Fact, FactAnswer, RefusedAnswer
from kb.types.passages import Passage
from kb.types.records import FactRecord, Form
from kb.usecases.home import Home
from kb.usecases.searching import asked
from kb.usecases.sheets import with_sheets
from retrieval.excerpt import ITEM, Part, parts_of, with_items_above
from retrieval.precedence import is_set_aside
from retrieval.terms import asked_terms, states_amount, terms
from retrieval.whose import blanked, without_siblings
from synth.authors.asking import Desk
from synth.authors.author import AuthorError, Outcome
from synth.fact_answers import ask_for_facts

QUESTION_CHARACTERS, FEATURES_CHARACTERS = 1300, 7000
"""Characters of the passages for one question, and of those of lists of features."""
FOUND = 12
"""Most passages that are read for one question."""
ASKED = 3
"""Least terms that a part without a number shares with its question."""
PLACE_CHARACTERS = 100
"""About the length of the place and the headings of a passage."""
UNREAD, LOOKED_THROUGH, LONGEST_SHOWN = 8, 200, 300
"""Of a target of which no fact holds: most sentences, passages among which they are sought, characters of one."""
SEARCHED = 30
"""Most passages in which a quote is sought by its words."""
WORDS_SEARCHED = 12
"""Words of a quote that are searched for; more would be slow and find no more."""

_NUMBER = re.compile(r"(?<![\w.-])\d")
_CODE = re.compile(r"^\s*(?:[-*+•]|\d+[.)]|\|\s*`?-?(?:0x)?[0-9a-fA-F]+`?\s*\|)(?=\s|$)")
"""The mark of a list item, or a first cell that is only a number: codes of errors and values of an enumeration."""
_FEATURES = re.compile("feature|overview|introduction|specification|limit|resource|architecture|summary", re.IGNORECASE)
"""Headings below which manuals say what a chip has..."""
_WHOLE = re.compile("feature|specification", re.IGNORECASE)
"""... and those whose lists are shown whole: an instruction set or `four-stage` is no plain number."""
_MACRO = re.compile(r"\{\{.*\}\}|\{%.*%\}")


class FactsAnswered(Frozen):
    """What became of a reader's answers."""

    stored: tuple[Fact, ...]
    refused: tuple[RefusedAnswer, ...]
    contradictions: tuple[Conflict, ...]
    """About the quantities that were answered."""
    unread: tuple[str, ...] = ()
    """Questions that were not asked because the budget was spent, or the author failed."""
    stopped: str = ""
    """Why the author stopped before the last question, in words."""
    unreadable: int = 0
    """Number of lines of the model that begin like an answer and are none."""


def worksheet_of(home: Home, target: str) -> list[Entry]:
    """Every line of the worksheet. Errors as in `KnowledgeBase.worksheet`."""
    with with_sheets(home, target):
        standings = home.factbook.standings(target)
    return worksheet(holding(standings, lineage=home.targets.lineage(target)), standings)


def questions(home: Home, target: str, *, topic: str | None = None, everything: bool = False) -> Iterator[Entry]:
    """The questions of the worksheet. Arguments and errors as in `KnowledgeBase.fact_questions`.

    Passages hold only what may state a fact. On 88 development questions for facts, those of all questions answer
    23 with 25,500 characters a target; 1,500 tokens of whole passages for each answered 22 with 81,000.
    """
    if topic is not None and topic not in topics():
        raise FactError(f"the worksheet has no topic {topic!r}", hint=f"its topics are {', '.join(topics())}")
    if topic in (None, FEATURES.topic):
        passages = tuple(_telling(_features(home, target), FEATURES, FEATURES_CHARACTERS))
        yield Entry(line=FEATURES, holds=(), read=(), passages=passages)
    for entry in worksheet_of(home, target):
        if not entry.line.also or topic not in (None, entry.line.topic):
            continue
        if entry.holds and not entry.missing and not everything:
            yield entry
        else:
            question = asked(home, entry.line.phrasings, target=target)
            found = home.search_engine.find(*question, limit=FOUND)
            own = (hit.passage for hit in found.hits if not hit.passage.about)  # of siblings it may say the same
            passages = tuple(_telling(own, entry.line))
            yield entry.model_copy(update={"passages": passages})


def unread(home: Home, target: str) -> list[Passage]:
    """Sentences and rows of a target's own documents that state amounts, each as a passage cut to it.

    It is for a target of which no fact holds: what its documents say is then at least seen. Those that name a quantity
    come alone if there are any.
    """
    found = [
        passage.model_copy(update={"lead": "", "text": part.text.strip()})
        for passage in islice(_stating(home, target), LOOKED_THROUGH)
        for part in parts_of(passage)
        if states_amount(part.text) and len(part.text) <= LONGEST_SHOWN
    ]
    return ([p for p in found if quantities().names.mentions(p.text)] or found)[:UNREAD]


def _stating(home: Home, target: str) -> Iterator[Passage]:
    """The passages of a target's own documents that state amounts, without what they say of siblings."""
    own = home.targets.get(target).name
    paths = [document.path for document in home.documents.stored(own) if document.target == own]
    chunks = home.catalog.chunks_of(paths) if paths else {}
    stating = [chunk for chunk, (_, text) in chunks.items() if states_amount(text)]
    siblings = siblings_of(home.targets, own, home.catalog.texts_with)
    passages = (without_siblings(passage, siblings) for passage in home.catalog.passages(stating))
    return (passage for passage in passages if not passage.about)


def _features(home: Home, target: str) -> list[Passage]:
    """The passages of overviews and lists of features, those that state most first, but one of each section in turn."""
    found, turn = list[tuple[int, int, Passage]](), Counter[tuple[str, ...]]()
    listed = (p for p in _stating(home, target) if _FEATURES.search(" ".join(p.citation.section[-2:])))
    counted = ((sum(p.kind != "line" and states_amount(p.text) for p in parts_of(one)), one) for one in listed)
    for amounts, passage in sorted(counted, key=lambda one: -one[0]):
        found.append((turn[passage.citation.section], -amounts, passage))
        turn[passage.citation.section] += 1
    return [passage for *_, passage in sorted(found, key=lambda one: one[:2])]


def _telling(found: Iterable[Passage], line: Line, most: int = QUESTION_CHARACTERS) -> Iterator[Passage]:
    """The passages that fit, best first, each with its sentences and rows that may state a fact.

    A part may state one if it has a number, or if the question asks for no quantity and the part has much of it. A list
    of features is whole. Code and calls of macros never state one.
    """
    room, asks = most, set[str]().union(*map(asked_terms, line.phrasings))

    def tells(part: Part, *, is_list: bool) -> bool:
        if part.kind == "line" or _MACRO.search(part.text):
            return False
        if line == FEATURES:
            return states_amount(part.text) or bool(is_list and ITEM.match(part.text))
        return bool(_NUMBER.search(_CODE.sub("", part.text, count=1))) or (
            not line.quantities and len(terms(part.text) & asks) >= ASKED
        )

    for passage in found:
        is_list = bool(_WHOLE.search(" ".join(passage.citation.section[-1:])))
        telling = (found for found in with_items_above(parts_of(passage)) if tells(found[0], is_list=is_list))
        parts = [one for part, above in telling for one in (*above, part)]
        headers = (f"| {' | '.join(part.header)} |" if part.header else "" for part in parts)
        lines = dict.fromkeys(one for pair in zip(headers, (part.text for part in parts), strict=True) for one in pair)
        text = "\n".join(filter(None, lines))
        if text and (len(text) <= room or room == most):
            room -= len(text) + PLACE_CHARACTERS
            yield passage.model_copy(update={"lead": "", "text": text[:most]})


def store_answers(home: Home, target: str, answers: Sequence[FactAnswer]) -> FactsAnswered:
    """Store a reader's answers. Arguments and errors as in `KnowledgeBase.answer_facts`."""
    own = home.targets.get(target).name
    stored: dict[str, Fact] = {}
    refused: list[RefusedAnswer] = []
    with write_lock(home.settings.home):
        for given in answers:
            try:
                fact = _store(home, own, given)
                stored[fact.citation.id] = fact
            except (FactError, CitationError) as error:
                refused.append(RefusedAnswer(answer=given, reason=error.message))
    answered = dict.fromkeys((fact.target, fact.quantity) for fact in stored.values())
    conflicts = (c for name in dict.fromkeys(name for name, _ in answered) for c in home.factbook.conflicts(name))
    return FactsAnswered(
        stored=tuple(stored.values()),
        refused=tuple(refused),
        contradictions=tuple(c for c in conflicts if (c.target, c.quantity) in answered),
    )


def ask_authors(home: Home, target: str, desk: Desk) -> FactsAnswered:
    """Let authors answer the open questions. Errors as in `KnowledgeBase.propose_facts`."""
    answers: list[FactAnswer] = []
    unread: list[str] = []
    unreadable, stopped = 0, ""
    for question in questions(home, target):
        if not question.passages:
            continue
        if stopped:
            unread.append(question.line.asks)
            continue
        text = "\n\n".join(f"[{p.citation.id}] {p.citation.place} {p.trail}\n{p.body}" for p in question.passages)
        try:
            found = ask_for_facts(
                desk, question.line.asks, text, target=target, quantity_names=question.line.quantities
            )
        except AuthorError as error:
            if not answers and error.outcome is not Outcome.OVER_BUDGET:
                raise
            stopped = error.message
            unread.append(question.line.asks)
            continue
        answers += found.answers
        unreadable += found.unreadable
    what_else = {"unread": tuple(unread), "stopped": stopped, "unreadable": unreadable}
    return store_answers(home, target, answers).model_copy(update=what_else)


def _store(home: Home, own: str, given: FactAnswer) -> Fact:
    """Store one answer. Raises FactError with the reason if its quote does not stand there, or states no such fact."""
    target = home.targets.find(given.target or own)
    if target is None or target.name not in home.targets.scope(own):
        raise FactError(f"{given.target!r} is not {own} nor a relative of it", hint="name a target of its family")
    given = plain_list(given)
    source, start, end, around, targets_own = _place(home, own, given)
    text = home.catalog.text(source)
    quoted, after = text[start:end], text[end : end + LONGEST_QUOTE]
    if reason := refusal(given, quoted, around, after):
        raise FactError(reason, hint="quote the words that state it")
    if refusal(given, targets_own, around):
        raise FactError(f"the words say it of another chip than {target.name}", hint=f"quote what they say of {own}")
    record = FactRecord(
        None, target.name, given.quantity, given.value, number_of(given), given.unit or "1", given.condition, "",
        start, end, Form.PROPOSED,
    )  # fmt: skip
    [key] = home.catalog.add_facts(source, [record])
    fact = home.catalog.fact(key)
    assert fact is not None  # noqa: S101 - it was stored in the line above
    return fact


def _place(home: Home, own: str, given: FactAnswer) -> tuple[str, int, int, str, str]:
    """Source, start and end of the quote, the headings and table header around it, and its words about the target."""
    named = [home.documents.passage(given.passage)] if given.passage else []
    words = query_words(given.quote)[:WORDS_SEARCHED]
    scope = home.targets.scope(own)
    ids = home.catalog.lexical(
        match_expression(words), weights=(0.1, 0.1, 1.0, 0.1, 0.1), targets=scope, limit=SEARCHED
    ) if words else []  # fmt: skip
    passages = [*named, *sorted(home.catalog.passages([chunk for chunk, _ in ids]), key=is_set_aside)]
    for whole in (False, True):  # a quote may run over the end of its passage
        for passage in passages:
            if (held := home.catalog.place(passage.citation.id)) is None:
                continue
            source, _, at = held
            document = home.catalog.text(source)
            if not (spans := quote_spans(given.quote, document if whole else passage.text)):
                continue
            if passage not in named and (n := len(quote_spans(given.quote, document))) > 1:
                message = f"{passage.citation.path} has the words {given.quote!r} {n} times"
                raise FactError(f"{message}: quote more of them, or name the passage", hint="`kb facts ask` shows ids")
            start, end = spans[0] if whole else (at + spans[0][0], at + spans[0][1])
            ours = blanked(passage, siblings_of(home.targets, given.target or own, home.catalog.texts_with))
            inside = ours[max(0, start - at) : end - at] + document[max(start, at + len(ours)) : end]
            tables = (line for line in passage.text.splitlines() if line.startswith("|"))
            return source, start, end, "\n".join((passage.trail, passage.lead, *tables)), inside
    raise FactError(f"no document of {own} has the words {given.quote!r}", hint="quote the text word for word")
