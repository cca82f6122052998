"""Spreads a batch over the machines of a cluster. Each judges its part on all its cards, as if it were carried there.

A machine that is lost gives back what it had not judged. Who judges on is decided by what is known of cards: their
kinds, and whether they fail their canaries.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from eval.batch.here import Waiting, job_of, kind_that_timed
from eval.batch.pack import Batch, BatchVerdict
from eval.pool.cards import Card, Run, kinds_of
from eval.pool.steps import is_final, is_half_tuned

MOST_LOST = 3
"""There is no verdict on a candidate, until the next start, once so many machines were lost while they judged it."""
LEAST_PART = 4
"""Candidates for each card, at least, where so many wait: a judge takes about as long to start as to judge these."""
MOST_STARTS = 3
"""A machine that was lost so often before it began a candidate gets nothing more."""
MACHINE_S = 60.0
"""Wait so long for a machine that may judge what waits, when none judges."""
CARDS_S = 660.0
"""Wait so long instead if machines have not said which cards they have: other work of the cluster may hold them."""
MOST_NAMED = 8
"""Machines that a line names, at most."""


class Lost(NamedTuple):
    """A machine does not answer any more."""

    reason: str
    again: bool = True
    """Whether it may answer if it is asked anew."""


Answer = BatchVerdict | list[Card] | Lost
"""A verdict of those that `judged_here` gives; the cards of a machine when it has no more of them."""


class Cluster(Protocol):
    def machines(self) -> Collection[str]:
        """Names of those that are there."""
        ...

    def ask(self, machine: str, part: Waiting | None = None, known: Mapping[Run, str] | None = None) -> None:
        """Ask a machine for its next answer. If `part` has candidates, it begins with them before.

        Args:
            known: The kind of card for each run of these.
        """
        ...

    def answers(self) -> Sequence[tuple[str, Answer]]:
        """Answers of machines that were asked. It waits for one, but not for longer than a second or so."""
        ...


@dataclass
class Part:
    """What a machine has to judge."""

    kind: str
    said: dict[int, str | None]
    """By number: None before it is begun, then why there is no verdict, or nothing if there is one."""


class Spreading:
    """Has candidates judged on a cluster.

    Args:
        waiting: See `judged_here`.
        known: The kind of card that has timed candidates of a run.
        tell: Called with a line about a machine that is lost, or has no use.
    """

    def __init__(
        self,
        batch: Batch,
        waiting: Waiting,
        known: Mapping[Run, str],
        cluster: Cluster,
        tell: Callable[[str], None],
    ) -> None:
        self._batch, self._cluster, self._tell = batch, cluster, tell
        self._jobs = {number: job_of(batch, number) for number in waiting}
        self._waiting, self._timed, self._lost = list(waiting), dict(known), Counter[int]()
        self._found = dict(waiting)
        self._begun = {number: found for number, found in waiting.items() if found and is_final(found.evidence)}
        """What earlier starts found, which nothing withdraws."""
        self._cards = dict[str, list[Card]]()
        self._parts = dict[str, Part]()
        """Of machines that were asked."""
        self._useless, self._starts = set[str](), Counter[str]()
        self._seen = self._judged = time.monotonic()
        """When kb last saw a machine, and when one last had candidates."""
        self._is_told = False

    def verdicts(self) -> Iterator[BatchVerdict]:
        """As `judged_here`, until all candidates are judged, or no machine is left that may."""
        while True:
            self._hand_out()
            if self._is_over():
                return
            for machine, answer in self._cluster.answers():
                if isinstance(answer, BatchVerdict):
                    yield self._note(machine, answer)
                elif isinstance(answer, Lost):
                    yield from self._forget(machine, answer)
                else:
                    self._finish(machine, answer)

    def _is_over(self) -> bool:
        """Whether nobody judges, and all is judged or nobody has come who may judge the rest."""
        now, unknown = time.monotonic(), [machine[:8] for machine, part in self._parts.items() if not part.said]
        self._seen = now if self._parts else self._seen
        if len(unknown) < len(self._parts):
            self._judged, self._is_told = now, False
            return False
        if not self._waiting or now > self._seen + MACHINE_S:
            return True
        names = ", ".join(unknown[:MOST_NAMED]) + " and others" * (len(unknown) > MOST_NAMED)
        if unknown and now > self._judged + CARDS_S:
            self._tell(f"kb waits no longer for {names}")
            return True
        if unknown and now > self._judged + MACHINE_S and not self._is_told:
            self._is_told = True
            left = (CARDS_S - MACHINE_S) / 60
            self._tell(f"kb waits {left:.0f} minutes for {names}, whose cards other work may hold")
        return False

    def _hand_out(self) -> None:
        """Ask machines that are new for their cards, and give idle ones their share of what is left for their kind."""
        here = [machine for machine in self._cluster.machines() if machine not in self._useless]
        for machine in here:
            if machine not in self._cards and machine not in self._parts:
                self._parts[machine] = Part("", {})
                self._cluster.ask(machine)
        self._cards = {m: cards for m, cards in self._cards.items() if m in here or m in self._parts}
        sound = {m: [card for card in cards if not card.failure] for m, cards in self._cards.items()}
        every = [card for cards in sound.values() for card in cards]
        known = {self._jobs[n].run: part.kind for part in self._parts.values() for n in part.said} | self._timed
        kinds, unknown = Counter(card.kind for card in every), sum(not part.said for part in self._parts.values())
        for machine in [machine for machine in sound if machine not in self._parts]:
            waiting = kinds_of([self._jobs[number] for number in self._waiting], known, every)
            for kind, own in Counter(card.kind for card in sound[machine]).items():
                if jobs := waiting[kind]:  # half of its share: who is faster then takes more of the rest
                    half = len(jobs) * own // (2 * (kinds[kind] + unknown))
                    jobs = jobs[: max(LEAST_PART * own, half)]
                    part = self._parts[machine] = Part(kind, dict.fromkeys(job.number for job in jobs))
                    self._waiting = [number for number in self._waiting if number not in part.said]
                    known |= dict.fromkeys((job.run for job in jobs), kind)
                    begun = {number: self._found[number] for number in part.said}
                    self._cluster.ask(machine, begun, {job.run: kind for job in jobs})
                    break

    def _note(self, machine: str, verdict: BatchVerdict) -> BatchVerdict:
        """Take note of a verdict; if it is withdrawn, what an earlier start found takes its place."""
        part, number = self._parts[machine], verdict.number
        if verdict.evidence is None and (begun := self._begun.get(number)):
            verdict = begun.model_copy(update={"failure": verdict.failure})
        self._found[number] = verdict
        if number in part.said:
            is_half = is_half_tuned(self._jobs[number], verdict)
            part.said[number] = verdict.failure or "the tuner has not come to its end" * is_half
        else:  # it is withdrawn: a card of the machine has judged it since its last good canary, before this part
            self._waiting.append(number)
        if kind := kind_that_timed(verdict.evidence):
            self._timed.setdefault(self._jobs[number].run, kind)
        self._cluster.ask(machine)
        return verdict

    def _finish(self, machine: str, cards: list[Card]) -> None:
        """Let others judge what a machine could not, because its cards of this kind are taken out."""
        part, self._cards[machine] = self._parts.pop(machine), cards
        if all(card.failure for card in cards if card.kind == part.kind):
            self._waiting += [number for number, said in part.said.items() if said]

    def _forget(self, machine: str, lost: Lost) -> Iterator[BatchVerdict]:
        """Let others judge what a lost machine has not, last what it had begun, unless it was begun too often.

        What failed there counts as begun: a judge may die before the machine is known to be lost.
        """
        said = self._parts.pop(machine).said
        self._cards.pop(machine, None)
        begun = [number for number in said if said[number]]
        self._lost.update(begun)
        self._waiting = [
            *(number for number in said if said[number] is None),
            *self._waiting,
            *(number for number in begun if self._lost[number] < MOST_LOST),
        ]
        self._starts[machine] += not begun
        if not begun and (not lost.again or self._starts[machine] >= MOST_STARTS):
            self._useless.add(machine)
        back = sum(note is None for note in said.values())
        self._tell(
            f"machine {machine[:8]} is lost ({lost.reason}): it had begun {len(begun)}, and {back} more go to others"
        )
        for number in begun:
            if self._lost[number] >= MOST_LOST:
                failure = f"{MOST_LOST} machines were lost while they judged it"
                found = self._found[number] or BatchVerdict(
                    number=number, batch=self._batch.id, judge=self._batch.judge
                )
                yield found.model_copy(update={"failure": failure})
