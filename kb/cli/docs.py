"""`kb docs list | show | remove | coverage`."""

import re
import sys
from typing import Annotated

import typer

from kb.cli.output import Json, Target, notify, open_kb, print_json, progress_bar, show
from kb.errors import DocumentError

app = typer.Typer(help="The documents that were read, and what was kept of them.", no_args_is_help=True,
                  rich_markup_mode=None)  # fmt: skip

_ID = re.compile(r"[0-9a-f]{12}(\.\d+)?")

Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Documents, or folders with all that is in them.")]


@app.command("list")
def list_documents(target: Target = None, as_json: Json = False) -> None:
    """List the documents by target and path.

    With --target those that may speak for it: its own, its ancestors' and its descendants'. The version is the one
    that a document states, else the start of its sha256. On a terminal long paths lose their beginning; `kb docs
    show` takes what is left.

    Example: kb docs list --target mi300x
    """
    with open_kb() as kb:
        documents = kb.documents.stored(target)
    if as_json:
        print_json(documents)
    else:
        from kb.cli.docs_report import show_documents

        show_documents(documents)


@app.command("show")
def show_document(
    name: Annotated[
        str, typer.Argument(metavar="PATH|ID", help="A document, by any end of its path; or a citation's id.")
    ],
    section: Annotated[
        str | None,
        typer.Option(metavar="HEADING", help="Only sections with this heading, with the ids of their passages."),
    ] = None,
    depth: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Levels of headings; by default as many as fit a screen.")
    ] = None,
    around: Annotated[
        int, typer.Option(min=0, metavar="N", help="Show N whole neighbours of a passage on each side.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Show a document's headings, or a passage's neighbours.

    --section and --depth are for documents; `Memory > LDS` names a heading below another. --around is for passages.

    Example: kb docs show mi300x/mi300x.md --section "Memory hierarchy"

    Exit status: 0 when it is shown, 1 when it is unknown or the path is not the end of one document's alone.
    """
    from kb.cli.docs_report import show_outline, show_passage

    with open_kb() as kb:
        if _ID.fullmatch(name):
            placed = kb.documents.passage(name, around=max(1, around))
            if as_json:
                print_json(placed)
            else:
                show_passage(placed, whole=around > 0)
            return
        outline = kb.documents.outline(name, section=section)
    if as_json:
        print_json(outline)
    else:
        show_outline(outline, depth=depth)


@app.command("remove")
def remove_documents(
    paths: Paths,
    target: Annotated[
        str | None, typer.Option("--target", "-t", metavar="TARGET", help="Only documents of this target itself.")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Forget documents, with their passages, facts and vectors.

    The files are not touched: the next `kb ingest` of their folder reads them again.

    Example: kb docs remove mi300x/old-guide.pdf --yes

    Exit status: 0 when they are forgotten, 1 when nothing was.
    """
    from kb.cli.docs_report import show_chosen, totals

    with open_kb() as kb:
        chosen = kb.documents.removable(paths, target=target)
        if not yes:
            show_chosen(chosen)
            _ask(totals(chosen))
        if kb.models.needs_index():
            notify("the vector index is made anew, which takes a while where there are many documents")
        removed = kb.documents.remove([d.source for d in chosen])
    if as_json:
        print_json(removed)
    else:
        show(f"removed: {totals(removed)}")
        show("Their files were not touched; `kb ingest` of their folder reads them again.")


@app.command("coverage")
def coverage(
    paths: Annotated[
        list[str] | None, typer.Argument(metavar="[PATH...]", help="Documents or folders; all when none is named.")
    ] = None,
    target: Target = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most documents to show; --json has all.")] = 20,
    as_json: Json = False,
) -> None:
    """Show what was kept of each file, worst first.

    `words` is the share of the distinct words ([A-Za-z0-9_.]{3,}) of the file that stand in the stored text; of a PDF
    those of its text layer, of HTML those outside tags and scripts. Of other formats the words of the markup count
    too (directives, link targets), so less than 1 need not be a loss: where PATH is given, the words that a document
    lacks are shown. `words` is - where the file is gone, has changed or has no words.

    `file` is the size of the file in bytes, with those it includes, `text` that of the stored text in characters;
    then sections, passages, tables with their rows, code blocks, facts and warnings.

    Example: kb docs coverage --target mi300x --limit 5
    """
    from kb.cli.docs_report import show_coverage

    with open_kb() as kb, progress_bar("comparing", quiet=as_json) as progress:
        found = kb.documents.coverage(paths or (), target=target, progress=progress)
    if as_json:
        print_json(found)
    else:
        show_coverage(found, limit=limit, lacking=bool(paths))


def _ask(what: str) -> None:
    if not sys.stdin.isatty():
        raise DocumentError(f"nothing was removed: nobody is there to be asked about {what}", hint="--yes does not ask")
    typer.confirm(f"Forget {what}?", abort=True, err=True)
