"""How documents, their headings and their passages look in a terminal."""

import shutil
import sys
import textwrap
from collections.abc import Collection, Sequence
from itertools import groupby

from kb.cli.output import show
from kb.model.documents import Coverage, Document, Outline, PlacedPassage
from kb.model.passages import Passage

HEADINGS_SHOWN = 40
NAMES_SHOWN = 6
WARNINGS_SHOWN = 5
LEAST_WIDTH = 20
"""What is wrapped has so many columns even where the terminal has fewer."""


def show_documents(documents: Sequence[Document]) -> None:
    if not documents:
        show("no documents (`kb ingest FOLDER` reads some)")
        return
    rows = [(f"{d.passages:,}", d.edition, d.format, d.path + " *" * d.ships_with_kb) for d in documents]
    header, *lines = _columns([("passages", "version", "format", "path"), *rows], right={0})
    show(header)
    for shared, group in groupby(zip(documents, lines, strict=True), key=lambda pair: _shared(pair[0])):
        show(shared)
        for _, line in group:
            show(line)
    show()
    if any(d.ships_with_kb for d in documents):
        show("* ships with kb")
    show(f"{totals(documents)} of {_count(len({d.target for d in documents}), 'target')}")


def _shared(document: Document) -> str:
    """What stands above the documents that have it in common."""
    return f"{document.target}, {document.licence or 'licence not known'}, {document.trust}"


def totals(documents: Sequence[Document]) -> str:
    counts = (
        _count(len(documents), "document"),
        _count(sum(d.passages for d in documents), "passage"),
        _count(sum(d.facts for d in documents), "fact"),
    )
    return ", ".join(counts)


def show_chosen(documents: Sequence[Document]) -> None:
    for document in documents[:NAMES_SHOWN]:
        print(f"  {document.path}", file=sys.stderr)
    if len(documents) > NAMES_SHOWN:
        print(f"  and {len(documents) - NAMES_SHOWN} more", file=sys.stderr)


def show_outline(outline: Outline, *, depth: int | None) -> None:
    document, holds = outline.document, outline.holds
    show(document.path)
    stated = document.version and f"{document.version}, "
    changed = f", file of {document.changed_on}" if document.changed_on else ""
    facts = {
        "title": document.title,
        "target": document.target,
        "format": document.format,
        "version": f"{stated}@{document.sha256[:8]}{changed}",
        "licence": document.licence or "not known",
        "trust": document.trust.value + ("; ships with kb" if document.ships_with_kb else ""),
        "file": outline.file + _state(outline),
        "holds": f"{holds.characters:,} characters: {_count(holds.sections, 'section')}, "
        f"{_count(holds.passages, 'passage')}, {_count(holds.tables, 'table')} with {_count(holds.rows, 'row')}, "
        f"{_count(holds.code_blocks, 'code block')}, {_count(holds.facts, 'fact')}",
    }
    for name, value in facts.items():
        _show_wrapped(f"  {name + ':':<10}", value)
    for warning in holds.warnings[:WARNINGS_SHOWN]:
        _show_wrapped("  warning:  ", warning)
    if len(holds.warnings) > WARNINGS_SHOWN:
        show(f"  and {len(holds.warnings) - WARNINGS_SHOWN} more warnings (--json has all)")
    show()
    _show_tree(outline, depth)
    if outline.passages:
        show()
        show("\n".join(_columns([_brief(p) for p in outline.passages], cut_end=True)))


def _state(outline: Outline) -> str:
    if not outline.file_exists:
        return " (not there, or cannot be read)"
    return "" if outline.file_same else " (has changed since; `kb ingest` reads it again)"


def _show_tree(outline: Outline, depth: int | None) -> None:
    if not outline.sections:
        show("no headings")
        return
    top = min(len(s.trail) for s in outline.sections)
    depth = depth or _fitting([len(s.trail) - top for s in outline.sections])
    shown = [s for s in outline.sections if len(s.trail) - top < depth]
    unit = "page" if outline.document.format == "pdf" else "line"
    rows = [(f"{s.line:,}", f"{s.passages:,}", "  " * (len(s.trail) - top) + s.trail[-1]) for s in shown]
    show("\n".join(_columns([(unit, "passages", "heading"), *rows], right={0, 1}, cut_end=True)))
    if deeper := len(outline.sections) - len(shown):
        show(f"{_count(deeper, 'heading')} below these (--depth {depth + 1}, --section HEADING)")


def _fitting(depths: Sequence[int]) -> int:
    """The most levels whose headings fit a screen; at least so many that there are two headings, where there are."""
    counts = {d: sum(x < d for x in depths) for d in range(1, max(depths) + 2)}
    several = [d for d, n in counts.items() if n > 1]
    return max((d for d in several if counts[d] <= HEADINGS_SHOWN), default=min(several, default=1))


def show_passage(placed: PlacedPassage, *, whole: bool) -> None:
    passage = placed.passage
    show(str(passage.citation))
    _show_wrapped("", passage.trail)
    show(f"passage {placed.number} of {placed.of} ({passage.kind}, {passage.target}, {passage.trust})")
    if whole:
        for one in (*placed.before, passage, *placed.after):
            show()
            show(f"{'>' if one is passage else ' '} {one.citation.id}  {_lines(one)}")
            show("\n".join(part for part in (one.lead, one.text) if part))
        return
    show()
    show("\n".join(part for part in (passage.lead, passage.text) if part))
    show()
    sides = (("before", placed.before), ("after", placed.after))
    rows = [(name, p.citation.id, _lines(p), first_line(p)) for name, passages in sides for p in passages]
    if rows:
        show("\n".join(_columns(rows, cut_end=True)))


def show_coverage(found: Sequence[Coverage], *, limit: int, lacking: bool) -> None:
    if not found:
        show("no documents (`kb ingest FOLDER` reads some)")
        return
    header = ("words", "file", "text", "sect", "pass", "tables", "rows", "code", "facts", "warn", "path")
    rows = [
        (
            "-" if c.words_kept is None else f"{c.words_kept:.3f}",
            *(_size(c.file_bytes), _size(c.characters)),
            *map(str, (c.sections, c.passages, c.tables, c.rows, c.code_blocks, c.facts, len(c.warnings))),
            c.path,
        )
        for c in found[:limit]
    ]
    top, *lines = _columns([header, *rows], right=range(len(header) - 1), gap=" ")
    show(top)
    for one, line in zip(found, lines, strict=False):
        show(line)
        if lacking and one.words_lacking:
            words = " ".join(one.words_lacking)
            show("  lacks " + textwrap.shorten(words, shutil.get_terminal_size().columns - 8, placeholder=" ..."))
    show()
    if len(found) > limit:
        show(f"{len(found) - limit:,} more documents (--limit N, --json)")
    known = [c.words_kept for c in found if c.words_kept is not None]
    mean = f"; {sum(known) / len(known):.3f} of the words of a file kept on average" if known else ""
    show(_count(len(found), "document") + mean)
    if unknown := len(found) - len(known):
        show(f"{unknown:,} not compared: the file is gone, has changed or has no words")


def _brief(passage: Passage) -> tuple[str, str, str, str]:
    return passage.citation.id, _lines(passage), passage.kind, first_line(passage)


def _lines(passage: Passage) -> str:
    return passage.citation.brief.rpartition(" ")[2].rstrip("]")


def first_line(passage: Passage) -> str:
    """What a passage begins with, without the signs of code and tables."""
    lines = (line.strip() for line in passage.text.splitlines())
    first = next((line for line in lines if line and not line.startswith("```")), "")
    return first.strip("| ") if first.startswith("|") else first


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(number: int) -> str:
    return f"{number:,}" if number < 10_000 else f"{number / 1000:,.0f}k"


def _show_wrapped(head: str, text: str) -> None:
    width = max(shutil.get_terminal_size().columns - len(head), LEAST_WIDTH)
    lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
    show(head + f"\n{' ' * len(head)}".join(lines))


def _columns(
    rows: Sequence[Sequence[str]], *, right: Collection[int] = (), gap: str = "  ", cut_end: bool = False
) -> list[str]:
    """Columns as wide as their widest cell. On a terminal the last is cut to fit, in front or at its end."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    room = shutil.get_terminal_size().columns - sum(widths) - len(gap) * len(widths)
    lines = []
    for *cells, last in rows:
        padded = [cell.rjust(widths[i]) if i in right else cell.ljust(widths[i]) for i, cell in enumerate(cells)]
        lines.append(gap.join([*padded, _cut(last, room, end=cut_end) if sys.stdout.isatty() else last]))
    return lines


def _cut(text: str, room: int, *, end: bool) -> str:
    """`text` or what fits of it: its beginning, else its end from a slash on."""
    if len(text) <= room:
        return text
    if end:
        return text[: max(0, room - 1)] + "…"
    at = text.find("/", len(text) - room + 1)
    return "…" + text[at if at >= 0 else len(text) - room + 1 :]
