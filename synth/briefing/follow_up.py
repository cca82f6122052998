"""What to look up next in the hardware's documents, from the judge's evidence on the last candidate."""

import re

from kb.types.evidence import Evidence, Outcome

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
    return BOTTLENECK_PHRASES[evidence.bottleneck.kind if evidence.bottleneck else "memory"]


def refused_names(evidence: Evidence, source: str) -> list[str]:
    """Names of instructions, functions and memories with which a tool refused it; those of the source first."""
    if evidence.outcome not in REFUSED_PHRASES:
        return []
    names = dict.fromkeys(_NAME.findall(evidence.detail))
    found = [name for name in names if len(name) >= SHORTEST_NAME and not _FILE.search(name)]
    return sorted(found, key=lambda name: name not in source)[:MOST_NAMES]
