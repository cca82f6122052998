"""Draws the progress of runs."""

from collections.abc import Sequence
from io import StringIO
from math import inf
from typing import TYPE_CHECKING, Any

from kb.errors import RunError
from kb.views.progress import Progress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDE = 10.0
"""Ratio of the longest to the shortest time from which on the axis is logarithmic."""
INK, ACCENT = "#010203", "#010204"
"""Colours that stand for those of the page."""


def figure_of(curves: Sequence[Progress]) -> "Figure":
    """The time of each judged candidate, with its interval, of the best so far, of the baseline and of the roof.

    Raises:
        RunError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator, NullFormatter, StrMethodFormatter
    except ImportError as error:
        raise _missing() from error
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    shown: list[float] = []
    for curve in curves:
        timed = [(number, time) for number, time in enumerate(curve.times, start=1) if time]
        refused = [number for number, time in enumerate(curve.times, start=1) if not time]
        steps = [(number, time) for number, time in enumerate(curve.best_us, start=1) if time < inf]
        (line,) = axes.step([n for n, _ in steps], [time for _, time in steps], where="post", label=curve.label)
        color = line.get_color()
        axes.errorbar(
            [number for number, _ in timed],
            [time.value for _, time in timed],
            yerr=[[time.value - time.low for _, time in timed], [time.high - time.value for _, time in timed]],
            fmt="o", markersize=4, capsize=3, color=color,
        )  # fmt: skip
        axes.plot(
            refused, [1.03] * len(refused), "x", color=color, transform=axes.get_xaxis_transform(),
            clip_on=False, label="refused, or no time counts" if refused else None,
        )  # fmt: skip
        shown += [time.value for _, time in timed]
        limits = (
            (curve.baseline_us, ":", f"{curve.baseline}, beside its best"),
            (curve.roof_us, "--", "the roof, from the chip's cited rates"),
        )
        for time_us, style, label in limits:
            if time_us:
                axes.axhline(time_us, color=color, linestyle=style, linewidth=1, label=label)
                shown.append(time_us)
    if shown and max(shown) > WIDE * min(shown):
        axes.set_yscale("log")
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        axes.set_ylim(bottom=0)
    axes.set_xlabel("number of the candidate")
    axes.set_ylabel("time of one call in us; less is better")
    axes.set_xlim(0.5, max(1, *(len(curve.times) for curve in curves)) + 0.5)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:,.7g}"))
    figure.legend(loc="outside upper left", ncols=2, fontsize="small")
    return figure


def svg_of(curve: Progress) -> str:
    """The figure of one run as an SVG element in the colours of the page that it is in; empty if nothing was timed.

    Raises: As `figure_of`.
    """
    if not any(curve.times):
        return ""
    try:
        from matplotlib import rc_context
    except ImportError as error:
        raise _missing() from error
    curve = curve.model_copy(update={"label": "best so far"})
    inks = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    style: Any = dict.fromkeys(inks, INK) | {
        "axes.prop_cycle": f"cycler('color', ['{ACCENT}'])",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "legend.frameon": False,
        "text.parse_math": False,
        "svg.fonttype": "none",  # letters stay letters
        "svg.hashsalt": "kb",  # the same run gives the same bytes
    }
    text = StringIO()
    with rc_context(style):
        metadata = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure_of([curve]).savefig(text, format="svg", transparent=True, metadata=metadata)
    svg = text.getvalue()
    return svg[svg.index("<svg") :].replace(INK, "currentColor").replace(ACCENT, "var(--accent)")


def _missing() -> RunError:
    message = "no plot was drawn: matplotlib is not installed"
    return RunError(message, hint="`pip install 'kb-hardware[plot]'` installs it")
