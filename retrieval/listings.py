"""Find listings of code that run over several passages, and join them."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile

from kb.catalog import Catalog
from kb.types.passages import Hit, Passage
from retrieval.symbols.definitions import is_output

REACH = 12
"""Most passages of a listing on each side of a hit."""

_FENCE = re.compile(r"^```(.*)$", re.MULTILINE)


def begins_inside(text: str, kind: str) -> bool:
    """Whether a listing runs into the passage from the one before it.

    A first fence that names no language and stands above a blank line or the end closes such a listing.
    """
    first = _FENCE.search(text)
    if first is None:
        return kind == "code"
    return first.start() > 0 and not first[1] and text[first.end() :][1:2] in ("", "\n")


def ends_inside(text: str, kind: str) -> bool:
    """Whether a listing runs on into the next passage."""
    return (len(_FENCE.findall(text)) % 2 == 1) != begins_inside(text, kind)


def code_in(text: str, kind: str) -> str:
    """The lines of code in a passage, without settings and what programs print."""
    inside, language = begins_inside(text, kind), ""
    lines = []
    for line in text.split("\n"):
        if line.startswith("```"):
            inside, language = not inside, line.strip("` ")
        elif inside and not is_output(language):
            lines.append(line)
    return "\n".join(lines)


def with_whole_listing(hit: Hit, catalog: Catalog) -> Hit:
    """The hit with the passages around it over which its listing runs."""
    text, kind = hit.passage.text, hit.passage.kind
    if not (begins_inside(text, kind) or ends_inside(text, kind)):
        return hit
    before, after = (catalog.passages(ids) for ids in catalog.neighbours(hit.passage.citation.id, reach=REACH))
    above = _run(hit.passage, before, begins_inside, ends_inside)
    below = _run(hit.passage, after, ends_inside, begins_inside)
    return hit.model_copy(update={"before": above[::-1], "after": below})


def _run(
    passage: Passage, others: Sequence[Passage], leaves: Callable[[str, str], bool], enters: Callable[[str, str], bool]
) -> tuple[Passage, ...]:
    """Those of `others`, from the nearest on, over which a listing runs: it leaves one passage and enters the next."""
    steps = pairwise([passage, *others])
    goes_on = takewhile(lambda step: leaves(step[0].text, step[0].kind) and enters(step[1].text, step[1].kind), steps)
    return tuple(other for _, other in goes_on)
