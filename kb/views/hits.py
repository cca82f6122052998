"""What a search finds, and the context for a prompt."""

from typing import Self

from kb.types.base import Frozen, short
from kb.types.passages import Context, Hit, SearchResult, Status
from kb.types.records import Trust
from kb.views.response import LABEL_CHARACTERS, Listing, Response, view_of

ROWS_SHOWN = 3


class FoundPassage(Frozen):
    id: str
    """The id to cite."""
    target: str
    trust: Trust
    title: str
    place: str
    """File and lines, or pages of a PDF."""
    also_in: tuple[str, ...]
    """Other places with the same words."""
    about: tuple[str, ...]
    """Siblings of the target that the headings name: numbers in this passage are theirs, not the target's."""
    text: str
    """What answers, whole; `[+3 rows]` stands for what is left out. Empty if a better passage is clearly ahead."""
    rows: tuple[str, ...]
    """Ids of the table rows that match, best first."""
    why: str
    """Its scores, if asked for."""

    @property
    def marks(self) -> tuple[str, ...]:
        """Its target; who states it, unless it is the vendor; the siblings it is about."""
        by = () if self.trust is Trust.VENDOR else (self.trust.value,)
        about = (f"speaks of {', '.join(self.about)}",) if self.about else ()
        return (self.target, *by, *about)


class FoundPassages(Listing):
    of = "passages"
    status: Status
    """`insufficient` means that the documents do not answer."""
    passages: tuple[FoundPassage, ...]
    """Best first."""

    @property
    def parts(self) -> int:
        """The characters of the first passage, and the other passages."""
        return len(self.passages[0].text) + len(self.passages) - 1 if self.passages else 0

    def first(self, n: int) -> Self:
        beyond = n - len(self.passages[0].text) if self.passages else 0
        if not self.passages or beyond >= 0:
            return super().first(1 + beyond)
        cut = self.passages[0].model_copy(update={"text": self.passages[0].text[:n], "rows": ()})
        return super().first(1).with_(passages=(cut,))


class PackedContext(Response):
    status: Status
    text: str
    """Whole passages below their documents, each with its id, lines and headings."""
    tokens: int
    budget_tokens: int
    left_out: tuple[str, ...]
    """Ids of passages that are relevant enough but did not fit, best first."""
    less_relevant: int
    """Number of passages found that are too far behind the best one."""


def found_passages(result: SearchResult, *, why: bool = False) -> FoundPassages:
    """What a search found; with `why`, also how each passage was scored."""
    passages = tuple(_passage(hit, why=why) for hit in result.hits)
    return FoundPassages(status=result.status, passages=passages, notes=result.notes)


def packed_context(packed: Context) -> PackedContext:
    return view_of(PackedContext, packed, left_out=tuple(citation.id for citation in packed.left_out))


def _passage(hit: Hit, *, why: bool) -> FoundPassage:
    passage = hit.passage
    return view_of(
        FoundPassage,
        passage,
        title=short(passage.trail, LABEL_CHARACTERS),
        also_in=tuple(citation.place for citation in hit.also_in),
        text="\n".join(hit.excerpt),
        rows=tuple(row.citation.id for row in hit.rows[:ROWS_SHOWN]),
        why=_why(hit) if why else "",
    )


def _why(hit: Hit) -> str:
    scores = (("lexical", hit.why.lexical), ("dense", hit.why.dense))
    parts = [f"{name} {score:.2f}" for name, score in scores if score is not None]
    parts += [f"states {', '.join(hit.why.states)}"] if hit.why.states else []
    return f"score {hit.score:+.3f} ({', '.join(parts)}; found by {hit.why.phrasings} phrasing(s))"
