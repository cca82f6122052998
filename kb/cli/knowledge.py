"""`kb ingest`, `search`, `context`, `cite`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, notify, open_kb, print_json, progress_bar, show
from kb.errors import SourceError
from kb.model.records import Trust

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase
    from kb.model.documents import FileReport

Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also", metavar="PHRASING", help="The same question in other words; repeat it. All are searched together."
    ),
]
Expand = Annotated[
    bool, typer.Option("--expand", help="Ask the model that the settings name for other words, and search for all.")
]
Compare = Annotated[bool, typer.Option("--compare", help="Open the target's siblings too; each hit says whose it is.")]
Budget = Annotated[int | None, typer.Option(min=1, metavar="TOKENS", help="Most to show, at 4 characters a token.")]


def add_to(app: typer.Typer) -> None:
    for command in (ingest, search, context, cite):
        app.command()(command)


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files and folders. The target is read off the folder names."),
    ],
    target: Target = None,
    hidden: Annotated[bool, typer.Option("--hidden", help="Also read names that begin with a dot.")] = False,
    trust: Annotated[Trust | None, typer.Option(help="How far to believe the documents; vendor by default.")] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Also read unknown formats, as plain text.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done; write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Read manuals into the knowledge base.

    Files that have not changed are not read again; files that are gone are forgotten.

    Example: kb ingest docs/mi300x/

    Exit status: 0 when every document was read, 1 when one failed or nothing could be done.
    """
    with open_kb() as kb, progress_bar("reading", quiet=as_json) as bar:

        def advance(file: "FileReport", done: int, total: int) -> None:
            bar(done, total, file.path.rpartition("/")[2][-32:].rjust(32))

        report = kb.ingest(
            paths, target=target, trust=trust, hidden=hidden, unknown=unknown, dry_run=dry_run, progress=advance
        )
    if as_json:
        print_json(report)
    else:
        from kb.cli.ingest_report import show_report

        show_report(report)
    if failed := report.count("failed"):
        raise SourceError(
            f"{failed} of {len(report.files)} files could not be read",
            hint="the report names each; the others were read",
        )


def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, keywords or an identifier.")],
    also: Also = None,
    expand: Expand = False,
    target: Target = None,
    compare: Compare = False,
    budget: Budget = None,
    why: Annotated[bool, typer.Option("--why", help="Show how each hit came to its rank.")] = False,
    as_json: Json = False,
) -> None:
    """Find the passages that answer a question.

    Example: kb search "LDS size per compute unit" --target mi300x

    Exit status: 0 when something was found, 1 when the documents in scope do not say.
    """
    with open_kb() as kb:
        asked = _asked(kb, query, also, target, expand=expand)
        result = kb.search(asked, target=target, compare=compare)
    if budget is not None:
        result = result.within(budget)
    if as_json:
        print_json(result)
    else:
        from kb.cli.hits import show_hits

        show_hits(result, " ".join(asked), why=why)
    if not result.hits:
        raise typer.Exit(1)


def context(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, keywords or an identifier.")],
    also: Also = None,
    expand: Expand = False,
    target: Target = None,
    compare: Compare = False,
    budget: Budget = None,
    as_json: Json = False,
) -> None:
    """Pack the passages for a question for a prompt.

    Example: kb context "avoid LDS bank conflicts" --target mi300x --budget 2000

    Exit status: 0 when something was found, 1 when the documents in scope do not say.
    """
    with open_kb() as kb:
        asked = _asked(kb, query, also, target, expand=expand)
        packed = kb.context(asked, target=target, compare=compare, budget_tokens=budget)
    if as_json:
        print_json(packed)
    else:
        from kb.cli.hits import show_context

        show_context(packed)
    if not packed.passages:
        raise typer.Exit(1)


def _asked(kb: "KnowledgeBase", query: str, also: list[str] | None, target: str | None, *, expand: bool) -> list[str]:
    """All phrasings to search for; those of a model are shown."""
    others = kb.phrasings(query, target=target) if expand else []
    for phrasing in others:
        notify(f"also searched for: {phrasing}")
    return [query, *(also or []), *others]


def cite(
    citation_id: Annotated[str, typer.Argument(metavar="ID", help="The id that search, context and facts show.")],
    as_json: Json = False,
) -> None:
    """Open the place that a citation names.

    Shows the file and its lines as they were read. `ID.N` says what stands in the Nth cell of a table's row.

    Example: kb cite aefeba3145ed

    Exit status: 0 when the citation holds, 1 when the id is unknown or the stored text was altered.
    """
    with open_kb() as kb:
        place = kb.cite(citation_id)
    if as_json:
        print_json(place)
        return
    show(f"{place.citation}")
    show(f"{place.file}{place.citation.place.removeprefix(place.citation.path)}")
    if place.cell:
        show(place.cell)
    if not place.file_exists:
        show("The file is no longer there; this is what it held.")
    elif not place.file_same:
        show("The file has changed since; this is what it held. `kb ingest` reads it again.")
    width = max((len(str(number)) for number, _, _ in place.lines), default=1)
    show()
    above = 0
    for number, text, cited in place.lines:
        shown = str(number) if text and number != above else ""
        show(f"{'>' if cited else ' '} {shown:>{width}} | {text}")
        above = number if text else above
