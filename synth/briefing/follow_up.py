"""What to look up after a refusal: the names with which a tool of the target refused a candidate."""

import re

from kb.types.evidence import Evidence, Outcome

REFUSED_PHRASES = {
    Outcome.COMPILE_ERROR: "how a kernel is written: declarations, types and a small example",
    Outcome.UNSUPPORTED: "supported instructions and features of this target",
    Outcome.OVER_LIMIT: "size of on-chip memory and how to divide the work",
    Outcome.RACE: "synchronisation: barriers, semaphores, fences",
}
"""What to search for if no document has the names in a tool's message."""
MOST_NAMES, SHORTEST_NAME = 4, 4  # registers have shorter names
_NAME = re.compile(r"(?<![\w/.])[A-Za-z_]\w*(?:[._:]+\w+)+|(?<![\w/.])[a-z]+\d\w*|(?<=['`])[A-Za-z_]\w+(?=['`])")
_FILE = re.compile(r"\.(?:c|cc|cpp|cu|h|hip|py|so|o)$|^candidate\b")


def refused_names(evidence: Evidence, source: str) -> list[str]:
    """Names of instructions, functions and memories with which a tool refused it; those of the source first."""
    if evidence.outcome not in REFUSED_PHRASES:
        return []
    names = dict.fromkeys(_NAME.findall(evidence.detail))
    found = [name for name in names if len(name) >= SHORTEST_NAME and not _FILE.search(name)]
    return sorted(found, key=lambda name: name not in source)[:MOST_NAMES]
