"""The attempts of runs that may leave the user's machines, with what was asked and answered.

An attempt is held back if its prompt cites a private document or one that is gone, or shows an attempt that is held
back; if any of its texts repeats a line of a private document; or if the attempt that it changes is held back.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.runs.journal import Run
from kb.types.protocols import Attempt
from kb.views.answers import candidates_by_request
from kb.views.candidates import prompts_of
from kb.views.cited import Sources
from kb.views.verdicts import Verdict, verdict
from synth.authors.asking import Exchange
from synth.prompts.prompt import Prompt

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase


@dataclass(frozen=True)
class Kept:
    """An attempt that may be exported."""

    run: Run
    number: int
    attempt: Attempt
    verdict: Verdict
    prompt: Prompt | None
    """What its author was asked; None if the tuner found its values, or the run did not keep it."""
    exchange: Exchange | None
    """The request that it answers; None if it came from a skill, the tuner or by hand."""
    tag: str
    """Of a fenced block in its language."""

    @property
    def id(self) -> str:
        return f"{self.run.id}-{self.number:03d}"

    @property
    def passed(self) -> bool:
        return self.attempt.evidence.passed


def kept_of(kb: "KnowledgeBase", run: Run) -> list[Kept]:
    """The attempts of a run that are not held back, in order."""
    from kb.usecases.judging import written_in

    tag = written_in(kb, run.plan.target, run.plan.language).fences[0]
    prompts = prompts_of(run)
    sources = Sources(kb, (id_ for prompt in prompts.values() for id_ in prompt.cited))
    answered = {candidate: request for request, candidate in candidates_by_request(run).items()}
    exchanges = {exchange.number: exchange for exchange in run.exchanges}
    kept, held_back = dict[int, Kept](), list[str]()
    for number, attempt in enumerate(run.attempts, start=1):
        prompt, exchange = prompts.get(number), exchanges.get(answered.get(number, 0))
        texts = [run.plan.task.source, *_texts(attempt, prompt, exchange)]
        shows = any(words in prompt.text for words in held_back) if prompt else False
        if (attempt.parent in (0, *kept)) and not shows and _is_open(sources, prompt, texts):
            kept[number] = Kept(run, number, attempt, verdict(attempt.evidence), prompt, exchange, tag)
        else:
            held_back += filter(None, map(str.strip, (attempt.candidate.source, attempt.note, *attempt.plans)))
    return list(kept.values())


def path_to(one: Kept, kept: Sequence[Kept]) -> list[Kept]:
    """The attempts of the same run from the first draft to this one, each a change of the one before."""
    by_number = {each.number: each for each in kept if each.run is one.run}
    path = [one]
    while parent := path[0].attempt.parent:
        path.insert(0, by_number[parent])
    return path


def best_of(kept: Sequence[Kept]) -> Kept | None:
    """The first by `Run.rank`; None if none passed."""
    return min((one for one in kept if one.passed), key=lambda one: one.run.rank(one.attempt), default=None)


def _is_open(sources: Sources, prompt: Prompt | None, texts: Sequence[str]) -> bool:
    stands = all(sources.get(id_).state == "stands" for id_ in (prompt.cited if prompt else ()))
    return stands and all(sources.open_text(text) == text for text in texts)


def _texts(attempt: Attempt, prompt: Prompt | None, exchange: Exchange | None) -> Iterator[str]:
    yield from (attempt.candidate.source, attempt.note, attempt.evidence.model_dump_json(indent=1))
    yield from (attempt.evidence.detail, attempt.evidence.log, *attempt.plans)
    if prompt:
        yield prompt.text
    if exchange:
        yield exchange.text
