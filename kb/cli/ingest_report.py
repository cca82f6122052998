"""Progress and closing report of `kb ingest`."""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kb.cli.output import show
from kb.model.documents import FileReport, IngestReport

NAMES_SHOWN = 6
"""Of the files behind one reason; `--json` lists all."""


@contextmanager
def progress_bar(*, quiet: bool) -> Iterator[Callable[[FileReport, int, int], None]]:
    """A bar on the error stream while it is a terminal; nothing otherwise."""
    if quiet or not sys.stderr.isatty():
        yield lambda report, done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)

        def advance(report: FileReport, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=report.path.rpartition("/")[2][-32:].rjust(32))

        yield advance


def show_report(report: IngestReport) -> None:
    for name in report.new_targets:
        show(f"new target: {name}, under 'any' (targets.toml in the home gives it a parent; --target names another)")
    by_target: dict[str, list[FileReport]] = defaultdict(list)
    for file in report.files:
        if file.target:
            by_target[file.target].append(file)
    for target, files in sorted(by_target.items()):
        outcomes = ("new", "changed", "unchanged", "removed", "failed")
        counts = [f"{n} {o}" for o in outcomes if (n := sum(f.outcome == o for f in files))]
        passages, facts = sum(f.chunks for f in files), sum(f.facts for f in files)
        show(f"{target}: {', '.join(counts)}; {passages} passages, {facts} facts")
    _show_reasons("failed", report)
    _show_reasons("skipped", report)
    warned = [f for f in report.files if f.warnings]
    if warned:
        show(f"warnings: {sum(len(f.warnings) for f in warned)} in {len(warned)} documents (--json lists all)")
        for file in warned[:NAMES_SHOWN]:
            show(f"  {file.path}: {file.warnings[0].splitlines()[0]}")
    verb = "would be read" if report.dry_run else "read"
    read = report.count("new") + report.count("changed")
    show(f"{read} documents {verb} in {report.seconds:.1f} s, {report.count('skipped')} files skipped")


def _show_reasons(outcome: str, report: IngestReport) -> None:
    reasons: dict[str, list[str]] = defaultdict(list)
    for file in report.files:
        if file.outcome == outcome:
            reasons[file.reason].append(file.path)
    for reason, paths in sorted(reasons.items()):
        more = f" and {len(paths) - NAMES_SHOWN} more" if len(paths) > NAMES_SHOWN else ""
        show(f"{outcome}: {reason}: {len(paths)}")
        for path in paths[:NAMES_SHOWN]:
            show(f"  {path}")
        if more:
            show(f" {more} (--json lists all)")
