"""Shows verdicts and rooflines in a terminal."""

from collections.abc import Sequence

from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table
from kb.types.evidence import Grade, KernelScreen
from kb.types.timing import Timing
from kb.views.verdicts import Estimate, RooflineView, Verdict, WorkloadTime

MARKS = {"ok": "ok", "over": "OVER", "warn": "warn", "unknown": "?"}

_WHERE: dict[Grade | None, str] = {Grade.COMPILED: " in Triton's interpreter", Grade.SIMULATED: " in the simulator"}


def show_verdict(verdict: Verdict) -> None:
    evidence = verdict.evidence
    show_wrapped(verdict.summary)
    if evidence.cases:
        worst = max((c.error_ratio or 0.0 for c in evidence.cases), default=0.0)
        where = _WHERE.get(evidence.grade, "") if not evidence.timing else ""
        about = f"correct in {len(evidence.cases)} cases{where}, in precision {evidence.precision}"
        show_wrapped(f"{about}; largest error {worst:.2g} of the limit", "  ")
    if verdict.workloads and verdict.time_us:
        _show_workloads(verdict.time_us, verdict.workloads)
    elif evidence.timing and verdict.time_us:
        _show_timing(verdict.time_us, evidence.timing)
    if evidence.bottleneck:
        cited = " ".join(f"[kb cite {id_}]" for id_ in evidence.bottleneck.citations)
        show_wrapped(f"{evidence.bottleneck} {cited}", "  ")
    if evidence.passed and evidence.detail:
        show_wrapped(evidence.detail, "  ")
    for screen in evidence.screen:
        _show_screen(screen)
    if not evidence.passed and evidence.log:
        show("  it printed:")
        for line in evidence.log.splitlines()[-10:]:
            show(f"    {line}")
    for sentence in verdict.advice:
        show_wrapped(sentence, "  ")
    if evidence.took:
        show(f"  {evidence.took}")
    versions = "; ".join(f"{name} {value}" for name, value in evidence.environment.items())
    show_wrapped(f"sandbox level {evidence.sandbox_level}; {versions}", "  ")


def interval(estimate: Estimate, digits: int = 1) -> str:
    return f"{estimate.low:,.{digits}f} to {estimate.high:,.{digits}f}"


def _show_timing(time_us: Estimate, timing: Timing) -> None:
    others = ", ".join(f"{name} {us:,.0f} us" for name, us in timing.baselines_us.items())
    show(f"  candidate {time_us.value:,.1f} us ({interval(time_us)}), {timing.baseline} {timing.baseline_us:,.1f} us")
    show_wrapped(f"baselines tried: {others}", "  ")
    if timing.memory_bytes:
        own, fastest = (f"{count / 1e6:,.0f} MB" for count in (timing.memory_bytes, timing.baseline_memory_bytes))
        show_wrapped(f"memory: candidate {own}, {timing.baseline} {fastest}, with all that each process loads", "  ")
    show("  sessions, each in a fresh process:")
    rows = [
        (str(len(s.candidate_us)), f"{s.speedup:.2f}x", f"{s.low:.2f} to {s.high:.2f}", f"{s.others:.0%}")
        for s in timing.sessions
    ]
    show_table(("rounds", "speed-up", "95 % interval", "machine used by others"), rows, wrap={3}, indent=4)


def _show_workloads(time_us: Estimate, workloads: Sequence[WorkloadTime]) -> None:
    show(
        f"  candidate {time_us.value:,.1f} us ({interval(time_us)}), a geometric mean over {len(workloads)} workloads:"
    )
    rows = [
        (
            each.workload,
            f"{each.candidate_us:,.1f}",
            f"{each.baseline_us:,.1f} {each.baseline}",
            f"{each.speedup.value:.2f}x",
            interval(each.speedup, 2),
        )
        for each in workloads
    ]
    show_table(("workload", "us", "best baseline", "speed-up", "95 % interval"), rows, wrap={0}, indent=4)


def _show_screen(screen: KernelScreen) -> None:
    show_wrapped(f"kernel {screen}", "  ")
    for name, found in (("matrix", screen.matrix_instructions), ("memory", screen.memory_instructions)):
        if found:
            show_wrapped(", ".join(f"{count} {instruction}" for instruction, count in found.items()), f"    {name}: ")
    rows = [(MARKS[f.state], f.message, f"[kb cite {f.citation}]" if f.citation else "") for f in screen.findings]
    show_table((), rows, wrap={1}, indent=4)


def show_roofline(found: RooflineView) -> None:
    """Show the bounds on a task's time, longest first."""
    show(f"{found.task} on {found.target}: at best {found.time_us:,.1f} us")
    rows = [(b.limit, f"{b.time_us:,.1f} us", b.work, b.id, b.place) for b in found.bounds]
    show_table(("bound", "time", "work and rate", "id", "stated in"), rows, wrap={2}, cut_front={4})
    for reason in found.unknown:
        show(f"another bound is unknown: {reason}")
