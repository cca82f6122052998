"""Judges candidates on several cards at the same time, each by judges of its own.

Several judges share a GPU and take turns at timing, so that it does not wait for compilers. What fails there is judged
again after all others, by one judge alone. So is what a card has judged since its last good canary, if it fails one: by
another card of its kind.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from eval.machine import usable_cores
from eval.pool.cards import Card, Job, parts, start_judges
from eval.pool.turns import TURNS
from kb.errors import CanaryError, KbError, TaskError
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Interface
from kb.types.protocols import Judge
from kb.types.target import CPU

STOPPED = "the judge was stopped, or the machine ended, while it was judged"
MOST_SHARING, LEAST_CORES = 4, 4
"""Judges that share a GPU, at most; and the cores that each has, at least, because most of the time they compile."""
MAY_BE_DISTURBED = (Outcome.RAISED, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.FORBIDDEN, Outcome.CLOCKS_DISAGREE)
"""Refusals that count only from a judge that has the GPU for itself: others may take its memory and its time. They make
no kernel too fast."""
Environment = Mapping[str, str]


class Found(NamedTuple):
    """What became of a candidate: evidence and the task's interface, or why there is none."""

    number: int
    evidence: Evidence | None = None
    interface: Interface | None = None
    failure: str = ""


def is_final(evidence: Evidence | None) -> bool:
    """Whether the judge did not fail, and the machine was not so busy that no time counts."""
    return evidence is not None and not evidence.untimed


class Judging:
    """Judges in passes, until nothing is to be judged again.

    Args:
        start: Starts a judge for the task and target of a candidate, with variables beside those of this process.
        folder: Where judges lock files to take turns.
    """

    def __init__(self, start: Callable[[Job, Environment], AbstractContextManager[Judge]], folder: Path) -> None:
        self._start, self._folder = start, folder
        self._found: SimpleQueue[Found | None] = SimpleQueue()
        self._again: set[int] = set()
        self._suspects: set[int] = set()
        """They were timed when a canary failed, and may be the cause: they are the last to be judged again."""

    def found(self, jobs: Mapping[str, Sequence[Job]], cards: Sequence[Card]) -> Iterator[Found]:
        """What is found, as it comes; for each candidate first that it was STOPPED. What comes later counts.

        Args:
            jobs: By the kind of card.
        """
        most = MOST_SHARING
        while jobs := {kind: own for kind, own in jobs.items() if own}:
            sound = [card for card in cards if card.kind in jobs and not card.failure]
            judges, queues = list[tuple[Card, Environment]](), dict[str, Iterator[list[Job]]]()
            for kind, own in jobs.items():
                if of_kind := [card for card in sound if card.kind == kind]:
                    queues[kind] = iter(waiting := parts(own, len(of_kind)))
                    cores = len(usable_cores()) // len(sound)
                    sharing = min(most, cores // LEAST_CORES, len(waiting) // len(of_kind))
                    sharing = 1 if of_kind[0].name == CPU else max(1, sharing)
                    judges += [(c, c.environment(sharing, self._folder)) for c in of_kind] * sharing
                else:
                    why = "; ".join(card.failure for card in cards if card.kind == kind)
                    yield from (Found(job.number, failure=f"no {kind} is left: {why}") for job in own)
            self._again = set()
            yield from self._pass(judges, queues)
            self._again.update(job.number for queue in queues.values() for part in queue for job in part)
            again = {kind: [job for job in own if job.number in self._again] for kind, own in jobs.items()}
            jobs = {kind: sorted(own, key=lambda job: job.number in self._suspects) for kind, own in again.items()}
            most = 1

    def _pass(
        self, judges: Sequence[tuple[Card, Environment]], queues: Mapping[str, Iterator[list[Job]]]
    ) -> Iterator[Found]:
        """What the judges find at the same time. They take turns at the queue of their kind."""
        start_judges([partial(self._judge, card, environment, queues[card.kind]) for card, environment in judges])
        for _ in judges:
            yield from iter(self._found.get, None)

    def _judge(self, card: Card, environment: Environment, queue: Iterator[list[Job]]) -> None:
        """Judge on one card, while it passes its canaries."""
        try:
            for part in queue:
                while part and not card.failure:
                    self._judge_part(card, environment, part)
                self._again.update(job.number for job in part)
                if card.failure:
                    break
            with suppress(KeyError):  # none is left: the judges of the card take them out together
                while card.failure:
                    self._again.add(number := card.unsure.pop())
                    self._found.put(Found(number, failure=card.failure))
        finally:
            self._found.put(None)

    def _judge_part(self, card: Card, environment: Environment, part: list[Job]) -> None:
        """Judge with one judge what it can, and take that from the part."""

        def decide(failure: str, evidence: Evidence | None = None, interface: Interface | None = None) -> None:
            """Tell what is found, unless other judges of the same GPU may have caused it."""
            number = part.pop(0).number
            is_certain = evidence and is_final(evidence) and evidence.outcome not in MAY_BE_DISTURBED
            if TURNS in environment and not is_certain:
                self._again.add(number)
            else:
                self._found.put(Found(number, evidence, interface, failure))

        self._found.put(Found(part[0].number, failure=STOPPED))
        is_timed = False
        try:
            with self._start(part[0], environment) as judge:
                while part and not card.failure:
                    number, before = part[0].number, set(card.unsure)
                    evidence = judge.verify(part[0].candidate)
                    if evidence.timing and not is_timed:  # its canaries were good, after it was asked
                        card.unsure -= before
                        is_timed = True
                    decide("", evidence, judge.interface)
                    card.unsure.add(number)  # behind it: who fails the card withdraws it, or this thread does
                    if part:
                        self._found.put(Found(part[0].number, failure=STOPPED))
        except CanaryError as error:
            self._suspects.add(part[0].number)
            card.failure = f"{card} is taken out: {error.message}"
        except TaskError as error:
            while part:
                decide(error.message)
        except KbError as error:
            decide(error.message)
