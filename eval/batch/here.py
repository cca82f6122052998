"""Judges candidates of a batch on the cards of this machine: its GPUs at the same time, then its CPU."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from eval.batch.pack import Batch, BatchVerdict
from eval.judge.driver import LocalJudge
from eval.pool.cards import Card, Job, Run, kinds_of
from eval.pool.judging import Judging
from kb.types.evidence import Evidence
from kb.types.target import CPU


def job_of(batch: Batch, number: int) -> Job:
    entry = batch.entries[number]
    isa = replace(batch.targets[entry.target].isa, lanes=None)
    return Job(number, entry.proposal.candidate, (entry.run, entry.target), (entry.task.digest, entry.target), isa)


def kind_that_timed(evidence: Evidence | None) -> str | None:
    """The kind of card whose times these are; None without times."""
    return evidence.machine or None if evidence and evidence.timing else None


def judged_here(
    batch: Batch, numbers: Sequence[int], known: Mapping[Run, str], cards: Sequence[Card], cache: Path
) -> Iterator[BatchVerdict]:
    """The verdicts as they come; on each candidate first that its judge was STOPPED. What comes later counts.

    Args:
        known: The kind of card that has timed candidates of a run.
        cache: An existing folder for what judges keep.
    """

    def start(job: Job, environment: Mapping[str, str]) -> LocalJudge:
        entry = batch.entries[job.number]
        isa, facts = batch.targets[entry.target].isa, batch.targets[entry.target].facts
        return LocalJudge(entry.task, target=entry.target, isa=isa, facts=facts, cache=cache, environment=environment)

    by_kind = kinds_of([job_of(batch, number) for number in numbers], known, cards)
    on_cpu = {card.kind: by_kind.pop(card.kind) for card in cards if card.name == CPU}
    for jobs in (by_kind, on_cpu):
        for found in Judging(start, cache).found(jobs, cards):
            yield BatchVerdict(batch=batch.id, judge=batch.judge, **found._asdict())
