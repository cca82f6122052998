"""The commands `kb docs list | show | remove | coverage`."""

import re
from typing import Annotated

import typer

from kb.cli.output import Json, Target, confirm_removal, notify, open_kb, progress_bar, show, show_result

app = typer.Typer(help="The ingested documents and their contents.", no_args_is_help=True, rich_markup_mode=None)

_ID = re.compile(r"[0-9a-f]{12}(\.\d+)?")


@app.command("list")
def list_documents(target: Target = None, as_json: Json = False) -> None:
    """List the documents by target and path.

    --target lists the documents of the target, its ancestors and its descendants. The version is the one that the
    document, its package or its path states, or else the start of its sha256. A terminal cuts the beginning of long
    paths; `kb docs show` accepts the rest.

    Example: kb docs list --target mi300x
    """
    from kb.cli.docs_report import show_documents

    with open_kb() as kb:
        documents = kb.documents.stored(target)
    show_result(documents, show_documents, as_json=as_json)


@app.command("show")
def show_document(
    name: Annotated[
        str, typer.Argument(metavar="PATH|ID", help="The path of a document or the end of it, or a citation's id.")
    ],
    section: Annotated[
        str | None,
        typer.Option(metavar="HEADING", help="Print the text of the sections with this heading."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Print the whole text.")] = False,
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Levels of headings (default: as many as fit on a screen).")
    ] = None,
    around: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show N neighbours of a passage on each side in full.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Show a document's headings or text, or a passage's neighbours.

    The text comes with the id and lines of each passage. A short code file or document without headings is printed
    whole. --section, --text and --depth apply to documents, --around to passages. `Memory > LDS` names a
    heading below another.

    Example: kb docs show mi300x/mi300x.md --section "Memory hierarchy"

    Exit status: 0 when it is shown, 1 when no document or passage matches, or several documents do.
    """
    from kb.cli.docs_report import show_outline, show_passage

    with open_kb() as kb:
        if _ID.fullmatch(name):
            placed = kb.documents.passage(name, around=max(1, around))
            show_result(placed, lambda it: show_passage(it, whole=around > 0), as_json=as_json)
        else:
            outline = kb.documents.outline(name, section=section, whole=text)
            show_result(outline, lambda it: show_outline(it, depth=depth), as_json=as_json)


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
    from kb.cli.docs_report import show_chosen, totals

    with open_kb() as kb:
        chosen = kb.documents.removable(paths, target=target)
        if not yes:
            show_chosen(chosen)
            confirm_removal(totals(chosen))
        if kb.models.needs_index():
            notify("rebuilding the vector index; this takes a while in a large home")
        removed = kb.documents.remove([d.source for d in chosen])
    done = f"removed: {totals(removed)}\nTheir files were not touched; `kb ingest` of their folder reads them again."
    show_result(removed, lambda _: show(done), as_json=as_json)


@app.command("coverage")
def coverage(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH...]", help="Documents or folders (default: all documents).")
    ] = None,
    target: Target = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most documents to show; --json has all.")] = 20,
    as_json: Json = False,
) -> None:
    """Show how much of each file is stored, worst first.

    `words` is the share of the file's distinct words ([A-Za-z0-9_.]{3,}) that the stored text contains. For a PDF these
    are the words of its text layer, for HTML those outside tags and scripts. Other formats also count words of the
    markup (directives, link targets), so a share below 1 is not always a loss; with PATH, the missing words are
    listed. `words` is - if the file is gone, has changed or has no words.

    `file` is the size of the file and its includes in bytes, `text` the size of the stored text in characters. The
    other columns count sections, passages, tables, table rows, code blocks, facts and warnings.

    Example: kb docs coverage --target mi300x --limit 5
    """
    from kb.cli.docs_report import show_coverage

    with open_kb() as kb, progress_bar("comparing", quiet=as_json) as progress:
        found = kb.documents.coverage(paths or (), target=target, progress=progress)
    show_result(found, lambda it: show_coverage(it, limit=limit, lacking=bool(paths)), as_json=as_json)
