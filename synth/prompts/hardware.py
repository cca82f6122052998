"""How a prompt shows what it says of the hardware: a block of cited lines for each question."""

import re
from collections.abc import Sequence

from kb.facts.quantities import NAME, SHAPE
from kb.types.briefing import Answer, Said
from kb.types.fact import Fact
from kb.types.passages import Citation
from synth.prompts.render import fenced, one_line

_SCOPE = re.compile(r"\bper [\w ]+|\bwhole \w+")
"""Of what a value is, in a condition."""


class Documents:
    """The documents that answers cite, numbered in the order of the answers."""

    def __init__(self, answers: Sequence[Answer]) -> None:
        cited = [c for answer in answers for c in citations(answer)]
        self._numbers = {path: number for number, path in enumerate(dict.fromkeys(c.path for c in cited), start=1)}
        self._digests = {c.path: c.sha256[:8] for c in cited}

    def listed(self, answers: Sequence[Answer]) -> list[str]:
        """The documents that these answers cite, a line each."""
        used = dict.fromkeys(citation.path for answer in answers for citation in citations(answer))
        return [
            f"{self._numbers[path]} = {path}@{self._digests[path]}"
            for path in sorted(used, key=lambda path: self._numbers[path])
        ]

    def cite(self, citation: Citation) -> str:
        return f"[{self._numbers[citation.path]}:{citation.lines.removeprefix('L')}]"


def answer_text(answer: Answer, documents: Documents, target: str) -> str:
    """A question with its answer, quoted."""
    facts = _facts(answer.facts, target, documents)
    said = [_said(one, documents) for one in answer.said]
    return f"### {answer.asks}\n\n" + fenced("\n".join((*facts, *said)), "text")


def _said(said: Said, documents: Documents) -> str:
    """The words with their citation before a listing, or else behind them."""
    mark = f" ({said.mark})" if said.mark else ""
    prose, fence, listing = said.text.partition("```")
    cited = f"- {prose.rstrip()} {documents.cite(said.citation)}{mark}".replace("-  [", "- [")
    return f"{cited}\n{fence}{listing}" if fence else cited


def _facts(facts: Sequence[Fact], target: str, documents: Documents) -> list[str]:
    """A line for each value, with all conditions under which a quantity has it; one for values of several scopes."""
    named: dict[str, dict[str, list[Fact]]] = {}
    for fact in facts:
        of = "" if fact.target == target else f" (of {fact.target})"
        unit = "" if fact.unit in ("1", SHAPE, NAME) else f" {fact.unit}"
        values = named.setdefault(f"{fact.quantity.replace('_', ' ')}{of}", {})
        values.setdefault(f"{fact.value}{unit}", []).append(fact)
    lines = []
    for name, values in named.items():
        said = sorted(values.items(), key=lambda value: value[1][0].amount or 0)
        scopes = {scope.group() for _, own in said if (scope := _SCOPE.search(own[0].condition))}
        for line in [said] if len(scopes) == len(said) else ([value] for value in values.items()):
            cited = " ".join(documents.cite(fact.citation) for _, own in line for fact in own)
            lines.append(one_line(f"{name} = {'; '.join(f'{value}{_when(own)}' for value, own in line)} {cited}"))
    return lines


def _when(facts: Sequence[Fact]) -> str:
    conditions = "; ".join(fact.condition for fact in facts if fact.condition)
    return f", {conditions}" if conditions else ""


def citations(answer: Answer) -> list[Citation]:
    """Of the facts and the statements of an answer."""
    return [*(fact.citation for fact in answer.facts), *(said.citation for said in answer.said)]
