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

from eval.machine import usable_cores
from eval.pool.cards import Card, Job, parts, start_judges
from eval.pool.steps import Found, Step, is_final, next_step, with_refusal, with_result
from eval.pool.turns import TURNS
from kb.errors import CanaryError, KbError, TaskError
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Interface
from kb.types.protocols import Judge, Tried
from kb.types.target import CPU

STOPPED = "the judge was stopped, or the machine ended, while it was judged"
MOST_SHARING, LEAST_CORES = 4, 4
"""Judges that share a GPU, at most; and the cores that each has, at least, because most of the time they compile."""
MAY_BE_DISTURBED = (Outcome.RAISED, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.FORBIDDEN, Outcome.CLOCKS_DISAGREE)
"""Refusals that count only from a judge that has the GPU for itself: others may take its memory and its time. They make
no kernel too fast."""
Environment = Mapping[str, str]


class Judging:
    """Judges in passes, until nothing is to be judged again.

    Args:
        start: Starts a judge for the task and target of a candidate, with variables beside those of this process.
        folder: Where judges lock files to take turns.
        begun: What earlier starts found of candidates that they had begun to tune. It is never withdrawn.
    """

    def __init__(
        self,
        start: Callable[[Job, Environment], AbstractContextManager[Judge]],
        folder: Path,
        begun: Mapping[int, Found],
    ) -> None:
        self._start, self._folder, self._begun = start, folder, begun
        self._known = dict[int, Found]()
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
                    yield from (self._failed(job.number, f"no {kind} is left: {why}") for job in own)
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
                    self._known.pop(number, None)
                    self._found.put(self._failed(number, card.failure))
        finally:
            self._found.put(None)

    def _judge_part(self, card: Card, environment: Environment, part: list[Job]) -> None:
        """Judge with one judge what it can, and take that from the part."""
        is_shared, is_timed = TURNS in environment, False
        step: Step | None = None
        self._begin(part)
        try:
            with self._start(part[0], environment) as judge:
                while part and not card.failure:
                    job, before, goes_on = part[0], set(card.unsure), False
                    if step := next_step(job, found := self._of(job.number)):
                        result = step.taken(judge)
                        if isinstance(result, Evidence) and result.timing and not is_timed:
                            card.unsure -= before  # its canaries were good, after it was asked
                            is_timed = True
                        goes_on = self._keep(found, result, judge.interface, is_shared=is_shared)
                        card.unsure.add(job.number)  # behind it: who fails the card withdraws it, or this thread does
                    if not goes_on:
                        part.pop(0)
                        self._begin(part)
        except CanaryError as error:
            self._suspects.add(part[0].number)
            card.failure = f"{card} is taken out: {error.message}"
        except KbError as error:
            for job in part[:] if isinstance(error, TaskError) else part[:1]:
                part.remove(job)
                if is_shared:
                    self._again.add(job.number)
                    continue
                if step and step.is_quick and not isinstance(error, TaskError):
                    self._known[job.number] = with_refusal(self._of(job.number), step.kernel)
                    card.unsure.add(job.number)
                self._found.put(self._failed(job.number, error.message))

    def _begin(self, part: Sequence[Job]) -> None:
        """Tell first that the judge was stopped: so it is, unless something else is told."""
        if part:
            self._found.put(self._failed(part[0].number, STOPPED))

    def _keep(self, found: Found, result: Evidence | Tried, interface: Interface, *, is_shared: bool) -> bool:
        """Tell what a step has brought, unless other judges of the same GPU may have caused it.

        Returns:
            Whether the same judge may take the next one.
        """
        counts = isinstance(result, Tried) or is_final(result)
        is_disturbed = result.time_us is None if isinstance(result, Tried) else result.outcome in MAY_BE_DISTURBED
        if is_shared and (is_disturbed or not counts):
            self._again.add(found.number)
            return False
        self._known[found.number] = with_result(found, result, interface)
        self._found.put(self._known[found.number])
        return counts

    def _of(self, number: int) -> Found:
        """What is known of a candidate."""
        return self._known.get(number) or self._begun.get(number) or Found(number=number)

    def _failed(self, number: int, failure: str) -> Found:
        return self._of(number).model_copy(update={"failure": failure})
