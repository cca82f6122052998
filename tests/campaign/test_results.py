"""The statistics of a campaign: three readings of a speed-up, losses and refusals as they are."""

from math import sqrt
from pathlib import Path

import pytest

from benchmarks.campaign import table, with_table
from kb.campaign.results import Result, best_baselines, comparisons, result_of, summaries
from kb.types.evidence import Grade
from tests.web.fakes import whole_run


def row(task: str, speedup: float | None = None, *, won: bool = True, arm: str = "kb", **more: object) -> Result:
    fields = {"group": "level1", "task": task, "precision": "default", "target": "h200", "arm": arm, "run": "r"}
    judged = {"correct": speedup is not None, "won": won and speedup is not None, "speedup": speedup}
    return Result(**fields | judged | more)


def test_a_speed_up_has_three_readings() -> None:
    rows = [row("a", 2.0), row("b", 0.5, won=False), row("c", refused={"incorrect": 3}), row("d", run="")]
    (one,) = summaries(rows)

    assert (one.begun, one.tasks, one.refused) == (3, 4, {"incorrect": 3})
    assert one.as_it_is
    assert (one.as_it_is.value, one.as_it_is.tasks) == (pytest.approx(1.0), 2)
    assert one.with_losses
    assert (one.with_losses.value, one.with_losses.tasks) == (pytest.approx(2 ** (1 / 3)), 3)
    assert one.wins
    assert (one.wins.value, one.wins.tasks) == (pytest.approx(2.0), 1)
    assert one.fast_1
    assert one.fast_1.value == pytest.approx(1 / 3)
    assert one.correct
    assert one.correct.value == pytest.approx(2 / 3)


def test_where_nothing_times_the_target_there_is_no_speed_up() -> None:
    rows = [row("a", correct=True, grade=Grade.COMPILED), row("b", refused={"incorrect": 3})]
    (one,) = summaries(rows)

    assert (one.as_it_is, one.with_losses, one.wins, one.fast_1) == (None, None, None, None)
    assert one.correct
    assert one.correct.value == pytest.approx(1 / 2)


def test_levels_precisions_targets_and_arms_stand_apart() -> None:
    rows = [row("a"), row("a", group="level2"), row("a", precision="ieee"), row("a", target="b200"), row("a", arm="x")]

    assert len(summaries(rows)) == 5


def test_an_interval_holds_the_mean() -> None:
    (one,) = summaries([row(str(n), 1.0 + n / 10) for n in range(10)])

    assert one.wins
    assert one.wins.low < one.wins.value < one.wins.high


def test_arms_are_compared_task_by_task() -> None:
    rows = [row("a", 2.0, first_win=1), row("b", 4.0), row("c", 9.0)]
    rows += [
        row("a", 1.0, arm="alone", first_win=3),
        row("b", 2.0, arm="alone", won=False),
        row("c", arm="alone", run=""),
    ]
    (one,) = comparisons(rows)

    assert (one.arm, one.over, one.first_win) == ("kb", "alone", (1, 3))
    assert (one.speedup.value, one.speedup.tasks) == (pytest.approx(sqrt(8)), 2), "a loss counts 1.0"


@pytest.mark.parametrize(
    ("share", "won", "speedup", "first_win"),
    [(1.0, True, 2.5, 1), (0.97, True, 2.5, 1), (0.5, True, 1.25, 2), (0.2, False, 0.5, None)],
    ids=["no other is faster", "within the luck of processes", "the first kernel won over bad luck", "no win is left"],
)
def test_a_speed_up_is_over_the_best_baseline_that_any_run_of_the_task_had(
    home: Path, share: float, won: bool, speedup: float, first_win: int | None
) -> None:
    run = whole_run(home)
    best = {key: share * own for key, own in best_baselines([run]).items()}
    found = result_of(run, best=best)

    assert (found.won, found.speedup, found.first_win) == (won, pytest.approx(speedup), first_win)
    other = {(digest, target, "another machine"): own for (digest, target, _), own in best.items()}
    assert result_of(run, best=other) == result_of(run)


def test_a_row_follows_from_a_journal(home: Path) -> None:
    one = result_of(whole_run(home), "level1", "kb")

    assert (one.judged, one.refused, one.speedup, one.roof, one.first_win) == (4, {"incorrect": 1}, 2.5, 0.5, 1)
    assert (one.won, one.tokens > 0, one.state) == (True, True, "2 kernels in a row brought no gain")
    assert one.models[0] == "maker/model-2026-10-01"


def test_a_table_replaces_the_one_of_a_page() -> None:
    text = table(summaries([row("a", 2.0), row("b", 1.5)]))
    page = with_table("A.\n<!-- campaign c -->\nold\n<!-- end -->\nB.\n", "c", text)

    assert "old" not in page
    assert "| level1 | default | h200 | kb | 2 | 1.73 (1.50 to 2.00; 2) |" in page
    with pytest.raises(ValueError, match="the page has no lines"):
        with_table("A.\n", "c", text)
