"""The commands `kb ingest | search | context | cite`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, notify, open_kb, show, show_result
from kb.errors import SourceError
from kb.types.records import Trust

if TYPE_CHECKING:
    from kb.types.passages import CitedPlace, SearchFilter
    from kb.usecases.knowledge_base import KnowledgeBase

Query = Annotated[str, typer.Argument(metavar="QUERY", help="A question, keywords or an identifier.")]
Also = Annotated[
    list[str] | None,
    typer.Option("--also", metavar="PHRASING", help="The same question in other words, searched with it (repeatable)."),
]
Expand = Annotated[
    bool, typer.Option("--expand", help="Let the model of the settings rephrase the question, and search for all.")
]
Compare = Annotated[
    bool, typer.Option("--compare", help="Also search the target's siblings; each hit names its target.")
]
Within = Annotated[
    list[str] | None, typer.Option("--in", metavar="PATH", help="Search only this document or folder (repeatable).")
]
Numbers = Annotated[bool, typer.Option("--numbers", help="Search only tables and passages that state an amount.")]
Seen = Annotated[
    list[str] | None,
    typer.Option("--seen", metavar="ID,...", help="Leave out these passages (repeatable)."),
]
Budget = Annotated[int | None, typer.Option(min=1, metavar="TOKENS", help="Most tokens to show (4 characters each).")]


def add_to(app: typer.Typer) -> None:
    for command in (ingest, search, context, cite):
        app.command()(command)


def ingest(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH...", help="Files, folders and archives. Folder names tell the target."),
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="TARGET", help="The target of all documents; a new name adds it."),
    ] = None,
    parent: Annotated[
        str | None, typer.Option(metavar="TARGET", help="The family of targets that are added (default: any).")
    ] = None,
    hidden: Annotated[
        bool, typer.Option("--hidden", help="Also read files and folders that begin with a dot.")
    ] = False,
    trust: Annotated[Trust | None, typer.Option(help="How far to trust the documents (default: vendor).")] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Also read unknown formats, as plain text.")] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Leave out files, as .gitignore does (repeatable; also in .kbignore)."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Report what would be done; write nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Read manuals into the knowledge base.

    Lexical search finds each document once it is read; vector search comes last.
    Unchanged files are not read again; moved files keep their ids; deleted and excluded files are removed from the
    home. After an interrupt the next ingest goes on.

    The innermost folder whose name is not an ordinary word (docs, manual, isa, v1.2) names the target, unless a
    folder above it holds documents itself. The archives are .zip, .tar.gz and .tgz.

    Example: kb ingest docs/mi300x/

    Exit status: 0 when every document was read, 1 when one failed or nothing
    could be done, 130 or 143 when it was interrupted.
    """
    from kb.cli.ingest_progress import ingest_progress
    from kb.cli.ingest_report import show_report
    from kb.cli.interrupts import interruptible
    from kb.types.documents import IngestInterrupted

    with interruptible(), open_kb() as kb:
        try:
            with ingest_progress(quiet=as_json) as progress:
                report = kb.ingest(
                    paths,
                    target=target,
                    parent=parent,
                    trust=trust,
                    hidden=hidden,
                    unknown=unknown,
                    exclude=exclude or (),
                    dry_run=dry_run,
                    progress=progress,
                )
        except IngestInterrupted as interrupt:
            show_result(interrupt.report, show_report, as_json=as_json)
            raise
    show_result(report, show_report, as_json=as_json)
    if failed := report.count("failed"):
        raise SourceError(
            f"{failed} of {len(report.files)} files could not be read",
            hint="the report names each of them; all others were read",
        )


def search(
    query: Query,
    also: Also = None,
    expand: Expand = False,
    target: Target = None,
    compare: Compare = False,
    within: Within = None,
    numbers: Numbers = False,
    seen: Seen = None,
    budget: Budget = None,
    why: Annotated[bool, typer.Option("--why", help="Show how each hit was scored.")] = False,
    as_json: Json = False,
) -> None:
    """Find the passages that answer a question.

    Example: kb search "LDS size per compute unit" --target mi300x

    Exit status: 0 when a passage was found, 1 when the documents in scope do not answer.
    """
    from kb.cli.hits import show_hits

    with open_kb() as kb:
        asked = _asked(kb, query, also, target, expand=expand)
        result = kb.search(asked, target=target, compare=compare, only=_only(within, numbers, seen))
    if budget is not None:
        result = result.within(budget)
    show_result(result, lambda found: show_hits(found, why=why), as_json=as_json)
    if not result.hits:
        raise typer.Exit(1)


def context(
    query: Query,
    also: Also = None,
    expand: Expand = False,
    target: Target = None,
    compare: Compare = False,
    within: Within = None,
    numbers: Numbers = False,
    seen: Seen = None,
    budget: Budget = None,
    as_json: Json = False,
) -> None:
    """Pack passages for a question into a prompt.

    Example: kb context "avoid LDS bank conflicts" --target mi300x --budget 2000

    Exit status: 0 when a passage was found, 1 when the documents in scope do not answer.
    """
    from kb.cli.hits import show_context

    with open_kb() as kb:
        asked = _asked(kb, query, also, target, expand=expand)
        only = _only(within, numbers, seen)
        packed = kb.context(asked, target=target, compare=compare, only=only, budget_tokens=budget)
    show_result(packed, show_context, as_json=as_json)
    if not packed.passages:
        raise typer.Exit(1)


def _only(within: list[str] | None, numbers: bool, seen: list[str] | None) -> "SearchFilter | None":
    from kb.types.passages import SearchFilter

    if not (within or numbers or seen):
        return None
    ids = re.findall(r"\w+", " ".join(seen or ()))
    return SearchFilter(within=tuple(within or ()), numbers=numbers, seen=frozenset(ids))


def _asked(kb: "KnowledgeBase", query: str, also: list[str] | None, target: str | None, *, expand: bool) -> list[str]:
    """All phrasings to search for; the user is told which ones come from the model."""
    others = kb.phrasings(query, target=target) if expand else []
    for phrasing in others:
        notify(f"also searched for: {phrasing}")
    return [query, *(also or []), *others]


def cite(
    citation_id: Annotated[str, typer.Argument(metavar="ID", help="The id that search, context and facts show.")],
    as_json: Json = False,
) -> None:
    """Show the place that a citation refers to.

    Shows the file and its lines as they were when ingested. `ID.N` shows the Nth cell of a table row.

    Example: kb cite aefeba3145ed

    Exit status: 0 when the citation holds, 1 when the id is unknown or the stored text was altered.
    """
    with open_kb() as kb:
        place = kb.cite(citation_id)
    show_result(place, _show_place, as_json=as_json)


def _show_place(place: "CitedPlace") -> None:
    from kb.views.answers import numbered

    show(f"{place.citation}")
    show(f"{place.file}{place.citation.place.removeprefix(place.citation.path)}")
    if place.cell:
        show(place.cell)
    if not place.file_exists:
        show("The file no longer exists; this is the text that was ingested.")
    elif not place.file_same:
        show("The file has changed; this is the text that was ingested. `kb ingest` reads it again.")
    show()
    show(numbered(place.lines))
