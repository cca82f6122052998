"""The command `kb ingest`."""

import shlex
from collections import Counter, defaultdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, named, open_kb, show, show_result, show_wrapped
from kb.errors import SourceError
from kb.types.records import Trust

if TYPE_CHECKING:
    from kb.types.documents import FileReport, IngestReport

NAMES_SHOWN = 6
"""Most files to name for one reason; `--json` lists all."""


def ingest(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH...", help="Files, folders and archives. Folder names tell the target.")
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
    private: Annotated[
        bool | None,
        typer.Option(
            "--private/--public",
            help="Whether the documents must not leave your machines: no hosted author gets them (default: unchanged).",
        ),
    ] = None,
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
    from kb.cli.interrupts import interruptible
    from kb.types.documents import IngestInterrupted

    with interruptible(), open_kb() as kb:
        try:
            with ingest_progress(quiet=as_json) as progress:
                report = kb.ingest(
                    paths, target=target, parent=parent, trust=trust, private=private, hidden=hidden, unknown=unknown,
                    exclude=exclude or (), dry_run=dry_run, progress=progress,
                )  # fmt: skip
        except IngestInterrupted as interrupt:
            show_result(interrupt.report, _show_report, as_json=as_json)
            raise
    show_result(report, _show_report, as_json=as_json)
    if failed := report.count("failed"):
        raise SourceError(
            f"{failed} of {len(report.files)} files could not be read",
            hint="the report names each of them; all others were read",
        )


def _show_report(report: "IngestReport") -> None:
    from kb.cli.table import show_table

    _show_targets(report)
    by_target: dict[str, list[FileReport]] = defaultdict(list)
    for file in report.files:
        if file.target:
            by_target[file.target].append(file)
    outcomes = [o for o in ("new", "changed", "unchanged", "moved", "removed", "failed") if report.count(o)]
    rows = [
        (
            target,
            *(str(sum(f.outcome == o for f in files)) for o in outcomes),
            *(str(sum(getattr(f, n) for f in files)) for n in ("chunks", "facts")),
        )
        for target, files in sorted(by_target.items())
    ]
    show_table(("target", *outcomes, "passages", "facts"), rows)
    if code := sum(file.chunks for file in report.files if file.format == "code"):
        show(f"{code:,} of the passages come from source code")
    _show_reasons("failed", report)
    _show_reasons("skipped", report)
    if warned := [f for f in report.files if f.warnings]:
        show(f"warnings: {sum(len(f.warnings) for f in warned)} in {len(warned)} documents (--json lists all)")
        for file in warned[:NAMES_SHOWN]:
            show_wrapped(f"{file.path}: {file.warnings[0].splitlines()[0]}", "  ")
    verb = "would be read" if report.dry_run else "read"
    read = report.count("new") + report.count("changed")
    embedded = f", {report.embedded} passages embedded in {report.embedding_seconds:.1f} s" if report.embedded else ""
    skipped = report.count("skipped")
    show(f"{read} documents {verb} in {report.reading_seconds:.1f} s{embedded}, {skipped} files skipped")
    if report.interrupted:
        show_wrapped(
            f"interrupted: {report.unread} files are not read yet, {report.unembedded} passages have no vector yet "
            "(words find them); the same command goes on"
        )


def _show_targets(report: "IngestReport") -> None:
    """Show which targets are new and what may be one, with the commands that change it."""
    for new in report.new_targets:
        folder = f", named by {new.folder}" if new.folder else ""
        similar = f"; similar names: {', '.join(new.similar)}" if new.similar else ""
        show_wrapped(f"new target: {new.name}, child of {new.parent}{folder}{similar}")
        if new.family:
            show_wrapped(f"  its documents name {new.family}: if it is one, kb targets move {new.name} {new.family}")
    if report.new_targets:
        show("  another chip? kb ingest PATH --target NAME; another family? kb targets move NAME PARENT")
        show("  a slip? kb targets remove NAME")
    parents = Counter(new.parent for new in report.new_targets if new.folder)
    for new in report.new_targets:
        if parents[new.name] > 1:
            show_wrapped(f"  is {new.name} one chip? kb ingest {shlex.quote(new.folder)} --target {new.name}")
    for (target, parent), of in groupby(report.shared, key=lambda one: (one.target, one.parent)):
        folders = ", ".join(named([shlex.quote(one.folder) for one in of], NAMES_SHOWN))
        command = f"kb ingest FOLDER --target NAME --parent {parent}"
        show_wrapped(f"if one of these folders of {target} is about another chip, {command}: {folders}")


def _show_reasons(outcome: str, report: "IngestReport") -> None:
    reasons: dict[str, list[str]] = defaultdict(list)
    for file in report.files:
        if file.outcome == outcome:
            reasons[file.reason].append(file.path)
    for reason, paths in sorted(reasons.items()):
        show(f"{outcome}: {reason}: {len(paths)}")
        for line in named(paths, NAMES_SHOWN):
            show(f"  {line}")
