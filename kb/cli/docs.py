"""The commands `kb docs list | show | remove`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import (
    Json,
    Target,
    confirm_removal,
    counted,
    named,
    notify,
    open_kb,
    show,
    show_notes,
    show_result,
    show_text,
    show_wrapped,
)

if TYPE_CHECKING:
    from kb.types.documents import Document
    from kb.views.documents import DocumentView, Heading

app = typer.Typer(help="The ingested documents and their contents.", no_args_is_help=True, rich_markup_mode=None)

HEADINGS_SHOWN = 40
NAMES_SHOWN = 6
WARNINGS_SHOWN = 5
NONE = "no documents (`kb ingest FOLDER` reads some)"


@app.command("list")
def list_documents(target: Target = None, as_json: Json = False) -> None:
    """List the documents by target and path.

    --target lists the documents of the target, its ancestors and its descendants. The version is the one that the
    document, its package or its path states, or else the start of its sha256. A terminal cuts the beginning of long
    paths; `kb docs show` accepts the rest.

    Example: kb docs list --target mi300x
    """
    with open_kb() as kb:
        documents = kb.documents.stored(target)
    show_result(documents, _show_documents, as_json=as_json)


@app.command("show")
def show_document(
    name: Annotated[str, typer.Argument(metavar="PATH", help="The path of a document or the end of it.")],
    section: Annotated[
        str | None, typer.Option(metavar="HEADING", help="Print the text of the sections with this heading.")
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the whole text.")] = False,
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Levels of headings (default: as many as fit on a screen).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a document's headings or text.

    The text comes with the id and lines of each passage. A short code file or document without headings is printed
    whole. `Memory > LDS` names a heading below another.

    Example: kb docs show mi300x/mi300x.md --section "Memory hierarchy"

    Exit status: 0 when it is shown, 1 when no document matches, or several do.
    """
    from kb.views import documents

    with open_kb() as kb:
        shown = documents.document(kb, name, section=section, whole=text)
    show_result(shown, lambda it: _show_document(it, depth), as_json=as_json)


@app.command("remove")
def remove_documents(
    paths: Annotated[list[str], typer.Argument(metavar="PATH...", help="Documents, or folders with their contents.")],
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="TARGET", help="Limit to documents of this target itself.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")] = False,
    as_json: Json = False,
) -> None:
    """Remove documents from the home, with their passages, facts and vectors.

    The files are not touched: the next `kb ingest` of their folder reads them again.

    Example: kb docs remove mi300x/old-guide.pdf --yes

    Exit status: 0 when they are removed, 1 when nothing was removed.
    """
    with open_kb() as kb:
        chosen = kb.documents.removable(paths, target=target)
        if not yes:
            for line in named([document.path for document in chosen], NAMES_SHOWN):
                print(f"  {line}", file=sys.stderr)
            confirm_removal(_totals(chosen))
        if kb.models.needs_index():
            notify("rebuilding the vector index; this takes a while in a large home")
        removed = kb.documents.remove([d.source for d in chosen])
    done = f"removed: {_totals(removed)}\nTheir files were not touched; `kb ingest` of their folder reads them again."
    show_result(removed, lambda _: show(done), as_json=as_json)


def _show_documents(documents: "Sequence[Document]") -> None:
    from kb.cli.table import show_table

    if not documents:
        show(NONE)
        return
    groups: dict[str, list[tuple[str, ...]]] = {}
    for d in documents:
        row = (f"{d.passages:,}", d.version or f"@{d.sha256[:8]}", d.format, d.path + " *" * d.ships_with_kb)
        groups.setdefault(
            f"{d.target}, {d.licence or 'licence unknown'}, {d.trust}{', private' * d.private}", []
        ).append(row)
    show_table(("passages", "version", "format", "path"), groups, cut_front={3})
    show()
    if any(d.ships_with_kb for d in documents):
        show("* ships with kb")
    show(f"{_totals(documents)} of {counted(len({d.target for d in documents}), 'targets')}")


def _totals(documents: "Sequence[Document]") -> str:
    passages, facts = sum(d.passages for d in documents), sum(d.facts for d in documents)
    return ", ".join((counted(len(documents), "documents"), counted(passages, "passages"), counted(facts, "facts")))


def _show_document(document: "DocumentView", depth: int | None) -> None:
    """The text that was asked for, or else properties and headings."""
    from kb.cli.table import show_table

    show_notes(document)
    if document.text:
        show_text(document.text)
        return
    show(document.path)
    for name in ("title", "target", "format", "version", "licence", "trust", "file"):
        show_wrapped(getattr(document, name), f"  {name + ':':<10}")
    if document.private:
        show("  private:  no hosted author and no MCP host gets any of it")
    show_wrapped(", ".join(counted(n, what.replace("_", " ")) for what, n in document.holds.items()), "  holds:    ")
    for warning in named(document.warnings, WARNINGS_SHOWN):
        show_wrapped(warning, "  warning:  ")
    show()
    if not document.headings:
        show("no headings (--text prints the text)")
        return
    depth = depth or _fitting(document.headings)
    shown = [heading for heading in document.headings if heading.depth < depth]
    unit = "page" if document.format == "pdf" else "line"
    rows = [(f"{h.line:,}", f"{h.passages:,}", "  " * h.depth + h.title) for h in shown]
    show_table((unit, "passages", "heading"), rows, cut={2})
    if deeper := len(document.headings) - len(shown):
        show(f"{counted(deeper, 'headings')} below these (--depth {depth + 1}, --section HEADING)")
    show("--text prints the text")


def _fitting(headings: "Sequence[Heading]") -> int:
    """The most levels whose headings fit on a screen, but enough levels to show two headings if there are two."""
    deepest = max(heading.depth for heading in headings)
    counts = {depth: sum(h.depth < depth for h in headings) for depth in range(1, deepest + 2)}
    several = [depth for depth, count in counts.items() if count > 1]
    return max((d for d in several if counts[d] <= HEADINGS_SHOWN), default=min(several, default=1))
