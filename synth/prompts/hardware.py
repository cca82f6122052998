"""How a prompt shows what it says of the hardware: a block of cited lines for each question."""

from collections.abc import Sequence

from kb.facts.quantities import NAME, SHAPE
from kb.types.briefing import Answer, Said
from kb.types.fact import Fact
from kb.types.passages import Citation
from synth.prompts.render import fenced, one_line


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
    """A line for each quantity, its lowest value first, with all conditions under which it has each value."""
    named: dict[str, list[Fact]] = {}
    for fact in facts:
        of = "" if fact.target == target else f" (of {fact.target})"
        named.setdefault(f"{fact.quantity.replace('_', ' ')}{of}", []).append(fact)
    lines = []
    for name, own in named.items():
        own.sort(key=lambda fact: fact.amount or 0)
        lines.append(one_line(f"{name} = {_values(own)} {' '.join(documents.cite(fact.citation) for fact in own)}"))
    return lines


def _values(facts: Sequence[Fact]) -> str:
    said: dict[str, list[str]] = {}
    for fact in facts:
        unit = "" if fact.unit in ("1", SHAPE, NAME) else f" {fact.unit}"
        said.setdefault(f"{fact.value}{unit}", []).extend([fact.condition] if fact.condition else [])
    return "; ".join(f"{value}, {'; '.join(own)}" if own else value for value, own in said.items())


def citations(answer: Answer) -> list[Citation]:
    """Of the facts and the statements of an answer."""
    return [*(fact.citation for fact in answer.facts), *(said.citation for said in answer.said)]
