"""Turn the judge's evidence into sentences for the next prompt and phrasings for the next search."""

import re

from kb.types.evidence import WIN_MARGIN, CaseResult, Evidence, Finding, Grade, KernelScreen, Outcome

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
    Outcome.OUTSIDE_KERNELS: "Its Triton kernels must do all the work and use nothing but Triton's language.",
    Outcome.UNTRIED: "Its results at the task's own sizes could not be checked. Launch the same kernels at every size, "
    "and let each program compute its part of the outputs alone.",
    Outcome.OVER_LIMIT: "It needs more than the hardware has.",
    Outcome.UNSUPPORTED: "It uses an instruction or a feature that the target or its compiler lacks.",
    Outcome.RACE: "Two parts of it access the same memory without synchronisation.",
}

CHECK_PHRASES = {
    "scratchpad": "LDS or shared memory size per workgroup",
    "workgroup size": "largest workgroup size",
    "registers": "vector registers per lane and occupancy",
    "spills": "register pressure spills occupancy",
    "occupancy": "occupancy limits wavefronts per SIMD",
    "global loads": "wide vector loads coalescing",
    "matrix": "matrix instructions shapes and data types",
}
"""What to search the documents for if a check of a screen is not ok, by check."""
BOTTLENECK_PHRASES = {
    "memory": ("memory bandwidth and cache sizes", "wide vector loads and stores prefetch"),
    "compute": ("vector and matrix instruction throughput", "matrix instructions shapes and data types"),
    "latency": ("hide memory latency occupancy unrolling", "instruction latency and dependencies"),
    "launch": ("kernel launch overhead", "fuse kernels persistent kernel"),
}
"""What to search for if the candidate was timed and did not win, by what limits it, if nothing else says why."""
STALL_PHRASES = {
    "long_scoreboard": ("hide global memory latency asynchronous copies prefetch", "wide coalesced loads and stores"),
    "short_scoreboard": ("shared memory bank conflicts layout", "throughput of special functions"),
    "barrier": ("barriers and synchronisation of warps", "warp specialisation pipelines"),
    "branch_resolving": ("branch divergence predication", "loop unrolling"),
}
"""The same, by what the warps of its longest kernel wait for."""

REFUSED_PHRASES = {
    Outcome.COMPILE_ERROR: "how a kernel is written: declarations, types and a small example",
    Outcome.UNSUPPORTED: "supported instructions and features of this target",
    Outcome.OVER_LIMIT: "size of on-chip memory and how to divide the work",
    Outcome.RACE: "synchronisation: barriers, semaphores, fences",
}
"""What to search for beside the names in a tool's message."""
MOST_NAMES, SHORTEST_NAME = 4, 4  # registers have shorter names
_NAME = re.compile(r"(?<![\w/.])[A-Za-z_]\w*(?:[._:]+\w+)+|(?<![\w/.])[a-z]+\d\w*|(?<=['`])[A-Za-z_]\w+(?=['`])")
_FILE = re.compile(r"\.(?:c|cc|cpp|cu|h|hip|py|so|o)$|^candidate\b")


def diagnose(evidence: Evidence) -> tuple[str, ...]:
    """Sentences that say what happened and by how much. Times are in microseconds; only measured speeds are given."""
    return (
        MEANING[evidence.outcome],
        *_compared(evidence.cases),
        *_worth(evidence),
        *((f"It is {evidence.bottleneck}.",) if evidence.bottleneck else ()),
        *(f"Profiled, {kernel}." for kernel in (evidence.profile.kernels if evidence.profile else ())),
        *((f"{evidence.detail}.",) if evidence.passed and evidence.detail else ()),
        *(sentence for screen in evidence.screen for sentence in _screened(screen)),
    )


def search_phrases(evidence: Evidence, source: str = "") -> tuple[str, ...]:
    """Phrasings for the next search of the hardware documents; none if the fault is unrelated to the hardware.

    Args:
        source: The candidate's source. If a tool of the target refused it, the names that both the tool's message and
            the source have are searched for, then the message's other names.
    """
    if names := refused_names(evidence, source):
        return (*names, REFUSED_PHRASES[evidence.outcome])
    if evidence.outcome not in (Outcome.PASSED, Outcome.OVER_LIMIT):
        return ()
    checks = [f.check for screen in evidence.screen for f in screen.findings if f.state in ("over", "warn")]
    phrases = tuple(dict.fromkeys(CHECK_PHRASES[check] for check in checks if check in CHECK_PHRASES))
    if phrases or evidence.timing is None or evidence.won:
        return phrases
    if evidence.profile and (stall := evidence.profile.kernels[0].stall):
        return STALL_PHRASES[stall]
    return BOTTLENECK_PHRASES[evidence.bottleneck.kind if evidence.bottleneck else "memory"]


def refused_names(evidence: Evidence, source: str) -> list[str]:
    """Names of instructions, functions and memories with which a tool refused it; those of the source first."""
    if evidence.outcome not in REFUSED_PHRASES:
        return []
    names = dict.fromkeys(_NAME.findall(evidence.detail))
    found = [name for name in names if len(name) >= SHORTEST_NAME and not _FILE.search(name)]
    return sorted(found, key=lambda name: name not in source)[:MOST_NAMES]


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
    return [
        f"It is {'faster' if timing.speedup > 1 else 'slower'} than `{timing.baseline}`, the best baseline: "
        f"{timing.candidate_us:.4g} us against {timing.baseline_us:.4g} us, {timing.speedup:.2f} times as fast "
        f"(95 % interval {timing.low:.2f} to {timing.high:.2f}).",
        "This is a win." if evidence.won else f"This is not a win: the lower end must exceed {WIN_MARGIN}.",
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
