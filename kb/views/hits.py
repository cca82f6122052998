"""What a search finds, and the context for a prompt."""

from typing import Self

from kb.types.base import short
from kb.types.passages import Context, Hit, Passage, SearchResult, Status, marks_of
from kb.types.records import Trust
from kb.views.response import LABEL_CHARACTERS, Item, Listing, Response, view_of

ROWS_SHOWN = 3
HEADING_CHARACTERS = 100


class FoundPassage(Item):
    id: str
    """The id to cite."""
    place: str
    """File and lines, or pages of a PDF."""
    target: str
    trust: Trust
    title: str
    text: str = ""
    """What answers, whole; `[...]` stands for what is left out. Empty if none of it is among the likeliest."""
    about: tuple[str, ...] = ()
    """Siblings of the target that it is about: numbers in this passage are theirs, not the target's."""
    without: tuple[str, ...] = ()
    """Siblings of the target about which it says more, which is left out here."""
    rows: tuple[str, ...] = ()
    """Ids of the table rows that match, best first."""
    also_in: tuple[str, ...] = ()
    """Other places with the same words."""
    why: str = ""
    """Its scores, if asked for."""

    @property
    def marks(self) -> tuple[str, ...]:
        return (self.target, *marks_of(self.trust, self.about, self.without))


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


CUT = "the end of this page is cut: ask for it again with more max_tokens, because the next page does not repeat it"


class Answer(Response):
    status: Status
    """`insufficient` means that the documents do not answer."""
    trust: Trust
    """The lowest label of its passages, each of which has its own behind its heading unless it is the vendor's."""
    text: str
    """Lines that answer, each passage's below its id and heading; `[...]` stands for what is left out between two."""

    @property
    def parts(self) -> int:
        return len(self.text)

    def first(self, n: int) -> Self:
        return self.with_(text=self.text[:n], truncated=True, notes=(*self.notes, CUT))


class PackedContext(Response):
    status: Status
    text: str
    """Whole passages with their ids, places and headings, below their documents."""
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


def answer(result: SearchResult, *, target: str | None, paths: bool = False) -> Answer:
    """The lines that answer a question about `target`, each passage's below its citation: its id, or path and lines."""
    text = "\n".join("\n".join((_cited(hit.passage, target, paths=paths), *hit.excerpt)) for hit in result.hits)
    trust = max((hit.passage.trust for hit in result.hits), key=[*Trust].index, default=Trust.VENDOR)
    return Answer(status=result.status, trust=trust, text=text, notes=result.notes)


def _cited(passage: Passage, target: str | None, *, paths: bool) -> str:
    cited = passage.citation.place if paths else passage.citation.id
    other = "" if passage.target == target else f" {passage.target}"
    heading = short((passage.title, *passage.citation.section)[-1], HEADING_CHARACTERS)
    return " ".join((f"[{cited}{other}]", heading, *(f"({mark})" for mark in passage.marks)))


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
