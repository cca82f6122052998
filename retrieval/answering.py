"""Choose the statements that answer a phrasing of a question, and their shortest part that does."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from retrieval.statements import Statement
from retrieval.terms import asked_terms, terms, weights_of

BY_HEADING = 0.4
"""What a term in the headings alone counts, as a share of one in the statement."""
NEARLY = 0.85
"""Share of a statement's asked terms that a part of it must keep."""

SAME = 0.6
"""Share of a sentence's terms in another one from which both say the same, if its numbers are there too."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")

REFERS = re.compile(
    r"(?:It|Its|This|These|They|Those|Such|So|To (?:avoid|do) this|However|But|Then|That)\b|\W*\w+\W? ones\b"
    r"|[^,.:]{0,30}\bthe (?:last|first|other) (?:two|three|four)\b(?! \w{3,}s\b)"
)
"""How a sentence begins that needs the one before it."""


def answering(
    pool: Sequence[Statement],
    phrasing: str,
    *,
    enough: float,
    bonus: Callable[[Statement], float] = lambda statement: 0.0,
) -> list[Statement]:
    """The statements that answer a phrasing, best first; of equal ones the shorter comes first.

    A term weighs the more, the fewer statements of the pool have it.

    Args:
        enough: Share of the weight of the phrasing's terms that a statement must have to answer it.
        bonus: What else speaks for a statement that answers.
    """
    asked = asked_terms(phrasing)
    said = [_terms(statement.text) & asked for statement in pool]
    weights = weights_of(sorted(asked), said)
    worths = []
    for place, statement in enumerate(pool):
        above = (_terms(statement.passage.trail) & asked) - said[place]
        worth = _sum(weights, said[place]) + BY_HEADING * _sum(weights, above)
        if said[place] and worth >= enough:
            worths.append((-round(worth + bonus(statement), 6), len(statement.text), place))
    return [pool[place] for *_, place in sorted(worths)]


def still_answers(part: Statement, whole: Statement, phrasing: str) -> bool:
    """Whether a part of a statement says nearly as much about a phrasing as all of it."""
    asked = asked_terms(phrasing)
    return len(_terms(part.text) & asked) >= NEARLY * len(_terms(whole.text) & asked)


def shortest(statement: Statement, phrasing: str) -> Statement:
    """The fewest sentences of a statement in a row that say nearly as much about a phrasing as all of it."""
    sentences = statement.sentences
    asked = asked_terms(phrasing)
    said = [_terms(sentence) & asked for sentence in sentences]
    whole = len(set().union(*said))
    starts = [place for place, sentence in enumerate(sentences) if not place or not REFERS.match(sentence)]
    spans = ((start, end) for start in starts for end in range(start + 1, len(sentences) + 1))
    enough = [(s, e) for s, e in spans if len(set().union(*said[s:e])) >= NEARLY * whole]
    start, end = min(enough, key=lambda span: sum(map(len, sentences[span[0] : span[1]])), default=(0, len(sentences)))
    return replace(statement, sentences=sentences[start:end])


def repeats(sentence: str, other: str) -> bool:
    """Whether another sentence says the same of the numbers of this one, of which there are two at least."""
    numbers, own = set(_NUMBER.findall(sentence)), _terms(sentence)
    given = len(numbers) > 1 and numbers <= set(_NUMBER.findall(other))
    return given and len(own & _terms(other)) >= SAME * len(own)


@lru_cache(maxsize=1 << 14)  # a prompt asks the same statements in many phrasings
def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _sum(weights: Mapping[str, float], own: Collection[str]) -> float:
    return sum(weights[term] for term in sorted(own))
