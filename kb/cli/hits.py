"""Shows search hits and packed context in a terminal."""

import re
import textwrap
from collections.abc import Collection, Sequence

from kb.catalog.words import query_words
from kb.cli.output import screen_width, show, show_wrapped
from kb.model.passages import Context, Hit, Passage, SearchResult, Status

LINES_SHOWN = 4
INDENT = "   "


def show_hits(result: SearchResult, question: str, *, why: bool) -> None:
    _show_notes(result.status, result.notes)
    words = query_words(question)
    for rank, hit in enumerate(result.hits, 1):
        _show_hit(rank, hit, words, why=why)


def show_context(context: Context) -> None:
    _show_notes(context.status, context.notes)
    if context.passages:
        show(context.text)
        show()
        show(f"({context.tokens} of {context.budget_tokens} tokens; {len(context.left_out)} passages left out)")


def _show_notes(status: Status, notes: Sequence[str]) -> None:
    for note in notes:
        show_wrapped(f"{'note' if status is Status.OK else status}: {note}")


def _show_hit(rank: int, hit: Hit, words: Collection[str], *, why: bool) -> None:
    passage = hit.passage
    label = f" [{', '.join((passage.target, *passage.marks))}]"
    title = f"{rank} {passage.trail}"
    if width := screen_width():
        title = textwrap.shorten(title, width - len(label), placeholder=" ...")
    show(title + label)
    for line in excerpt(hit, words):
        show_wrapped(line, INDENT)
    show(f"{INDENT}{passage.citation.id}  {passage.citation.place}")
    if hit.also_in:
        show_wrapped(f"also in {', '.join(c.place for c in hit.also_in)}", INDENT)
    if why:
        parts = (("lexical", hit.why.lexical), ("dense", hit.why.dense))
        scores = [f"{name} {z:+.2f}" for name, z in parts if z is not None]
        scores += [f"states {', '.join(hit.why.states)}"] if hit.why.states else []
        show(f"{INDENT}score {hit.score:+.3f} ({', '.join(scores)}; found by {hit.why.phrasings} phrasing(s))")
    show()


def excerpt(hit: Hit, words: Collection[str]) -> list[str]:
    """The lines of a passage from the one with most of `words` on; of a table, its best row with headers."""
    if hit.rows and hit.passage.kind == "table":
        return [f"{hit.rows[0].shown} (row {hit.rows[0].citation.id})"]
    lines = [line for line in hit.passage.text.splitlines() if line.strip() and not line.startswith("```")]
    scores = [_score(line, words) for line in [*lines, ""]]
    best = max(range(len(lines)), key=lambda i: (2 * scores[i] + scores[i + 1], -i), default=0)
    if lines and lines[best].startswith("|"):
        return [_row(lines[best], _header(hit.passage))]
    return lines[best : best + LINES_SHOWN]


def _score(line: str, words: Collection[str]) -> int:
    text = line.lower()
    return sum(word in text for word in words)


def _header(passage: Passage) -> list[str]:
    lines = f"{passage.lead}\n{passage.text}".splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("|---")]
    return _cells(lines[rules[0] - 1]) if rules and rules[0] else []


def _row(line: str, header: list[str]) -> str:
    cells = _cells(line)
    if len(header) != len(cells) or cells == header:
        return " | ".join(cells)
    return "; ".join(f"{name} = {cell}" if name else cell for name, cell in zip(header, cells, strict=True) if cell)


def _cells(line: str) -> list[str]:
    return [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
