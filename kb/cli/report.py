"""The command `kb report`."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.interrupts import interruptible
from kb.cli.output import Json, notify, open_kb, print_json
from kb.errors import RunError

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

LOOK_S = 2.0
"""Time between two looks at the journal of a run that goes on."""


def report(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN|CAMPAIGN", help="The id of a run, or the beginning or the end of it; or a campaign."
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="FILE.html or FILE.md (default: RUN.html).")
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Write it again as the run goes on, until it ends.")] = False,
    as_json: Json = False,
) -> None:
    """Write a run, or the table of a campaign, as one file.

    The page holds the curve, a table of all candidates, the code, prompt and verdict of each, what was refused and why,
    what was cited with its text, the skills, the cost and the machine. It needs no network. As Markdown it is short,
    with the diff of the best kernel for a pull request. A run that goes on or was killed has a report, too.

    Private documents are not quoted.

    Example: kb report 3f9c --output report.html
    """
    from kb.runs.journal import JOURNAL
    from kb.views.report import report as report_of

    with open_kb() as kb:
        if _is_campaign(kb, name, output, as_json=as_json):
            return
        run = kb.runs.get(name)
        if as_json:
            print_json(report_of(kb, run))
            return
        path, journal = output or Path(f"{run.id}.html"), run.folder / JOURNAL
        changed = journal.stat().st_mtime_ns
        ended = _write(kb, run.id, path)
        notify(f"written: {path}")
        with interruptible():
            while watch and not ended:
                time.sleep(LOOK_S)
                if (now := journal.stat().st_mtime_ns) != changed:
                    changed, ended = now, _write(kb, run.id, path)


def _is_campaign(kb: "KnowledgeBase", name: str, output: Path | None, *, as_json: bool) -> bool:
    """Whether `name` is a campaign, whose table is then printed or written."""
    from kb.campaign.drive import report as report_of
    from kb.campaign.drive import stored
    from kb.web.report import campaign_page

    if (found := stored(kb, name)) is None:
        return False
    table, path = report_of(kb, found), output or Path(f"{name}.html")
    if as_json:
        print_json(table)
        return True
    if path.suffix != ".html":
        raise RunError("the report of a campaign is a page", hint="name a .html file, or give --json")
    _save(path, campaign_page(table))
    notify(f"written: {path}")
    return True


def _save(path: Path, text: str) -> None:
    from kb.storage import write_whole

    try:
        write_whole(path, text)
    except OSError as error:
        raise RunError(f"cannot write {path}: {error}", hint="name a file in a folder that you can write") from error


def _write(kb: "KnowledgeBase", run: str, path: Path) -> bool:
    """Write the report; returns whether the run has ended. Raises RunError if that is not possible."""
    from kb.views.report import report as report_of
    from kb.web.report import markdown, page

    forms = {".html": page, ".md": markdown}
    if path.suffix not in forms:
        raise RunError(f"a report is no {path.suffix or 'file without a suffix'}", hint="name a .html or a .md file")
    found = report_of(kb, kb.runs.get(run))
    _save(path, forms[path.suffix](found))
    return bool(found.ended)
