"""The cards of a pool: which were chosen, and which candidates each kind of them judges."""

import os
import platform
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from eval.machine import CHOOSES_GPU, machine_kind, present_gpus, usable_cores
from eval.pool.turns import TURNS
from eval.worker.gpu_driver import SHARE
from kb.errors import BatchError
from kb.types.kernels import Candidate
from kb.types.target import CPU, Isa

Run = tuple[str, str]
"""A run and its target."""


@dataclass(eq=False)
class Card:
    """A GPU of this machine, or its CPU."""

    name: str
    """What CHOOSES_GPU calls it, or CPU."""
    isa: Isa
    kind: str
    """That of machine.Gpu, or `machine_kind`."""
    failure: str = ""
    """Why it is taken out: it has failed a canary."""
    unsure: set[int] = field(default_factory=set)
    """Numbers of the candidates that it has judged since its last good canary."""

    def __str__(self) -> str:
        return CPU if self.name == CPU else f"{self.name} ({self.kind})"

    def environment(self, sharing: int = 1, folder: Path = Path()) -> dict[str, str]:
        """The variables with which a judge sees no other card.

        Args:
            sharing: How many judges share this one.
            folder: Where these lock files to take turns.
        """
        alone = {} if self.name == CPU else {CHOOSES_GPU: self.name}
        return alone if sharing <= 1 else alone | {TURNS: f"{folder}/turns-{self.name}", SHARE: f"{1 / sharing}"}


class Job(NamedTuple):
    """A candidate that waits for a card."""

    number: int
    candidate: Candidate
    run: Run
    """One kind of card judges all candidates of a run, so that their times compare."""
    task: tuple[str, str]
    """Its task and target: one judge after another serves these."""
    isa: Isa
    settings: tuple[dict[str, int], ...] = ()
    """Those that its author or a skill proposes."""
    finalists: int = 0
    seed: int = 0


def chosen_cards(devices: str = "") -> list[Card]:
    """The cards that judge.

    Args:
        devices: Numbers as the vendor's tool lists them, uuids, or CPU, with commas between them; empty or `all`: all.

    Raises:
        BatchError: there is no such device here, or the environment hides it.
    """
    gpus = present_gpus()
    cards = [Card(name, gpu.isa, gpu.kind) for name, gpu in gpus.items()]
    cards.append(Card(CPU, Isa(CPU, platform.machine()), machine_kind()))
    if devices in ("", "all"):
        return cards
    named = {key: card for card in cards for key in (card.name, gpus[card.name].number if card.name in gpus else CPU)}
    wanted = [name.strip() for name in devices.split(",")]
    if unknown := [name for name in wanted if name not in named]:
        there = ", ".join([*(f"{gpu.number} ({name}, {gpu.kind})" for name, gpu in gpus.items()), CPU])
        hint = "name some of these, or all"
        raise BatchError(f"no device {unknown[0]!r} may judge here, only {there}", hint=hint)
    return list(dict.fromkeys(named[name] for name in wanted))


def kinds_of(jobs: Sequence[Job], known: Mapping[Run, str], cards: Sequence[Card]) -> dict[str, list[Job]]:
    """What each kind of card judges, in order, so that all cards have about as many candidates.

    Args:
        known: The kind of card that has timed candidates of a run: no other kind judges the rest.

    Returns:
        By kind; a candidate for which no card is here is in none.
    """
    chosen, loads = dict[Run, str](), Counter[str]()
    sizes, isas = Counter(job.run for job in jobs), {job.run: job.isa for job in jobs}
    for run in sorted(sizes, key=lambda run: (run not in known, -sizes[run])):
        fitting = Counter(c.kind for c in cards if c.isa == isas[run] and known.get(run, c.kind) == c.kind)
        if fitting:
            chosen[run] = min(fitting, key=lambda kind: (loads[kind] + sizes[run]) / fitting[kind])
            loads[chosen[run]] += sizes[run]
    kinds = dict.fromkeys(card.kind for card in cards)
    return {kind: [job for job in jobs if chosen.get(job.run) == kind] for kind in kinds}


def of_one_kind(cards: Sequence[Card], isa: Isa, target: str, known: str = "") -> list[Card]:
    """The cards that judge one run for a target: those of the kind that most of them are.

    Args:
        known: The kind that has timed candidates of the run: no other kind judges the rest.

    Raises:
        BatchError: there is none.
    """
    fitting = [card for card in cards if card.isa == replace(isa, lanes=None)]
    kinds = [known] if known else [kind for kind, _ in Counter(card.kind for card in fitting).most_common(1)]
    if not (chosen := [card for card in fitting if card.kind in kinds]):
        which = f"no {known}, which timed this run" if known else f"no {target}"
        hint = "continue it where that is, or start another run" if known else "leave --devices out to have it compiled"
        raise BatchError(f"of {', '.join(map(str, cards))} there is {which}", hint=hint)
    return chosen


def parts(jobs: Sequence[Job], cards: int) -> list[list[Job]]:
    """The candidates that one judge serves together, but no more than fall to each card."""
    by_judge = defaultdict[tuple[str, str], list[Job]](list)
    for job in jobs:
        by_judge[job.task].append(job)
    most = -(-len(jobs) // cards)
    return [own[at : at + most] for own in by_judge.values() for at in range(0, len(own), most)]


def start_judges(judges: Sequence[Callable[[], None]]) -> list[Thread]:
    """Start each in a thread, which has cores of its own, as has all that it starts: no judge disturbs another there.

    The system ends a judge with the thread that started it, and these threads end with the process.
    """
    cores = usable_cores()

    def run(number: int, judge: Callable[[], None]) -> None:
        if sys.platform == "linux":
            with suppress(OSError):  # this thread lost these cores meanwhile, and has others
                os.sched_setaffinity(0, cores[number :: len(judges)] or cores)
        judge()

    threads = [Thread(target=run, args=each, daemon=True) for each in enumerate(judges)]
    for thread in threads:
        thread.start()
    return threads
