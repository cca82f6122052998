"""Shows the results of `kb bench kernelbench` in a terminal."""

from kb.bench.fast import Report
from kb.bench.kernelbench import Audited, Judged
from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table


def show_line(line: Audited | Judged) -> None:
    """Show one result in the moment when it is known."""
    if isinstance(line, Audited):
        sizes = f"sizes: {', '.join(line.audit.sizes)}" if line.audit.sizes else "no sizes to change"
        show_wrapped(f"{line.problem}: {line.audit.verdict}: {line.audit.reason or sizes}")
        return
    outcome = line.outcome or "no verdict"
    fast = (
        f" {line.speedup:.2f}x ({line.low:.2f} to {line.high:.2f})" if line.speedup and line.low and line.high else ""
    )
    times = ", ".join(f"{name} {us:,.0f} us" for name, us in line.baselines_us.items())
    show_wrapped(f"{line.problem}: {line.file}: {outcome}{fast}: {times or line.detail}")


def show_report(report: Report) -> None:
    show()
    show_wrapped("problems: " + ", ".join(f"{count} {verdict}" for verdict, count in report.audits.items()))
    if not report.fast:
        return
    show_wrapped("candidates: " + ", ".join(f"{count} {outcome}" for outcome, count in report.outcomes.items()))
    show_wrapped(
        f"of {report.problems} usable problems {report.correct} have a correct candidate,"
        f" {report.without_candidate} have none"
    )
    rows = [(f"fast_{f.speedup:g}", f"{f.share:.3f}", f"{f.low:.3f} to {f.high:.3f}") for f in report.fast]
    show_table(("measure", "value", "95 % interval"), rows, indent=2)
    score = "unknown, as no document states the rates" if report.light is None else f"{report.light:.3f}"
    show_wrapped(f"speed-of-light score: {score}; {report.below_floor} below the floor have none")
