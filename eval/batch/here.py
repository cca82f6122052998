"""Judges candidates of a batch on the cards of this machine: its GPUs at the same time, then its CPU."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from eval.batch.pack import Batch, BatchVerdict
from eval.judge.driver import LocalJudge
from eval.pool.cards import Card, Job, Run, kinds_of
from eval.pool.judging import Judging
from eval.pool.steps import is_final
from kb.types.evidence import Evidence
from kb.types.target import CPU

Waiting = Mapping[int, BatchVerdict | None]
"""Numbers of candidates, in the order in which they are judged, each with what is known of it."""


def job_of(batch: Batch, number: int) -> Job:
    entry = batch.entries[number]
    proposal, isa = entry.proposal, replace(batch.targets[entry.target].isa, lanes=None)
    run, task = (entry.run, entry.target), (entry.task.digest, entry.target)
    return Job(number, proposal.candidate, run, task, isa, proposal.settings, entry.finalists, entry.seed)


def kind_that_timed(evidence: Evidence | None) -> str | None:
    """The kind of card whose times these are; None without times."""
    return evidence.machine or None if evidence and evidence.timing else None


def judged_here(
    batch: Batch, waiting: Waiting, known: Mapping[Run, str], cards: Sequence[Card], cache: Path
) -> Iterator[BatchVerdict]:
    """The verdicts as they come; on each candidate first that its judge was STOPPED. What comes later counts.

    Args:
        waiting: The candidates that are to be judged, or to be tuned on.
        known: The kind of card that has timed candidates of a run.
        cache: An existing folder for what judges keep.
    """

    def start(job: Job, environment: Mapping[str, str]) -> LocalJudge:
        entry = batch.entries[job.number]
        isa, facts = batch.targets[entry.target].isa, batch.targets[entry.target].facts
        return LocalJudge(entry.task, target=entry.target, isa=isa, facts=facts, cache=cache, environment=environment)

    by_kind = kinds_of([job_of(batch, number) for number in waiting], known, cards)
    on_cpu = {card.kind: by_kind.pop(card.kind) for card in cards if card.name == CPU}
    begun = {number: verdict for number, verdict in waiting.items() if verdict and is_final(verdict.evidence)}
    for jobs in (by_kind, on_cpu):
        for found in Judging(start, cache, begun).found(jobs, cards):
            yield BatchVerdict(**{**vars(found), "batch": batch.id, "judge": batch.judge})
