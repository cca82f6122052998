"""Merge repeated hits, and pack whole passages into a token budget."""

import re
from collections import Counter
from collections.abc import Sequence

from kb.types.base import tokens_of
from kb.types.passages import Context, Hit, Passage, SearchResult
from retrieval.boilerplate import without_notices

_SAID = re.compile(r"\w+(?:\.\d+)*|[<>≤≥≠]|[!=]=|[-−+±](?=\.?\d)|(?<=\w) ?[+/%&^] ?(?=\w)")
"""The words, numbers and operators of a text, without its markup and punctuation."""
_WORD = re.compile(r"\w+")
_TELLING = re.compile(r"\d+\.\d+|\w*[\d_]\w*")
"""Numbers and identifiers, which tell one table row from the next."""
_SAY_NOTHING = frozenset(("a", "an", "the", "is", "are", "was", "were", "be", "been"))
"""Words with which two editions of a sentence may differ and still say the same."""
_UNSAID = re.compile(rf"[\W_]+|\b(?:{'|'.join(sorted(_SAY_NOTHING))})\b", re.IGNORECASE)

RELEVANT = 2.5
"""Greatest distance from the best score, in units of the fused score, at which a passage is packed.

On the 195 development questions it saves a quarter of the tokens of a context for 4,000 and loses no answer."""

NEAR_COPY = 0.6
"""Jaccard similarity of the words above which a passage nearly repeats another."""

LEADING = 3
"""Number of hits that count as relevant, however far behind they are."""


def merge_repetitions(hits: Sequence[Hit]) -> list[Hit]:
    """The hits in order; each repetition becomes an `also_in` citation of the better hit.

    Two passages of one target say the same if they have the same words in the same order, up to articles and forms of
    `be`. A likeness of most words does not suffice: `raises a fault` and `raises no fault` share nearly all.
    """
    kept: dict[tuple[object, ...], Hit] = {}
    lengths = [(hit.passage.target, len(_UNSAID.sub("", hit.passage.text))) for hit in hits]
    shared = {length for length, times in Counter(lengths).items() if times > 1}
    for hit, length in zip(hits, lengths, strict=True):
        # What has no other's length repeats none; to compare its words would take most of a search's time.
        said = (*length, *(_said(hit.passage.text) if length in shared else ()))
        if better := kept.get(said):
            also_in = (*better.also_in, hit.passage.citation, *hit.also_in)
            hit = better.model_copy(update={"also_in": tuple(c for c in also_in if c != better.passage.citation)})
        kept[said] = hit
    return list(kept.values())


def _said(text: str) -> list[str]:
    words = (_spelt(word.strip()) for word in _SAID.findall(text))
    return [word for word in words if word not in _SAY_NOTHING]


def _spelt(word: str) -> str:
    """The word in lower case, unless its capitals may say something: `GBps` is not `Gbps`."""
    return word.lower() if word[1:].islower() or (word.isupper() and len(word) > 3) else word


def pack(result: SearchResult, *, budget_tokens: int) -> Context:
    """Take whole passages in rank order as long as they fit; those of one document stand together, in its order.

    What nearly repeats a better passage comes after all others: it rarely has what they lack.
    A hit whose listing runs over its neighbours takes them along if they fit. Passages far behind the best one are left
    out even if they fit, and so are licences and copyright notices.
    """
    best = result.hits[0].score if result.hits else 0.0
    relevant = [hit for rank, hit in enumerate(result.hits) if rank < LEADING or best - hit.score <= RELEVANT]
    context = Context(
        status=result.status,
        passages=(),
        left_out=(),
        less_relevant=len(result.hits) - len(relevant),
        tokens=0,
        budget_tokens=budget_tokens,
        notes=result.notes,
    )
    left_out: set[str] = set()
    for hit in _copies_last(relevant):
        for added in ((*hit.before, hit.passage, *hit.after), (hit.passage,)):
            larger = _with(context, added)
            if larger.tokens <= budget_tokens:
                context = larger
                break
        else:
            left_out.add(hit.passage.citation.id)
    left_out -= {passage.citation.id for passage in context.passages}
    citations = (hit.passage.citation for hit in relevant)
    return context.model_copy(update={"left_out": tuple(c for c in citations if c.id in left_out)})


def _copies_last(hits: Sequence[Hit]) -> list[Hit]:
    """The hits in order, but those that nearly repeat a better one, without a new number or name, at the end."""
    first: list[tuple[Hit, frozenset[str], frozenset[str]]] = []
    copies: list[Hit] = []
    for hit in hits:
        words = frozenset(_WORD.findall(hit.passage.text.lower()))
        telling = frozenset(_TELLING.findall(hit.passage.text))
        if any(
            hit.passage.target == better.passage.target
            and telling <= theirs
            and len(words & others) / (len(words | others) or 1) > NEAR_COPY
            for better, others, theirs in first
        ):
            copies.append(hit)
        else:
            first.append((hit, words, telling))
    return [*(hit for hit, _, _ in first), *copies]


def _with(context: Context, passages: Sequence[Passage]) -> Context:
    known = {passage.citation.id for passage in context.passages}
    kept = [p.model_copy(update={"text": without_notices(p.text)}) for p in passages if p.citation.id not in known]
    documents = list(dict.fromkeys(p.source for p in (*context.passages, *kept)))
    together = [*context.passages, *(p for p in kept if p.text)]
    together.sort(key=lambda p: (documents.index(p.source), p.ordinal))
    larger = context.model_copy(update={"passages": tuple(together)})
    return larger.model_copy(update={"tokens": tokens_of(larger.text)})
