"""Draws the progress of runs."""

from collections.abc import Sequence
from itertools import accumulate
from math import inf
from pathlib import Path

from kb.errors import RunError
from kb.views.runs import RunView

WIDE = 10.0
"""Ratio of the longest to the shortest time from which on the axis is logarithmic."""


def draw(runs: Sequence[RunView], path: Path) -> None:
    """Draw the time of each judged candidate, with its interval, and of the best so far, as a PNG.

    Raises:
        RunError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError as error:
        message = "no plot was drawn: matplotlib is not installed"
        raise RunError(message, hint="`pip install 'kb-hardware[plot]'` installs it") from error
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    shown: list[float] = []
    for run in runs:
        timed = [(a.number, a.verdict.time_us) for a in run.attempts if a.verdict.time_us]
        refused = [a.number for a in run.attempts if not a.verdict.time_us]
        best = [*accumulate((a.verdict.time_us.value if a.verdict.time_us else inf for a in run.attempts), min)]
        steps = [(number, time) for number, time in enumerate(best, start=1) if time < inf]
        (line,) = axes.step([n for n, _ in steps], [time for _, time in steps], where="post", label=run.id)
        color = line.get_color()
        axes.errorbar(
            [number for number, _ in timed],
            [time.value for _, time in timed],
            yerr=[[time.value - time.low for _, time in timed], [time.high - time.value for _, time in timed]],
            fmt="o", markersize=4, capsize=3, color=color,
        )  # fmt: skip
        axes.plot(refused, [0.02] * len(refused), "x", color=color, transform=axes.get_xaxis_transform())
        shown += [time.value for _, time in timed]
        if run.best_verdict and (timing := run.best_verdict.evidence.timing):
            label = f"{timing.baseline}, beside its best"
            axes.axhline(timing.baseline_us, color=color, linestyle=":", linewidth=1, label=label)
            shown.append(timing.baseline_us)
    if shown and max(shown) > WIDE * min(shown):
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("candidates judged (x: refused, or not timed)")
    axes.set_ylabel("time of one call in us; less is better")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize="small")
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise RunError(f"cannot write the plot: {error}", hint="name a file in a folder that you can write") from error
