"""Shows documents, their headings and their passages in a terminal."""

import sys
from collections.abc import Sequence

from kb.cli.output import show, show_text, show_wrapped
from kb.cli.table import show_table
from kb.types.documents import Coverage, Document, Outline, PlacedPassage
from kb.types.passages import Passage, text_of

HEADINGS_SHOWN = 40
NAMES_SHOWN = 6
WARNINGS_SHOWN = 5
NONE = "no documents (`kb ingest FOLDER` reads some)"


def show_documents(documents: Sequence[Document]) -> None:
    if not documents:
        show(NONE)
        return
    groups: dict[str, list[tuple[str, ...]]] = {}
    for d in documents:
        row = (f"{d.passages:,}", d.version or f"@{d.sha256[:8]}", d.format, d.path + " *" * d.ships_with_kb)
        groups.setdefault(f"{d.target}, {d.licence or 'licence unknown'}, {d.trust}", []).append(row)
    show_table(("passages", "version", "format", "path"), groups, cut_front={3})
    show()
    if any(d.ships_with_kb for d in documents):
        show("* ships with kb")
    show(f"{totals(documents)} of {_count(len({d.target for d in documents}), 'target')}")


def totals(documents: Sequence[Document]) -> str:
    passages, facts = sum(d.passages for d in documents), sum(d.facts for d in documents)
    return ", ".join((_count(len(documents), "document"), _count(passages, "passage"), _count(facts, "fact")))


def show_chosen(documents: Sequence[Document]) -> None:
    for document in documents[:NAMES_SHOWN]:
        print(f"  {document.path}", file=sys.stderr)
    if len(documents) > NAMES_SHOWN:
        print(f"  and {len(documents) - NAMES_SHOWN} more", file=sys.stderr)


def show_outline(outline: Outline, *, depth: int | None) -> None:
    """The text that was asked for, or else properties and headings."""
    if outline.passages:
        if state := _state(outline):
            show(f"note: {state.strip(' ()')}")
        show_text(text_of(outline.passages))
        return
    document, holds = outline.document, outline.holds
    show(document.path)
    stated = document.version and f"{document.version}, "
    changed = f", file of {document.changed_on}" if document.changed_on else ""
    facts = {
        "title": document.title,
        "target": document.target,
        "format": document.format,
        "version": f"{stated}@{document.sha256[:8]}{changed}",
        "licence": document.licence or "unknown",
        "trust": document.trust.value + ("; ships with kb" if document.ships_with_kb else ""),
        "file": outline.file + _state(outline),
        "holds": f"{holds.characters:,} characters: {_count(holds.sections, 'section')}, "
        f"{_count(holds.passages, 'passage')}, {_count(holds.tables, 'table')} with {_count(holds.rows, 'row')}, "
        f"{_count(holds.code_blocks, 'code block')}, {_count(holds.facts, 'fact')}",
    }
    for name, value in facts.items():
        show_wrapped(value, f"  {name + ':':<10}")
    for warning in holds.warnings[:WARNINGS_SHOWN]:
        show_wrapped(warning, "  warning:  ")
    if len(holds.warnings) > WARNINGS_SHOWN:
        show(f"  and {len(holds.warnings) - WARNINGS_SHOWN} more warnings (--json has all)")
    show()
    _show_tree(outline, depth)


def _state(outline: Outline) -> str:
    if not outline.file_exists:
        return " (missing or unreadable)"
    return "" if outline.file_same else " (changed since it was ingested; `kb ingest` reads it again)"


def _show_tree(outline: Outline, depth: int | None) -> None:
    if not outline.sections:
        show("no headings (--text prints the text)")
        return
    top = min(len(s.trail) for s in outline.sections)
    depth = depth or _fitting([len(s.trail) - top for s in outline.sections])
    shown = [s for s in outline.sections if len(s.trail) - top < depth]
    unit = "page" if outline.document.format == "pdf" else "line"
    rows = [(f"{s.line:,}", f"{s.passages:,}", "  " * (len(s.trail) - top) + s.trail[-1]) for s in shown]
    show_table((unit, "passages", "heading"), rows, cut={2})
    if deeper := len(outline.sections) - len(shown):
        show(f"{_count(deeper, 'heading')} below these (--depth {depth + 1}, --section HEADING)")
    show("--text prints the text")


def _fitting(depths: Sequence[int]) -> int:
    """The most levels whose headings fit on a screen, but enough levels to show two headings if there are two."""
    counts = {d: sum(x < d for x in depths) for d in range(1, max(depths) + 2)}
    several = [d for d, n in counts.items() if n > 1]
    return max((d for d in several if counts[d] <= HEADINGS_SHOWN), default=min(several, default=1))


def show_passage(placed: PlacedPassage, *, whole: bool) -> None:
    passage = placed.passage
    show(str(passage.citation))
    show_wrapped(passage.trail)
    show(f"passage {placed.number} of {placed.of} ({passage.kind}, {passage.target}, {passage.trust})")
    for one in (*placed.before, passage, *placed.after) if whole else (passage,):
        show()
        if whole:
            show(f"{'>' if one is passage else ' '} {one.citation.id}  {one.citation.lines}")
        show("\n".join(part for part in (one.lead, one.text) if part))
    if whole:
        return
    show()
    sides = (("before", placed.before), ("after", placed.after))
    show_table((), [(name, *_brief(p)) for name, passages in sides for p in passages], cut={4})


def show_coverage(found: Sequence[Coverage], *, limit: int, lacking: bool) -> None:
    if not found:
        show(NONE)
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
    show_table(header, rows, cut_front={10})
    show()
    if lacks := [(c.path, " ".join(c.words_lacking)) for c in found[:limit] if lacking and c.words_lacking]:
        show_table(("path", "missing words"), lacks, cut={1}, cut_front={0})
        show()
    if len(found) > limit:
        show(f"{len(found) - limit:,} more documents (--limit N, --json)")
    known = [c.words_kept for c in found if c.words_kept is not None]
    mean = f"; on average {sum(known) / len(known):.3f} of the words of a file are stored" if known else ""
    show(_count(len(found), "document") + mean)
    if unknown := len(found) - len(known):
        show(f"{unknown:,} could not be compared: the file is gone, has changed or has no words")


def _brief(passage: Passage) -> tuple[str, str, str, str]:
    return passage.citation.id, passage.citation.lines, passage.kind, _first_line(passage)


def _first_line(passage: Passage) -> str:
    """The first line of a passage, without the marks of code blocks and tables."""
    lines = (line.strip() for line in passage.text.splitlines())
    first = next((line for line in lines if line and not line.startswith("```")), "")
    return first.strip("| ") if first.startswith("|") else first


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _size(number: int) -> str:
    return f"{number:,}" if number < 10_000 else f"{number / 1000:,.0f}k"
