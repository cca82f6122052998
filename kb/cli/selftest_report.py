"""Shows the self-test of the judge in a terminal."""

from statistics import median

from kb.bench.selftest import Same, SelfTest, Verdict
from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table


def show_verdict(found: Verdict | Same) -> None:
    """Show one verdict in the moment when it is known."""
    if isinstance(found, Same):
        middle = f", median speed-up {median(found.speedups):.3f}" if found.speedups else ""
        show_wrapped(
            f"{found.task} against itself: {found.won} of {found.sessions} sessions won, {found.busy} on a busy"
            f" machine{middle}"
        )
        return
    outcome = found.outcome or f"no verdict: {found.detail}"
    other = "" if found.outcome in found.wanted else f", not {' or '.join(found.wanted)}"
    mark = "WRONG " if found.failed else ""
    show_wrapped(f"{mark}{found.kind} {found.file} on {found.task}: {outcome}{other} ({found.seconds:.1f} s)")


def show_self_test(found: SelfTest) -> None:
    show()
    rows = [
        (rate.what, f"{rate.count} of {rate.of}", f"{rate.interval[0]:.3f} to {rate.interval[1]:.3f}")
        for rate in found.rates
    ]
    show_table(("what", "count", "95 % interval of the rate"), rows)
    for reason in found.left_out:
        show_wrapped(f"not tried: {reason}")
    for verdict in found.failed:
        show_wrapped(f"WRONG: {verdict.kind} {verdict.file}: {verdict.outcome or 'no verdict'}: {verdict.detail}")
    versions = "; ".join(f"{name} {value}" for name, value in found.environment.items())
    show_wrapped(f"{found.target}, {found.seconds:,.0f} s; {versions}")
