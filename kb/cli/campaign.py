"""The command `kb campaign`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.interrupts import interruptible
from kb.cli.output import Json, Pool, counted, open_kb, print_json, show, show_wrapped

if TYPE_CHECKING:
    from kb.campaign.drive import CampaignReport
    from kb.campaign.results import Mean, Result


def campaign(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A TOML file; docs/campaigns.md says what is in it.")],
    force: Annotated[
        bool, typer.Option("--force", help="Go on although the file or a task has changed since it began.")
    ] = False,
    pool: Pool = "",
    as_json: Json = False,
) -> None:
    """Optimise many tasks with one budget.

    Each task, target and arm is a run. Every run first gets the same share of the budget; what runs leave goes to those
    with the most headroom. After a kill or Ctrl-C the same command goes on; only requests under way are made again.

    Example: kb campaign campaign.toml
    """
    from kb.campaign.drive import report, run_campaign
    from kb.campaign.file import read_campaign

    said = read_campaign(file)
    with open_kb() as kb, interruptible():
        try:
            told = (lambda result: None) if as_json else _show_row
            then = run_campaign(kb, said, batches=file.absolute().parent, pool=pool, force=force, on_result=told)
        except KeyboardInterrupt:
            show_campaign(report(kb, said), rows=False)
            show("stopped; the same command goes on")
            raise
        found = report(kb, said)
    if as_json:
        print_json(found)
    else:
        show_campaign(found, rows=False)
        show_wrapped(then or f"done; `kb report {found.name}` writes the table as a page")


def _show_row(one: "Result") -> None:
    gain = f"{one.speedup:5.2f}x ({one.low:.2f} to {one.high:.2f})" if one.speedup else "-"
    roof = f", {one.roof:.0%} of the roof" if one.roof else ""
    won = "a win" if one.won else "none correct" if not one.grade else f"no win ({one.grade})"
    name = f"{one.group}/{one.task} {one.target} {one.arm}"
    show_wrapped(f"{name:<40} {gain:<22} {won}{roof}, {one.judged} judged, {one.tokens:,} tokens: {one.state}")


def show_campaign(found: "CampaignReport", *, rows: bool = True) -> None:
    """Show the rows of all runs, and the table."""
    from kb.cli.table import show_table

    for one in found.results if rows else ():
        _show_row(one)
    show(f"\n{found.name}: speed-up over the best of eager, compile and max-autotune, 95 % intervals over tasks")
    head = (
        "group",
        "precision",
        "target",
        "arm",
        "tasks",
        "best correct",
        "a loss is 1.0",
        "wins",
        "fast_1",
        "correct",
    )
    table = [
        (s.group, s.precision, s.target, s.arm, f"{s.begun} of {s.tasks}", _mean(s.as_it_is), _mean(s.with_losses),
         _mean(s.wins), _share(s.fast_1), _share(s.correct))
        for s in found.summaries
    ]  # fmt: skip
    show_table(head, table)
    for s in found.summaries:
        reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in s.refused.items())
        paid = f"${s.dollars:.2f}, " if s.dollars else ""
        roof = f"; mean share of the roof {s.roof.value:.0%} of {counted(s.roof.tasks, 'tasks')}" if s.roof else ""
        show_wrapped(
            f"{s.group}, {s.arm}: {s.judged} judged, refused: {reasons or 'none'}; {s.tokens:,} tokens, {paid}"
            f"{s.minutes:.1f} minutes of the judge{roof}"
        )
    for c in found.comparisons:
        wins = f"; first win at candidate {c.first_win[0]:.1f} and {c.first_win[1]:.1f}" if c.first_win else ""
        show_wrapped(f"{c.arm} over {c.over}: {_mean(c.speedup)}{wins}")


def _mean(mean: "Mean | None") -> str:
    return f"{_share(mean)} n={mean.tasks}" if mean else "-"


def _share(mean: "Mean | None") -> str:
    interval = f" ({mean.low:.2f}-{mean.high:.2f})" if mean and mean.tasks > 1 else ""
    return f"{mean.value:.2f}{interval}" if mean else "-"
