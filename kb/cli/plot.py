"""Writes the progress of runs as a picture."""

from collections.abc import Sequence
from pathlib import Path

from kb.errors import RunError
from kb.views.progress import progress
from kb.views.runs import RunView
from kb.web.progress import figure_of


def draw(runs: Sequence[RunView], path: Path) -> None:
    """Draw `figure_of` these runs as a PNG.

    Raises:
        RunError: matplotlib is not installed, or the file cannot be written.
    """
    figure = figure_of([progress(run) for run in runs])
    try:
        figure.savefig(path, format="png", dpi=120)
    except OSError as error:
        raise RunError(f"cannot write the plot: {error}", hint="name a file in a folder that you can write") from error
