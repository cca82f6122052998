"""Shows the judge's evidence and rooflines in a terminal."""

from eval.roofline import Roofline
from kb.cli.output import show, show_wrapped
from kb.cli.table import show_table
from kb.types.evidence import Evidence, Grade, KernelScreen, Timing

MARKS = {"ok": "ok", "over": "OVER", "warn": "warn", "unknown": "?"}

_WHERE: dict[Grade | None, str] = {Grade.COMPILED: " in Triton's interpreter", Grade.SIMULATED: " in the simulator"}


def show_evidence(evidence: Evidence) -> None:
    show_wrapped(headline(evidence))
    if evidence.cases:
        worst = max((c.error_ratio or 0.0 for c in evidence.cases), default=0.0)
        where = _WHERE.get(evidence.grade, "") if not evidence.timing else ""
        show_wrapped(f"correct in {len(evidence.cases)} cases{where}; largest error {worst:.2g} of the limit", "  ")
    if evidence.timing:
        _show_timing(evidence.timing)
    if evidence.bottleneck:
        cited = " ".join(f"[kb cite {id_}]" for id_ in evidence.bottleneck.citations)
        show_wrapped(f"{evidence.bottleneck} {cited}", "  ")
    for kernel in evidence.profile.kernels if evidence.profile else ():
        show_wrapped(str(kernel), "  ")
    if evidence.passed and evidence.detail:
        show_wrapped(evidence.detail, "  ")
    for screen in evidence.screen:
        _show_screen(screen)
    if not evidence.passed and evidence.log:
        show("  it printed:")
        for line in evidence.log.splitlines()[-10:]:
            show(f"    {line}")
    versions = "; ".join(f"{name} {value}" for name, value in evidence.environment.items())
    show_wrapped(f"sandbox level {evidence.sandbox_level}; {versions}", "  ")


def headline(evidence: Evidence) -> str:
    """The outcome of the candidate and the reason, in one line."""
    about = f"{evidence.task} on {evidence.target}"
    if evidence.grade is Grade.COMPILED and not evidence.cases:
        return f"built: {about}: it compiles for it; nothing ran it, so whether it is correct is unknown"
    if evidence.grade is Grade.SIMULATED:
        return f"passed: {about}: correct in a simulator; its speed on the chip is unknown"
    if evidence.grade is Grade.COMPILED:
        return f"passed: {about}: correct, and compiles for it; it did not run there, so its speed is unknown"
    if evidence.grade is Grade.MEASURED:
        if evidence.speedup is None:
            return f"passed: {about}: correct; its speed is unknown, because the machine was busy"
        verdict = "a win" if evidence.won else "not shown to be faster"
        return f"passed: {about}: {evidence.speedup:.2f}x the best baseline, {verdict}"
    return f"{evidence.outcome}: {about}: {evidence.detail}"


def _show_timing(timing: Timing) -> None:
    if timing.busy:
        return
    others = ", ".join(f"{name} {us:,.0f} us" for name, us in timing.baselines_us.items())
    show(f"  candidate {timing.candidate_us:,.1f} us, {timing.baseline} {timing.baseline_us:,.1f} us")
    show_wrapped(f"baselines tried: {others}", "  ")
    if timing.memory_bytes:
        mine, theirs = (f"{count / 1e6:,.0f} MB" for count in (timing.memory_bytes, timing.baseline_memory_bytes))
        show_wrapped(f"memory: candidate {mine}, {timing.baseline} {theirs}, with all that each process loads", "  ")
    show("  sessions, each in a fresh process:")
    rows = [
        (str(len(s.candidate_us)), f"{s.speedup:.2f}x", f"{s.low:.2f} to {s.high:.2f}", f"{s.others:.0%}")
        for s in timing.sessions
    ]
    show_table(("rounds", "speed-up", "95 % interval", "machine used by others"), rows, wrap={3}, indent=4)


def _show_screen(screen: KernelScreen) -> None:
    occupancy = "unknown" if screen.occupancy is None else str(screen.occupancy)
    show_wrapped(
        f"kernel {screen.kernel} for {screen.isa}: {screen.warps}, {screen.registers} registers,"
        f" {screen.spills} spilled, {screen.scratchpad_bytes:,} B scratchpad, occupancy {occupancy}",
        "  ",
    )
    for name, found in (("matrix", screen.matrix_instructions), ("memory", screen.memory_instructions)):
        if found:
            show_wrapped(", ".join(f"{count} {instruction}" for instruction, count in found.items()), f"    {name}: ")
    rows = [(MARKS[f.state], f.message, f"[kb cite {f.citation}]" if f.citation else "") for f in screen.findings]
    show_table((), rows, wrap={1}, indent=4)


def show_roofline(found: Roofline) -> None:
    """Show the bounds on a task's time, longest first."""
    rows = [(c.what, *str(c).split(": ", 1), c.fact.citation.id, c.fact.citation.place) for c in found.ceilings]
    show_table(("bound", "time", "work and rate", "id", "stated in"), rows, wrap={2}, cut_front={4})
