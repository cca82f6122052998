"""Shows the results of `kb bench skills` in a terminal."""

from kb.bench.skill_scores import Trial
from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table
from kb.types.skills_report import Arm, ArmScore, Interval, SkillsReport


def show_trial(trial: Trial) -> None:
    """Show one run in the moment when it is done."""
    speedups = [f"{step.speedup:.2f}" if step.speedup else "-" for step in trial.steps]
    show_wrapped(" ".join(speedups), f"{trial.task}, seed {trial.seed}, {trial.arm}, {trial.skills} skills: ")


def show_skills_report(report: SkillsReport) -> None:
    show()
    rows = [
        (task.task, f"{task.best:.2f}", f"{task.room:.2f}", *(f"{task.evaluations[arm]:.1f}" for arm in Arm))
        for task in report.tasks
    ]
    show_table(("task", "best", "room", *Arm), rows, wrap={0})
    show_wrapped(
        "best: largest speed-up seen; room: the same over the first kernel of a cold run; then mean evaluations"
    )
    show()
    scores = [*report.arms, *([report.replay] if report.replay else [])]
    show_table(
        ("arm", "evals", "seconds", "near", "first", "fewer evals", "fewer seconds"),
        list(map(_row, scores)),
    )
    show_wrapped(
        f"Until a kernel is near the best known one, of {report.evaluations} evaluations, with 95 % intervals over "
        "tasks and seeds; near: share of runs that came near; first: speed-up of the first kernel as a share of the "
        "best; fewer: how many times as many the cold run needed. The replay tests only the cache."
    )
    show()
    moments = sorted({1, (report.evaluations + 1) // 2, report.evaluations})
    rows = [(s.arm, *(_percent(s.gains[moment - 1]) for moment in moments)) for s in scores]
    show_table(("arm", *(f"after {moment}" for moment in moments)), rows)
    show_wrapped(
        "After so many evaluations: the best speed-up so far minus that of the cold run, as a share of the best known "
        "speed-up"
    )
    if report.nothing_to_win:
        show_wrapped(f"no kernel won, so not counted: {', '.join(report.nothing_to_win)}")
    if report.unfinished:
        show_wrapped(f"{report.unfinished} runs are missing: repeat the command with the same --verdicts to go on")


def _row(score: ArmScore) -> tuple[str, ...]:
    return (
        score.arm,
        _figure(score.evaluations, 1),
        _figure(score.seconds, 0),
        f"{score.near:.0%}",
        _figure(score.first, 2),
        _figure(score.fewer_evaluations, 2),
        _figure(score.fewer_seconds, 2),
    )


def _percent(found: Interval) -> str:
    return f"{found.mean:+.0%} ({found.low:+.0%} to {found.high:+.0%})"


def _figure(found: Interval, digits: int) -> str:
    return f"{found.mean:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"
