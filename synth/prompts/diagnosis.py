"""Say in sentences why a candidate was refused, or how fast it is, from the judge's evidence."""

from kb.types.evidence import CaseResult, Evidence, Finding, Grade, KernelScreen, Outcome
from kb.types.kernels import workload_name
from kb.types.timing import LEAST_OF_WORKLOADS, WIN_MARGIN

MEANING = {
    Outcome.PASSED: "It passed.",
    Outcome.COMPILE_ERROR: "It does not parse, compile, import or load.",
    Outcome.INCOMPATIBLE_PARAMETERS: "It cannot take the reference's parameters: match names and shapes, or define "
    "`load_reference`.",
    Outcome.RAISED: "It raised an exception when it was called.",
    Outcome.CRASHED: "Its process died: look for reads and writes out of bounds.",
    Outcome.TIMED_OUT: "It did not finish in time.",
    Outcome.FORBIDDEN: "It tried to use files, the network or other processes, which is forbidden.",
    Outcome.FORGED: "Something other than outputs came from its process. Only the outputs count.",
    Outcome.BAD_OUTPUT: "Its outputs have a wrong number, type, shape or dtype.",
    Outcome.ALIASED_INPUT: "An output lies in an input's memory: return fresh tensors.",
    Outcome.MUTATED_INPUT: "It changed an input.",
    Outcome.INCORRECT: "Its outputs are wrong.",
    Outcome.LATE_OUTPUT: "An output changed after the call had returned: finish all work in the call.",
    Outcome.STALE_OUTPUT: "It was right the first time and wrong with other values: it returned a stored answer.",
    Outcome.CLOCKS_DISAGREE: "The time measured inside its process differs from the time measured outside: the clock "
    "was changed, or work continued after the call.",
    Outcome.TOO_FAST: "It was faster than the machine can move the data: it did not do the work.",
    Outcome.NO_KERNEL: "It launched no kernel: the computation must happen in one.",
    Outcome.OUTSIDE_KERNELS: "Its kernels must do all the work.",
    Outcome.OVER_LIMIT: "It needs more than the hardware has.",
    Outcome.UNSUPPORTED: "It uses an instruction or a feature that the target or its compiler lacks.",
    Outcome.RACE: "Two parts of it access the same memory without synchronisation.",
}


def diagnose(evidence: Evidence) -> tuple[str, ...]:
    """Sentences that say what happened and by how much. Times are in microseconds; only measured speeds are given."""
    return (
        MEANING[evidence.outcome],
        *_compared(evidence.cases),
        *_worth(evidence),
        *((f"It is {evidence.bottleneck}.",) if evidence.bottleneck else ()),
        *((f"{evidence.detail}.",) if evidence.passed and evidence.detail else ()),
        *(sentence for screen in evidence.screen for sentence in _screened(screen)),
    )


def _worth(evidence: Evidence) -> list[str]:
    if evidence.grade is Grade.COMPILED and not evidence.cases:
        return [
            "It was compiled for the target and nothing ran: whether it is right is unknown, and no speed is known."
        ]
    if evidence.grade is Grade.COMPILED:
        return ["It was compiled for the target and not run there: no speed is known."]
    if evidence.grade is Grade.SIMULATED:
        return ["It ran in an interpreter and not on the target: no speed is known."]
    if (timing := evidence.timing) is None:
        return []
    if timing.busy:
        return ["Other work used the machine while it was timed: no speed is known."]
    over, everywhere = f"`{timing.rivals}`, the best baseline", ""
    if timing.other_workloads:
        over = f"{timing.rivals}, by geometric means"
        everywhere = f", and no workload may be below {LEAST_OF_WORKLOADS}"
    return [
        *(
            f"At {workload_name(one.workload)} it takes {one.candidate_us:.4g} us against {one.baseline_us:.4g} us of "
            f"`{one.baseline}`, {one.speedup:.2f} times as fast."
            for one in (timing.workloads if timing.other_workloads else ())
        ),
        f"It is {'faster' if timing.speedup > 1 else 'slower'} than {over}: "
        f"{timing.candidate_us:.4g} us against {timing.baseline_us:.4g} us, {timing.speedup:.2f} times as fast "
        f"(95 % interval {timing.low:.2f} to {timing.high:.2f}).",
        "This is a win." if evidence.won else f"This is not a win: the lower end must exceed {WIN_MARGIN}{everywhere}.",
    ]


def _compared(cases: tuple[CaseResult, ...]) -> list[str]:
    failed = [case for case in cases if case.outcome is not Outcome.PASSED]
    right = len(cases) - len(failed)
    count = [f"Right in {right} {'case' if right == 1 else 'cases'}."] if cases else []
    return [*count, *map(_failure, failed)]


def _failure(case: CaseResult) -> str:
    parts = [f"Case `{case.name}`: {case.outcome.replace('_', ' ')}"]
    if case.max_error is not None:
        parts.append(f"largest error {case.max_error:.3g}")
    if case.error_ratio is not None:
        parts.append(f"{case.error_ratio:.3g} times what is allowed")
    return ", ".join(parts) + "."


def _screened(screen: KernelScreen) -> list[str]:
    occupancy = "unknown" if screen.occupancy is None else screen.occupancy
    return [
        f"Kernel `{screen.kernel}` for {screen.isa}, {screen.warps}: {screen.registers} vector registers per "
        f"lane, {screen.spills} spilled, {screen.scratchpad_bytes} bytes of scratchpad, occupancy {occupancy}.",
        f"Its matrix instructions: {_counted(screen.matrix_instructions)}; its memory instructions: "
        f"{_counted(screen.memory_instructions)}.",
        *(_finding(finding) for finding in screen.findings if finding.state != "ok"),
    ]


def _counted(instructions: dict[str, int]) -> str:
    return ", ".join(f"{name} x {count}" for name, count in sorted(instructions.items())) or "none"


def _finding(finding: Finding) -> str:
    cited = f" [{finding.citation}]" if finding.citation else ""
    return f"{finding.state}: {finding.message}{cited}"
