"""Shows the closing report of `kb ingest`."""

import shlex
from collections import defaultdict

from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table
from kb.types.documents import FileReport, IngestReport

NAMES_SHOWN = 6
"""Most files to name for one reason; `--json` lists all."""


def show_report(report: IngestReport) -> None:
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


def _show_targets(report: IngestReport) -> None:
    """Show which targets are new and which names they may have, with the commands that change it."""
    for new in report.new_targets:
        named = f", named by {new.folder}" if new.folder else ""
        similar = f"; similar names: {', '.join(new.similar)}" if new.similar else ""
        show_wrapped(f"new target: {new.name}, child of {new.parent}{named}{similar}")
    if report.new_targets:
        show("  another chip? kb ingest PATH --target NAME; another family? kb targets move NAME PARENT")
        show("  a slip? kb targets remove NAME")
    for one in report.shared[:NAMES_SHOWN]:
        command = f"kb ingest {shlex.quote(one.folder)} --target NAME --parent {one.parent}"
        show_wrapped(f"{one.folder} belongs to {one.target}; if it is about another chip: {command}")
    if len(report.shared) > NAMES_SHOWN:
        show(f"and {len(report.shared) - NAMES_SHOWN} more such folders (--json lists all)")
    for offer in report.aliases:
        command = f"kb targets alias {offer.target} {shlex.quote(offer.alias)}"
        show_wrapped(f"{offer.titles} titles of {offer.target} name {offer.alias!r}; if it is the same: {command}")


def _show_reasons(outcome: str, report: IngestReport) -> None:
    reasons: dict[str, list[str]] = defaultdict(list)
    for file in report.files:
        if file.outcome == outcome:
            reasons[file.reason].append(file.path)
    for reason, paths in sorted(reasons.items()):
        show(f"{outcome}: {reason}: {len(paths)}")
        for path in paths[:NAMES_SHOWN]:
            show(f"  {path}")
        if len(paths) > NAMES_SHOWN:
            show(f"  and {len(paths) - NAMES_SHOWN} more (--json lists all)")
