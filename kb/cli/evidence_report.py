"""How the judge's evidence reads on a terminal."""

from kb.cli.output import show
from kb.model.evidence import MOST_OTHERS, Evidence, Grade, KernelScreen, Timing

MARKS = {"ok": "ok  ", "over": "OVER", "warn": "warn", "unknown": "?   "}


def show_evidence(evidence: Evidence) -> None:
    show(headline(evidence))
    if evidence.cases:
        worst = max((c.error_ratio or 0.0 for c in evidence.cases), default=0.0)
        where = "" if evidence.timing or not evidence.screen else " in Triton's interpreter"
        show(f"  right in {len(evidence.cases)} cases{where}; largest error {worst:.2g} of what is allowed")
    if evidence.timing:
        _show_timing(evidence.timing)
    if evidence.passed and evidence.detail:
        show(f"  {evidence.detail}")
    for screen in evidence.screen:
        _show_screen(screen)
    if not evidence.passed and evidence.log:
        show("  it printed:")
        for line in evidence.log.splitlines()[-10:]:
            show(f"    {line}")
    versions = "; ".join(f"{name} {value}" for name, value in evidence.environment.items())
    show(f"  sandbox level {evidence.sandbox_level}; {versions}")


def headline(evidence: Evidence) -> str:
    """One line: what became of the candidate and why."""
    about = f"{evidence.task} on {evidence.target}"
    if evidence.grade is Grade.COMPILED:
        return f"passed: {about}: right and compiles for it; nothing ran on it, so no speed is known"
    if evidence.grade is Grade.MEASURED:
        busy = evidence.timing is not None and evidence.timing.others > MOST_OTHERS
        verdict = "a win" if evidence.won else "no win: the machine was busy" if busy else "not shown to be faster"
        return f"passed: {about}: {evidence.speedup:.2f}x the best baseline, {verdict}"
    return f"{evidence.outcome}: {about}: {evidence.detail}"


def _show_timing(timing: Timing) -> None:
    others = ", ".join(f"{name} {us:,.0f} us" for name, us in timing.baselines_us.items())
    show(f"  candidate {timing.candidate_us:,.1f} us, {timing.baseline} beside it {timing.baseline_us:,.1f} us")
    show(f"  baselines tried: {others}")
    for session in timing.sessions:
        show(
            f"  session of {len(session.candidate_us)} rounds in a fresh process: {session.speedup:.2f}x"
            f" (95 %: {session.low:.2f} to {session.high:.2f}); others took {session.others:.0%} of the machine"
        )


def _show_screen(screen: KernelScreen) -> None:
    occupancy = "unknown" if screen.occupancy is None else str(screen.occupancy)
    show(
        f"  kernel {screen.kernel} for {screen.isa}: {screen.num_warps} warps, {screen.registers} registers,"
        f" {screen.spills} spilled, {screen.scratchpad_bytes:,} B scratchpad, occupancy {occupancy}"
    )
    for name, found in (("matrix", screen.matrix_instructions), ("memory", screen.memory_instructions)):
        if found:
            show(f"    {name}: {', '.join(f'{count} {instruction}' for instruction, count in found.items())}")
    for finding in screen.findings:
        cited = f"  [kb cite {finding.citation}]" if finding.citation else ""
        show(f"    {MARKS[finding.state]} {finding.message}{cited}")
