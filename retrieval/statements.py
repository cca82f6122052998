"""Cut text into statements: the list items, paragraphs, table rows and listings that say something by themselves."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kb.types.passages import Passage
from retrieval.excerpt import FACT, SENTENCE, Part, parts_of, with_headers
from retrieval.listings import begins_inside

_MARK = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")
_QUOTED = re.compile(r"^(?:> ?)+", re.MULTILINE)
_LINK = re.compile(r"\[([^\]\n]+)\]\((?:https?:|#)[^)\s]*\)")
_INDENTED = re.compile(r" {2,}\S")


@dataclass(frozen=True, slots=True)
class Statement:
    """A part of a document that says something by itself."""

    passage: Passage
    """Where it begins."""
    sentences: tuple[str, ...] = ()
    """Those of a list item or a paragraph; or one row of a table, with the headers of its cells."""
    code: str = ""
    """The listing that belongs to it."""
    tag: str = ""
    """The language of the listing, as its fence names it."""

    @property
    def prose(self) -> str:
        return " ".join(self.sentences)

    @property
    def text(self) -> str:
        listing = f"```{self.tag}\n{self.code}\n```" if self.code else ""
        return "\n".join(part for part in (self.prose, listing) if part)


def statements(passages: Sequence[Passage]) -> list[Statement]:
    """The statements of passages of one document, in order.

    A listing belongs to the item or paragraph above it, and an indented paragraph to the item above it. Rows of fact
    tables are left out: kb stores them as facts.
    """
    found: list[Statement] = []
    section: tuple[str, ...] | None = None
    for passage in passages:
        goes_on = section == passage.citation.section
        section = passage.citation.section
        unquoted = passage.model_copy(update={"text": _QUOTED.sub("", passage.text)})
        blocks = [list(parts) for _, parts in groupby(parts_of(unquoted), key=lambda part: (part.kind, part.block))]
        for place, block in enumerate(blocks):
            above = found[-1] if found and (goes_on or place) else None
            if block[0].kind == "line":
                _add_listing(found, above, passage, block, cut=not place and begins_inside(passage.text, passage.kind))
            elif block[0].kind == "row":
                rows = [row for row in block if row.header[: len(FACT)] != FACT]
                found += [Statement(passage, (_LINK.sub(r"\1", with_headers(row) or row.text),)) for row in rows]
            else:
                text = _LINK.sub(r"\1", " ".join(part.text for part in block))
                parted = SENTENCE.findall(_MARK.sub("", text, count=1).strip())
                sentences = tuple(s.strip() for s in parted if not s.startswith("|"))
                if above and above.sentences and not _MARK.match(text) and _INDENTED.match(text):
                    found[-1] = replace(above, sentences=(*above.sentences, *sentences))
                else:
                    found.append(Statement(passage, sentences))
    return [statement for statement in found if statement.sentences or statement.code]


def _add_listing(
    found: list[Statement], above: Statement | None, passage: Passage, lines: Sequence[Part], *, cut: bool
) -> None:
    """Add a listing to the statement above it. One that is `cut` goes on where the passage before ends."""
    code, tag = "\n".join(line.text for line in lines).strip("\n"), lines[0].header[0]
    if above and cut and above.code:
        found[-1] = replace(above, code=f"{above.code}\n{code}")
    elif above and not above.code:
        found[-1] = replace(above, code=code, tag=tag)
    else:
        found.append(Statement(passage, code=code, tag=tag))
